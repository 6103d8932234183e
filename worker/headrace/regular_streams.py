"""Event streams as providers write them -> their values, stretches of events as such (see `stretches`).

Of what is in any way odd (compressed, cut off, an event that is no JSON) nothing is told here: `capture.framing` reads
it, event by event.
"""

from __future__ import annotations

from headrace.capture.compression import DEFAULT_MAX_BYTES
from headrace.capture.json_split import DONE
from headrace.capture.sse import split_regular
from headrace.errors import FramingError
from headrace.json_text import Json
from headrace.protocols.stretches import Stretch, read

_STARTS = (b"data: ", b"event: ")


def values_of(body: bytes) -> list[Json | Stretch] | None:
    """What `framing` has as the values of a body, in order; None where it must be asked."""
    if not body.startswith(_STARTS) or len(body) > DEFAULT_MAX_BYTES:
        return None
    payloads = [data for data, _ in split_regular(body) or ()]
    end = ["[DONE]"] if payloads and payloads[-1] == DONE else []
    try:
        return [*read(payloads[: len(payloads) - len(end)]), *end] or None
    except FramingError:
        return None
