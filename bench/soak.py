"""Hours of traffic in minutes: does a worker's memory stay flat, and do Redis' keys?

    python -m bench.soak --seconds 300

Calls of all kinds go through one worker at full speed, some of them dead (no end ever comes). Idle and tombstone times
are short, so that the keys of hours come and go in seconds. Samples of resident memory and of keys are taken all the
way; the second half must not grow over the first.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import redis.asyncio as aioredis
from tests.support.calls import Message, Mix, traffic
from tests.support.services import KafkaBroker, RedisServer
from tests.support.workers import Topics, Workers, produce, until

#: Growth that is still flat: samples of memory scatter by this share.
_BAND = 0.10
_TOMBSTONE_SECONDS = 60


@dataclass
class Samples:
    """resident: MiB of the worker. keys: in Redis."""

    resident: list[float] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)

    def growth(self, values: list[float] | list[int]) -> float:
        """Median of the last quarter over that of the second, minus 1: the first quarter is warm-up."""
        quarter = len(values) // 4
        return median(values[-quarter:]) / max(1.0, median(values[quarter : 2 * quarter])) - 1


async def soak(seconds: float, folder: Path, calls: int = 400, chunks: int = 20) -> tuple[int, Samples]:
    """Run it; (messages, samples)."""
    kafka, redis = KafkaBroker(folder / "kafka"), RedisServer(folder / "redis")
    kafka.start()
    redis.start()
    topics = Topics.named("soak", 4)
    samples = Samples()
    sent = 0
    try:
        await topics.create(kafka.bootstrap_servers, {"retention.ms": "60000", "segment.ms": "20000"})
        settings = {
            "kafka.bootstrap_servers": kafka.bootstrap_servers,
            "kafka.group": "soak",
            "state.redis_url": redis.url,
            "state.idle_seconds": "5",
            "state.grace_seconds": "2",
            "state.open_ttl_seconds": str(_TOMBSTONE_SECONDS),
            "state.tombstone_ttl_seconds": str(_TOMBSTONE_SECONDS),
            **topics.settings(),
        }
        client = aioredis.Redis.from_url(redis.url)
        with Workers(settings, folder / "logs") as workers:
            worker = await workers.start().until_reading()
            began, number = time.monotonic(), 0
            while time.monotonic() - began < seconds:
                sent += await produce(kafka.bootstrap_servers, topics, _some(number, calls, chunks))
                number += calls
                reached = sent
                await until(lambda: worker.metric("headrace_consumed_total") >= reached, "it keeps up", alive=worker)  # noqa: B023
                samples.resident.append(_resident(worker.process.pid))
                samples.keys.append(await client.dbsize())
            worker.terminate()
        await client.aclose()
        return sent, samples
    finally:
        kafka.kill()
        redis.kill()


def _some(first: int, calls: int, chunks: int) -> list[Message]:
    """One round's messages; of every tenth call the end never comes."""
    numbers = range(first, first + calls)
    made = list(traffic(numbers, chunks, seed=first, mix=Mix(spread=0.0)))
    dead = {f"call-{number:06}" for number in numbers if number % 10 == 0}
    seen: dict[str, int] = {}
    kept = []
    for message in made:
        seen[message.call_id] = seen.get(message.call_id, 0) + 1
        if message.call_id not in dead or seen[message.call_id] <= 5:
            kept.append(message)
    return kept


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


def main() -> int:
    """Run as asked; 0 when both stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    asked = parser.parse_args()
    sent, samples = asyncio.run(soak(asked.seconds, Path(tempfile.mkdtemp(prefix="soak-"))))
    growth = {"memory": samples.growth(samples.resident), "keys": samples.growth(samples.keys)}
    print(f"{sent:,} messages in {len(samples.keys)} rounds")
    print(f"memory, MiB: {[round(value) for value in samples.resident[:: max(1, len(samples.resident) // 12)]]}")
    print(f"Redis keys: {samples.keys[:: max(1, len(samples.keys) // 12)]}")
    print(", ".join(f"{name} {share:+.1%}" for name, share in growth.items()))
    return 0 if all(share <= _BAND for share in growth.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
