"""What is left when a worker does nothing: python -m bench.consumers plain|faust BOOTSTRAP TOPIC COUNT.

plain: aiokafka's getmany, and orjson on every value. faust: an agent that takes 500 messages at a time and drops them.
Each prints one line of JSON: CPU and wall seconds from its first message to its last.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.rounds import settle


class _Clock:
    """Counts messages; at the last one prints its times and ends the process."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._started = False

    def take(self, count: int) -> None:
        if not self._started:
            self._started = True
            self._cpu, self._wall = time.process_time(), time.perf_counter()
            self._count = self._left - count
        self._left -= count
        if self._left <= 0:
            figures = {"cpu": time.process_time() - self._cpu, "wall": time.perf_counter() - self._wall}
            # Not by print: Faust takes that for its log.
            os.write(1, orjson.dumps({**figures, "messages": self._count}) + b"\n")
            os._exit(0)


async def plain(bootstrap: str, topic: str, count: int) -> None:
    """Poll and parse."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, fetch_max_bytes=50 << 20, auto_offset_reset="earliest")
    await consumer.start()
    partitions = [TopicPartition(topic, each) for each in sorted(await _partitions(consumer, topic))]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    clock = _Clock(count)
    while True:
        for records in (await consumer.getmany(timeout_ms=200, max_records=5000)).values():
            for record in records:
                orjson.loads(record.value)
            clock.take(len(records))


async def _partitions(consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    while not (known := consumer.partitions_for_topic(topic)):
        consumer._client.add_topic(topic)
        await asyncio.sleep(0.05)
    return set(known)


def faust(bootstrap: str, topic: str, count: int) -> None:
    """An agent that does nothing."""
    import faust as library

    name = f"bench-{uuid.uuid4().hex[:8]}"
    app = library.App(
        name,
        broker=f"kafka://{bootstrap}",
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        stream_buffer_maxsize=4096,
        datadir=f"/tmp/{name}",
    )
    clock = _Clock(count)

    @app.agent(app.topic(topic, value_serializer="raw", key_serializer="raw"))
    async def empty(stream: library.StreamT) -> None:
        async for values in stream.take(500, within=0.2):
            clock.take(len(values))

    library.Worker(app, loglevel="error").execute_from_commandline()


def main() -> None:
    """See the module."""
    kind, bootstrap, topic, count = sys.argv[1:5]
    settle()
    if kind == "faust":
        faust(bootstrap, topic, int(count))
        return
    import uvloop

    uvloop.run(plain(bootstrap, topic, int(count)))


if __name__ == "__main__":
    main()
