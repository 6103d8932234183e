"""Raw captures of synthetic calls, as a gateway writes them: one stream event a message, many calls side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from bench import streams

#: The protocols that the calls take turns with.
MIXED = ("openai.chat", "openai.responses", "anthropic.messages", "gemini.generate_content", "gemini.interactions")

_URLS = {
    "openai.chat": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic.messages": "https://api.anthropic.com/v1/messages",
    "gemini.generate_content": "https://generativelanguage.googleapis.com/v1beta/models/bench:streamGenerateContent",
    "gemini.interactions": "https://generativelanguage.googleapis.com/v1beta/interactions",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One input message. last: the call's last piece. route: which partition, in [0, 1)."""

    call_id: str
    value: bytes
    last: bool
    route: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """Calls of about ``chunks`` events, ``open_at_once`` of them interleaved piece by piece."""

    calls: int
    chunks: int
    open_at_once: int
    protocols: tuple[str, ...] = MIXED
    mark: str = "bench"

    def messages(self) -> Iterator[Message]:
        """The captures in the order in which they are written."""
        pieces = {protocol: _pieces(protocol, self.chunks) for protocol in self.protocols}
        for start in range(0, self.calls, self.open_at_once):
            window = range(start, min(self.calls, start + self.open_at_once))
            texts = [pieces[self.protocols[one % len(self.protocols)]] for one in window]
            for seq in range(max(map(len, texts))):
                for one, events in zip(window, texts, strict=True):
                    if seq < len(events):
                        yield self._message(one, seq, events)

    def _message(self, one: int, seq: int, events: list[str]) -> Message:
        call_id = f"{self.mark}-{one:08d}"
        value = f'{{"call_id":"{call_id}","seq":{seq},{events[seq]}'.encode()
        return Message(call_id, value, seq == len(events) - 1, (one * 0.6180339887) % 1.0)

    def expected(self) -> dict[str, int]:
        """Pieces of each call."""
        sizes = {protocol: len(_pieces(protocol, self.chunks)) for protocol in self.protocols}
        return {f"{self.mark}-{one:08d}": sizes[self.protocols[one % len(self.protocols)]] for one in range(self.calls)}


def _pieces(protocol: str, chunks: int) -> list[str]:
    """The rest of the capture line of each event, call id and number aside."""
    http = {"method": "POST", "url": _URLS[protocol], "status": 200,
            "headers": {"content-type": "text/event-stream", "x-request-id": "req_0123456789"}}  # fmt: skip
    head = json.dumps(
        {"kind": "stream", "protocol": protocol, "captured_at": "2026-11-30T10:00:00.123456Z", "http": http}
    )
    bodies = [event.decode() for event in streams.SYNTHETIC[protocol](chunks, 1)]
    if protocol == "openai.chat":
        bodies.append('"[DONE]"')
    pieces = [f'{head[1:-1]}, "body": {body}}}' for body in bodies]
    if protocol == "gemini.generate_content":
        # The one protocol here whose last event does not say that it is the last: the gateway does.
        ending = {"kind": "end", "protocol": protocol, "count": len(pieces) + 1, "outcome": "completed"}
        pieces.append(json.dumps(ending)[1:])
    return pieces
