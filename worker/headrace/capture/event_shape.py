"""How the messages of one call's events are written: all that a gateway repeats in each of them, byte by byte.

Of a call's messages mostly only the number, the time and the body differ. Where that is known of a call, the next
message is compared with what it repeats, which takes a fraction of the time that reading it takes. Any message that is
written otherwise is read in full.
"""

from __future__ import annotations

from typing import Final, final

import msgspec

from headrace.capture.fields import micros, micros_in, number_at
from headrace.capture.json_form import read_event
from headrace.capture.json_shapes import Event
from headrace.capture.plain_events import PlainEvents
from headrace.errors import CaptureError

_SEQ: Final = b'"seq":'
_TIME: Final = b'"captured_at":'
#: What stands in the places of a shape while it is tried.
_TRIED_TIME: Final = b"2001-02-03T04:05:06.789012Z"
_TRIED_BODY: Final = b'{"tried":1}'
_NO_TIME: Final = -1
#: A longer number is read in full.
_MOST_DIGITS: Final = 15
_ZERO: Final = 48
_SPACE: Final = 32
_QUOTE: Final = 34
_OPENED: Final = 123
_CLOSED: Final = 125


def start_of(value: bytes) -> bytes | None:
    """What comes before a message's number, by which its shape is looked up; None when it has none."""
    at = value.find(_SEQ)
    if at < 0:
        return None
    at += len(_SEQ)
    return value[: at + 1] if value[at : at + 1] == b" " else value[:at]


@final
class EventShape:
    """Call it with messages that begin with ``start``."""

    __slots__ = ("_before_body", "_before_time", "_events", "_time_size", "start")

    def __init__(self, start: bytes, before_time: bytes, time_size: int, before_body: bytes) -> None:
        """before_time: after the number. time_size: of its text; _NO_TIME where there is none. Then before_body."""
        self.start = start
        self._before_time = before_time
        self._time_size = time_size
        self._before_body = before_body
        self._events = PlainEvents()

    @property
    def size(self) -> int:
        """Bytes of what the messages repeat."""
        return len(self.start) + len(self._before_time) + len(self._before_body)

    @classmethod
    def of(cls, value: bytes, event: Event) -> EventShape | None:
        """The shape of a message that was read; None where it has none, as when something follows the body."""
        body_at = len(value) - 1 - len(event.payload)
        if event.seq is None or body_at < 0 or value[body_at:] != event.payload + b"}":
            return None
        head = value[:body_at]
        start = start_of(head)
        digits = b"%d" % event.seq
        if start is None or not head.startswith(digits, len(start)):
            return None
        shape = _shape(start, head, len(start) + len(digits))
        return shape if shape is not None and shape._reads_like(event) else None

    def _reads_like(self, event: Event) -> bool:
        """Whether what stands in the places is what the reader takes from there, and all else is as in the event."""
        number = 7 if event.seq != 7 else 8
        time = b"" if self._time_size == _NO_TIME else _TRIED_TIME
        value = self.start + b"%d" % number + self._before_time + time + self._before_body + _TRIED_BODY + b"}"
        tried = read_event(value)
        return (
            tried is not None
            and tried.seq == number
            and tried.captured_at == (micros(time.decode()) if time else None)
            and tried.payload == _TRIED_BODY
            and tried.direction == event.direction
            and bool(tried.said == event.said)
        )

    def read(self, value: bytes) -> tuple[int, int | None, bytes] | None:
        """(seq, captured_at, payload) of another message; None for one that has not this shape."""
        first = len(self.start)
        end = len(value) - 1
        seq, at = number_at(value, first, end)
        size = at - first
        if size == 0 or size > _MOST_DIGITS or (size > 1 and value[first] == _ZERO):
            return None
        if not value.startswith(self._before_time, at):
            return None
        at += len(self._before_time)
        time_at = at
        if self._time_size != _NO_TIME:
            at += self._time_size
        if not value.startswith(self._before_body, at):
            return None
        body_at = at + len(self._before_body)
        if body_at + 1 >= end or value[end] != _CLOSED or value[body_at] != _OPENED or value[end - 1] != _CLOSED:
            return None
        try:
            captured_at = None
            if self._time_size != _NO_TIME:
                captured_at = micros_in(value, time_at, self._time_size)
                if captured_at is None:
                    captured_at = micros(value[time_at:at].decode())
            # This also sees to it that it is one JSON object.
            return seq, captured_at, self._events.redacted(value[body_at:end])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, CaptureError):
            return None


def _shape(start: bytes, head: bytes, at: int) -> EventShape | None:
    """head: a message as far as its body. at: past its number."""
    time_at = head.find(_TIME, at)
    if time_at < 0:
        return EventShape(start, head[at:], _NO_TIME, b"")
    time_at += len(_TIME)
    if head[time_at] == _SPACE:
        time_at += 1
    if head[time_at] != _QUOTE:
        return None
    time_at += 1
    end = head.find(b'"', time_at)
    return EventShape(start, head[at:time_at], end - time_at, head[end:])
