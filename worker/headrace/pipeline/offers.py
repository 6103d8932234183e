"""What the store is told of a share: which pieces it has, and what they say of the stream's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Share
from headrace.reassembly.pieces import SIGN_HARD, SIGN_SOFT, Fragment, Piece, pack
from headrace.reassembly.sequence import any_numbered, intervals, is_step, ordered, reach_of
from headrace.reassembly.signs import Signs, ends_alone
from headrace.reassembly.store import UNIT, Append, Position

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may be silent, in microseconds of stream time.

    idle: without a sign of its end. grace: after a sign that only trailers follow.
    """

    idle: int = 120 * _SECOND
    grace: int = 5 * _SECOND


@dataclass(slots=True)
class Offer:
    """A share's append, and the share's pieces in order; none for a whole body."""

    append: Append
    fragment: Fragment | None = None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.fragment.pieces if self.fragment else ()

    def give_pieces(self) -> Append:
        """The append again, pieces and all: for a store that must keep them."""
        packed = pack(self.fragment) if self.fragment else None
        self.append = msgspec.structs.replace(self.append, packed=packed, whole=packed is None)
        return self.append


class Offers:
    """Makes offers of shares; remembers what signs need."""

    def __init__(self, patience: Patience) -> None:
        self.signs = Signs()
        self._patience = patience

    def of(self, share: Share, batch: Batch) -> Offer:
        """The share's offer; repeated pieces are counted in the batch."""
        last = share.pieces[-1]
        latest = last.timestamp
        for piece in share.pieces:
            latest = max(latest, piece.timestamp)
        position = Position(last.topic, last.partition, last.offset)
        if share.body is not None:
            ends, packed, fragment = _UNIT, None, None
        else:
            fragment = Fragment(share.facts, tuple(ordered(share.pieces)))
            batch.duplicates += len(share.pieces) - len(fragment.pieces)
            ends = self._ends(share, fragment.pieces)
            packed = None if ends.whole else pack(fragment)
        append = Append(
            key=share.key,
            position=position,
            first_offset=share.pieces[0].offset,
            last_seen=latest,
            idle=self._patience.idle,
            grace=self._patience.grace,
            packed=packed,
            seqs=ends.seqs,
            last=ends.last,
            loose=ends.loose,
            count=ends.count,
            ended=ends.ended,
            hard=ends.hard,
            soft=ends.soft,
            whole=ends.whole,
        )
        return Offer(append, fragment)

    def _ends(self, share: Share, pieces: Sequence[Piece]) -> _Ends:
        """Where the share reaches to, and what it says of the stream's end."""
        numbered = any_numbered(pieces)
        ends = _reach(pieces, numbered)
        final = ends.count
        # All of a stream at once, as most are where batches are large: nothing hangs on the signs in it.
        unbroken = ends.seqs == ((0, ends.last),)
        if final is not None:
            if unbroken and ends.last + 1 >= final:
                ends.whole = True
                return ends
        elif unbroken or not numbered:
            step = _last_step(pieces, numbered)
            if step is not None and ends_alone(share.facts.protocol, step):
                ends.hard, ends.whole = ends.last, True
                return ends
        marks = self.signs.marks(share.key, share.facts.protocol, pieces)
        for piece, mark in zip(pieces, marks, strict=True):
            if mark == SIGN_HARD and is_step(piece, numbered=numbered):
                ends.hard = max(ends.hard, reach_of(piece))
        ends.soft = SIGN_SOFT in marks
        if numbered:
            ends.whole = unbroken and final is None and ends.hard == ends.last
        else:
            ends.whole = ends.last >= 0 and (ends.ended or ends.hard == ends.last)
        return ends


@dataclass(slots=True)
class _Ends:
    """What an append says of where its share reaches; see `Append`."""

    seqs: tuple[tuple[int, int], ...] = ()
    last: int = -1
    loose: int = -1
    count: int | None = None
    ended: bool = False
    hard: int = -1
    soft: bool = False
    whole: bool = False


_UNIT = _Ends(last=UNIT, hard=UNIT, whole=True)


def _reach(pieces: Sequence[Piece], numbered: bool) -> _Ends:
    """How far the pieces go, without what their signs say."""
    ends = _Ends()
    seqs: list[int] = []
    for piece in pieces:
        seq = piece.seq
        if seq is not None:
            seqs.append(seq)
        elif piece.kind != "stream":
            ends.ended = True
        count = piece.count
        if count is not None and (ends.count is None or count > ends.count):
            ends.count = count
        if not numbered and is_step(piece, numbered=False):
            ends.last = max(ends.last, piece.offset)
    if numbered:
        ends.last = max(seqs)
        ends.seqs = tuple(intervals(seqs))
        if len(seqs) < len(pieces):
            ends.loose = _loose(pieces)
    return ends


def _last_step(pieces: Sequence[Piece], numbered: bool) -> Piece | None:
    for piece in reversed(pieces):
        if is_step(piece, numbered=numbered):
            return piece
    return None


def _loose(pieces: Sequence[Piece]) -> int:
    """The highest offset of pieces without a number, their `end` left out."""
    return max([piece.offset for piece in pieces if is_step(piece, numbered=False) and piece.seq is None], default=-1)
