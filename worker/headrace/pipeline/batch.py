"""What one batch of messages became."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from headrace import normalize
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.reassembly.store import Close, StateKey


@dataclass(slots=True)
class Batch:
    """Records, dead letters, and what is still to be done.

    records and dead_letters come with the place in the batch of the message that brought them about (-1 for a
    deadline), in that order. closes: for the store, once the records are safely published. consumed counts messages.
    duplicates counts captures that bring nothing new: pieces and bodies that were there before, and what only follows
    the end of a complete response (an `end`, a terminator). waiting: states that had a share here and expect more,
    with the number of records they gave so far. unknown: (provider, model, kind, type) -> times seen.
    """

    records: list[tuple[int, CanonicalRecord]] = field(default_factory=list)
    dead_letters: list[tuple[int, DeadLetter]] = field(default_factory=list)
    closes: list[Close] = field(default_factory=list)
    waiting: dict[StateKey, int] = field(default_factory=dict)
    consumed: int = 0
    duplicates: int = 0
    unknown: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def take(self, made: normalize.Normalized, index: int) -> None:
        """Add one unit's records and dead letters, and count their unknown types."""
        self.records += [(index, record) for record in made.records]
        self.dead_letters += [(index, letter) for letter in made.dead_letters]
        for record in made.records:
            model = record.get("served_model") or record.get("model") or ""
            for unknown in record.get("unknown_types", ()):
                key = (record.get("provider", ""), model, unknown["kind"], unknown["type"])
                self.unknown[key] += unknown["count"]
