"""Running the pipeline over capture lines, in batches of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace import records
from headrace.canonical.avro import to_json_line
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.capture.inbound import Inbound, Source
from headrace.pipeline import Batch, Pipeline
from headrace.reassembly.store import FOREVER, Position, Store


@dataclass(slots=True)
class Ran:
    """What a run gave."""

    records: list[CanonicalRecord] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    duplicates: int = 0

    def take(self, batch: Batch) -> None:
        self.records += [record for _, record in batch.records]
        self.dead_letters += [letter for _, letter in batch.dead_letters]
        self.duplicates += batch.duplicates

    def content(self) -> dict[str, bytes]:
        """record id -> its content, byte for byte; fails when a record was given twice."""
        found = {record["record_id"]: to_json_line(records.content(record)) for record in self.records}
        assert len(found) == len(self.records), "a record was emitted twice"
        return found


async def run(store: Store, lines: Sequence[bytes], *, batch: int = 500, topic: str = "raw") -> Ran:
    """All lines as one partition's messages, then the end of the input."""
    pipeline = Pipeline(store)
    ran = Ran()
    for start in range(0, len(lines), batch):
        messages = [
            Inbound.at(Source(topic, 0, start + place, 1_000_000), line)
            for place, line in enumerate(lines[start : start + batch])
        ]
        made = await pipeline.process(messages)
        await pipeline.close(made)
        ran.take(made)
    position = len(lines)
    for round_ in range(1, 1_000):
        made = Batch()
        await pipeline.due(made, Position(topic, 0, position, round_), FOREVER, position, round_ - 1)
        if not made.closes:
            return ran
        await pipeline.close(made)
        ran.take(made)
    raise AssertionError("calls stay due for ever")
