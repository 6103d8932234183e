"""The last event of a stream, told from raw bytes: `message_stop`, or an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from headrace.errors import FramingError
from headrace.json_text import Json, loads
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE

#: How nearly all events begin, and none that is the last.
_DELTA = (b'{"type":"content_block_delta"', b'{"type": "content_block_delta"')
#: Cheap first look: without one of these there is no last event in the bytes.
_STOP, _ERROR = b'"message_stop"', b'"error"'
_LF: Final = 10
_CR: Final = 13
_LAST = frozenset(["message_stop", "error"])
#: Inside a JSON string every quote is escaped, so content never looks like this.
_FIRST_KEY = re.compile(rb'\{\s*"type"\s*:\s*"(?:message_stop|error)"')
_DATA = re.compile(rb"^data:[ \t]*(.*)$", re.MULTILINE)


def sign(payload: bytes) -> int:
    """SIGN_HARD when the bytes (one JSON event, or a slice of the SSE text) hold the last event, else SIGN_NONE.

    A whole event is judged by its own type, never by what it holds. A slice may cut an event: then the event's
    first key decides.
    """
    if payload.startswith(_DELTA) and _LF not in payload and _CR not in payload:
        return SIGN_NONE
    if not _may_end(payload):
        return SIGN_NONE
    lines = _DATA.findall(payload.replace(b"\r", b"\n"))
    if not lines:
        return SIGN_HARD if _ends(payload, _FIRST_KEY.search) else SIGN_NONE
    return SIGN_HARD if any(_ends(line, _FIRST_KEY.match) for line in lines) else SIGN_NONE


def _may_end(text: bytes) -> bool:
    # find, for ``in`` first takes the bytes for a number, which costs more than the search.
    return text.find(_STOP) >= 0 or text.find(_ERROR) >= 0


def _ends(line: bytes, first_key: Callable[[bytes], re.Match[bytes] | None]) -> bool:
    if not _may_end(line):
        return False
    try:
        event: Json = loads(line)
    except FramingError:
        return first_key(line) is not None
    if type(event) is not dict:
        return False
    kind = event.get("type")
    return kind in _LAST if type(kind) is str else "error" in event
