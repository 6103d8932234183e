"""What came of the demo's traffic, and whether it is what had to come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.canonical.avro import to_json_line
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.demo.traffic import Traffic


@dataclass(slots=True)
class Outcome:
    """What one run gave. consumed: messages the worker read. metrics: its metrics as Prometheus text."""

    records: list[CanonicalRecord] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    consumed: int = 0
    metrics: str = ""

    def is_complete(self, sent: Traffic) -> bool:
        """Whether there is as much as there has to be; more may still be a fault."""
        return len(self.records) >= 2 * sent.calls and bool(self.dead_letters)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold: what is counted, what had to come, and what came."""

    what: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.expected == self.found


def checks(sent: Traffic, outcome: Outcome) -> Iterator[Check]:
    """The demo's promises, counted."""
    kinds = [record["record_type"] for record in outcome.records]
    yield Check("messages sent → messages read", len(sent.lines), outcome.consumed)
    yield Check("calls → request records", sent.calls, kinds.count("request"))
    yield Check("calls → response records", sent.calls, kinds.count("response"))
    yield Check("record ids, all different", len(outcome.records), len({one["record_id"] for one in outcome.records}))
    yield Check("unreadable messages → dead letters", sent.poison, len(outcome.dead_letters))
    yield Check("credentials in what came out", 0, _leaks(sent, outcome))


def _leaks(sent: Traffic, outcome: Outcome) -> int:
    """How many of the credentials can be found in the records, the dead letters or the metrics."""
    out = b"".join(
        [
            *(to_json_line(record) for record in outcome.records),
            *(letter.get("value", b"") + letter["message"].encode() for letter in outcome.dead_letters),
            outcome.metrics.encode(),
        ]
    )
    return sum(secret.encode() in out for secret in sent.secrets)
