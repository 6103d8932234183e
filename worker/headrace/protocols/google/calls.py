"""Which call a function response answers: by id, else by name and order.

Google's ids are optional. Without one, the n-th response of a name answers the n-th call of that name in the latest
turn that called it; calls of earlier turns that nobody answered come last.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class OpenCalls:
    """The calls of one history that have no result yet, in order of reading."""

    _open: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    _turn: int = 0
    _answering: bool = False

    def called(self, name: str | None, call_id: str) -> None:
        """Note a call. Calls after results are a new turn."""
        if self._answering:
            self._turn, self._answering = self._turn + 1, False
        self._open.setdefault(name or "", []).append((self._turn, call_id))

    def answered(self, name: str | None, provider_id: str | None, *, more: bool = False) -> str:
        """The id of the call that a result is for; "" when there is none.

        provider_id: the id in the result, which then is the answer. more: further results of the call will follow.
        """
        self._answering = True
        if provider_id is not None:
            if not more:
                self._close(provider_id)
            return provider_id
        waiting = self._open.get(name or "")
        if not waiting:
            return ""
        latest = max(turn for turn, _ in waiting)
        at = next(at for at, (turn, _) in enumerate(waiting) if turn == latest)
        return waiting[at][1] if more else waiting.pop(at)[1]

    def _close(self, call_id: str) -> None:
        for waiting in self._open.values():
            for at, (_, known) in enumerate(waiting):
                if known == call_id:
                    del waiting[at]
                    return
