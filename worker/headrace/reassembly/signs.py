"""Signs that a stream has ended, read off raw pieces without folding them.

A JSON event is asked whole. Byte slices cut events anywhere, so neighbouring slices are looked at joined, in whatever
order they come: the start of an event that is still open is remembered per call, and so is a slice that came before
the one that it goes on from. Both are in memory, as hints. Losing them costs waiting time, never content: what a stream
holds is decided when it is folded.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import final

from headrace.protocols import PROTOCOLS, codec
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT, Pieces
from headrace.reassembly.store import StateKey

#: An open event is remembered up to this size; a terminal event names its type at its start.
_TAIL_HEAD, _TAIL_END = 2048, 64
#: So much is remembered of all calls, and of so many slices of one.
_REMEMBERED_BYTES, _REMEMBERED_SLICES = 32 << 20, 64
#: What a call takes of it besides its texts, about.
_SLICES_BYTES = 512

#: The text starts at the last data line, so a name in it is that of an event whose data is still to come.
_NAME_LINE = re.compile(rb"(?:\A|[\r\n])event:")


def sign_of(protocol: str | None, payload: bytes) -> int:
    """The sign in one JSON event or in a text slice; all protocols are asked when it is not known which."""
    if protocol is not None:
        return codec(protocol).sign(payload)
    return max([codec(known).sign(payload) for known in PROTOCOLS])


def _event_signs(protocol: str | None, events: Sequence[bytes]) -> list[int]:
    """`sign_of` each JSON event."""
    if protocol is None:
        return [sign_of(None, event) for event in events]
    sign = codec(protocol).sign
    return [sign(event) for event in events]


def ends_alone(protocol: str | None, pieces: Pieces, index: int) -> bool:
    """Whether a piece that needs no neighbours to be read, a JSON event, ends its stream."""
    trait = pieces.traits[index]
    is_event = trait.kind == "stream" and trait.form == "json"
    return is_event and sign_of(protocol, pieces.payloads[index]) == SIGN_HARD


def _slice_sign(protocol: str | None, event: bytes) -> int:
    """The sign in the last SSE event of a text; hard only when that event is whole.

    Nothing may follow the end: a slice that ends one response and starts another is no end. An event's name comes
    before its data, so a text that ends with a name ends in the middle of an event.
    """
    sign = sign_of(protocol, event)
    return SIGN_SOFT if sign == SIGN_HARD and not _is_whole(event) else sign


def _is_whole(event: bytes) -> bool:
    return event.endswith((b"\n", b"\r")) and _NAME_LINE.search(event) is None


def _last_event(text: bytes) -> bytes:
    """From the last `data:` line on; JSON strings hold no raw line ends, so content cannot look like it."""
    return text[max(text.rfind(b"\ndata:"), text.rfind(b"\rdata:")) + 1 :]


def _shortened(text: bytes) -> bytes:
    return text if len(text) <= _TAIL_HEAD + _TAIL_END else text[:_TAIL_HEAD] + text[-_TAIL_END:]


@final
class _Slices:
    """What is remembered of a call's slices: enough to read a batch again whose commit failed. size: in bytes."""

    __slots__ = ("_after", "_ahead", "_before", "_last", "size")

    def __init__(self) -> None:
        self.size = _SLICES_BYTES
        #: Number of a slice -> the event that is open after it.
        self._after: dict[int, bytes] = {}
        #: Number of a slice that came before the one before it -> its text, where no event begins in it.
        self._ahead: dict[int, bytes] = {}
        #: Of slices without a number: offset of the last one and the event open after it. Before: as the last share
        #: found it.
        self._last = self._before = (-1, b"")

    def begin(self, first: int) -> None:
        """Make ready for the slices of a share, which may have been taken before. first: their first offset."""
        if first > self._last[0]:
            self._before = self._last
        elif first > self._before[0]:
            self.size += len(self._before[1]) - len(self._last[1])
            self._last = self._before

    def take(self, offset: int, payload: bytes) -> bytes:
        """The event that is open after a slice without a number."""
        text = _last_event(self._last[1] + payload)
        kept = _shortened(text)
        self.size += len(kept) - len(self._last[1])
        self._last = (offset, kept)
        return text

    def take_numbered(self, number: int, payload: bytes) -> bytes:
        """The event that is open after a slice."""
        before = self._after.get(number - 1)
        text = _last_event(payload)
        if len(text) == len(payload):
            # No event begins in it.
            if number > 0 and (before is None or number - 1 in self._ahead):
                self._put(self._ahead, number, payload)
            if before is not None:
                text = _last_event(before + payload)
        self._put(self._after, number, text)
        return text

    def waiting(self, number: int) -> bytes | None:
        """The text of a slice that came before the one before it."""
        return self._ahead.get(number)

    def _put(self, known: dict[int, bytes], number: int, text: bytes) -> None:
        text = _shortened(text)
        self.size += len(text) - len(known.get(number, b""))
        known[number] = text
        if len(known) > _REMEMBERED_SLICES:
            self.size -= len(known.pop(next(iter(known))))


class Signs:
    """Marks pieces with their sign. One per pipeline."""

    def __init__(self) -> None:
        self._slices: OrderedDict[StateKey, _Slices] = OrderedDict()
        self._size = 0

    def marks(self, key: StateKey, protocol: str | None, pieces: Pieces) -> tuple[list[int], list[tuple[int, int]]]:
        """The sign of each piece, which are one share, in order; and (number, sign) of slices that came before these
        and are read only now."""
        trait = pieces.trait()
        if trait is not None and trait.kind == "stream" and trait.form == "json":
            return _event_signs(protocol, pieces.payloads), []
        marks: list[int] = []
        late: list[tuple[int, int]] = []
        slices = self._slices.get(key)
        known = 0 if slices is None else slices.size
        if slices is None:
            slices = _Slices()
        slices.begin(pieces.offsets[0])
        for index, trait in enumerate(pieces.traits):
            payload = pieces.payloads[index]
            if trait.kind != "stream":
                marks.append(SIGN_NONE)
            elif trait.form == "json":
                marks.append(sign_of(protocol, payload))
            else:
                seq = pieces.seqs[index]
                if seq is None:
                    text = slices.take(pieces.offsets[index], payload)
                else:
                    text = slices.take_numbered(seq, payload)
                    _mark_waiting(slices, protocol, seq + 1, late)
                marks.append(_slice_sign(protocol, text))
        self._remember(key, slices, slices.size - known)
        return marks, late

    def forget(self, key: StateKey) -> None:
        """Drop what is remembered of a call that is done."""
        slices = self._slices.pop(key, None)
        if slices is not None:
            self._size -= slices.size

    def _remember(self, key: StateKey, slices: _Slices, grown: int) -> None:
        self._slices[key] = slices
        self._slices.move_to_end(key)
        self._size += grown
        while self._size > _REMEMBERED_BYTES and len(self._slices) > 1:
            self.forget(next(iter(self._slices)))


def _mark_waiting(slices: _Slices, protocol: str | None, number: int, late: list[tuple[int, int]]) -> None:
    """Read the slices that waited for the one before ``number``."""
    waiting = slices.waiting(number)
    while waiting is not None:
        late.append((number, _slice_sign(protocol, slices.take_numbered(number, waiting))))
        number += 1
        waiting = slices.waiting(number)
