"""The order of a call's pieces: which come first, which are the same, how far they reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.reassembly.pieces import CallFacts, Fragment, Piece


def in_order(fragments: Iterable[Fragment]) -> list[Piece]:
    """All pieces, sorted, each place once.

    Same ``seq`` twice: the first one by log position stays (design section 3). The same log position twice
    is the same message read again.
    """
    return ordered([piece for fragment in fragments for piece in fragment.pieces])


def ordered(pieces: list[Piece]) -> list[Piece]:
    """As `in_order`, of pieces that are in no fragment yet; the same list when it is in order."""
    if _are_in_order(pieces):
        return pieces
    kept: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.order):
        if not kept or not _same_place(kept[-1], piece):
            kept.append(piece)
    return kept


def _are_in_order(pieces: Sequence[Piece]) -> bool:
    """Whether pieces are sorted, each place once; told for all with numbers, and for all without of one partition."""
    before, numbered, topic, partition = -1, False, "", 0
    for index, piece in enumerate(pieces):
        seq = piece.seq
        if index == 0:
            numbered, topic, partition = seq is not None, piece.topic, piece.partition
        if numbered:
            if seq is None:
                return False
            place = seq
        elif seq is not None or piece.partition != partition or piece.topic != topic:
            return False
        else:
            place = piece.offset
        if place <= before:
            return False
        before = place
    return True


def _same_place(left: Piece, right: Piece) -> bool:
    if left.seq is not None:
        return left.seq == right.seq
    return right.seq is None and left.order == right.order


def reach_of(piece: Piece) -> int:
    """A piece's place in its stream: its number, or its offset."""
    return piece.offset if piece.seq is None else piece.seq


def is_step(piece: Piece, *, numbered: bool) -> bool:
    """Whether a piece is a step of its stream. An unnumbered `end` is none: it may overtake the pieces it ends."""
    return piece.seq is not None if numbered else piece.kind != "end"


def any_numbered(pieces: Sequence[Piece]) -> bool:
    """Whether a piece has a number; then numbers order the stream."""
    for piece in pieces:  # noqa: SIM110 - a loop that mypyc makes a loop
        if piece.seq is not None:
            return True
    return False


def intervals(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted, merged, inclusive intervals of sequence numbers: [3, 1, 2, 7] -> [(1, 3), (7, 7)]."""
    ordered = sorted(set(seqs))
    if ordered and ordered[-1] - ordered[0] + 1 == len(ordered):
        return [(ordered[0], ordered[-1])]
    merged: list[tuple[int, int]] = []
    for seq in ordered:
        if merged and merged[-1][1] == seq - 1:
            merged[-1] = (merged[-1][0], seq)
        else:
            merged.append((seq, seq))
    return merged


def facts_of(fragments: Sequence[Fragment]) -> CallFacts:
    """The call's facts over all its fragments."""
    facts = fragments[0].facts
    for fragment in fragments[1:]:
        facts = facts.merged(fragment.facts)
    return facts
