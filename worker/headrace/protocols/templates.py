"""What events of a stream have in common, byte for byte, and reading what they do not.

Why this is exact. A template is the tokens of JSON texts that were parsed, some of them holes. An event matches when
every byte outside the holes is the same (but for white space among its closing brackets) and each hole holds exactly
one JSON token of its kind. What one token says changes the meaning of no other, save a key's, and keys are never
holes; so the event is the template's value with other leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import compress, count, groupby
from operator import itemgetter, ne
from typing import Any, Final

import msgspec

from headrace.json_text import Json, loads

#: Where a value lies in an event: keys, and indices of lists.
Path = tuple[str | int, ...]
#: The values of one hole in several events; raises where one of them is no token of the hole's kind.
Read = Callable[[Sequence[bytes]], list[Any]]

#: A part of an event, and a number in it; 0 where the part is a text.
_Hole = tuple[int, int]
_MOST_HOLES = 8

_STRING = re.compile(rb'"((?:[^"\\]+|\\.)*)"')
_NUMBER = re.compile(rb"(-?\d[\d.eE+-]*)")
_WHOLE_NUMBER = re.compile(rb"0|[1-9]\d*")
_SPACE = b" \t\r\n"
_BACKSLASH: Final = 92
_CLOSING = re.compile(rb"[\]}\s]*")
_texts = msgspec.json.Decoder(list[str]).decode
_text = msgspec.json.Decoder(str).decode
_numbers = msgspec.json.Decoder(list[int]).decode
#: What reading a hole raises.
_REFUSED = (ValueError, msgspec.MsgspecError)
_OPEN: Any = object()


class Frame:
    """Literal bytes around holes, and how each hole is read.

    literals: one more than holes. readers: of the holes. known: the value of each hole that the literals already
    hold, in its place among all holes.
    """

    __slots__ = ("_inner", "_known", "_readers", "_tail", "head", "is_spaced", "literals")

    def __init__(self, literals: list[bytes], readers: list[Read], known: list[Any], *, is_spaced: bool) -> None:
        self.literals = literals
        self.head, *self._inner, self._tail = literals
        self._readers = readers
        self._known = known
        self.is_spaced = is_spaced

    def seems(self, payload: bytes) -> bool:
        """Whether an event begins and ends as it should."""
        return payload.startswith(self.head) and (self.is_spaced or payload.endswith(self._tail))

    def cut(self, window: Sequence[bytes]) -> tuple[int, list[list[Any]]]:
        """How many of these events, from the first on, match, and the values in their holes, hole by hole."""
        if self.is_spaced:
            window = [_closed_up(payload) for payload in window]
        count = self._framed(window)
        while count:
            try:
                return count, self._columns(window[:count])
            except _REFUSED:
                count //= 2
        return 0, []

    def _framed(self, window: Sequence[bytes]) -> int:
        """How many events, from the first on, have this head and tail."""
        head, tail = self.head, self._tail
        shortest, size = len(head) + len(tail), -len(tail)
        # What lies between two texts with the same head has it, too.
        if (
            window
            and min(window).startswith(head)
            and max(window).startswith(head)
            and {payload[size:] for payload in window} == {tail}
            and min(map(len, window)) >= shortest
        ):
            return len(window)
        for at, payload in enumerate(window):
            if not (payload.startswith(head) and payload.endswith(tail) and len(payload) >= shortest):
                return at
        return len(window)

    def _columns(self, window: Sequence[bytes]) -> list[list[Any]]:
        start, stop = len(self.head), -len(self._tail)
        rest: Sequence[bytes] = [payload[start:stop] for payload in window]
        columns: list[list[Any]] = []
        for literal, reader in zip(self._inner, self._readers, strict=False):
            pieces, found, rest = zip(*[piece.partition(literal) for piece in rest], strict=True)
            if found.count(literal) != len(found):
                raise ValueError("another literal")
            columns.append(reader(pieces))
        columns.append(self._readers[-1](rest))
        if len(columns) == len(self._known):
            return columns
        found_values = iter(columns)
        return [next(found_values) if value is _OPEN else [value] * len(window) for value in self._known]

    def narrowed(self, events: Sequence[bytes]) -> Frame | None:
        """This frame with holes filled in which two events say the same; None where that is none or all of them."""
        if len(self._readers) < 2 or len(events) < 2:
            return None
        first, second = (self._pieces(event) for event in events)
        same = [one == other for one, other in zip(first, second, strict=False)]
        if not any(same) or all(same):
            return None
        literals, known = [self.literals[0]], []
        try:
            for piece, literal, reader, fill in zip(first, self.literals[1:], self._readers, same, strict=True):
                known.append(reader([piece])[0] if fill else _OPEN)
                if fill:
                    literals[-1] += piece + literal
                else:
                    literals.append(literal)
        except _REFUSED:
            return None
        readers = [reader for reader, fill in zip(self._readers, same, strict=True) if not fill]
        return Frame(literals, readers, known, is_spaced=self.is_spaced)

    def _pieces(self, event: bytes) -> list[bytes]:
        """The bytes in the holes of one event; none where it does not match."""
        event = _closed_up(event) if self.is_spaced else event
        if self._framed([event]) == 0:
            return []
        pieces: list[bytes] = []
        rest = event[len(self.head) : -len(self._tail)]
        for literal in self._inner:
            piece, found, rest = rest.partition(literal)
            if not found:
                return []
            pieces.append(piece)
        return [*pieces, rest]


class Template:
    """An event cut at its quotes, and which of its strings and numbers are holes.

    paths: where the holes lie, in order.
    """

    __slots__ = ("_holes", "_parts", "frame", "paths")

    def __init__(self, parts: list[bytes], holes: set[_Hole], frame: Frame, paths: list[Path]) -> None:
        self._parts = parts
        self._holes = holes
        self.frame = frame
        self.paths = paths

    @classmethod
    def of(cls, before: list[bytes], after: list[bytes]) -> Template | None:
        """The template of two events, by their parts; None where they differ in nothing or in more than leaves."""
        holes = _differences(before, after)
        return cls._made(after, holes, is_spaced=_is_spaced(before, after)) if holes else None

    def widened(self, before: list[bytes], after: list[bytes]) -> Template | None:
        """A template of this one's events and two others; None where they differ in more than leaves."""
        holes, more = _differences(self._parts, after), _differences(before, after)
        if holes is None or more is None:
            return None
        is_spaced = self.frame.is_spaced or _is_spaced(self._parts, after) or _is_spaced(before, after)
        return self._made(after, holes | more | self._holes, is_spaced=is_spaced)

    @classmethod
    def _made(cls, parts: list[bytes], holes: set[_Hole], *, is_spaced: bool) -> Template | None:
        if len(holes) > _MOST_HOLES:
            return None
        literals, readers = _literals(parts, sorted(holes))
        paths = _paths(literals, readers)
        if is_spaced:
            literals[-1] = _compact(literals[-1])
        frame = Frame(literals, readers, [_OPEN] * len(readers), is_spaced=is_spaced)
        return None if paths is None else cls(parts, holes, frame, paths)


def parts_of(payload: bytes) -> list[bytes]:
    """An event cut at its quotes: what is outside of strings and what is inside, in turns."""
    return _STRING.split(payload) if _BACKSLASH in payload else payload.split(b'"')


def _differences(before: list[bytes], after: list[bytes]) -> set[_Hole] | None:
    """Where two events differ; None where they differ in more than texts and whole numbers."""
    if len(before) != len(after):
        return None
    found: set[_Hole] = set()
    for at in compress(count(), map(ne, before, after)):
        if at % 2:
            if after[at + 1].lstrip(_SPACE)[:1] == b":":
                return None
            found.add((at, 0))
        elif at < len(after) - 1 or not _is_spaced(before, after):
            one, other = _NUMBER.split(before[at]), _NUMBER.split(after[at])
            differing = list(compress(count(), map(ne, one, other)))
            if len(one) != len(other) or not all(_are_whole(one[place], other[place]) for place in differing):
                return None
            found.update((at, place) for place in differing)
    return found


def _are_whole(*numbers: bytes) -> bool:
    return all(_WHOLE_NUMBER.fullmatch(number) for number in numbers)


def _is_spaced(before: list[bytes], after: list[bytes]) -> bool:
    """Whether the closing brackets of two events differ in white space."""
    one, other = before[-1], after[-1]
    return one != other and _CLOSING.fullmatch(one) is not None and _compact(one) == _compact(other)


def _literals(parts: list[bytes], holes: list[_Hole]) -> tuple[list[bytes], list[Read]]:
    """The bytes around holes, quotes of texts included, and how each hole is read."""
    literals = [b""]
    readers: list[Read] = []
    start = 0
    for at, group in groupby(holes, key=itemgetter(0)):
        opening = [b""] if start else []
        literals[-1] += b'"'.join([*opening, *parts[start:at], b""])
        if at % 2:
            literals.append(b"")
            readers.append(_read_texts)
        else:
            numbers, done = _NUMBER.split(parts[at]), 0
            for _, place in group:
                literals[-1] += b"".join(numbers[done:place])
                literals.append(b"")
                readers.append(_read_numbers)
                done = place + 1
            literals[-1] += b"".join(numbers[done:])
        start = at + 1
    literals[-1] += b'"'.join([b"", *parts[start:]])
    return literals, readers


def _paths(literals: list[bytes], readers: list[Read]) -> list[Path] | None:
    """Where the holes lie; None where that cannot be told, as of a key that comes twice."""
    names = {f"<hole {at}>": at for at in range(len(readers))}
    marked = literals[0]
    for name, reader, literal in zip(names, readers, literals[1:], strict=True):
        mark = name.encode()
        marked += (mark if reader is _read_texts else b'"%b"' % mark) + literal
    paths: dict[int, Path] = {}
    waiting: list[tuple[Path, Json]] = [((), loads(marked))]
    while waiting:
        path, value = waiting.pop()
        for key, item in value.items() if type(value) is dict else enumerate(value):
            if type(item) is dict or type(item) is list:
                waiting.append(((*path, key), item))
            elif type(item) is str and item in names:
                if names[item] in paths:
                    return None
                paths[names[item]] = (*path, key)
    return [paths[at] for at in range(len(readers))] if len(paths) == len(readers) else None


def _closed_up(payload: bytes) -> bytes:
    """An event without white space among its closing brackets."""
    inner = payload.rstrip(b"]} \t\r\n")
    return inner + _compact(payload[len(inner) :])


def _compact(text: bytes) -> bytes:
    return text.translate(None, _SPACE)


def _read_texts(pieces: Sequence[bytes]) -> list[str]:
    """JSON strings without their quotes -> their values; raises where one is no string."""
    joined = b'["' + b'","'.join(pieces) + b'"]'
    quotes = joined
    if _BACKSLASH in joined:
        quotes = joined.replace(b"\\\\", b"")
        # A piece that escapes the quote after it is none.
        ends_well = b'\\","' not in quotes and not quotes.endswith(b'\\"]')
        quotes = quotes.replace(b'\\"', b"") if ends_well else b""
    if quotes.count(b'"') != 2 * len(pieces):
        return [_text(b'"' + piece + b'"') for piece in pieces]
    return _texts(joined)


def _read_numbers(pieces: Sequence[bytes]) -> list[int]:
    """Whole numbers; raises where one is none."""
    if not b"".join(pieces).isdigit():
        raise ValueError("no whole number")
    return _numbers(b"[" + b",".join(pieces) + b"]")
