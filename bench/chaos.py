"""Exactly once under fire: real Kafka, real Redis, real worker processes, and something breaking all the time.

    python -m bench.chaos --calls 20000 --chunks 50 --seconds 240

Traffic (duplicates, reordering, calls interleaved and spread over partitions) flows while workers are killed and
paused, the broker crashes and restarts, Redis is flushed, restarted and replaced, and the group rebalances. In the
end a read_committed reader must have seen every record once, and each with the content of the offline run.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka import AIOKafkaProducer
from tests.support.calls import Message, Mix, traffic
from tests.support.services import KafkaBroker, RedisServer
from tests.support.workers import Comparison, Output, Seen, Topics, Workers, compare, offline


@dataclass(frozen=True)
class Plan:
    """What a run does. chunks: about how many pieces a stream has. seconds: how long things break at least.

    every: seconds between two faults.
    """

    calls: int = 20_000
    chunks: int = 50
    partitions: int = 4
    workers: int = 3
    seconds: float = 240.0
    every: float = 4.0
    seed: int = 1
    idle_seconds: float = 30.0

    def messages(self) -> Iterator[Message]:
        """The traffic; the same each time."""
        return traffic(range(self.calls), self.chunks, seed=self.seed, open_at_once=200, mix=Mix())


@dataclass
class Report:
    """What came of it."""

    comparison: Comparison
    seen: Seen
    messages: int
    faults: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        letters = Counter(letter["code"] for letter in self.seen.dead_letters)
        broken = ", ".join(f"{count} x {name}" for name, count in sorted(self.faults.items()))
        return (
            f"{self.messages:,} messages in, {len(self.seen.records):,} records out in {self.seconds:.0f} s\n"
            f"faults: {broken}\n{self.comparison}\ndead letters: {dict(letters) or 0}"
        )


class Chaos:
    """One run over servers of its own. Use `run`."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._rng = random.Random(plan.seed)
        self._kafka = KafkaBroker(folder / "kafka")
        self._redis = RedisServer(folder / "redis")
        self._topics = Topics.named("chaos", plan.partitions)
        self._faults: Counter[str] = Counter()
        self._sent = 0
        self._sending = True

    async def run(self) -> Report:
        """Start everything, break it, compare."""
        began = time.monotonic()
        expected = await asyncio.to_thread(lambda: offline(list(self._plan.messages()), self._folder / "offline"))
        self._kafka.start()
        self._redis.start()
        try:
            await self._topics.create(self._kafka.bootstrap_servers, {"max.message.bytes": "16777216"})
            with Workers(self._settings(), self._folder / "logs") as workers:
                for _ in range(self._plan.workers):
                    workers.start()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._send())
                    tasks.create_task(self._break(workers))
                async with Output(self._kafka.bootstrap_servers, self._topics) as output:
                    await output.until_records(len(expected), patience=900)
                    for worker in workers.running:
                        worker.terminate()
                    seen = await output.read_to_end()
            return Report(compare(seen, expected), seen, self._sent, self._faults, time.monotonic() - began)
        finally:
            self._kafka.kill()
            self._redis.kill()

    def _settings(self) -> dict[str, str]:
        return {
            "kafka.bootstrap_servers": self._kafka.bootstrap_servers,
            "kafka.group": "chaos",
            "kafka.session_timeout_ms": "6000",
            "state.redis_url": self._redis.url,
            "state.timeout_seconds": "2",
            "state.idle_seconds": str(self._plan.idle_seconds),
            "state.grace_seconds": "10",
            **self._topics.settings(),
        }

    async def _send(self) -> None:
        """All the traffic, spread over the time that things break."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self._kafka.bootstrap_servers,
            linger_ms=20,
            enable_idempotence=True,
            request_timeout_ms=120_000,
        )
        await producer.start()
        messages = list(self._plan.messages())
        began = time.monotonic()
        try:
            for count, message in enumerate(messages):
                topic, partition = self._topics.of_kind(message.kind), int(message.route * self._topics.partitions)
                await producer.send(topic, message.value, key=message.call_id.encode(), partition=partition)
                self._sent += 1
                if count % 500 == 0:
                    ahead = self._plan.seconds * 0.9 * count / len(messages) - (time.monotonic() - began)
                    await asyncio.sleep(max(0.0, ahead))
            await producer.flush()
            await producer.stop()
        finally:
            self._sending = False

    async def _break(self, workers: Workers) -> None:
        """Break things until the traffic is sent and the time is up; then leave whole what must be whole."""
        faults: list[tuple[str, int, Callable[[Workers], Awaitable[None]]]] = [
            ("worker killed", 6, self._kill),
            ("worker stopped", 2, self._stop),
            ("worker paused past its session", 1, self._pause),
            ("broker killed", 1, self._crash_broker),
            ("broker restarted", 1, self._restart_broker),
            ("Redis flushed", 2, self._flush),
            ("Redis killed", 1, self._crash_redis),
            ("Redis replaced by an empty one", 1, self._replace_redis),
        ]
        order: list[tuple[str, Callable[[Workers], Awaitable[None]]]] = []
        end = time.monotonic() + self._plan.seconds
        while self._sending or time.monotonic() < end:
            await asyncio.sleep(self._plan.every * self._rng.uniform(0.5, 1.5))
            if not order:
                order = [(name, fault) for name, weight, fault in faults for _ in range(weight)]
                self._rng.shuffle(order)
            name, fault = order.pop()
            await fault(workers)
            self._faults[name] += 1
            print(f"{time.strftime('%H:%M:%S')} {name}, {self._sent:,} sent", file=sys.stderr, flush=True)
            while len(workers.running) < self._plan.workers:
                workers.start()

    async def _kill(self, workers: Workers) -> None:
        self._rng.choice(workers.running).kill()

    async def _stop(self, workers: Workers) -> None:
        await asyncio.to_thread(self._rng.choice(workers.running).terminate)

    async def _pause(self, workers: Workers) -> None:
        worker = self._rng.choice(workers.running)
        worker.pause()
        await asyncio.sleep(9)
        worker.resume()

    async def _crash_broker(self, _: Workers) -> None:
        self._kafka.kill()
        await asyncio.to_thread(self._kafka.start)

    async def _restart_broker(self, _: Workers) -> None:
        await asyncio.to_thread(self._kafka.restart)

    async def _flush(self, _: Workers) -> None:
        self._redis.flush()

    async def _crash_redis(self, _: Workers) -> None:
        self._redis.kill()
        await asyncio.sleep(1)
        await asyncio.to_thread(self._redis.start)

    async def _replace_redis(self, _: Workers) -> None:
        self._redis.kill()
        self._redis.wipe()
        await asyncio.to_thread(self._redis.start)


def main() -> int:
    """Run as asked; 0 when nothing was lost, duplicated or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("calls", 20_000), ("chunks", 50), ("partitions", 4), ("workers", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, seconds in (("seconds", 240.0), ("every", 4.0), ("idle_seconds", 30.0)):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=seconds)
    parser.add_argument("--folder", type=Path, help="keep logs and data here")
    asked = vars(parser.parse_args())
    folder = asked.pop("folder") or Path(tempfile.mkdtemp(prefix="chaos-"))
    report = asyncio.run(Chaos(Plan(**asked), folder).run())
    print(report)
    if not report.comparison.exact:
        print(f"logs: {folder}\nlost: {report.comparison.lost[:5]}\ndifferent: {report.comparison.different[:5]}")
    return 0 if report.comparison.exact else 1


if __name__ == "__main__":
    sys.exit(main())
