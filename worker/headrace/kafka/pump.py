"""The hot path: raw topics in, canonical records and dead letters out, one transaction a batch.

Theory of operation. Each assigned input partition has a *lane*, and each lane a producer of its own whose
transactional id names the group and the partition. Whoever is assigned the partition starts the lane's
producer first, which fences the previous owner's, and only then asks where to read on. So a zombie can neither
publish nor commit.

A lane's batch runs in this order, and a crash between any two steps is repaired by reading the batch again:

    1. pipeline.process   pieces go to the store; ready calls are claimed at this batch's offsets
       pipeline.due       so are calls whose patience ended
    2. transaction        records, dead letters and the consumer offsets, all or nothing
    3. pipeline.close     claimed calls become tombstones

Nothing here knows what a call is: that is the pipeline's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from headrace.capture.model import Inbound, Source
from headrace.errors import StoreError
from headrace.kafka.outputs import Output, Outputs
from headrace.metrics import Metrics
from headrace.pipeline import Batch, Pipeline
from headrace.reassembly.store import Position

log = structlog.get_logger(__name__)

#: How long a revoked lane may take to finish its batch. Well inside the broker's rebalance timeout: a lane that
#: takes longer is dropped, and the next owner reads its batch again.
_REVOKE_SECONDS = 10.0
_RETRY_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)
#: What a committed offset's metadata starts with when it holds a round.
_ROUND = "round="


def inbound(record: ConsumerRecord[bytes | None, bytes | None]) -> Inbound:
    """A Kafka record as the pipeline takes it; Kafka's milliseconds become microseconds."""
    source = Source(record.topic, record.partition, record.offset, record.timestamp * 1000)
    return Inbound(source, record.value, record.key, tuple(record.headers or ()))


@dataclass(slots=True)
class Lane:
    """One assigned partition: its producer, and how far it is.

    committed, round: next offset to read as the group has it, and how often the clock alone made calls due at it.
    stream_time: newest message time seen, microseconds.
    """

    partition: TopicPartition
    producer: AIOKafkaProducer
    committed: int
    round: int = 0
    stream_time: int = 0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    revoked: bool = False


class Pump(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reads raw topics and publishes what the pipeline makes of them, until `stop`.

    client: aiokafka's connection options (bootstrap_servers, security). topics: raw topics.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        outputs: Outputs,
        metrics: Metrics,
        *,
        client: Mapping[str, Any],
        topics: Sequence[str],
        group: str,
        batch_messages: int = 5000,
        batch_wait_ms: int = 200,
        fetch_max_bytes: int = 50 << 20,
        max_message_bytes: int = 1 << 20,
        compression: str | None = "zstd",
        session_timeout_ms: int = 30_000,
        start: str = "earliest",
    ) -> None:
        self._pipeline = pipeline
        self._outputs = outputs
        self._metrics = metrics
        self._client = dict(client)
        self._topics = list(topics)
        self._group = group
        self._start = start
        self._batch_messages = batch_messages
        self._batch_wait_ms = batch_wait_ms
        self._producer_options = {
            "compression_type": compression,
            "max_request_size": max_message_bytes,
            "linger_ms": 5,
        }
        self._consumer_options = {
            "group_id": group,
            "enable_auto_commit": False,
            # Lanes seek by themselves; an offset that is gone from the log means reading on from what is left.
            "auto_offset_reset": "earliest",
            "isolation_level": "read_committed",
            "fetch_max_bytes": fetch_max_bytes,
            "session_timeout_ms": session_timeout_ms,
            "max_poll_interval_ms": 600_000,
        }
        self._consumer: AIOKafkaConsumer | None = None
        self._lanes: dict[TopicPartition, Lane] = {}
        self._stopping = asyncio.Event()
        self._failure: Exception | None = None
        self._joined = False

    @property
    def joined(self) -> bool:
        """Whether the group has given partitions out and the lanes for ours are open."""
        return self._joined

    @property
    def lanes(self) -> Mapping[TopicPartition, Lane]:
        """The assigned partitions."""
        return self._lanes

    async def run(self) -> None:
        """Read until `stop`; then finish the batches at hand and leave the group. Raises what a lane cannot survive."""
        self._consumer = AIOKafkaConsumer(**self._client, **self._consumer_options)
        self._consumer.subscribe(self._topics, listener=self)
        await self._consumer.start()
        log.info("reading", topics=self._topics, group=self._group)
        try:
            while not self._stopping.is_set():
                await self._poll(self._consumer)
        finally:
            await self._consumer.stop()
            await self._drop(list(self._lanes))
            log.info("stopped reading")
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Ask `run` to end after the batches at hand."""
        self._stopping.set()

    # Assignment

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Let the batches at hand finish, within a deadline that all lanes share; then give the lanes up."""
        await self._drop(list(revoked))

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Open a lane for each partition, all at once.

        The client already fetches from where it thinks the group was; until a lane is open that is not to be read.
        """
        assert self._consumer is not None
        partitions = list(assigned)
        self._consumer.pause(*partitions)
        try:
            await asyncio.gather(*(self._open(self._consumer, partition) for partition in partitions))
            self._joined = True
            log.info("partitions assigned", count=len(partitions))
        except Exception as error:
            # The client swallows what a listener raises: a worker without lanes would idle for ever.
            self._failure = error
            self.stop()

    async def _open(self, consumer: AIOKafkaConsumer, partition: TopicPartition) -> None:
        name = f"{self._group}-{partition.topic}-{partition.partition}"
        producer = AIOKafkaProducer(**self._client, **self._producer_options, transactional_id=name)
        await producer.start()
        # Only after the previous owner is fenced is the committed offset final.
        committed, round_ = await self._committed(partition)
        if committed < 0:
            committed = await self._first_offset(consumer, partition)
        consumer.seek(partition, committed)
        self._lanes[partition] = Lane(partition, producer, committed, round_)
        consumer.resume(partition)
        log.debug("lane opened", topic=partition.topic, partition=partition.partition, offset=committed)

    async def _first_offset(self, consumer: AIOKafkaConsumer, partition: TopicPartition) -> int:
        """Where a group that never committed begins."""
        ask = consumer.beginning_offsets if self._start == "earliest" else consumer.end_offsets
        return int((await ask([partition]))[partition])

    async def _committed(self, partition: TopicPartition) -> tuple[int, int]:
        """The group's next offset and round; (-1, 0) when it never committed."""
        admin = AIOKafkaAdminClient(**self._client)
        await admin.start()
        try:
            offsets = await admin.list_consumer_group_offsets(self._group, partitions=[partition])
        finally:
            await admin.close()
        offset, metadata = offsets.get(partition, OffsetAndMetadata(-1, ""))
        digits = metadata.removeprefix(_ROUND)
        return offset, int(digits) if metadata.startswith(_ROUND) and digits.isdigit() else 0

    async def _drop(self, partitions: Sequence[TopicPartition]) -> None:
        lanes = [self._lanes.pop(partition) for partition in partitions if partition in self._lanes]
        for lane in lanes:
            lane.revoked = True
        deadline = time.monotonic() + _REVOKE_SECONDS
        await asyncio.gather(*(self._finish(lane, deadline) for lane in lanes))

    async def _finish(self, lane: Lane, deadline: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                async with lane.busy:
                    pass
        except TimeoutError:
            log.warning("lane dropped in mid batch", topic=lane.partition.topic, partition=lane.partition.partition)
        await _quietly(lane.producer.stop())

    # Batches

    async def _poll(self, consumer: AIOKafkaConsumer) -> None:
        polled = await consumer.getmany(timeout_ms=self._batch_wait_ms, max_records=self._batch_messages)
        work = []
        for partition, lane in list(self._lanes.items()):
            records = polled.get(partition, [])
            now = self._stream_time(consumer, lane, records)
            work.append(self._advance(lane, records, now))
        await asyncio.gather(*work)
        for partition in self._lanes:
            highwater = consumer.highwater(partition)
            if highwater is not None:
                lag = max(0, highwater - self._lanes[partition].committed)
                self._metrics.lag.labels(partition.topic, partition.partition).set(lag)

    def _stream_time(self, consumer: AIOKafkaConsumer, lane: Lane, records: Sequence[ConsumerRecord[Any, Any]]) -> int:
        """Time as the partition tells it; the clock only counts where the partition is read to its end."""
        if records:
            lane.stream_time = max(lane.stream_time, max(record.timestamp for record in records) * 1000)
            return lane.stream_time
        highwater = consumer.highwater(lane.partition)
        if highwater is not None and lane.committed >= highwater:
            return max(lane.stream_time, time.time_ns() // 1000)
        return lane.stream_time

    async def _advance(self, lane: Lane, records: Sequence[ConsumerRecord[Any, Any]], now: int) -> None:
        """One lane's batch with its deadlines; the same again until it is done or the lane is gone."""
        messages = [inbound(record) for record in records if record.offset >= lane.committed]
        async with lane.busy:
            if messages or now:
                await self._until_done(lane, lambda: self._batch(lane, messages, now))

    async def _until_done(self, lane: Lane, work: Callable[[], Awaitable[None]]) -> None:
        """Store or broker away: the same batch again, with waits in between, as long as the lane is ours."""
        for wait in _waits():
            if lane.revoked:
                return
            try:
                await work()
                return
            except ProducerFenced:
                log.warning("lane fenced", topic=lane.partition.topic, partition=lane.partition.partition)
                lane.revoked = True
                return
            except (StoreError, KafkaError) as error:
                self._metrics.retries.labels(type(error).__name__).inc()
                log.warning("batch failed, trying again", error=str(error), wait=wait)
                await asyncio.sleep(wait)

    async def _batch(self, lane: Lane, messages: Sequence[Inbound], now: int) -> None:
        with self._metrics.batch_seconds.time():
            batch = await self._pipeline.process(messages)
            topic, number = lane.partition.topic, lane.partition.partition
            if messages:
                position = Position(topic, number, messages[-1].source.offset)
                committed = (messages[-1].source.offset + 1, 0)
            else:
                # No message moves the offset, so the round does: see Position.round.
                position = Position(topic, number, lane.committed, lane.round + 1)
                committed = (lane.committed, lane.round + 1)
            await self._pipeline.due(batch, position, now, lane.committed, lane.round)
            if messages or batch.closes:
                await self._publish(lane, batch, committed)
                lane.committed, lane.round = committed
            await self._pipeline.close(batch)
        self._metrics.count(topic, batch)

    async def _publish(self, lane: Lane, batch: Batch, committed: tuple[int, int]) -> None:
        """Records, dead letters and the new offset, in one transaction."""
        outputs = self._outputs.of(batch)
        offset, round_ = committed
        offsets = {lane.partition: OffsetAndMetadata(offset, f"{_ROUND}{round_}" if round_ else "")}
        producer = lane.producer
        await producer.begin_transaction()
        try:
            for output in outputs:
                await self._send(producer, output)
            await producer.send_offsets_to_transaction(offsets, self._group)
            await producer.commit_transaction()
        except ProducerFenced:
            raise
        except BaseException:
            await _quietly(producer.abort_transaction())
            raise
        for output in outputs:
            self._metrics.produced.labels(output.topic).inc()

    async def _send(self, producer: AIOKafkaProducer, output: Output) -> None:
        try:
            await producer.send(output.topic, output.value, key=output.key, headers=list(output.headers))
        except MessageSizeTooLargeError:
            small = self._outputs.too_large(output)
            await producer.send(small.topic, small.value, key=small.key, headers=list(small.headers))


def _waits() -> Iterable[float]:
    yield from _RETRY_SECONDS
    while True:
        yield _RETRY_SECONDS[-1]


async def _quietly(work: Awaitable[Any]) -> None:
    """Finish with a client that may be broken already: what it raises changes nothing any more."""
    try:
        await work
    except (KafkaError, OSError) as error:
        log.debug("while letting go", error=str(error))
