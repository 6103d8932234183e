"""Open calls back into a store that lost its memory, from Kafka, without publishing anything again.

The partition is read once more from before its oldest open call (`window`) up to its committed offset, through the
same pipeline, once every partition of the group has committed that it knows of the loss: from then on no transaction
that began before it can end, and what is published is final. Three things happen to the calls in there:

* Calls that completed become ready again. What was published of them is known by its id: the output topics are read
  over the same time first, and what is in them is not published again. The tombstone is written as ever, so that
  later duplicates stay duplicates. A call spread over partitions may become ready here for the first time: then its
  record is in no output topic, and is published now.
* Calls that are still open are open again.
* Calls that were given up (published as incomplete at their deadline) look open, but their record is out: they are
  closed for good, so that what comes late is late. Which these are is only known when every partition of the group
  has been read again, for the rest of a call may come from another; so all wait for each other before that step.

A dead letter is left out too when all of its input lies in the part that is read again: whatever became of that
input the first time is published already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from headrace.canonical.shape import DeadLetter
from headrace.pipeline import Batch

log = structlog.get_logger(__name__)

_MINUTE = 60_000_000
_IDS = ("headrace-record-id", "headrace-dead-letter-id")


class Published:
    """Ids of the records and dead letters that are out, from some time on."""

    def __init__(self, client: Mapping[str, Any], topics: Sequence[str]) -> None:
        self._client = dict(client)
        self._topics = list(topics)
        self._ids: set[str] = set()
        self._users: set[object] = set()
        self._since: int | None = None
        self._positions: dict[TopicPartition, int] = {}
        self._reading = asyncio.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    async def cover(self, since: int, user: object) -> None:
        """Know all that was published from ``since`` (microseconds) until now, until ``user`` calls `release`.

        Raises KafkaError.
        """
        self._users.add(user)
        # Producers' clocks and ours may differ a little.
        since = max(0, since - 5 * _MINUTE)
        async with self._reading:
            if self._since is None or since < self._since:
                # Read again from further back. What is known stays: other lanes go by it meanwhile.
                self._positions.clear()
                self._since = since
            await self._read(self._since)

    def release(self, user: object) -> None:
        """``user`` needs to know no longer. When nobody does, the memory is freed."""
        self._users.discard(user)
        if not self._users:
            self._ids.clear()
            self._positions.clear()
            self._since = None

    async def _read(self, since: int) -> None:
        options = {**self._client, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
        ahead = AIOKafkaConsumer(*self._topics, **options, isolation_level="read_uncommitted")
        reader = AIOKafkaConsumer(*self._topics, **options, isolation_level="read_committed")
        try:
            await ahead.start()
            await reader.start()
            partitions = sorted(reader.assignment())
            # Up to the ends as they are with open transactions: these are waited for.
            ends = await ahead.end_offsets(partitions)
            for partition, offset in (await self._starts(reader, partitions, since, ends)).items():
                reader.seek(partition, offset)
            while any([await reader.position(partition) < ends[partition] for partition in partitions]):
                for records in (await reader.getmany(timeout_ms=500)).values():
                    for record in records:
                        self._ids.update(value.decode() for name, value in record.headers if name in _IDS)
            self._positions = {partition: await reader.position(partition) for partition in partitions}
            log.info("published records are known", count=len(self._ids))
        finally:
            await reader.stop()
            await ahead.stop()

    async def _starts(
        self,
        reader: AIOKafkaConsumer,
        partitions: Sequence[TopicPartition],
        since: int,
        ends: dict[TopicPartition, int],
    ) -> dict[TopicPartition, int]:
        if self._positions.keys() >= set(partitions):
            return dict(self._positions)
        found = await reader.offsets_for_times(dict.fromkeys(partitions, since // 1000))
        return {one: ends[one] if at is None else at.offset for one, at in found.items()}


def without_published(batch: Batch, published: Published, partition: TopicPartition, until: int) -> Batch:
    """The batch's outputs that are not out yet; ``until``: the committed offset."""

    def is_repeated(letter: DeadLetter) -> bool:
        return letter["dead_letter_id"] in published or all(
            (source["topic"], source["partition"]) == tuple(partition) and source["last_offset"] < until
            for source in letter["sources"]
        )

    return Batch(
        records=[each for each in batch.records if each[1]["record_id"] not in published],
        dead_letters=[each for each in batch.dead_letters if not is_repeated(each[1])],
        closes=batch.closes,
        consumed=batch.consumed,
        duplicates=batch.duplicates,
        unknown=batch.unknown,
    )
