"""Events without settings, and those that differ from them in one text: these need not be looked through for secrets.

Why this is exact. What lies between the quotes of a string is another text without quotes, backslashes and control
characters: the event is the same JSON but for this string. The string is a value, never a name, so there is no member
that was not there, and without one that may hold settings there is no secret (`secret_fields`).
"""

from __future__ import annotations

from typing import Final, final

from headrace.capture.redaction import redact_settings
from headrace.capture.secret_fields import settings_in

#: So many events in a row are compared with the one before without telling of the next.
_MOST_TRIES: Final = 16
#: A longer one is mostly the only one of its kind.
_LONGEST: Final = 4096
_SPACE: Final = 32
_COLON: Final = 58


@final
class PlainEvents:
    """Redacts the events of one call."""

    __slots__ = ("_after", "_before", "_last", "_tries")

    def __init__(self) -> None:
        #: An event around the text in which others differ; nothing is like nothing.
        self._before = self._after = b""
        #: An event without settings, to compare the next with.
        self._last = b""
        self._tries = 0

    def redacted(self, event: bytes) -> bytes:
        """`redact_event`: the event when it holds no secrets; raises msgspec's DecodeError for no JSON object."""
        if self._is_like(event):
            self._tries = 0
            return event
        settings = settings_in(event)
        if settings is not None:
            return redact_settings(event, settings)
        if self._tries < _MOST_TRIES and len(event) <= _LONGEST:
            self._tries += 1
            self._learn(event)
        return event

    def _is_like(self, event: bytes) -> bool:
        start, end = len(self._before), len(event) - len(self._after)
        if start == 0 or end < start or not event.startswith(self._before) or not event.endswith(self._after):
            return False
        text = event[start:end]
        # By find: ``in`` first takes the bytes for a number, which costs more than the search.
        if text.find(b'"') >= 0 or text.find(b"\\") >= 0:
            return False
        try:
            return text.decode().isprintable()
        except UnicodeDecodeError:
            return False

    def _learn(self, event: bytes) -> None:
        last, self._last = self._last, event
        start, end = _text_at(event, _same(last, event))
        if start == 0:
            return
        before, after = event[:start], event[end:]
        is_like = len(last) >= start + len(after) and last.startswith(before) and last.endswith(after)
        # With another text it is JSON only if this lies in a string: after one it could not.
        if is_like and _is_plain(before + b"text" + after):
            self._before, self._after = before, after


def _same(one: bytes, other: bytes) -> int:
    """How many bytes at the start of two texts are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(one[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _text_at(event: bytes, at: int) -> tuple[int, int]:
    """Start and end of the text before whose end ``at`` is, if it is a member's value and has no escapes; else 0, 0."""
    start = event.rfind(b'"', 0, at) + 1
    end = event.find(b'"', start)
    colon = start - 2
    if colon > 0 and event[colon] == _SPACE:
        colon -= 1
    if colon < 1 or event[colon] != _COLON or end < 0 or event.find(b"\\", start, end) >= 0:
        return 0, 0
    return start, end


def _is_plain(event: bytes) -> bool:
    try:
        return settings_in(event) is None
    except (ValueError, RecursionError):
        return False
