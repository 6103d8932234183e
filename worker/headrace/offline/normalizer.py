"""The worker's pipeline over files: no log to commit to, and an end at which every open call is due."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from headrace.capture.inbound import Inbound
from headrace.capture.mapping import Mapping
from headrace.pipeline import Batch, Pipeline
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.store import FOREVER, MAX_ORDER, Position

#: Messages of one batch.
BLOCK = 2_000


class Normalizer:
    """One pipeline with a memory store. mapping: of all the files. memory_bytes: open calls beyond spill to a file."""

    def __init__(self, mapping: Mapping | None = None, memory_bytes: int = 256 << 20) -> None:
        self._mapping = mapping
        self._mappings: dict[str, Mapping] = {}
        self._pipeline = Pipeline(MemoryStore(budget=memory_bytes), mappings=self._mappings)
        #: Files in the order they came; a store asks for what is due one of them at a time.
        self._files: dict[tuple[str, int], None] = {}

    async def block(self, messages: Sequence[Inbound]) -> Batch:
        """What the next messages became."""
        for message in messages:
            self._files[message.topic, message.partition] = None
            if self._mapping is not None:
                self._mappings[message.topic] = self._mapping
        batch = await self._pipeline.process(messages)
        await self._pipeline.close(batch)
        return batch

    async def end(self) -> Batch | None:
        """After the last message: some of the calls that are still open; None when there are no more."""
        while self._files:
            name, partition = next(iter(self._files))
            batch = Batch()
            await self._pipeline.due(batch, Position(name, partition, MAX_ORDER), FOREVER, 0)
            if batch.closes:
                await self._pipeline.close(batch)
                return batch
            del self._files[name, partition]
        return None


def batches(messages: Iterable[Inbound], mapping: Mapping | None = None) -> Iterator[Batch]:
    """Normalize messages in this process, a batch at a time."""
    normalizer = Normalizer(mapping)
    rest = iter(messages)
    with asyncio.Runner() as runner:
        while block := list(islice(rest, BLOCK)):
            yield runner.run(normalizer.block(block))
        while (batch := runner.run(normalizer.end())) is not None:
            yield batch
