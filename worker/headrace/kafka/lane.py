"""One assigned partition: its producer, its batches, and what happens when something fails.

A batch runs in this order, and a crash between any two steps is repaired by reading the batch again:

    1. pipeline.process   pieces go to the store; ready calls are claimed at this batch's offsets
       pipeline.due       so are calls whose patience ended
    2. transaction        records, dead letters and the consumer offset, all or nothing
    3. pipeline.close     claimed calls become tombstones

Whatever fails, there is one way on: the lane lets go of its producer and opens again. Opening starts a producer with
the partition's transactional id, which fences the former one, ours or another worker's, and settles its last
transaction; only then is the committed offset final, and the lane reads on from it. So nobody has to know whether a
transaction whose end was not heard of took place, and a zombie can publish nothing.

Opening also compares epochs: where the store lost its memory since the last commit, open calls are rebuilt first
(`headrace.kafka.rebuild`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from headrace.capture.inbound import Inbound
from headrace.errors import HeadraceError, StoreError
from headrace.kafka.memory import Memory
from headrace.kafka.outputs import Output, Outputs
from headrace.kafka.progress import Group, Progress, Watermark, filtering, replayed, seen
from headrace.kafka.rebuild import Published, without_published
from headrace.metrics import Metrics
from headrace.pipeline import Batch, Pipeline
from headrace.pipeline.polled import Polled
from headrace.reassembly.store import Position, StateKey

log = structlog.get_logger(__name__)

_RETRY_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)
#: How often an idle lane looks for calls whose patience ended.
_DEADLINE_SECONDS = 1.0
#: How long a producer may take to close; past it, it is dropped.
_CLOSE_SECONDS = 3.0
#: How long a transaction may take: the client's default, after which the broker ends it. The client itself may wait on.
_TRANSACTION_SECONDS = 60.0
_FIRST_BATCH = 500
_NO_END = 1 << 60
#: How long a rebuilt partition waits for the others, and how often it looks.
_REPLAY_SECONDS = 120.0
_REPLAY_POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Shared:
    """What the lanes of a worker share.

    batch_bytes: about how many bytes of messages all lanes together take at a time. rebuild_window: how far back
    open calls are looked for when the store lost its memory, microseconds of stream time.
    """

    consumer: AIOKafkaConsumer
    topics: Sequence[str]
    group: Group
    group_name: str
    memory: Memory
    pipeline: Pipeline
    outputs: Outputs
    metrics: Metrics
    watermark: Watermark
    published: Published
    producer_options: Mapping[str, Any]
    batch_messages: int
    batch_wait_ms: int
    batch_bytes: int
    rebuild_window: int
    start: str

    def partitions(self) -> list[TopicPartition]:
        """All partitions of the raw topics that are known."""
        numbers = {topic: self.consumer.partitions_for_topic(topic) or () for topic in self.topics}
        return [TopicPartition(topic, each) for topic, known in numbers.items() for each in sorted(known)]


class Lane:
    """One partition from assignment to revocation: `run` it as a task, `stop` it."""

    def __init__(self, partition: TopicPartition, shared: Shared) -> None:
        self.partition = partition
        self.at = Progress(-1)
        self.is_open = False
        #: (committed offset, end of the log) when a rebuild began: until the lane has passed the end, what is
        #: published already is left out.
        self._rebuilt: tuple[int, int] | None = None
        self._shared = shared
        self._producer: AIOKafkaProducer | None = None
        self._stopping = asyncio.Event()
        self._busy = False
        self._task: asyncio.Task[None] | None = None
        self._looked = 0.0
        self._message_bytes = 1
        self._epoch = ""
        self._log = log.bind(topic=partition.topic, partition=partition.partition)

    # Life

    def begin(self) -> asyncio.Task[None]:
        """Start the lane's task; it ends with `stop`, or raises what no retry can help."""
        self._task = asyncio.create_task(self._run(), name=f"lane {self.partition.topic}/{self.partition.partition}")
        return self._task

    async def stop(self, seconds: float) -> None:
        """End: a batch at hand may finish within ``seconds``, anything else stops at once."""
        self._stopping.set()
        task = self._task
        if task is None:
            return
        if not self._busy:
            task.cancel()
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            self._log.warning("lane dropped in mid batch")
            task.cancel()
            await asyncio.wait([task], timeout=_CLOSE_SECONDS)

    async def _run(self) -> None:
        waits = _Waits()
        wait = 0.0
        while not self._stopping.is_set():
            try:
                await self._open()
                await self._read(waits)
            except (StoreError, KafkaError, OSError, HeadraceError) as error:
                wait = waits.next()
                self._shared.metrics.retries.labels(type(error).__name__).inc()
                self._log.warning("starting again from the last commit", error=repr(error), wait=wait)
                await self._note_loss(error)
            finally:
                self.is_open = False
                self._end_rebuild()
                await self._let_go()
            if not self._stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), wait)

    async def _note_loss(self, error: Exception) -> None:
        if isinstance(error, StoreError) and error.code == "store_lost_memory":
            try:
                await self._shared.memory.renew(self._epoch)
            except StoreError as still:
                self._log.warning("the store does not answer yet", error=repr(still))

    async def _let_go(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            await asyncio.wait_for(producer.stop(), _CLOSE_SECONDS)
        except (KafkaError, OSError, TimeoutError) as error:
            self._log.debug("while letting go", error=repr(error))
            # Closing waits for messages in flight; without a broker they never arrive.
            with contextlib.suppress(Exception):
                await producer.client.close()

    # Opening

    async def _open(self) -> None:
        shared, partition = self._shared, self.partition
        name = f"{shared.group_name}-{partition.topic}-{partition.partition}"
        self._producer = AIOKafkaProducer(**shared.producer_options, transactional_id=name)
        await self._producer.start()
        epoch = self._epoch = await shared.memory.epoch()
        committed = (await shared.group.progress([partition]))[partition]
        if committed is None:
            # Committed at once: a worker that starts at the end must not skip what it was given before its first batch.
            committed = Progress(await self._first_offset(), epoch, 0, 0)
            await self._publish(Batch(), committed)
        self.at = committed
        if committed.epoch != epoch:
            await self._rebuild(epoch)
        shared.consumer.seek(partition, self.at.offset)
        shared.consumer.resume(partition)
        self._looked = 0.0
        self.is_open = True
        self._log.debug("lane opened", offset=self.at.offset)

    async def _first_offset(self) -> int:
        """Where a group that never committed begins."""
        group = self._shared.group
        ask = group.beginnings if self._shared.start == "earliest" else group.ends
        return (await ask([self.partition]))[self.partition]

    async def _rebuild(self, epoch: str) -> None:
        """Read the partition again up to the committed offset; nothing that is out is published again."""
        shared, partition, until = self._shared, self.partition, self.at.offset
        log_end = (await shared.group.ends([partition]))[partition]
        self._rebuilt = (until, log_end)
        since = (self.at.stream_time or _now()) - shared.rebuild_window
        first = await shared.group.offset_at(partition, since)
        end = min(until, log_end)
        self._log.info("rebuilding open calls", first=first, until=until)
        # What other workers had under way when the memory was lost must be out, or never come, before anybody looks.
        await self._publish(Batch(), msgspec.structs.replace(self.at, epoch=seen(epoch)))
        await self._all_at(epoch, seen(epoch), replayed(epoch), filtering(epoch), epoch)
        await shared.published.cover(since, self)
        waiting: dict[StateKey, int] = {}
        if first is not None and first < end:
            shared.consumer.seek(partition, first)
            shared.consumer.resume(partition)
            while not self._stopping.is_set() and await shared.consumer.position(partition) < end:
                polled = await self._poll(end=until)
                async with shared.memory.batch(epoch):
                    await self._replay(polled.messages, waiting)
        if self._stopping.is_set():
            return
        await self._publish(Batch(), msgspec.structs.replace(self.at, epoch=replayed(epoch)))
        await self._all_at(epoch, replayed(epoch), filtering(epoch), epoch)
        place = Position(partition.topic, partition.partition, max(0, until - 1))
        async with shared.memory.batch(epoch):
            await shared.pipeline.bury(waiting, lambda record_id: record_id in shared.published, place)
        rebuilt = msgspec.structs.replace(self.at, epoch=self._mark(until))
        await self._publish(Batch(), rebuilt)
        self.at = rebuilt
        self._log.info("open calls are rebuilt", calls=len(waiting))

    async def _replay(self, messages: Sequence[Inbound], waiting: dict[StateKey, int]) -> None:
        batch = await self._shared.pipeline.process(messages)
        for close in batch.closes:
            waiting.pop(close.key, None)
        waiting.update(batch.waiting)
        left = self._unpublished(batch)
        if left.records or left.dead_letters:
            await self._publish(left, self.at)
        await self._shared.pipeline.close(batch)

    async def _all_at(self, epoch: str, *steps: str) -> None:
        """Wait, within bounds, until the other partitions are as far: a call may have pieces in all of them."""
        shared = self._shared
        deadline = time.monotonic() + _REPLAY_SECONDS
        while not await shared.group.all_at(shared.partitions(), steps):
            async with shared.memory.batch(epoch):
                pass  # Raises when the memory was lost once more: nobody would ever be done.
            if time.monotonic() > deadline:
                self._log.warning("other partitions take long to rebuild; going on without them")
                return
            await asyncio.sleep(_REPLAY_POLL_SECONDS)

    def _end_rebuild(self) -> None:
        self._rebuilt = None
        self._shared.published.release(self)

    def _mark(self, offset: int) -> str:
        """What a commit at ``offset`` says of the epoch."""
        return self._epoch if self._rebuilt is None or offset >= self._rebuilt[1] else filtering(self._epoch)

    def _unpublished(self, batch: Batch) -> Batch:
        """The batch without what is out already.

        This also holds for a while after the rebuild: before a loss is noticed, appends reach the new memory, and may
        claim there what comes a second time.
        """
        if self._rebuilt is None:
            return batch
        return without_published(batch, self._shared.published, self.partition, self._rebuilt[0])

    # Reading

    async def _read(self, waits: _Waits) -> None:
        while not self._stopping.is_set():
            polled = await self._poll(start=self.at.offset)
            # No wait between a poll and this: a lane that is not busy holds no messages, and may be cancelled.
            self._busy = True
            try:
                await self._advance(polled)
            finally:
                self._busy = False
            waits.reset()

    async def _poll(self, *, start: int = 0, end: int = _NO_END) -> Polled:
        shared = self._shared
        lanes = max(1, len(shared.consumer.assignment()))
        fitting = shared.batch_bytes // lanes // self._message_bytes
        most = max(1, min(shared.batch_messages, fitting if self._message_bytes > 1 else _FIRST_BATCH))
        records = await shared.consumer.getmany(self.partition, timeout_ms=shared.batch_wait_ms, max_records=most)
        topic, number = self.partition
        polled = Polled(
            topic,
            number,
            records.get(self.partition, ()),
            _now(),
            newest_before=self.at.stream_time,
            start=start,
            end=end,
        )
        if polled.messages:
            self._message_bytes = max(2, polled.size // len(polled.messages) + 100)
        return polled

    async def _advance(self, polled: Polled) -> None:
        # Markers of transactions and compacted messages take offsets too: the position is past them.
        position = max(self.at.offset, await self._shared.consumer.position(self.partition))
        if polled.messages or position > self.at.offset or time.monotonic() - self._looked >= _DEADLINE_SECONDS:
            self._looked = time.monotonic()
            async with self._shared.memory.batch(self._epoch):
                await self._batch(polled, position)

    # Batches

    async def _batch(self, polled: Polled, offset: int) -> None:
        shared, at, messages, (topic, number) = self._shared, self.at, polled.messages, self.partition
        with shared.metrics.batch_seconds.time():
            batch = await shared.pipeline.process(messages)
            after = Progress(offset, self._mark(offset), 0, polled.newest)
            if messages:
                position = Position(topic, number, messages[-1].offset)
            else:
                # No message moves the offset, so the round does: see Position.round.
                position = Position(topic, number, at.offset, at.round + 1)
            await shared.pipeline.due(batch, position, shared.watermark.time, at.offset, at.round)
            batch = self._unpublished(batch)
            if not messages and batch.closes and offset == at.offset:
                after = msgspec.structs.replace(at, round=at.round + 1)
            if messages or batch.closes or offset > at.offset:
                await self._publish(batch, after)
                self.at = after
            await shared.pipeline.close(batch)
            if self._rebuilt is not None and self.at.offset >= self._rebuilt[1]:
                self._end_rebuild()
        shared.metrics.count(topic, batch)

    async def _publish(self, batch: Batch, after: Progress) -> None:
        """Records, dead letters and the new offset, in one transaction."""
        outputs = await self._shared.outputs.fitting(batch)
        producer = self._producer
        assert producer is not None
        try:
            async with asyncio.timeout(_TRANSACTION_SECONDS):
                await producer.begin_transaction()
                await self._send(producer, outputs)
                await producer.send_offsets_to_transaction({self.partition: after.committed()}, self._shared.group_name)
                await producer.commit_transaction()
        except TimeoutError as error:
            raise KafkaError(f"the transaction did not end within {_TRANSACTION_SECONDS:g} s") from error
        except AssertionError as error:
            # The client's way to say that an earlier failure has left it without a transaction.
            raise KafkaError("the producer is of no use any more") from error
        for output in outputs:
            self._shared.metrics.produced.labels(output.topic).inc()

    async def _send(self, producer: AIOKafkaProducer, outputs: Sequence[Output]) -> None:
        """Send all and wait until the broker has all: the client would commit without those that it refused."""
        sent = [
            await producer.send(output.topic, output.value, key=output.key, headers=list(output.headers))
            for output in outputs
        ]
        for each in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(each, MessageSizeTooLargeError):
                await self._shared.outputs.look_at_limits()
            if isinstance(each, BaseException):
                raise each


def _now() -> int:
    return time.time_ns() // 1000


class _Waits:
    """Longer and longer waits between tries, up to a bound; short again once something succeeded."""

    def __init__(self) -> None:
        self._tries = 0

    def next(self) -> float:
        wait = _RETRY_SECONDS[min(self._tries, len(_RETRY_SECONDS) - 1)]
        self._tries += 1
        return wait

    def reset(self) -> None:
        self._tries = 0
