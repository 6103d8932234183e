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
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT, Pieces
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


class Signs:
    """Marks pieces with their sign. One per pipeline."""

    def __init__(self) -> None:
        #: (number of the last slice or -1, the event that is open after it)
        self._tails: OrderedDict[StateKey, tuple[int, bytes]] = OrderedDict()

    def marks(self, key: StateKey, protocol: str | None, pieces: Pieces) -> list[int]:
        """The sign of each piece; pieces are one share, in order."""
        trait = pieces.trait()
        if trait is not None and trait.kind == "stream" and trait.form == "json":
            return _event_signs(protocol, pieces.payloads)
        marks: list[int] = []
        known = open_event = self._tails.get(key, (-1, b""))
        for trait, seq, payload in zip(pieces.traits, pieces.seqs, pieces.payloads, strict=True):
            if trait.kind != "stream":
                marks.append(SIGN_NONE)
            elif trait.form == "json":
                marks.append(sign_of(protocol, payload))
            else:
                after, tail = open_event
                joins = seq is None or seq == after + 1
                tail = _last_event(tail + payload if joins else payload)
                marks.append(_slice_sign(protocol, tail))
                if len(tail) > _TAIL_HEAD + _TAIL_END:
                    tail = tail[:_TAIL_HEAD] + tail[-_TAIL_END:]
                open_event = (seq if seq is not None else -1, tail)
        if open_event is not known:
            self._remember(key, open_event)
        return marks

    def forget(self, key: StateKey) -> None:
        """Drop what is remembered of a call that is done."""
        self._tails.pop(key, None)

    def _remember(self, key: StateKey, open_event: tuple[int, bytes]) -> None:
        self._tails[key] = open_event
        self._tails.move_to_end(key)
        if len(self._tails) > _REMEMBERED_CALLS:
            self._tails.popitem(last=False)
