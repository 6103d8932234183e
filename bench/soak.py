"""Hours of traffic in minutes: does a worker's memory stay flat, and do Redis' keys?

    python -m bench.soak --seconds 600

Calls of all kinds go through one worker at a steady pace, some of them dead (no end ever comes). What a worker keeps
for minutes and for a day (idle times, tombstones) lasts for seconds and for a minute here, so that the run is many
times as long as anything in it lives. Afterwards comes a quiet time without any traffic.

Flat means, each figure a median of samples a second apart, the warm-up left out:

* of the time with traffic, the last third is at most 5 % over the first in resident memory of the worker, and at most
  10 % in Redis' keys and in the bytes they take;
* in the quiet time resident memory is at most 5 % over that of the last third;
* at its end Redis holds nothing of any call: only the store's mark and the partitions' indexes.

The run fails when one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import redis.asyncio as aioredis
from tests.support.calls import Message, Mix, traffic
from tests.support.services import KafkaBroker, RedisServer
from tests.support.workers import Topics, Worker, Workers, produce, until

#: Growth that is still flat.
MEMORY_BAND, KEYS_BAND = 0.05, 0.10
#: The shortest the settings allow.
_TTL_SECONDS = 60
_IDLE_SECONDS = 5
#: Until keys of the first calls expire, there can only be more and more of them.
_WARM_UP_SECONDS = _TTL_SECONDS + 30
_QUIET_SECONDS = 2 * _TTL_SECONDS + 30


@dataclass(frozen=True)
class Load:
    """How much traffic: every ``pace`` seconds so many calls, of about so many chunks each."""

    calls: int = 400
    chunks: int = 20
    pace: float = 4.0


@dataclass(frozen=True)
class Sample:
    """at: seconds. resident: MiB of the worker. keys: in Redis. used: MiB of Redis' data."""

    at: float
    resident: float
    keys: int
    used: float


@dataclass
class Soak:
    """What a run saw. traffic, quiet: samples with and without messages. residue: keys an idle store may hold.

    A dead stream that was cut off before its first whole event is dead letters and no record.
    """

    traffic: list[Sample] = field(default_factory=list)
    quiet: list[Sample] = field(default_factory=list)
    messages: int = 0
    calls: int = 0
    records: int = 0
    dead_letters: int = 0
    late_rounds: int = 0
    residue: int = 0

    def growth(self, name: str, warm_up: float = _WARM_UP_SECONDS) -> float:
        """A figure's last third over its first, minus 1, of the time with traffic."""
        values = _steady(self.traffic, name, warm_up)
        third = max(1, len(values) // 3)
        return float(median(values[-third:]) / median(values[:third]) - 1)

    def quiet_growth(self) -> float:
        """Resident memory without traffic over that of the last third with it, minus 1."""
        busy = [sample.resident for sample in self.traffic[-max(1, len(self.traffic) // 3) :]]
        return float(median(sample.resident for sample in self.quiet) / median(busy) - 1)

    def verdicts(self) -> list[tuple[bool, str]]:
        """Each rule with what was seen; True where it holds."""
        bands = (("resident", MEMORY_BAND), ("keys", KEYS_BAND), ("used", KEYS_BAND))
        made = [(self.growth(name), band, f"{name}, last third over first") for name, band in bands]
        made.append((self.quiet_growth(), MEMORY_BAND, "resident, quiet time over last third"))
        left = self.quiet[-1].keys
        return [
            *((share <= band, f"{what}: {share:+.1%} (at most {band:+.0%})") for share, band, what in made),
            (left <= self.residue, f"keys left after the quiet time: {left} (at most {self.residue})"),
        ]


def _steady(samples: Sequence[Sample], name: str, warm_up: float) -> list[float]:
    values = [float(getattr(sample, name)) for sample in samples if sample.at - samples[0].at >= warm_up]
    if not values:
        raise ValueError(f"the run is too short: warm-up alone takes {warm_up:.0f} s")
    return values


async def soak(seconds: float, folder: Path, load: Load | None = None, quiet_seconds: float = _QUIET_SECONDS) -> Soak:
    """Run it. seconds: of traffic."""
    load = load or Load()
    seen = Soak()
    async with _stack(folder) as (kafka, redis, topics, worker):
        # The store's mark, and for each partition its deadlines and its claims.
        seen.residue = 1 + 2 * len(topics.raw) * topics.partitions
        async with _sampled(worker, redis, seen.traffic):
            await _traffic(seen, kafka, topics, worker, seconds, load)
        async with _sampled(worker, redis, seen.quiet):
            await asyncio.sleep(quiet_seconds)
        seen.records = int(worker.metric(f'headrace_produced_total{{topic="{topics.canonical}"'))
        seen.dead_letters = int(worker.metric("headrace_dead_letters_total"))
        worker.terminate()
    return seen


async def _traffic(seen: Soak, kafka: str, topics: Topics, worker: Worker, seconds: float, load: Load) -> None:
    began = time.monotonic()
    for turn in itertools.count():
        if time.monotonic() - began >= seconds:
            return
        seen.messages += await produce(kafka, topics, _some(seen.calls, load))
        seen.calls += load.calls
        await until(lambda: worker.metric("headrace_consumed_total") >= seen.messages, "it keeps up", alive=worker)
        ahead = began + (turn + 1) * load.pace - time.monotonic()
        seen.late_rounds += ahead < 0
        await asyncio.sleep(max(0.0, ahead))


def _some(first: int, load: Load) -> list[Message]:
    """One round's messages; of every tenth call the end never comes."""
    numbers = range(first, first + load.calls)
    dead = {f"call-{number:06}" for number in numbers if number % 10 == 0}
    taken: dict[str, int] = {}
    kept = []
    for message in traffic(numbers, load.chunks, seed=first, mix=Mix(spread=0.0)):
        taken[message.call_id] = taken.get(message.call_id, 0) + 1
        if message.call_id not in dead or taken[message.call_id] <= 5:
            kept.append(message)
    return kept


@contextlib.asynccontextmanager
async def _stack(folder: Path) -> AsyncIterator[tuple[str, RedisServer, Topics, Worker]]:
    """Servers of the run's own, and one worker that reads."""
    kafka, redis = KafkaBroker(folder / "kafka"), RedisServer(folder / "redis")
    topics = Topics.named("soak", 4)
    try:
        kafka.start()
        redis.start()
        await topics.create(kafka.bootstrap_servers, {"retention.ms": "60000", "segment.ms": "20000"})
        settings: dict[str, Any] = {
            "kafka.bootstrap_servers": kafka.bootstrap_servers,
            "kafka.group": "soak",
            "state.redis_url": redis.url,
            "state.idle_seconds": str(_IDLE_SECONDS),
            "state.grace_seconds": "2",
            "state.open_ttl_seconds": str(_TTL_SECONDS),
            "state.tombstone_ttl_seconds": str(_TTL_SECONDS),
            **topics.settings(),
        }
        with Workers(settings, folder / "logs") as workers:
            yield kafka.bootstrap_servers, redis, topics, await workers.start().until_reading()
    finally:
        kafka.kill()
        redis.kill()


@contextlib.asynccontextmanager
async def _sampled(worker: Worker, redis: RedisServer, samples: list[Sample]) -> AsyncIterator[None]:
    """Take a sample a second while the block runs, and one at its end."""
    client = aioredis.Redis.from_url(redis.url)

    async def take() -> None:
        used = (await client.info("memory"))["used_memory_dataset"] / (1 << 20)
        samples.append(Sample(time.monotonic(), _resident(worker.process.pid), await client.dbsize(), used))

    async def keep_taking() -> None:
        while True:
            await take()
            await asyncio.sleep(1)

    sampling = asyncio.create_task(keep_taking())
    try:
        yield
        await take()
    finally:
        sampling.cancel()
        await client.aclose()


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


def _shown(samples: Sequence[Sample], name: str) -> str:
    step = max(1, len(samples) // 12)
    return ", ".join(f"{getattr(sample, name):.0f}" for sample in samples[::step])


def main() -> int:
    """Run as asked; 0 when everything stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="of traffic")
    asked = parser.parse_args()
    if asked.seconds <= _WARM_UP_SECONDS:
        parser.error(f"--seconds must be more than the warm-up of {_WARM_UP_SECONDS}")
    load = Load()
    seen = asyncio.run(soak(asked.seconds, Path(tempfile.mkdtemp(prefix="soak-")), load))
    made = f"{seen.records:,} records, {seen.dead_letters:,} dead letters"
    print(f"{seen.calls:,} calls, {seen.messages:,} messages; {made}; {seen.late_rounds} rounds late")
    for name in ("resident", "keys", "used"):
        print(f"{name}: {_shown(seen.traffic, name)} | quiet: {_shown(seen.quiet, name)}")
    verdicts = seen.verdicts()
    for holds, what in verdicts:
        print(f"{'ok  ' if holds else 'FAIL'} {what}")
    flat = all(holds for holds, _ in verdicts)
    print("flat" if flat else "NOT flat")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
