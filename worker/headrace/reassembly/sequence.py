"""The order of a call's pieces: which come first, which are the same, how far they reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.reassembly.facts import Trait
from headrace.reassembly.pieces import Fragment, Pieces


def in_order(fragments: Sequence[Fragment]) -> Pieces:
    """All pieces, sorted, each place once.

    Same ``seq`` twice: the first one by log position stays (design section 3). The same log position twice
    is the same message read again.
    """
    if len(fragments) == 1:
        return ordered(fragments[0].pieces)
    pieces = Pieces()
    for fragment in fragments:
        pieces.extend(fragment.pieces)
    return ordered(pieces)


def ordered(pieces: Pieces) -> Pieces:
    """As `in_order`, of pieces that are in no fragment yet; the same object when it is in order."""
    if _are_in_order(pieces):
        return pieces
    orders = [_order(pieces, index) for index in range(len(pieces))]
    kept: list[int] = []
    for index in sorted(range(len(pieces)), key=orders.__getitem__):
        if not kept or not _is_same_place(orders[kept[-1]], orders[index]):
            kept.append(index)
    return pieces.at(kept)


_Order = tuple[int, str, int, int]


def _order(pieces: Pieces, index: int) -> _Order:
    """Sort key: by sequence number where there is one, else by log position."""
    seq, trait = pieces.seqs[index], pieces.traits[index]
    return (-1 if seq is None else seq, trait.topic, trait.partition, pieces.offsets[index])


def _is_same_place(before: _Order, after: _Order) -> bool:
    return before == after if after[0] < 0 else before[0] == after[0]


def _are_in_order(pieces: Pieces) -> bool:
    """Whether pieces are sorted, each place once; told for all with numbers, and for all without of one partition."""
    before = -1
    seqs = pieces.seqs
    if any_numbered(pieces):
        for seq in seqs:
            if seq is None or seq <= before:
                return False
            before = seq
        return True
    for offset in pieces.offsets:
        if offset <= before:
            return False
        before = offset
    return _is_of_one_partition(pieces.traits)


def _is_of_one_partition(traits: Sequence[Trait]) -> bool:
    known = None
    for trait in traits:
        if trait is not known:
            if known is not None and (trait.partition != known.partition or trait.topic != known.topic):
                return False
            known = trait
    return True


def any_numbered(pieces: Pieces) -> bool:
    """Whether a piece has a number; then numbers order the stream."""
    for seq in pieces.seqs:  # noqa: SIM110 - a loop that mypyc makes a loop
        if seq is not None:
            return True
    return False


def reaches(pieces: Pieces, *, numbered: bool) -> list[int]:
    """Of each piece its place in its stream, number or offset; -1 of one that is no step of it.

    An unnumbered `end` is none: it may overtake the pieces it ends.
    """
    if numbered:
        return [-1 if seq is None else seq for seq in pieces.seqs]
    seqs, offsets = pieces.seqs, pieces.offsets
    found: list[int] = []
    known, is_step = None, True
    for index, trait in enumerate(pieces.traits):
        if trait is not known:
            known, is_step = trait, trait.kind != "end"
        seq = seqs[index]
        found.append((offsets[index] if seq is None else seq) if is_step else -1)
    return found


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
