"""The hot path: raw topics in, canonical records and dead letters out.

The pump is the consumer and the group; each assigned partition is a lane (`headrace.kafka.lane`) with a task of its
own, so a partition that has to wait holds up no other, and no wait of a lane keeps the group from hearing of us.

Exactly once, step by step. A record is published in one transaction with the offset of the input that completed it.
Only the owner of a partition can commit, for whoever opens it fences all former owners, and reads the offset after
that. The piece that completes a call claims it in the store at its own place in the log. From there:

    crash before the commit    the batch is read again, reaches the claim, and gets the pieces again
    crash after it             the claim lies before the committed offset: it is closed, and nothing is emitted
    two workers, one call      pieces in several partitions meet in one state; one append completes it, and claims
    the store loses all        the commit names the epoch of the store's memory; another one means: rebuild

Deadlines go by the group's slowest partition (`headrace.kafka.progress.Watermark`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError

from headrace.errors import StoreError
from headrace.kafka.lane import Lane, Shared
from headrace.kafka.memory import EpochStore, Memory
from headrace.kafka.outputs import Outputs
from headrace.kafka.progress import Group, Watermark
from headrace.kafka.rebuild import Published
from headrace.metrics import Metrics
from headrace.pipeline import Pipeline

log = structlog.get_logger(__name__)

#: How long revoked lanes may take to finish their batches, and how long the group waits for its members then.
_REVOKE_SECONDS = 10.0
_REBALANCE_MS = 60_000
#: A worker that waits for its store is not idle: only its heartbeats say whether it lives.
_NEVER_MS = 2**31 - 1
_WATERMARK_SECONDS = 1.0
_METADATA_MS = 30_000
_BATCH_BYTES = 1 << 18
_PARTITION_BYTES = 8 << 20


class Pump(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reads raw topics and publishes what the pipeline makes of them, until `stop`.

    client: aiokafka's connection options (bootstrap_servers, security). topics: raw topics. store: the pipeline's.
    rebuild_seconds: how far back open calls are looked for when the store lost its memory.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        outputs: Outputs,
        metrics: Metrics,
        store: EpochStore,
        *,
        client: Mapping[str, Any],
        topics: Sequence[str],
        group: str,
        batch_messages: int = 20_000,
        batch_wait_ms: int = 200,
        fetch_max_bytes: int = 50 << 20,
        compression: str | None = "zstd",
        session_timeout_ms: int = 30_000,
        rebuild_seconds: float = 3600.0,
        start: str = "earliest",
    ) -> None:
        self._topics = list(topics)
        self._consumer = AIOKafkaConsumer(
            **client,
            group_id=group,
            enable_auto_commit=False,
            # Lanes seek by themselves; an offset that is gone from the log means reading on from what is left.
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_bytes=fetch_max_bytes,
            # The client's megabyte would be the size of a batch, and small batches cost more trips to the store.
            max_partition_fetch_bytes=min(_PARTITION_BYTES, fetch_max_bytes),
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=min(3000, session_timeout_ms // 3),
            rebalance_timeout_ms=_REBALANCE_MS,
            max_poll_interval_ms=_NEVER_MS,
            metadata_max_age_ms=_METADATA_MS,
        )
        self._group = Group(client, group)
        self._watermark = Watermark(self._group)
        self._memory = Memory(store)
        self._metrics = metrics
        self._shared = Shared(
            consumer=self._consumer,
            topics=self._topics,
            group=self._group,
            group_name=group,
            memory=self._memory,
            pipeline=pipeline,
            outputs=outputs,
            metrics=metrics,
            watermark=self._watermark,
            published=Published(client, outputs.topics),
            producer_options={
                **client,
                "compression_type": compression,
                # The outputs see to sizes; this only must not be in their way.
                "max_request_size": outputs.limit + (1 << 20),
                "max_batch_size": min(_BATCH_BYTES, outputs.limit),
                "linger_ms": 5,
            },
            batch_messages=batch_messages,
            batch_wait_ms=batch_wait_ms,
            batch_bytes=fetch_max_bytes,
            rebuild_window=int(rebuild_seconds * 1_000_000),
            start=start,
        )
        self._lanes: dict[TopicPartition, Lane] = {}
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None
        self._joined = False

    @property
    def joined(self) -> bool:
        """Whether the group has given partitions out and the lanes for ours are open."""
        return self._joined and all(lane.is_open for lane in self._lanes.values())

    @property
    def lanes(self) -> Mapping[TopicPartition, Lane]:
        """The assigned partitions."""
        return self._lanes

    @property
    def lag(self) -> Mapping[TopicPartition, int]:
        """Messages that each partition of the group is behind, as of the last look at it."""
        return self._watermark.lag

    async def run(self) -> None:
        """Read until `stop`; then finish the batches at hand and leave the group. Raises what a lane cannot survive."""
        self._consumer.subscribe(self._topics, listener=self)
        try:
            await self._group.start()
            await self._consumer.start()
            log.info("reading", topics=self._topics)
            watch = asyncio.create_task(self._watch(), name="watermark")
            try:
                await self._stopping.wait()
            finally:
                watch.cancel()
                await asyncio.wait([watch])
        finally:
            await self._drop(list(self._lanes))
            await self._consumer.stop()
            await self._group.stop()
            log.info("stopped reading")
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Ask `run` to end after the batches at hand."""
        self._stopping.set()

    # Assignment. The client runs these in its heartbeat's place: they must not wait for anything slow.

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Let the batches at hand finish, within a deadline that all lanes share; then give the lanes up."""
        await self._drop(list(revoked))

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Begin a lane for each partition.

        The client already fetches from where it thinks the group was; until a lane is open that is not to be read.
        """
        for partition in assigned:
            self._consumer.pause(partition)
            lane = self._lanes[partition] = Lane(partition, self._shared)
            lane.begin().add_done_callback(self._ended)
        self._joined = True
        log.info("partitions assigned", count=len(self._lanes))

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and self._failure is None:
            log.error("a lane failed", error=repr(error), exc_info=error)
            self._failure = error
            self.stop()

    async def _drop(self, partitions: Sequence[TopicPartition]) -> None:
        lanes = [self._lanes.pop(partition) for partition in partitions if partition in self._lanes]
        await asyncio.gather(*(lane.stop(_REVOKE_SECONDS) for lane in lanes))

    # Time

    async def _watch(self) -> None:
        """Keep the watermark and the gauges up to date."""
        while True:
            with contextlib.suppress(KafkaError, StoreError, OSError):
                partitions = self._shared.partitions()
                if partitions:
                    await self._watermark.advance(partitions, await self._memory.epoch())
                self._measure()
            await asyncio.sleep(_WATERMARK_SECONDS)

    def _measure(self) -> None:
        for partition in self._lanes:
            lag = self._watermark.lag.get(partition)
            if lag is not None:
                self._metrics.lag.labels(partition.topic, partition.partition).set(lag)
