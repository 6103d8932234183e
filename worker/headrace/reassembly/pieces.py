"""Stream pieces, and the fragments that state is made of.

State per call is the raw pieces themselves, never a half-folded object: it is exact, keeps events nobody
knows yet, and survives a deploy of new code (design section 5).

There are many pieces, and most are like the one before. So they are held as columns, and what works on them walks
a column at a time; no object is made for a piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from headrace.reassembly.facts import CallFacts, Trait

#: A piece that carries its protocol's last event ("hard"), or one after which only trailers come ("soft").
SIGN_NONE, SIGN_SOFT, SIGN_HARD = 0, 1, 2


@final
class Pieces:
    """Pieces of one call's stream, as columns: of each piece the value at its index.

    traits: where it lies and of what sort it is; pieces that are alike mostly have the same object. offsets,
    timestamps: of its message, the time in microseconds. seqs: the producer's number, or None; then (topic, partition,
    offset) orders the pieces. captured: microseconds since the epoch or None. payloads: one event, or a slice of the
    body.
    """

    __slots__ = ("captured", "offsets", "payloads", "seqs", "timestamps", "traits")

    def __init__(self) -> None:
        self.traits: list[Trait] = []
        self.offsets: list[int] = []
        self.timestamps: list[int] = []
        self.seqs: list[int | None] = []
        self.captured: list[int | None] = []
        self.payloads: list[bytes] = []

    def __len__(self) -> int:
        return len(self.offsets)

    def add(
        self, trait: Trait, offset: int, timestamp: int, seq: int | None, captured: int | None, payload: bytes
    ) -> None:
        """Add one piece."""
        self.traits.append(trait)
        self.offsets.append(offset)
        self.timestamps.append(timestamp)
        self.seqs.append(seq)
        self.captured.append(captured)
        self.payloads.append(payload)

    def extend(self, more: Pieces) -> None:
        """Add pieces after these."""
        self.traits += more.traits
        self.offsets += more.offsets
        self.timestamps += more.timestamps
        self.seqs += more.seqs
        self.captured += more.captured
        self.payloads += more.payloads

    def at(self, indexes: Sequence[int]) -> Pieces:
        """The pieces at these indexes, in this order."""
        taken = Pieces()
        for index in indexes:
            taken.add(
                self.traits[index],
                self.offsets[index],
                self.timestamps[index],
                self.seqs[index],
                self.captured[index],
                self.payloads[index],
            )
        return taken

    def without(self, indexes: Sequence[int]) -> Pieces:
        """The pieces but those at these indexes."""
        left_out = set(indexes)
        return self.at([index for index in range(len(self)) if index not in left_out])

    def trait(self) -> Trait | None:
        """The trait that all pieces have; None when they differ, or when there are none."""
        traits = self.traits
        if not traits:
            return None
        first = known = traits[0]
        for trait in traits:
            if trait is not known:
                if trait != first:
                    return None
                known = trait
        return first

    def of_kind(self, kind: str) -> Pieces:
        """The pieces of a kind; these themselves when all are."""
        trait = self.trait()
        if trait is not None and trait.kind == kind:
            return self
        return self.at([index for index, trait in enumerate(self.traits) if trait.kind == kind])


@final
class Fragment:
    """The pieces of one call that one batch held, with what the captures said of the call."""

    __slots__ = ("facts", "pieces")

    def __init__(self, facts: CallFacts, pieces: Pieces) -> None:
        self.facts = facts
        self.pieces = pieces


def facts_of(fragments: Sequence[Fragment]) -> CallFacts:
    """The call's facts over all its fragments."""
    facts = fragments[0].facts
    for fragment in fragments[1:]:
        facts = facts.merged(fragment.facts)
    return facts
