"""What the store is told of a share: which pieces it has, and what they say of the stream's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Share
from headrace.reassembly.pieces import (
    SIGN_HARD,
    SIGN_SOFT,
    Fragment,
    Piece,
    intervals,
    is_step,
    ordered,
    pack,
    reach_of,
)
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
        common: dict[str, Any] = {
            "key": share.key,
            "position": Position(last.topic, last.partition, last.offset),
            "first_offset": share.pieces[0].offset,
            "last_seen": max([piece.timestamp for piece in share.pieces]),
            "idle": self._patience.idle,
            "grace": self._patience.grace,
        }
        if share.body is not None:
            return Offer(Append(packed=None, last=UNIT, hard=UNIT, whole=True, **common))
        fragment = Fragment(share.facts, tuple(ordered(share.pieces)))
        batch.duplicates += len(share.pieces) - len(fragment.pieces)
        ends = self._ends(share, fragment.pieces)
        packed = None if ends["whole"] else pack(fragment)
        return Offer(Append(packed=packed, **ends, **common), fragment)

    def _ends(self, share: Share, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Where the share reaches to, and what it says of the stream's end."""
        seqs = [piece.seq for piece in pieces if piece.seq is not None]
        numbered = bool(seqs)
        # All with numbers, as most producers write them: each is a step.
        steps = pieces if len(seqs) == len(pieces) else [one for one in pieces if is_step(one, numbered=numbered)]
        last = max(seqs) if numbered else max([piece.offset for piece in steps], default=-1)
        counts = [piece.count for piece in pieces if piece.count is not None]
        runs = tuple(intervals(seqs))
        ends = {
            "seqs": runs,
            "last": last,
            "loose": _loose(pieces) if numbered and len(seqs) < len(pieces) else -1,
            "count": max(counts, default=None),
            "ended": any(piece.seq is None for piece in pieces if piece.kind != "stream"),
        }
        # All of a stream at once, as most are where batches are large: nothing hangs on the signs in it.
        unbroken = runs == ((0, last),)
        if counts:
            if unbroken and last + 1 >= max(counts):
                return {**ends, "hard": -1, "soft": False, "whole": True}
        elif (unbroken or not numbered) and steps and ends_alone(share.facts.protocol, steps[-1]):
            return {**ends, "hard": last, "soft": False, "whole": True}
        marks = self.signs.marks(share.key, share.facts.protocol, pieces)
        placed = zip(pieces, marks, strict=True)
        hard = [reach_of(one) for one, mark in placed if mark == SIGN_HARD and is_step(one, numbered=numbered)]
        ends["hard"] = max(hard, default=-1)
        ends["soft"] = SIGN_SOFT in marks
        if numbered:
            ends["whole"] = unbroken and not counts and ends["hard"] == last
        else:
            ends["whole"] = last >= 0 and (ends["ended"] or ends["hard"] == last)
        return ends


def _loose(pieces: Sequence[Piece]) -> int:
    """The highest offset of pieces without a number, their `end` left out."""
    return max([piece.offset for piece in pieces if is_step(piece, numbered=False) and piece.seq is None], default=-1)
