"""The worker's pipeline over files: no log to commit to, and an end at which every open call is due."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from headrace.capture.mapping import Mapping
from headrace.capture.model import Inbound
from headrace.pipeline import Batch, Pipeline
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.store import FOREVER, MAX_ORDER, Position

#: Messages of one batch.
BLOCK = 2_000

_AT_END = Position("", 0, MAX_ORDER)


class Normalizer:
    """One pipeline with a memory store. mapping: of all the files. memory_bytes: open calls beyond spill to a file."""

    def __init__(self, mapping: Mapping | None = None, memory_bytes: int = 256 << 20) -> None:
        self._mapping = mapping
        self._mappings: dict[str, Mapping] = {}
        self._pipeline = Pipeline(MemoryStore(budget=memory_bytes), mappings=self._mappings)

    async def block(self, messages: Sequence[Inbound]) -> Batch:
        """What the next messages became."""
        if self._mapping is not None:
            self._mappings.update(dict.fromkeys({message.source.topic for message in messages}, self._mapping))
        batch = await self._pipeline.process(messages)
        await self._pipeline.close(batch)
        return batch

    async def end(self) -> Batch | None:
        """After the last message: some of the calls that are still open; None when there are no more."""
        batch = Batch()
        await self._pipeline.due(batch, _AT_END, FOREVER, 0)
        if not batch.closes:
            return None
        await self._pipeline.close(batch)
        return batch


def batches(messages: Iterable[Inbound], mapping: Mapping | None = None) -> Iterator[Batch]:
    """Normalize messages in this process, a batch at a time."""
    normalizer = Normalizer(mapping)
    rest = iter(messages)
    with asyncio.Runner() as runner:
        while block := list(islice(rest, BLOCK)):
            yield runner.run(normalizer.block(block))
        while (batch := runner.run(normalizer.end())) is not None:
            yield batch
