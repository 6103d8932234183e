"""Which raw topic a line of a capture file belongs to."""

from __future__ import annotations

import msgspec

from headrace.settings import TopicSettings


class _Envelope(msgspec.Struct):
    call_id: str = ""
    kind: str = ""


_envelope = msgspec.json.Decoder(_Envelope).decode


def route(line: bytes, topics: TopicSettings) -> tuple[str, bytes | None]:
    """The raw topic of a capture's kind, and its key: the call id. What is no capture goes where pieces go."""
    try:
        envelope = _envelope(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return topics.chunks, None
    by_kind = {"request": topics.requests, "response": topics.responses}
    return by_kind.get(envelope.kind, topics.chunks), envelope.call_id.encode() or None
