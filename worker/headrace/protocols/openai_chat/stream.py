"""Streams (catalogue, section 2.4): signs of the end, SSE text; folding and unfolding are beside.

The stream is SSE without event names. It ends with ``data: [DONE]``. Before that comes, when asked for, a chunk with
usage and no choices; a finish reason comes before both, and only trailers follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from headrace.errors import HeadraceError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_chat import errors
from headrace.protocols.openai_chat.folding import DONE, fold
from headrace.protocols.openai_chat.unfolding import unfold
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT

__all__ = ["fold", "sign", "sse", "unfold"]

#: The terminator on a line of its own: JSON strings hold no raw line ends, so content cannot look like it.
_TERMINATOR = re.compile(rb"(?:^|[\r\n])(?:data: ?)?\"?\[DONE\]\"?[ \t]*(?:$|[\r\n])")


class _PlainChoice(msgspec.Struct, gc=False):
    finish_reason: None = None


class _Plain(msgspec.Struct, gc=False):
    """A chunk without a sign; reading one as this fails at the first that it has."""

    choices: list[_PlainChoice]
    usage: None = None
    error: None = None
    error_type: None = None
    error_message: None = None
    error_code: None = None
    detail: None = None
    message: None = None
    x_groq: None = None


_plain = msgspec.json.Decoder(_Plain).decode
#: What an event with a sign must hold. Quotes inside JSON strings are escaped, so content cannot look like it.
_CANDIDATE = re.compile(
    rb'"(?:finish_reason|usage|error|error_type|error_message|error_code|detail|message)"\s*:\s*["{\[]'
)
_FINISH = re.compile(rb'"finish_reason"\s*:\s*"[^"]')
_USAGE_ALONE = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_USAGE = re.compile(rb'"usage"\s*:\s*\{')
_ERROR = re.compile(rb'[{,]\s*"error(?:_type|_message|_code)?"\s*:\s*["{]')


def sign(payload: bytes) -> int:
    """The sign in one JSON event or in a slice of SSE text.

    An event that parses is judged by its fields; one that is cut (or elided in its middle) by what is seen of it.
    """
    if payload[:1] == b"{":
        try:
            _plain(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it has a sign, or some other form
        else:
            return SIGN_NONE
    if payload.find(b"[DONE]") >= 0 and _TERMINATOR.search(payload):
        return SIGN_HARD
    if not _CANDIDATE.search(payload):
        return SIGN_NONE
    return max((_sign_of_event(data) for data in _data(payload)), default=SIGN_NONE)


def _data(payload: bytes) -> Iterator[bytes]:
    """The JSON texts in a payload: itself, or the data lines of a slice of SSE text."""
    if payload.lstrip()[:1] == b"{":
        yield payload
        return
    for line in re.split(rb"[\r\n]+", payload):
        yield line[5:] if line.startswith(b"data:") else line


def _sign_of_event(data: bytes) -> int:
    if not _CANDIDATE.search(data):
        return SIGN_NONE
    try:
        event = loads(data)
    except HeadraceError:
        return _sign_of_text(data)
    if type(event) is not dict:
        return SIGN_NONE
    if errors.form_of(event) is not None:
        return SIGN_HARD
    choices = event.get("choices")
    if type(choices) is not list:
        return SIGN_NONE
    if not choices:
        # Not the end: a moderation chunk may still follow.
        return SIGN_SOFT if type(event.get("usage")) is dict else SIGN_NONE
    return SIGN_SOFT if any(type(choice) is dict and choice.get("finish_reason") for choice in choices) else SIGN_NONE


def _sign_of_text(data: bytes) -> int:
    if _ERROR.search(data):
        return SIGN_HARD
    usage_alone = _USAGE_ALONE.search(data) and _USAGE.search(data)
    return SIGN_SOFT if usage_alone or _FINISH.search(data) else SIGN_NONE


def sse(events: Sequence[Json]) -> str:
    """The events as SSE text; the terminator is the event that is its own text."""
    return "".join(f"data: {event if event == DONE else dumps(event)}\n\n" for event in events)
