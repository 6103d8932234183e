"""The demo on real servers: topics of its own, a real `headrace worker` process, and a read_committed reader."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import redis.asyncio as aioredis
import yaml
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from headrace.contract import all_schemas
from headrace.demo.embedded import take_value
from headrace.demo.outcome import Outcome
from headrace.demo.traffic import Traffic
from headrace.errors import HeadraceError
from headrace.kafka import topics as admin
from headrace.kafka.manifests import load_manifests
from headrace.kafka.wire import Decoder
from headrace.offline.routing import route
from headrace.settings import TopicSettings

#: Few partitions open quickly; more than one, so that calls and partitions cross.
_PARTITIONS = 2
_START_SECONDS, _RESULT_SECONDS, _COUNT_SECONDS, _STOP_SECONDS = 30.0, 40.0, 5.0, 15.0
#: A stream this long silent is incomplete. Production waits longer; a demo should not.
_IDLE_SECONDS = 3.0
_LOG_LINES = 15

Say = Callable[[str], None]


async def reachable(kafka: str, redis_url: str) -> str | None:
    """None when both servers answer; else what is wrong, for a person."""
    for address in kafka.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            async with asyncio.timeout(3):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.close()
            break
        except (OSError, TimeoutError, ValueError):
            continue
    else:
        return f"Kafka does not answer at {kafka}"
    client = aioredis.from_url(redis_url, socket_connect_timeout=3, socket_timeout=3)
    try:
        await client.ping()
    except (aioredis.RedisError, OSError):
        return "Redis does not answer at REDIS_URL"
    finally:
        await client.aclose()
    return None


class KafkaRun:
    """One run with names of its own, so that reruns and other users of the servers never meet it."""

    def __init__(self, kafka: str, redis_url: str) -> None:
        self.name = f"demo-{uuid.uuid4().hex[:6]}"
        #: Field of the settings -> name in the manifests.
        self._named = {field: name for field, name in TopicSettings().model_dump().items() if isinstance(name, str)}
        self.topics = TopicSettings(**{field: f"{self.name}.{name}" for field, name in self._named.items()})
        self._client: dict[str, Any] = {"bootstrap_servers": kafka}
        self._redis_url = redis_url
        self._decoder = Decoder(schema for _, schema in all_schemas())

    async def run(self, sent: Traffic, say: Say) -> Outcome:
        """Topics, worker, traffic, results; the worker is stopped when they are there. Raises HeadraceError."""
        say(f"creating topics {self.name}.llm.*")
        await self._create_topics()
        say("starting `headrace worker`")
        async with self._worker() as worker:
            say(f"sending {len(sent.lines)} messages, reading what comes out")
            await self._send(sent)
            outcome = Outcome()
            async with self._reader() as reader:
                await self._collect(reader, outcome, sent, worker)
                outcome.metrics = await self._metrics(worker, len(sent.lines))
                say("stopping the worker")
                await worker.stop()
                await self._collect_rest(reader, outcome)
        outcome.consumed = _consumed(outcome.metrics)
        return outcome

    async def clean(self) -> None:
        """Delete the run's topics and Redis keys."""
        client = AIOKafkaAdminClient(**self._client)
        await client.start()
        try:
            await client.delete_topics([*self.topics.raw, self.topics.canonical, self.topics.dead_letters])
        finally:
            await client.close()
        async with aioredis.from_url(self._redis_url) as store:
            async for key in store.scan_iter(match=f"{self.name}:*", count=1000):
                await store.delete(key)

    # Steps

    async def _create_topics(self) -> None:
        names = {name: getattr(self.topics, field) for field, name in self._named.items()}
        manifests = [
            manifest.model_copy(update={"partitions": _PARTITIONS})
            for manifest in load_manifests(None, names)
            if manifest.name in names.values()
        ]
        await admin.apply(self._client, await admin.plan(self._client, manifests))

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator[_WorkerProcess]:
        with tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder:
            worker = _WorkerProcess(Path(folder), self._settings())
            await worker.start()
            try:
                yield worker
            finally:
                await worker.stop()

    def _settings(self) -> dict[str, Any]:
        state = {"redis_url": self._redis_url, "prefix": self.name, "idle_seconds": _IDLE_SECONDS, "grace_seconds": 1.0}
        return {
            "kafka": {**self._client, "group": self.name, "batch_messages": 40},
            "topics": self.topics.model_dump(),
            "state": {**state, "open_ttl_seconds": 600, "tombstone_ttl_seconds": 600},
            "web": {"port": _free_port()},
        }

    async def _send(self, sent: Traffic) -> None:
        async with AIOKafkaProducer(**self._client, enable_idempotence=True) as producer:
            for line in sent.lines:
                topic, key = route(line, self.topics)
                await producer.send(topic, line, key=key)
            await producer.flush()

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator[AIOKafkaConsumer]:
        """A reader of what was committed, from the beginning, in no group."""
        reader = AIOKafkaConsumer(
            self.topics.canonical,
            self.topics.dead_letters,
            **self._client,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        async with reader:
            yield reader

    async def _collect(self, reader: AIOKafkaConsumer, outcome: Outcome, sent: Traffic, worker: _WorkerProcess) -> None:
        deadline = time.monotonic() + _RESULT_SECONDS
        while not outcome.is_complete(sent) and time.monotonic() < deadline:
            worker.check()
            await self._take(reader, outcome)

    async def _collect_rest(self, reader: AIOKafkaConsumer, outcome: Outcome) -> None:
        """Up to the end of the topics: what would be too much shows here."""
        ends = await reader.end_offsets(reader.assignment())
        while any([await reader.position(partition) < end for partition, end in ends.items()]):
            await self._take(reader, outcome)

    @staticmethod
    async def _metrics(worker: _WorkerProcess, messages: int) -> str:
        """The metrics once all messages are counted, which comes a moment after their records are out."""
        deadline = time.monotonic() + _COUNT_SECONDS
        while True:
            text = await worker.page("/metrics")
            if _consumed(text) >= messages or time.monotonic() > deadline:
                return text
            await asyncio.sleep(0.1)

    async def _take(self, reader: AIOKafkaConsumer, outcome: Outcome) -> None:
        for messages in (await reader.getmany(timeout_ms=200)).values():
            for message in messages:
                is_letter = message.topic == self.topics.dead_letters
                take_value(outcome, self._decoder, message.value, is_letter=is_letter)


class _WorkerProcess:
    """`headrace worker` as a process, with a settings file and a log in a folder."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._log = folder / "worker.log"
        self._url = f"http://127.0.0.1:{settings['web']['port']}"
        self._process: asyncio.subprocess.Process | None = None
        file = folder / "headrace.yaml"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(settings))

    async def start(self) -> None:
        """Start it and wait until it reads."""
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "headrace.cli", "worker"),
                cwd=self._folder,
                env=_environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C reaches the demo, which stops its worker in order.
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not await self._is_healthy():
            self.check()
            if time.monotonic() > deadline:
                raise self._failed(f"the worker was not ready after {_START_SECONDS:.0f} seconds")
            await asyncio.sleep(0.2)

    def check(self) -> None:
        """Raise when it has ended."""
        if self._process is not None and self._process.returncode is not None:
            raise self._failed(f"the worker ended with exit code {self._process.returncode}")

    async def page(self, path: str) -> str:
        """A page that it serves."""
        async with aiohttp.ClientSession() as session, session.get(self._url + path) as answer:
            return await answer.text()

    async def stop(self) -> None:
        """SIGTERM: finish the batches at hand, commit, leave. SIGKILL when that takes too long."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise self._failed(f"the worker did not stop within {_STOP_SECONDS:.0f} seconds") from None

    async def _is_healthy(self) -> bool:
        try:
            async with aiohttp.ClientSession() as session, session.get(self._url + "/health") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    def _failed(self, message: str) -> HeadraceError:
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return HeadraceError(
            "\n".join([f"{message}; the end of its log:", *lines]),
            code="demo_failed",
            fix="see the log lines above; `headrace demo --embedded` runs without servers",
        )


def _environment() -> dict[str, str]:
    """The environment without settings of another installation."""
    ours = ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "SCHEMA_REGISTRY_URL")
    return {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("HEADRACE_")}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _consumed(metrics: str) -> int:
    lines = [line for line in metrics.splitlines() if line.startswith("headrace_consumed_total{")]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)
