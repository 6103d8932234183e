"""The bytes of a body -> its JSON events, whatever form the body has.

The form is told by the content alone; headers about it are often wrong by the time a gateway logs them:

    json      one JSON value                       array    a JSON array of events (Gemini without alt=sse)
    sse       an event stream                      ndjson   one JSON value a line
    values    JSON values one after another        mixed    an event stream after JSON values
    empty     nothing but white space

Nothing that arrived is lost. What is complete becomes an event; an event that is no JSON is kept as its text
with the reason; what the end of the body cut off is the ``remainder``. Only a body in which nothing at all can
be read raises FramingError.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from headrace.capture.json_split import DONE, JsonSplitter
from headrace.capture.sse import Event, parse_events, split_regular
from headrace.errors import FramingError
from headrace.json_text import Json, loads

_BOM = b"\xef\xbb\xbf"
#: Google puts this before JSON so that a script tag cannot run it.
_GOOGLE_PREFIX = b")]}'"
_SSE_START = re.compile(rb"(?:data|event|id|retry)(?:[:\r\n]|\Z)|:")
_SSE_LINE = re.compile(rb"^(?:data|event|id|retry):", re.MULTILINE)
_FIELD_LINE = re.compile(rb"(?:data|event|id|retry)?:")
#: A line in more pieces than this was cut by size, not by lines; looking further would cost quadratic time.
_MAX_CUTS = 4
_OBJECT_LINE = re.compile(rb"^[{\[]", re.MULTILINE)

_decode = msgspec.json.Decoder().decode
_decode_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


class FramedEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a body.

    data: its bytes as they came. value: the parsed JSON; text where it is no JSON (``[DONE]``).
    name: the event-stream name. error: why it is no JSON; None for JSON and for ``[DONE]``.
    """

    data: bytes
    value: Json
    name: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Framed:
    """A body, cut into events.

    events: in order. form: see above. remainder: what the end of the body left incomplete. truncated: the body
    (or its compression) ends before its end.
    """

    events: list[FramedEvent] = field(default_factory=list)
    form: str = "empty"
    remainder: bytes = b""
    truncated: bool = False

    @property
    def values(self) -> list[Json]:
        """What a stream folder takes: JSON values, and text for events that are none."""
        return [event.value for event in self.events]

    @property
    def bad(self) -> list[FramedEvent]:
        """Events that should have been JSON and are not."""
        return [event for event in self.events if event.error is not None]


def frame(body: bytes) -> Framed:
    """Cut a whole, uncompressed body; raises FramingError (`bad_body`) when nothing in it can be read."""
    text = body.removeprefix(_BOM).lstrip()
    if text.startswith(_GOOGLE_PREFIX):
        text = text[len(_GOOGLE_PREFIX) :].lstrip()
    if not text:
        return Framed()
    framed = _frame_events(text) if _SSE_START.match(text) else _frame_json(text)
    if framed.form == "json" and isinstance(framed.events[0].value, str):
        return _frame_escaped(framed)
    if not framed.events or (framed.form != "sse" and all(event.error for event in framed.events)):
        return _refuse_unreadable(framed)
    return framed


def _frame_escaped(framed: Framed) -> Framed:
    """A body that was written as a JSON string, perhaps more than once."""
    inner = framed.events[0].value.encode("utf-8", "surrogatepass")
    try:
        return frame(inner) if inner.strip() else framed
    except (FramingError, RecursionError):
        return framed


def frame_pieces(pieces: Sequence[bytes]) -> Framed:
    """Cut a body that comes in slices, or in events a producer logged one by one."""
    return frame(join_pieces(pieces))


def join_pieces(pieces: Iterable[bytes]) -> bytes:
    """The body that slices were cut from.

    A slice may end anywhere, so slices are simply joined. But some producers log a stream line by line and strip
    the line ends; there a line end is put back: where a whole event-stream line has just ended and the next
    piece begins with a field name. A cut in the middle of a line never looks like that.
    """
    joined: list[bytes] = []
    line: list[bytes] = []  # the pieces of the line that is open
    for piece in pieces:
        if line and _FIELD_LINE.match(piece):
            line_end = _lost_line_end(line)
            if line_end:
                joined.append(line_end)
                line.clear()
        joined.append(piece)
        tail = piece[max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1 :]
        if len(tail) < len(piece):
            line.clear()
        if tail:
            line.append(tail)
    return b"".join(joined)


def _lost_line_end(line: list[bytes]) -> bytes:
    """What a producer stripped after a line; nothing when the line is not whole."""
    if len(line) > _MAX_CUTS:
        return b""
    text = b"".join(line)
    if text.startswith(b"data:"):
        data = text[5:].strip()
        return b"\n\n" if data == DONE or _is_json_object(data) else b""
    return b"\n" if _FIELD_LINE.match(text) else b""


def _is_json_object(text: bytes) -> bool:
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return False
    try:
        loads(text)
    except FramingError:
        return False
    return True


def _refuse_unreadable(framed: Framed) -> Framed:
    """An event stream of comments alone and an empty array are empty; the rest holds nothing to read."""
    if not framed.events and not framed.remainder and not framed.truncated:
        return framed
    reason = next((event.error for event in framed.events if event.error), "no complete JSON value in it")
    raise FramingError(
        f"the body is neither JSON nor an event stream: {reason}",
        fix="capture the body of the model call, whole and uncompressed or with its own compression",
    )


# --- event streams ---------------------------------------------------------------------------------------------


def _frame_events(text: bytes) -> Framed:
    framed = Framed(form="sse")
    regular = split_regular(text)
    if regular is not None:
        framed.events = _all_json(regular) or [
            _framed(data, name) for data, name in regular if data.strip() or name == "error"
        ]
        return framed
    parsed = parse_events(text, keep_stray=True)
    for event in parsed:
        if event.stray:
            _take_stray(framed, event)
        elif event.data.strip() or event.event == "error":
            framed.events.append(_framed(event.data, event.event))
    _cut_off_tail(framed, unterminated=bool(parsed) and parsed[-1].unterminated)
    return framed


def _all_json(regular: list[tuple[bytes, str | None]]) -> list[FramedEvent] | None:
    """The events when every one is JSON, perhaps with the end marker last; None otherwise."""
    end = len(regular) - 1 if regular and regular[-1][0] == DONE else len(regular)
    try:
        events = [FramedEvent(data, _decode(data), name) for data, name in regular[:end]]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    events.extend(FramedEvent(data, "[DONE]", name) for data, name in regular[end:])
    return events


def _take_stray(framed: Framed, event: Event) -> None:
    """Lines that are no event-stream lines: JSON of their own, or the rest of a broken `data` value."""
    last = framed.events[-1] if framed.events else None
    if last is not None and last.error is not None:
        whole = _framed(last.data + b"\n" + event.data, last.name)
        if whole.error is None:
            framed.events[-1] = whole
            return
    within = _frame_json(event.data)
    framed.events.extend(within.events)
    if within.remainder:
        framed.events.append(_framed(within.remainder))


def _cut_off_tail(framed: Framed, *, unterminated: bool) -> None:
    """What the end of the body cut in two is no event."""
    if unterminated and framed.events and framed.events[-1].error is not None:
        framed.remainder = framed.events.pop().data
        framed.truncated = True


def _framed(data: bytes, name: str | None = None) -> FramedEvent:
    if data.strip() == DONE:
        return FramedEvent(data, "[DONE]", name)
    if not data.strip():
        return FramedEvent(data, "", name, "an event without data")
    try:
        return FramedEvent(data, loads(data), name)
    except FramingError as error:
        return FramedEvent(data, data.decode("utf-8", "replace"), name, error.message)


# --- JSON ------------------------------------------------------------------------------------------------------


def _frame_json(text: bytes) -> Framed:
    whole = _frame_whole(text)
    if whole is not None:
        return whole
    # A JSON string holds no raw line end, so a line with a field name is outside of any JSON.
    found = _SSE_LINE.search(text)
    if found is not None:
        return _frame_before_events(text[: found.start()].strip(), text[found.start() :])
    first, separator, rest = text.partition(b"\n")
    one_a_line = separator and rest.strip() and _framed(first).error is None
    return _frame_lines(text) if one_a_line else _frame_values(text)


def _frame_before_events(head: bytes, stream: bytes) -> Framed:
    """An event stream after JSON, or after the tail of an event whose start the capture did not see."""
    before = _frame_json(head)
    framed = _frame_events(stream)
    if any(event.error is None for event in before.events):
        framed.form = "mixed"
    if before.remainder:
        before.events.append(_framed(before.remainder))
    framed.events = before.events + framed.events
    return framed


def _frame_whole(text: bytes) -> Framed | None:
    """A body that is one JSON value; the elements of an array are its events."""
    try:
        if not text.startswith(b"["):
            return Framed([FramedEvent(text, loads(text))], "json")
        elements = [bytes(element) for element in _decode_elements(text)]
        return Framed([_framed(element) for element in elements], "array")
    except (FramingError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _frame_lines(text: bytes) -> Framed:
    """One value a line. Lines that are none are read together, as values over several lines."""
    framed = Framed(form="ndjson")
    block: list[bytes] = []
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        event = _framed(line.rstrip(b"\r"))
        if event.error is not None or (block and not line.startswith((b"{", b"["))):
            block.append(line)
            continue
        _take_block(framed, block)
        _take_value(framed, event)
    _take_block(framed, block)
    _cut_off_tail(framed, unterminated=not text.endswith(b"\n"))
    return framed


def _take_block(framed: Framed, block: list[bytes]) -> None:
    if block:
        within = _frame_values(b"\n".join(block))
        framed.events.extend(within.events)
        if within.remainder:
            framed.events.append(_framed(within.remainder))
        block.clear()


def _take_value(framed: Framed, event: FramedEvent) -> None:
    """Add a value; an array of events is unwrapped."""
    whole = _frame_whole(event.data.strip()) if isinstance(event.value, list) else None
    framed.events.extend(whole.events if whole else [event])


def _frame_values(text: bytes) -> Framed:
    """Values one after another, or an array that was cut off: told apart by the lexer, linear in the text."""
    framed = Framed(form="values")
    while text:
        splitter = JsonSplitter()
        values = splitter.feed(text) + splitter.close()
        framed.events.extend(_framed(value) for value in values)
        if splitter.unwrapped:
            framed.form = "array"
        if not splitter.broken:
            framed.remainder = splitter.remainder
            framed.truncated = bool(framed.remainder) or splitter.open_array
            break
        text = _skip_broken(framed, splitter)
    return framed


def _skip_broken(framed: Framed, splitter: JsonSplitter) -> bytes:
    """Keep what is no JSON as an event of its own; gives the text from the next line on that may be JSON again."""
    text = splitter.remainder
    line_end = text.find(b"\n", splitter.broken_at)
    found = _OBJECT_LINE.search(text, line_end + 1) if line_end >= 0 else None
    if found is None:
        framed.remainder = text
        return b""
    framed.events.append(_framed(text[: found.start()].rstrip()))
    return text[found.start() :]
