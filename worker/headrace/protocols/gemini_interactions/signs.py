"""The last event of a stream, told on raw bytes without folding.

Arguments and results are JSON objects of the user's, which may hold an ``event_type`` too: a match counts only at
the top of an event. Lines of event stream text cannot come from content: JSON text has no line breaks of its own.
"""

from __future__ import annotations

import re

from headrace.errors import FramingError
from headrace.json_text import loads
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE

LAST_TYPES = frozenset({"interaction.completed", "interaction.complete", "interaction.cancelled", "error"})
TERMINATORS = frozenset({"[DONE]", "done"})

_TYPES = rb"(?:interaction\.complete(?:d)?|interaction\.cancelled|error)"
_LAST = re.compile(rb'"event_type"\s*:\s*"' + _TYPES + rb'"')
_EVENT_LINE = re.compile(rb"(?:\A|[\r\n])event:[ \t]*(?:" + _TYPES + rb"|done)[ \t]*[\r\n]")
_DONE_LINE = re.compile(rb"(?:\A|[\r\n])data:[ \t]*\[DONE\][ \t]*(?:[\r\n]|\Z)")
#: The end of a line whose beginning an earlier slice had.
_LAST_OF_LINE = re.compile(rb'\A[^\r\n]*"event_type"\s*:\s*"' + _TYPES + rb'"\}[ \t]*[\r\n]')
_LINE = re.compile(rb"[^\r\n]+")
_BARE_TERMINATORS = frozenset({b"[DONE]", b'"[DONE]"', b'"done"'})


def sign(payload: bytes) -> int:
    """SIGN_HARD when the bytes hold the last event, else SIGN_NONE; this protocol has no trailers."""
    is_event = payload[:1] == b"{" and payload[-1:] == b"}"
    # Looking for words costs a tenth of searching for the pattern, and most events have none. (By find: ``in`` first
    # takes the bytes for a number, which costs more than the search.)
    if (payload.find(b"interaction.c") >= 0 or payload.find(b'"error"') >= 0) and _LAST.search(payload):
        if _is_last(payload) or _LAST_OF_LINE.match(payload):
            return SIGN_HARD
        if any(_is_last(line) for line in _LINE.findall(payload) if _LAST.search(line)):
            return SIGN_HARD
    if is_event:
        return SIGN_NONE
    if b"event:" in payload and _EVENT_LINE.search(payload):
        return SIGN_HARD
    if b"[DONE]" in payload and _DONE_LINE.search(payload):
        return SIGN_HARD
    return SIGN_HARD if len(payload) < 16 and payload.strip() in _BARE_TERMINATORS else SIGN_NONE


def _is_last(line: bytes) -> bool:
    try:
        event = loads(line.removeprefix(b"data:"))
    except FramingError:
        return False
    kind = event.get("event_type") if type(event) is dict else None
    return type(kind) is str and kind in LAST_TYPES
