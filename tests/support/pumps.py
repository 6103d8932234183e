"""A pump in the test's own process, between real servers: quick to start, and open to looks and to hooks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.capture.mapping import Mapping as SourceMapping
from headrace.claim_check import ClaimCheck
from headrace.kafka.outputs import Outputs
from headrace.kafka.pump import Pump
from headrace.metrics import Metrics
from headrace.pipeline import Batch, Patience, Pipeline
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.redis_store import RedisStore
from tests.support.workers import Topics, until

SECOND = 1_000_000


class Gate:
    """A place where batches can be held: shut it, wait until one is `at` it, open it."""

    def __init__(self) -> None:
        self.at = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()

    def shut(self) -> None:
        """Hold whatever comes."""
        self._open.clear()
        self.at.clear()

    def open(self) -> None:
        """Let all go on."""
        self._open.set()

    async def passed(self) -> None:
        """Go through, or wait."""
        if not self._open.is_set():
            self.at.set()
            await self._open.wait()


class GatedOutputs(Outputs):
    """Holds batches that have outputs between their claims and their transaction."""

    gate: Gate

    async def fitting(self, batch: Batch) -> Any:
        if batch.records or batch.dead_letters:
            await self.gate.passed()
        return await super().fitting(batch)


@dataclass
class Rig:
    """What pumps of one test share. options: of `Pump`. mappings: of `Pipeline`."""

    bootstrap: str
    redis_url: str | None
    topics: Topics
    group: str
    idle_seconds: float = 600.0
    grace_seconds: float = 600.0
    limit: int = 16 << 20
    timeout: float = 5.0
    claim_check: ClaimCheck | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    mappings: Mapping[str, SourceMapping] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def built(self) -> AsyncIterator[tuple[Pump, Metrics, Gate]]:
        """A pump with a store of its own that nobody has told to run."""
        client = {"bootstrap_servers": self.bootstrap}
        store: MemoryStore | RedisStore = MemoryStore()
        if self.redis_url is not None:
            store = RedisStore.from_url(self.redis_url, prefix=f"rig:{self.group}", timeout=self.timeout)
            await store.connect()
        outputs = await GatedOutputs.create(
            self.topics.canonical,
            self.topics.dead_letters,
            None,
            limit=self.limit,
            claim_check=self.claim_check,
            client=client,
        )
        assert isinstance(outputs, GatedOutputs)
        outputs.gate = Gate()
        metrics = Metrics()
        patience = Patience(int(self.idle_seconds * SECOND), int(self.grace_seconds * SECOND))
        pump = Pump(
            Pipeline(store, mappings=self.mappings, patience=patience),
            outputs,
            metrics,
            store,
            client=client,
            topics=self.topics.raw,
            group=self.group,
            session_timeout_ms=6000,
            **self.options,
        )
        try:
            yield pump, metrics, outputs.gate
        finally:
            await store.aclose()

    @contextlib.asynccontextmanager
    async def pump(self, *, wait: bool = True) -> AsyncIterator[Running]:
        """A running pump; stopped at the end."""
        async with self.built() as (pump, metrics, gate):
            running = Running(pump, metrics, gate, asyncio.create_task(pump.run()))
            try:
                if wait:
                    await running.until_open()
                yield running
            finally:
                await running.stop()


@dataclass
class Running:
    """A pump at work."""

    pump: Pump
    metrics: Metrics
    gate: Gate
    task: asyncio.Task[None]

    async def until_open(self) -> None:
        """Wait until the group gave out partitions and all lanes are open."""
        await until(lambda: self.task.done() or (self.pump.joined and self.pump.lanes), "the lanes are open")
        if self.task.done():
            self.task.result()

    async def stop(self) -> None:
        """Finish the batches at hand and leave the group."""
        self.gate.open()
        self.pump.stop()
        await self.task

    async def die(self) -> None:
        """End without finishing anything, as near to a crash as one process allows."""
        for lane in self.pump.lanes.values():
            if lane._task is not None:
                lane._task.cancel()
        self.pump.stop()
        await asyncio.wait([self.task])

    def count(self, name: str, **labels: str) -> float:
        """A metric's value."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def total(self, name: str) -> float:
        """A metric, all labels added up."""
        return sum(
            sample.value
            for metric in self.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == name
        )
