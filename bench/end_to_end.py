"""Through real Kafka and Redis, side by side: python -m bench.end_to_end [--quick].

The same topic is read in turns by a loop that only parses, by an empty Faust agent and by a `headrace worker`. CPU is
the process's own, from its first message to its last; wall time is what a shared machine gives. Records are counted and
compared with what was sent. Whether two workers do twice the work can only be told where broker and Redis have
processor time left: so workers that are each held to a part of a core race one against two. Latency is from the last
piece of a call, produced, to its record, readable by a read_committed consumer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from rich.table import Table
from tests.support.services import KafkaBroker, RedisServer
from tests.support.workers import Topics, Worker, until

from bench.captures import Traffic
from bench.rounds import CONSOLE, summary
from headrace.canonical.avro import decode_record
from headrace.kafka.wire import SingleObject

#: Enough for a rate; all of a topic would take Faust minutes.
_FAUST_MESSAGES = 50_000
#: Of a core, for each worker of the race that tells whether two do twice the work; and how often it is dealt out.
_SHARE, _PERIOD = 0.2, 0.02
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """One contestant's pass over a topic. cpu: of all its processes."""

    messages: int
    cpu: float
    wall: float


def _cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextlib.contextmanager
def held(pids: Sequence[int], share: float) -> Iterator[None]:
    """Processes that get a part of a core each: they are stopped for the rest of each period, one after the other."""
    done = threading.Event()

    def hold(pid: int, after: float) -> None:
        time.sleep(after)
        while not done.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(_PERIOD * (1 - share))
            os.kill(pid, signal.SIGCONT)
            time.sleep(_PERIOD * share)

    holders = [
        threading.Thread(target=hold, args=(pid, at * _PERIOD / len(pids)), daemon=True)
        for at, pid in enumerate(pids if share < 1 else ())
    ]
    for holder in holders:
        holder.start()
    try:
        yield
    finally:
        done.set()
        for holder in holders:
            holder.join()


class Bench:
    """A stack of its own, and what runs on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.kafka = KafkaBroker(folder / "kafka")
        self.redis = RedisServer(folder / "redis")
        self._number = 0

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap_servers

    async def filled(self, traffic: Traffic, partitions: int) -> Topics:
        """Topics whose chunk topic holds the traffic."""
        self._number += 1
        topics = Topics.named(f"bench-{self._number}", partitions)
        await topics.create(self.bootstrap)
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, max_batch_size=1 << 19, acks=1)
        await producer.start()
        batches = [producer.create_batch() for _ in range(partitions)]
        for message in traffic.messages():
            at = int(message.route * partitions)
            if batches[at].append(key=message.call_id.encode(), value=message.value, timestamp=None) is None:
                await producer.send_batch(batches[at], topics.chunks, partition=at)
                batches[at] = producer.create_batch()
                batches[at].append(key=message.call_id.encode(), value=message.value, timestamp=None)
        for at, batch in enumerate(batches):
            await producer.send_batch(batch, topics.chunks, partition=at)
        await producer.flush()
        await producer.stop()
        return topics

    async def consumer(self, kind: str, topics: Topics, count: int) -> Run:
        """A pass of one of `bench.consumers`."""
        command = [sys.executable, "-m", "bench.consumers", kind, self.bootstrap, topics.chunks, str(count)]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        out, _ = await process.communicate()
        line = next(line for line in out.splitlines() if line.startswith(b'{"cpu"'))
        return Run(**json.loads(line))

    def settings(self, topics: Topics, group: str) -> dict[str, str]:
        return {
            **topics.settings(),
            "kafka.bootstrap_servers": self.bootstrap,
            "kafka.group": group,
            "state.redis_url": self.redis.url,
        }

    async def workers(self, topics: Topics, traffic: Traffic, number: int, share: float = 1.0) -> Run:
        """A pass of so many workers over the chunk topic; checks the records. share: of a core, for each worker."""
        self._number += 1
        output = Topics.named(f"bench-out-{self._number}", topics.partitions)
        await output.create(self.bootstrap)
        settings = self.settings(topics, f"bench-{self._number}")
        settings["topics.canonical"], settings["topics.dead_letters"] = output.canonical, output.dead_letters
        if share < 1:
            # What is in work when time begins counts as done after it: little, beside all.
            settings["kafka.batch_messages"] = "5000"
        workers = [Worker(settings, self._folder / f"worker-{self._number}-{at}.log") for at in range(number)]
        expected = traffic.expected()
        count = sum(expected.values())
        reader = Records(self.bootstrap, output)
        try:
            await reader.start()
            # Time begins when all of them are at work: what a group takes to share out its partitions is no rate.
            await until(
                lambda: all(each.metric("headrace_consumed_total") > 0 for each in workers), "a batch", alive=workers[0]
            )
            first = {worker.process.pid: (_cpu(worker.process.pid), time.perf_counter()) for worker in workers}
            already = sum(worker.metric("headrace_consumed_total") for worker in workers)
            with held([worker.process.pid for worker in workers], share):
                while len(reader.chunks) < len(expected):
                    await reader.read()
            wall = time.perf_counter() - min(begun for _, begun in first.values())
            cpu = sum(_cpu(pid) - before for pid, (before, _) in first.items())
        finally:
            await reader.stop()
            for worker in workers:
                worker.terminate()
        assert reader.chunks == expected, "records are not what was sent"
        assert not reader.letters, f"{reader.letters} dead letters"
        return Run(int(count - already), cpu, wall)

    async def latency(self, rate: int, seconds: float) -> tuple[float, float]:
        """p50 and p99 in milliseconds, with so many messages a second."""
        chunks = 50
        traffic = Traffic(calls=int(rate * seconds / chunks), chunks=chunks, open_at_once=40, mark="late")
        self._number += 1
        topics = Topics.named(f"bench-{self._number}", 1)
        await topics.create(self.bootstrap)
        worker = Worker(self.settings(topics, f"bench-{self._number}"), self._folder / "latency.log")
        reader = Records(self.bootstrap, topics)
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=2)
        await producer.start()
        await reader.start()
        sent: dict[str, float] = {}

        async def write() -> None:
            start = time.perf_counter()
            for number, message in enumerate(traffic.messages()):
                ahead = start + number / rate - time.perf_counter()
                if ahead > 0.005:
                    await asyncio.sleep(ahead)
                await producer.send(topics.chunks, message.value, key=message.call_id.encode(), partition=0)
                if message.last:
                    sent[message.call_id] = time.perf_counter()
            await producer.flush()

        try:
            await worker.until_reading()
            writing = asyncio.create_task(write())
            while len(reader.chunks) < traffic.calls:
                await reader.read(timeout_ms=5)
            await writing
        finally:
            await producer.stop()
            await reader.stop()
            worker.terminate()
        # The first calls also wait for the worker to warm up.
        delays = sorted(reader.seen_at[call] - at for call, at in list(sent.items())[traffic.calls // 10 :])
        return statistics.median(delays) * 1e3, delays[int(len(delays) * 0.99)] * 1e3


class Records:
    """Reads records and counts dead letters. chunks: events of each call's record."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self._topics = topics
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            fetch_max_wait_ms=20,
        )
        self.chunks: dict[str, int] = {}
        self.seen_at: dict[str, float] = {}
        self.letters = 0

    async def start(self) -> None:
        await self._consumer.start()
        names = (self._topics.canonical, self._topics.dead_letters)
        partitions = [TopicPartition(name, at) for name in names for at in range(self._topics.partitions)]
        self._consumer.assign(partitions)
        await self._consumer.seek_to_beginning(*partitions)

    async def stop(self) -> None:
        await self._consumer.stop()

    async def read(self, timeout_ms: int = 100) -> None:
        for partition, messages in (await self._consumer.getmany(timeout_ms=timeout_ms)).items():
            now = time.perf_counter()
            for message in messages:
                if partition.topic == self._topics.dead_letters:
                    self.letters += 1
                    continue
                record = decode_record(SingleObject.decode(message.value)[1])
                # One more piece than events: the terminator, which is no JSON, or the gateway's `end`.
                more = record["protocol"] in ("openai.chat", "gemini.generate_content")
                self.chunks[record["call_id"]] = record["chunk_count"] + more
                self.seen_at.setdefault(record["call_id"], now)


def _report(title: str, runs: Mapping[str, list[Run]]) -> dict[str, Any]:
    table = Table(title=title, title_justify="left")
    for name in ("", "msg/s of CPU", "min", "max", "msg/s of wall", "CPU s / million", "runs"):
        table.add_column(name, justify="left" if not name else "right")
    figures = {}
    for name, passes in runs.items():
        rates = [run.messages / run.cpu for run in passes]
        walls = statistics.median(run.messages / run.wall for run in passes)
        middle = statistics.median(rates)
        figures[name] = {"cpu_rate": round(middle), "wall_rate": round(walls)}
        table.add_row(
            name,
            *(f"{one:,.0f}" for one in (middle, min(rates), max(rates), walls)),
            f"{1e6 / middle:.1f}",
            str(len(passes)),
        )
    CONSOLE.print(table)
    return figures


async def run(options: argparse.Namespace, folder: Path) -> None:
    """All of it."""
    bench = Bench(folder)
    bench.kafka.start()
    bench.redis.start()
    calls, rounds = (1_000, 1) if options.quick else (4_000, options.rounds)
    made: dict[str, Any] = {}
    try:
        for name, open_at_once in (("calls that fit a batch", 20), ("calls that never fit a batch", 1_000)):
            traffic = Traffic(calls=calls, chunks=50, open_at_once=open_at_once)
            one, two = await bench.filled(traffic, 1), await bench.filled(traffic, 2)
            count = sum(traffic.expected().values())
            runs: dict[str, list[Run]] = {}
            for _ in range(rounds):
                runs.setdefault("plain", []).append(await bench.consumer("plain", one, count))
                runs.setdefault("faust", []).append(await bench.consumer("faust", one, min(count, _FAUST_MESSAGES)))
                runs.setdefault("headrace", []).append(await bench.workers(one, traffic, 1))
            made[name] = _report(f"{name}: {calls:,} calls, {count:,} messages", runs)
            held_runs: dict[str, list[Run]] = {}
            for _ in range(rounds):
                held_runs.setdefault("1 worker", []).append(await bench.workers(one, traffic, 1, _SHARE))
                held_runs.setdefault("2 workers", []).append(await bench.workers(two, traffic, 2, _SHARE))
            title = f"{name}, each worker held to {_SHARE:.0%} of a core"
            made[title] = _report(title, held_runs)
        p50, p99 = await bench.latency(options.rate, 3 if options.quick else 20)
        CONSOLE.print(f"latency at {options.rate:,} messages/s: p50 {p50:.0f} ms, p99 {p99:.0f} ms")
        made["latency_ms"] = {"rate": options.rate, "p50": round(p50), "p99": round(p99)}
    finally:
        bench.kafka.kill()
        bench.redis.kill()
    summary(bench="end_to_end", **made)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few calls, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=2_000, help="messages a second for the latency")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(options, Path(folder)))


if __name__ == "__main__":
    main()
