"""Workers as processes, the topics they work on, and what comes out of them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from headrace.canonical.avro import CANONICAL_RECORD, decode_dead_letter, decode_record, record_format, to_json_line
from headrace.kafka.wire import SingleObject
from headrace.records import content
from tests.support.calls import Message
from tests.support.services import free_port

_HEADRACE = [sys.executable, "-m", "headrace.cli"]

#: Generous: a busy machine decides no test. Nothing waits this long when all is well.
PATIENCE = 240.0


@dataclass(frozen=True)
class Topics:
    """One test's topics."""

    requests: str
    responses: str
    chunks: str
    canonical: str
    dead_letters: str
    partitions: int = 4

    @classmethod
    def named(cls, mark: str, partitions: int = 4) -> Topics:
        """Topics whose names end in ``mark``."""
        names = ("requests", "responses", "chunks", "canonical", "dead-letters")
        return cls(*(f"{name}-{mark}" for name in names), partitions)

    @property
    def raw(self) -> tuple[str, str, str]:
        return (self.requests, self.responses, self.chunks)

    async def create(self, bootstrap: str, config: Mapping[str, str] | None = None) -> None:
        """Make them. config: of all topics."""
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            names = (*self.raw, self.canonical, self.dead_letters)
            made = [NewTopic(name, self.partitions, 1, topic_configs=dict(config or {})) for name in names]
            answer = await admin.create_topics(made)
            assert not any(code for _, code, *_ in answer.topic_errors), answer
        finally:
            await admin.close()

    def of_kind(self, kind: str) -> str:
        """The raw topic of a capture's kind."""
        return {"request": self.requests, "response": self.responses}.get(kind, self.chunks)

    def settings(self) -> dict[str, str]:
        """Worker settings that name them."""
        names = ("requests", "responses", "chunks", "canonical", "dead_letters")
        return {f"topics.{name}": getattr(self, name) for name in names}


def _die_with_parent() -> None:
    """A test that is killed leaves no worker behind (Linux)."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(1, signal.SIGKILL)


class Worker:
    """One `headrace worker` process."""

    def __init__(self, settings: Mapping[str, str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        self.port = free_port()
        flags = {"web.port": str(self.port), "log.format": "json", **settings}
        command = [*_HEADRACE, "worker", *(text for pair in flags.items() for text in ("--set", "=".join(pair)))]
        self._output = log.open("ab")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def page(self, path: str) -> str:
        """A page it serves; "" while it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    async def until_reading(self) -> Worker:
        """Wait until it has its partitions."""
        await until(lambda: "reading" in self.page("/health"), f"worker reads; log: {self.log}", alive=self)
        return self

    def metric(self, name: str) -> float:
        """A metric, all labels added up."""
        lines = [line for line in self.page("/metrics").splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def terminate(self, timeout: float = 60) -> int:
        """SIGTERM and wait; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        self.process.send_signal(signal.SIGCONT)
        return self._gone(timeout)

    def kill(self) -> None:
        """SIGKILL, as the out-of-memory killer would."""
        if self.running:
            self.process.kill()
        self._gone(30)

    def pause(self) -> None:
        """Stop the process where it stands."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def _gone(self, timeout: float) -> int:
        try:
            return self.process.wait(timeout)
        finally:
            self._output.close()


class Workers:
    """The workers of one test; `start` adds one, and all are gone at the end."""

    def __init__(self, settings: Mapping[str, str], folder: Path) -> None:
        self.settings = dict(settings)
        self._folder = folder
        self.all: list[Worker] = []

    def start(self, **env: str) -> Worker:
        """One more worker."""
        self._folder.mkdir(parents=True, exist_ok=True)
        worker = Worker(self.settings, self._folder / f"worker-{len(self.all)}.log", env)
        self.all.append(worker)
        return worker

    @property
    def running(self) -> list[Worker]:
        return [worker for worker in self.all if worker.running]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.running:
            worker.kill()


async def until(true: Callable[[], Any], what: str, *, alive: Worker | None = None, patience: float = PATIENCE) -> None:
    """Wait until a condition holds; fails after ``patience`` seconds, or when the process it is about ends."""
    deadline = time.monotonic() + patience
    while True:
        holds = true()
        if asyncio.iscoroutine(holds):
            holds = await holds
        if holds:
            return
        assert time.monotonic() < deadline, f"not within {patience:.0f} s: {what}"
        assert alive is None or alive.running, f"the worker ended: {what}"
        await asyncio.sleep(0.1)


async def produce(
    bootstrap: str, topics: Topics, messages: Iterable[Message], *, timestamps: Iterable[int] = (), **options: Any
) -> int:
    """Write messages to their topics; returns how many. timestamps: the messages' times, milliseconds; default now."""
    times = iter(timestamps)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, enable_idempotence=True, **options)
    await producer.start()
    sent = []
    try:
        for message in messages:
            partition = int(message.route * topics.partitions)
            topic = topics.of_kind(message.kind)
            key, at = message.call_id.encode(), next(times, None)
            sent.append(await producer.send(topic, message.value, key=key, partition=partition, timestamp_ms=at))
        await asyncio.gather(*sent)
    finally:
        await producer.stop()
    return len(sent)


@dataclass
class Seen:
    """What a reader of the output topics sees. records: content as JSON line by record id, the first of each."""

    records: dict[str, bytes] = field(default_factory=dict)
    copies: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    dead_letters: list[dict[str, Any]] = field(default_factory=list)

    @property
    def duplicated(self) -> int:
        """Records seen more than once."""
        return sum(count - 1 for count in self.copies.values())


class Output:
    """Reads the output topics from the start on, as a read_committed consumer."""

    def __init__(self, bootstrap: str, topics: Topics, isolation: str = "read_committed") -> None:
        self._topics = topics
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            enable_auto_commit=False,
            isolation_level=isolation,
            fetch_max_bytes=200 << 20,
            max_partition_fetch_bytes=20 << 20,
        )
        self.seen = Seen()

    async def __aenter__(self) -> Output:
        await self._consumer.start()
        names = (self._topics.canonical, self._topics.dead_letters)
        partitions = [TopicPartition(name, at) for name in names for at in range(self._topics.partitions)]
        self._consumer.assign(partitions)
        await self._consumer.seek_to_beginning(*partitions)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def read(self) -> Seen:
        """Take what has come since."""
        with contextlib.suppress(KafkaError):
            polled = await self._consumer.getmany(timeout_ms=300)
            for records in polled.values():
                for record in records:
                    self._take(record.topic, record.value)
        return self.seen

    async def read_to_end(self) -> Seen:
        """Take everything that is there now, up to the ends of the partitions."""
        partitions = list(self._consumer.assignment())
        ends = await self._consumer.end_offsets(partitions)
        while any([await self._consumer.position(partition) < ends[partition] for partition in partitions]):
            await self.read()
        return self.seen

    async def until_records(self, count: int, *, dead_letters: int = 0, patience: float = PATIENCE) -> Seen:
        """Read until there are that many different records and dead letters."""

        async def enough() -> bool:
            seen = await self.read()
            return len(seen.records) >= count and len(seen.dead_letters) >= dead_letters

        await until(enough, f"{count} records and {dead_letters} dead letters", patience=patience)
        return self.seen

    def _take(self, topic: str, value: bytes) -> None:
        _, body = SingleObject.decode(value)
        if topic == self._topics.dead_letters:
            self.seen.dead_letters.append(dict(decode_dead_letter(body)))
            return
        record = decode_record(body)
        self.seen.copies[record["record_id"]] += 1
        self.seen.statuses[record.get("status", record["record_type"])] += 1
        self.seen.records.setdefault(record["record_id"], to_json_line(content(record)))


def offline(messages: Sequence[Message], folder: Path) -> dict[str, bytes]:
    """What `headrace normalize` makes of the same captures: content as JSON line by record id."""
    folder.mkdir(parents=True, exist_ok=True)
    captures, records = folder / "captures.jsonl", folder / "records.jsonl"
    with captures.open("wb") as file:
        file.writelines(message.value + b"\n" for message in messages)
    command = [*_HEADRACE, "normalize", str(captures), "-o", str(records), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    read = record_format(CANONICAL_RECORD).from_json_line
    made = [read(line) for line in records.read_bytes().splitlines()]
    return {record["record_id"]: to_json_line(content(record)) for record in made}  # type: ignore[arg-type]


@dataclass
class Comparison:
    """Records of a run against the offline run's."""

    lost: list[str]
    extra: list[str]
    different: list[str]
    duplicated: int

    @property
    def exact(self) -> bool:
        return not (self.lost or self.extra or self.different or self.duplicated)

    def __str__(self) -> str:
        return (
            f"lost {len(self.lost)}, not in the offline run {len(self.extra)}, "
            f"different {len(self.different)}, duplicated {self.duplicated}"
        )


def compare(seen: Seen, expected: Mapping[str, bytes]) -> Comparison:
    """What differs between a run and the offline run."""
    shared = seen.records.keys() & expected.keys()
    return Comparison(
        lost=sorted(expected.keys() - seen.records.keys()),
        extra=sorted(seen.records.keys() - expected.keys()),
        different=sorted(name for name in shared if seen.records[name] != expected[name]),
        duplicated=seen.duplicated,
    )
