"""Chunks of a stream -> whole responses.

A response's chunks need not share an id: some servers give every chunk its own, so the first one stays. A response
ends with ``[DONE]``, or where all its choices have finished and a chunk of another id starts a message anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_chat import errors
from headrace.protocols.openai_chat.chunk_run import ChunkRun
from headrace.protocols.openai_chat.streamed_response import KNOWN, StreamedResponse
from headrace.protocols.stretches import Stretch

#: The terminator, which is no JSON.
DONE = "[DONE]"


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """The responses in a list of events, in order; never raises. See `Codec.fold`."""
    folding = _Folding()
    folding.take_all(events)
    return folding.finish()


class _Folding:
    """The responses of one stream so far."""

    __slots__ = ("_current", "_responses", "_run", "_stray", "_unknown")

    def __init__(self) -> None:
        self._responses: list[StreamedResponse] = []
        self._current: StreamedResponse | None = None
        self._run: ChunkRun | None = None
        self._stray: list[Json] = []
        self._unknown: list[tuple[str, str]] = []

    def take_all(self, events: Sequence[Json | Stretch]) -> None:
        """Events in order; a run takes those that go on with it."""
        at, end = 0, len(events)
        while at < end:
            event = events[at]
            at += 1
            if type(event) is not Stretch:
                self._take(event)
            elif self._run is None or not self._run.take_stretch(event):
                self.take_all(list(event.events()))
            if self._run is not None and at < end:
                at = self._run.take(events, at)

    def _take(self, event: Json) -> None:
        """Any event but those of a run or a stretch."""
        self._run = None
        current = self._current
        if type(event) is not dict:
            if type(event) is str and event.strip() == DONE:
                if current is not None:
                    current.done = True
            else:
                self._stray.append(event)
        elif "choices" not in event and not _is_chunk(event):
            self._stray.append(event)
            self._unknown.append(("event", str(event.get("type", event.get("object", "(none)")))))
        else:
            if current is None or current.is_over(event):
                current = self._current = StreamedResponse()
                self._responses.append(current)
            current.take(event)
            self._run = ChunkRun.after(current, event)

    def finish(self) -> list[Folded]:
        """All responses; what none of them could hold goes to the last one."""
        folded = [_settled(response) for response in self._responses]
        if self._stray:
            folded = folded or [Folded({"choices": []}, complete=False, events=0)]
            folded[-1].stray += self._stray
            folded[-1].unknown += self._unknown
        return folded


def _is_chunk(event: dict[str, Json]) -> bool:
    """Whether an event without choices belongs to a response: an error frame, or usage and the like on its own."""
    return not KNOWN.isdisjoint(event) or errors.form_of(event) is not None


def _settled(response: StreamedResponse) -> Folded:
    """The response; taken once more where only the whole stream shows that its choices are one."""
    if not response.is_one_choice():
        return response.finish()
    again = StreamedResponse(one_choice=True)
    for event in response.taken:
        again.take(event)
    again.done = response.done
    return again.finish()
