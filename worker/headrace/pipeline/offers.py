"""What the store is told of a share: which pieces it has, and what they say of the stream's end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import msgspec

from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Share
from headrace.reassembly.packing import pack
from headrace.reassembly.pieces import SIGN_HARD, SIGN_SOFT, Fragment, Pieces
from headrace.reassembly.sequence import any_numbered, intervals, ordered, reaches
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


@final
class Offer:
    """A share's append, and the share's pieces in order; none for a whole body."""

    __slots__ = ("append", "fragment")

    def __init__(self, append: Append, fragment: Fragment | None) -> None:
        self.append = append
        self.fragment = fragment

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
        pieces = share.pieces
        last = pieces.traits[-1]
        position = Position(last.topic, last.partition, pieces.offsets[-1])
        if share.body is not None:
            ends, packed, fragment = _UNIT, None, None
        else:
            fragment = Fragment(share.facts, ordered(pieces))
            batch.duplicates += len(pieces) - len(fragment.pieces)
            ends = self._ends(share, fragment.pieces)
            packed = None if ends.whole else pack(fragment)
        append = Append(
            key=share.key,
            position=position,
            first_offset=pieces.offsets[0],
            last_seen=_latest(pieces),
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

    def _ends(self, share: Share, pieces: Pieces) -> _Ends:
        """Where the share reaches to, and what it says of the stream's end."""
        numbered = any_numbered(pieces)
        steps = reaches(pieces, numbered=numbered)
        ends = _reach(pieces, steps, numbered)
        final = ends.count
        # All of a stream at once, as most are where batches are large: nothing hangs on the signs in it.
        unbroken = ends.seqs == ((0, ends.last),)
        if final is not None:
            if unbroken and ends.last + 1 >= final:
                ends.whole = True
                return ends
        elif unbroken or not numbered:
            step = _last_step(steps)
            if step >= 0 and ends_alone(share.facts.protocol, pieces, step):
                ends.hard, ends.whole = ends.last, True
                return ends
        marks, late = self.signs.marks(share.key, share.facts.protocol, pieces)
        if SIGN_HARD in marks:
            ends.hard = max([step for step, mark in zip(steps, marks, strict=True) if mark == SIGN_HARD])
        ends.soft = SIGN_SOFT in marks
        for number, mark in late:
            ends.soft = ends.soft or mark == SIGN_SOFT
            if mark == SIGN_HARD and number > ends.hard:
                ends.hard = number
        if numbered:
            ends.whole = unbroken and final is None and ends.hard == ends.last
        else:
            ends.whole = ends.last >= 0 and (ends.ended or ends.hard == ends.last)
        return ends


@final
class _Ends:
    """What an append says of where its share reaches; see `Append`."""

    __slots__ = ("count", "ended", "hard", "last", "loose", "seqs", "soft", "whole")

    def __init__(self, last: int = -1, hard: int = -1, whole: bool = False) -> None:
        self.seqs: tuple[tuple[int, int], ...] = ()
        self.last = last
        self.loose = -1
        self.count: int | None = None
        self.ended = False
        self.hard = hard
        self.soft = False
        self.whole = whole


_UNIT = _Ends(last=UNIT, hard=UNIT, whole=True)


def _reach(pieces: Pieces, steps: list[int], numbered: bool) -> _Ends:
    """How far the pieces go, without what their signs say. They are in order, and ``steps`` are their `reaches`."""
    ends = _Ends()
    trait = pieces.trait()
    if trait is None or trait.kind != "stream" or trait.count is not None:
        _note_endings(pieces, ends)
    for step in steps:
        if step > ends.last:
            ends.last = step
    if numbered:
        seqs = [step for step in steps if step >= 0]
        first, last = seqs[0], seqs[-1]
        ends.seqs = ((first, last),) if last - first + 1 == len(seqs) else tuple(intervals(seqs))
        if len(seqs) < len(steps):
            ends.loose = _loose(pieces)
    return ends


def _note_endings(pieces: Pieces, ends: _Ends) -> None:
    """What `end` and `error` captures say."""
    for trait, seq in zip(pieces.traits, pieces.seqs, strict=True):
        if trait.kind != "stream" and seq is None:
            ends.ended = True
        count = trait.count
        if count is not None and (ends.count is None or count > ends.count):
            ends.count = count


def _last_step(steps: list[int]) -> int:
    """The index of the last piece that is a step; -1 when none is."""
    for index in range(len(steps) - 1, -1, -1):
        if steps[index] >= 0:
            return index
    return -1


def _loose(pieces: Pieces) -> int:
    """The highest offset of pieces without a number, their `end` left out."""
    loose = -1
    for index, trait in enumerate(pieces.traits):
        if pieces.seqs[index] is None and trait.kind != "end":
            loose = max(loose, pieces.offsets[index])
    return loose


def _latest(pieces: Pieces) -> int:
    latest = pieces.timestamps[0]
    for timestamp in pieces.timestamps:
        if timestamp > latest:
            latest = timestamp
    return latest
