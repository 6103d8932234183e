"""Server-sent events: bytes of a stream -> events, as the WHATWG event-stream grammar says.

A reader that is fed slices of any size and gives back the events they complete. CR, LF and CRLF are each one
line end, also when a CRLF is cut between two slices; a UTF-8 character may be cut anywhere because nothing
here decodes data. Two things go beyond the standard, because a capture must not lose what arrived:

- an event that the end of the stream leaves without its blank line is still given, marked ``unterminated``;
- lines whose field name the standard does not know (Gemini sends a bare ``{"error": ...}`` over several lines in
  the middle of a stream) are given as ``stray`` events when asked for; a standard reader drops them.

A line is looked at once: the unfinished one is kept as a list of slices and joined when its end arrives.
"""

from __future__ import annotations

import msgspec

# Bytes as numbers: ``in`` first takes bytes for a number, and what it does when they are none costs more than all.
_NUL, _LF, _CR = 0, 10, 13
_BOM = b"\xef\xbb\xbf"
_FIELDS = frozenset({b"data", b"event", b"id", b"retry", b""})


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event.

    data: the data lines joined by LF, undecoded. event: the event name; None where the stream gave none.
    id: the last event id the stream has given so far. unterminated: the stream ended before the blank line.
    stray: ``data`` is not event data but lines that are no event-stream lines at all.
    """

    data: bytes
    event: str | None = None
    id: str | None = None
    unterminated: bool = False
    stray: bool = False


class EventStream:
    """An incremental event-stream reader: ``feed`` slices, then ``close``.

    keep_stray: also give lines that the standard ignores, as stray events, in their place.
    """

    def __init__(self, *, keep_stray: bool = False) -> None:
        self.retry: int | None = None  # milliseconds, as the stream last said
        self._keep_stray = keep_stray
        self._unfinished: list[bytes] = []
        self._after_cr = False
        self._first_line = True
        self._data: list[bytes] = []
        self._event: str | None = None
        self._id: str | None = None
        self._stray: list[bytes] = []
        self._events: list[Event] = []

    def feed(self, data: bytes) -> list[Event]:
        """Take the next slice; gives the events it completes."""
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":
                data = data[1:]
        if not data:
            return []
        lines = data.splitlines()  # of bytes: splits at CR, LF and CRLF, nothing else
        self._after_cr = data.endswith(b"\r")
        rest = None if data.endswith((b"\n", b"\r")) else lines.pop()
        if lines and self._unfinished:
            lines[0] = b"".join((*self._unfinished, lines[0]))
            self._unfinished.clear()
        for line in lines:
            self._take_line(line)
        if rest is not None:
            self._unfinished.append(rest)
        return self._taken()

    def close(self) -> list[Event]:
        """The stream has ended; gives what was left open."""
        if self._unfinished:
            self._take_line(b"".join(self._unfinished))
            self._unfinished.clear()
        self._flush_stray(unterminated=True)
        self._dispatch(unterminated=True)
        return self._taken()

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _take_line(self, line: bytes) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._stray:
                self._stray.append(line)
            self._dispatch()
            return
        name, _, value = line.partition(b":")
        if name not in _FIELDS:
            if self._keep_stray:
                self._stray.append(line)
            return
        self._flush_stray()
        self._take_field(name, value[1:] if value[:1] == b" " else value)

    def _take_field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = _text(value)
        elif name == b"id":
            if _NUL not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value)

    def _dispatch(self, *, unterminated: bool = False) -> None:
        if self._data:
            self._events.append(Event(b"\n".join(self._data), self._event, self._id, unterminated))
            self._data.clear()
        self._event = None

    def _flush_stray(self, *, unterminated: bool = False) -> None:
        if self._stray:
            text = b"\n".join(self._stray).rstrip(b"\n")
            self._events.append(Event(text, None, self._id, unterminated, True))
            self._stray.clear()


def parse_events(body: bytes, *, keep_stray: bool = False) -> list[Event]:
    """All events of a whole body, the last one also when it lacks its blank line."""
    regular = split_regular(body)
    if regular is not None:
        return [Event(data, name) for data, name in regular]
    stream = EventStream(keep_stray=keep_stray)
    return stream.feed(body) + stream.close()


def split_regular(body: bytes) -> list[tuple[bytes, str | None]] | None:
    """(data, event name) of a stream as the providers write it, several times faster than line by line.

    Regular is: every event is one ``data: `` line, or an ``event: `` line and one ``data: `` line, and the body
    ends with a blank line. Comments between events may be there. None: read it the long way.
    """
    body = body.removeprefix(_BOM)
    if _CR in body:
        body = body.replace(b"\r\n", b"\n")
    if _CR in body or not body.endswith(b"\n\n"):
        return None
    body = body[:-2]
    line_ends = body.count(b"\n")
    if body.startswith(b"data: "):
        events = body[6:].split(b"\n\ndata: ")
        if line_ends == 2 * len(events) - 2:  # so no event has a line end within
            return [(data, None) for data in events]
    elif body.startswith(b"event: "):
        blocks = body[7:].split(b"\n\nevent: ")
        if line_ends == 3 * len(blocks) - 2:  # so each has exactly one
            return _split_named(blocks)
    return _split_blocks(body.split(b"\n\n"))


def _split_named(blocks: list[bytes]) -> list[tuple[bytes, str | None]] | None:
    events: list[tuple[bytes, str | None]] = []
    names: dict[bytes, str | None] = {}
    for block in blocks:
        raw_name, found, data = block.partition(b"\ndata: ")
        if not found:
            return None
        if raw_name not in names:
            names[raw_name] = _text(raw_name)
        events.append((data, names[raw_name]))
    return events


def _split_blocks(blocks: list[bytes]) -> list[tuple[bytes, str | None]] | None:
    events: list[tuple[bytes, str | None]] = []
    for block in blocks:
        name = None
        if block.startswith(b"event: "):
            head, _, block = block.partition(b"\n")
            name = _text(head[7:])
        if _LF in block:
            return None
        if block.startswith(b"data:"):
            events.append((block[6:] if block.startswith(b"data: ") else block[5:], name))
        elif not block.startswith(b":") and block:
            return None
    return events


def _text(name: bytes) -> str | None:
    return name.decode("utf-8", "replace") or None
