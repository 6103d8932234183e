"""Does a piece of a stream hold its last event? Told from raw bytes, because every piece is looked at.

Content cannot fool it: quotes inside JSON strings are escaped. Nested objects could (a moderation result may be
of type "error"), so a hit counts only where the key is one of the event's own: first in it, last in it, behind
scalars only, or found by parsing. An `event:` line of SSE cannot be content: strings hold no raw line breaks.
"""

from __future__ import annotations

import re

from headrace.errors import HeadraceError
from headrace.json_text import loads
from headrace.protocols.openai_responses import events as ev
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE

_NAMES = b"|".join(re.escape(name.encode()) for name in (*ev.TERMINAL, ev.ERROR))
_TYPE = rb'"type"\s*:\s*"(?:' + _NAMES + rb')"'
_TYPE_ANYWHERE = re.compile(_TYPE)

_EVENT_LINE = re.compile(rb"(?:^|[\r\n])event:[ \t]*(?:" + _NAMES + rb")[ \t]*(?:[\r\n]|$)")
_CANDIDATE = re.compile(_TYPE + rb'|"error"\s*:\s*[{"]')
#: The key is the event's own when only scalars of it come before, from the start of the event.
_START = rb"(?:^|[\r\n])[ \t]*(?:data:[ \t]*)?\{\s*"
_SCALARS = rb'(?:"\w+"\s*:\s*(?:-?[\d.]+|null|true|false|"[^"\\]*")\s*,\s*)*'
_FIRST = re.compile(_START + _SCALARS + rb"(?:" + _TYPE + rb'|"error"\s*:\s*[{"])')
#: … or when the event ends behind it: one event is one line.
_LAST = re.compile(_TYPE + rb"\s*\}[ \t]*[\r\n]")
_DATA = re.compile(rb"^(?:data:[ \t]*)?(\{.*\})[ \t\r]*$", re.MULTILINE)


def sign(payload: bytes) -> int:
    """SIGN_HARD when the bytes (one JSON event, or a slice of the SSE body) hold a terminal event or an error."""
    if _TYPE_ANYWHERE.search(payload) is None and b"error" not in payload:
        # Nearly all pieces end here.
        return SIGN_NONE
    if _EVENT_LINE.search(payload):
        return SIGN_HARD
    if not _CANDIDATE.search(payload):
        return SIGN_NONE
    if _FIRST.search(payload) or _LAST.search(payload) or _parsed(payload):
        return SIGN_HARD
    return SIGN_NONE


def _parsed(payload: bytes) -> bool:
    """Whether a whole event in the bytes is terminal."""
    texts = [payload] if payload.lstrip()[:1] == b"{" else [match[1] for match in _DATA.finditer(payload)]
    return any(_is_last(text) for text in texts if _CANDIDATE.search(text))


def _is_last(text: bytes) -> bool:
    try:
        event = loads(text)
    except HeadraceError:
        return False
    if type(event) is not dict:
        return False
    kind = event.get("type")
    return kind in ev.TERMINAL or kind == ev.ERROR or (kind is None and bool(event.get("error")))
