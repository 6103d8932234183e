"""How far a group is: what each partition's committed offset says, and what that means for time.

A committed offset carries metadata, written in the same transaction as the records it stands for:

    headrace/1 <epoch> <round> <stream time>

The epoch names the store's memory that open calls of the partition were given to. Where it is not the store's own,
that memory was lost since, and the partition has to be read again (`headrace.kafka.rebuild`). Because the epoch is
committed with the offset, this also holds for a worker that crashed in the middle, or was down when it happened.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

_MARK = "headrace/1"


class Progress(msgspec.Struct, frozen=True):
    """One partition's commit.

    offset: the next to read. epoch: see above, "" when unknown. round: how often the clock alone made calls due at
    this offset. stream_time: newest message time before the offset, microseconds.
    """

    offset: int
    epoch: str = ""
    round: int = 0
    stream_time: int = 0

    def committed(self) -> OffsetAndMetadata:
        """As Kafka keeps it."""
        return OffsetAndMetadata(self.offset, f"{_MARK} {self.epoch} {self.round} {self.stream_time}")


def progress_of(committed: OffsetAndMetadata) -> Progress | None:
    """What a group's offset says; None when the group never committed, no epoch when another tool did."""
    if committed.offset < 0:
        return None
    parts = committed.metadata.split(" ")
    if len(parts) != 4 or parts[0] != _MARK or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return Progress(committed.offset)
    return Progress(committed.offset, parts[1], int(parts[2]), int(parts[3]))


def short(epoch: str) -> str:
    """A store's epoch in as few characters as metadata has room for."""
    return hashlib.blake2b(epoch.encode(), digest_size=8).hexdigest()


def seen(epoch: str) -> str:
    """In place of the epoch: the loss is known here, and no transaction of the old memory can follow."""
    return f"!{epoch}"


def replayed(epoch: str) -> str:
    """In place of the epoch: the partition is read again, but waits for others before its open calls are right."""
    return f"~{epoch}"


def filtering(epoch: str) -> str:
    """In place of the epoch: rebuilt, but what is published already is still left out of what is read.

    Whoever takes the partition over must do the same, so it rebuilds once more.
    """
    return f"^{epoch}"


class Group:
    """Reads a consumer group's offsets, and the ends of partitions.

    client: aiokafka's connection options.
    """

    def __init__(self, client: Mapping[str, Any], group: str) -> None:
        self._group = group
        self._admin = AIOKafkaAdminClient(**client)
        # Ends count messages of open transactions too: those wait in the log as well.
        self._reader = AIOKafkaConsumer(**client, isolation_level="read_uncommitted", enable_auto_commit=False)

    async def start(self) -> None:
        """Connect. Raises KafkaError."""
        await self._admin.start()
        await self._reader.start()

    async def stop(self) -> None:
        """Close all connections."""
        await self._reader.stop()
        await self._admin.close()

    async def progress(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Progress | None]:
        """The commit of each partition; raises KafkaError."""
        asked = list(partitions)
        told = await self._admin.list_consumer_group_offsets(self._group, partitions=asked)
        if any(partition not in told for partition in asked):
            # The client does not look at the answer's own error code: an answer that names no partition is no
            # group without commits, it is a coordinator that is still loading or has moved.
            raise GroupCoordinatorNotAvailableError(f"the offsets of group {self._group} cannot be read yet")
        return {partition: progress_of(told[partition]) for partition in asked}

    async def all_at(self, partitions: Iterable[TopicPartition], epochs: Iterable[str]) -> bool:
        """Whether every partition was committed with one of these epochs. Raises KafkaError."""
        wanted = set(epochs)
        return all(at is not None and at.epoch in wanted for at in (await self.progress(partitions)).values())

    async def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Where each partition ends now; raises KafkaError."""
        found: dict[TopicPartition, int] = await self._reader.end_offsets(partitions)
        return found

    async def beginnings(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Where each partition begins now; raises KafkaError."""
        found: dict[TopicPartition, int] = await self._reader.beginning_offsets(partitions)
        return found

    async def offset_at(self, partition: TopicPartition, microseconds: int) -> int | None:
        """Offset of the partition's first message from a time on; None when there is none. Raises KafkaError."""
        found = (await self._reader.offsets_for_times({partition: max(0, microseconds // 1000)}))[partition]
        return None if found is None else int(found.offset)


class Watermark:
    """Stream time of the group: every message older than it has been taken from every partition.

    The pieces of a call may lie in several partitions. A deadline that one partition has been read past says nothing
    while the next piece waits in another, so deadlines go by the slowest. A partition that is read to its end keeps
    up with the clock. One whose calls are being rebuilt holds the time back altogether.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self.time = 0
        self.lag: dict[TopicPartition, int] = {}

    async def advance(self, partitions: Sequence[TopicPartition], epoch: str) -> None:
        """Look again. epoch: the store's. Raises KafkaError, with the old time still true."""
        # In this order: what was committed after the ends were seen has passed all that was in the log before.
        clock = time.time_ns() // 1000
        ends = await self._group.ends(partitions)
        progress = await self._group.progress(partitions)
        self.lag = {one: max(0, ends[one] - (at.offset if at else 0)) for one, at in progress.items()}
        times = [_time(at, ends[one], clock, epoch) for one, at in progress.items()]
        self.time = max(self.time, min(times, default=0))


def _time(progress: Progress | None, end: int, clock: int, epoch: str) -> int:
    if progress is None or progress.epoch not in (epoch, filtering(epoch)):
        return 0
    return clock if progress.offset >= end else progress.stream_time
