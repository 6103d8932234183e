"""Does a piece of a stream hold its last event? Told from raw bytes, because every piece is looked at.

Content cannot fool it: quotes inside JSON strings are escaped. Nested objects could (a moderation result may be
of type "error"), so a hit counts only where the key is one of the event's own: first in it, last in it, behind
scalars only, or found by parsing. An `event:` line of SSE cannot be content: strings hold no raw line breaks.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import HeadraceError
from headrace.json_text import Json, loads
from headrace.protocols.openai_responses import events as ev
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE

_NAMES = b"|".join(re.escape(name.encode()) for name in (*ev.TERMINAL, ev.ERROR))
_TYPE = rb'"type"\s*:\s*"(?:' + _NAMES + rb')"'
_TYPE_ANYWHERE = re.compile(_TYPE)

#: How most events begin, and none that is the last.
_DELTAS = tuple(
    f'{{"type":{space}"response.{text}.delta"'.encode()
    for text in ("output_text", "function_call_arguments", "reasoning_summary_text", "reasoning_text")
    for space in ("", " ")
)
_LF: Final = 10
_CR: Final = 13

_EVENT_NAME = re.compile(rb"event:[ \t]*(?:" + _NAMES + rb")[ \t]*(?=([\r\n])|$)")
_CANDIDATE = re.compile(_TYPE + rb'|"error"\s*:\s*[{"]')
_SCALARS = rb'(?:"\w+"\s*:\s*(?:-?[\d.]+|null|true|false|"[^"\\]*")\s*,\s*)*'
_OWN_KEY = rb"\{\s*" + _SCALARS + rb"(?:" + _TYPE + rb'|"error"\s*:\s*[{"])'
_EVENT_STARTS = re.compile(rb"\s*" + _OWN_KEY)
_LINE_STARTS = re.compile(rb"(?:^|[\r\n])(?:data:[ \t]*)?" + _OWN_KEY)
_LINE_ENDS = re.compile(_TYPE + rb"\s*\}[ \t]*[\r\n]")
_LINE = re.compile(rb"^(?:data:[ \t]*)?(\{.*\})[ \t\r]*$", re.MULTILINE)


def sign(payload: bytes) -> int:
    """SIGN_HARD when the bytes (one JSON event, or a slice of the SSE body) hold a terminal event or an error."""
    if payload.startswith(_DELTAS) and _LF not in payload and _CR not in payload:
        return SIGN_NONE
    if payload[:1] != b"{" and _has_event_line(payload):
        return SIGN_HARD
    if _TYPE_ANYWHERE.search(payload) is None and payload.find(b"error") < 0:
        # Nearly all pieces end here.
        return SIGN_NONE
    if not _CANDIDATE.search(payload):
        return SIGN_NONE
    return SIGN_HARD if _EVENT_STARTS.match(payload) or _is_last(payload) or _has_last_line(payload) else SIGN_NONE


def _has_event_line(payload: bytes) -> bool:
    """Whether an `event:` line names a terminal event. A line may be cut at one end of the slice, not at both."""
    for match in _EVENT_NAME.finditer(payload):
        start = match.start()
        if match[1] if start == 0 else payload[start - 1] in b"\r\n":
            return True
    return False


def _has_last_line(payload: bytes) -> bool:
    """Whether a line of SSE text, whole or cut, is a terminal event. One JSON event, however printed, is no lines."""
    if _event(payload) is not None:
        return False
    if _LINE_STARTS.search(payload) or _LINE_ENDS.search(payload):
        return True
    return any(_is_last(match[1]) for match in _LINE.finditer(payload))


def _is_last(text: bytes) -> bool:
    event = _event(text)
    if event is None:
        return False
    kind = event.get("type")
    return kind in ev.TERMINAL or kind == ev.ERROR or (kind is None and bool(event.get("error")))


def _event(text: bytes) -> dict[str, Json] | None:
    """The one JSON object that a text is; None for anything else."""
    if text.lstrip()[:1] != b"{":
        return None
    try:
        value = loads(text)
    except HeadraceError:
        return None
    return value if type(value) is dict else None
