"""Signs that a stream has ended, read off raw pieces without folding them.

A JSON event is asked whole. Byte slices cut events anywhere, so neighbouring slices are looked at joined: the
start of the event that is still open is remembered per call, in memory, as a hint. Losing it costs waiting
time, never content: what a stream holds is decided when it is folded.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence

from headrace.protocols import PROTOCOLS, codec
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT, Piece
from headrace.reassembly.store import StateKey

#: An open event is remembered up to this size; a terminal event names its type at its start.
_TAIL_HEAD, _TAIL_END = 2048, 64
_REMEMBERED_CALLS = 20_000

#: The text starts at the last data line, so a name in it is that of an event whose data is still to come.
_NAME_LINE = re.compile(rb"(?:\A|[\r\n])event:")


def sign_of(protocol: str | None, payload: bytes) -> int:
    """The sign in one JSON event or in a text slice; all protocols are asked when it is not known which."""
    if protocol is not None:
        return codec(protocol).sign(payload)
    return max(codec(known).sign(payload) for known in PROTOCOLS)


def slice_sign(protocol: str | None, text: bytes) -> int:
    """The sign in the last SSE event of a text; hard only when that event is whole.

    Nothing may follow the end: a slice that ends one response and starts another is no end. An event's name comes
    before its data, so a text that ends with a name ends in the middle of an event.
    """
    event = text[_last_event(text) :]
    sign = sign_of(protocol, event)
    return SIGN_SOFT if sign == SIGN_HARD and not _is_whole(event) else sign


def _is_whole(event: bytes) -> bool:
    return event.endswith((b"\n", b"\r")) and _NAME_LINE.search(event) is None


def _last_event(text: bytes) -> int:
    """Where the last `data:` line starts; JSON strings hold no raw line ends, so content cannot look like it."""
    at = max(text.rfind(b"\ndata:"), text.rfind(b"\rdata:"))
    return at + 1


class Signs:
    """Marks pieces with their sign. One per pipeline."""

    def __init__(self) -> None:
        self._tails: OrderedDict[StateKey, tuple[int, bytes]] = OrderedDict()

    def marks(self, key: StateKey, protocol: str | None, pieces: Sequence[Piece]) -> list[int]:
        """The sign of each piece; pieces are one share, in order."""
        return [self._mark(key, protocol, piece) for piece in pieces]

    def forget(self, key: StateKey) -> None:
        """Drop what is remembered of a call that is done."""
        self._tails.pop(key, None)

    def _mark(self, key: StateKey, protocol: str | None, piece: Piece) -> int:
        if piece.kind != "stream":
            return SIGN_NONE
        if piece.form == "json":
            return sign_of(protocol, piece.payload)
        after, tail = self._tails.get(key, (-1, b""))
        joins = piece.seq is None or piece.seq == after + 1
        text = tail + piece.payload if joins else piece.payload
        self._remember(key, piece.seq if piece.seq is not None else -1, text)
        return slice_sign(protocol, text)

    def _remember(self, key: StateKey, seq: int, text: bytes) -> None:
        tail = text[_last_event(text) :]
        if len(tail) > _TAIL_HEAD + _TAIL_END:
            tail = tail[:_TAIL_HEAD] + tail[-_TAIL_END:]
        self._tails[key] = (seq, tail)
        self._tails.move_to_end(key)
        if len(self._tails) > _REMEMBERED_CALLS:
            self._tails.popitem(last=False)
