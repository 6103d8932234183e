"""The local stack is real: transactions, crashes that keep data, and no process left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.support.services import KAFKA_VARIABLE, REDIS_VARIABLE, PrivateStack

LOCAL = Path(__file__).resolve().parents[2] / "deploy" / "local"
STACK = LOCAL / "stack.py"


async def create_topic(bootstrap: str, topic: str, partitions: int = 1) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
    finally:
        await admin.close()


async def read_all(bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> list[bytes | None]:
    """Every value of partition 0 that this isolation level shows, up to the end offset of now."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, auto_offset_reset="earliest")
    await consumer.start()
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        values: list[bytes | None] = []
        while await consumer.position(partition) < end:
            batches = await consumer.getmany(timeout_ms=500)
            values += [message.value for batch in batches.values() for message in batch]
        return values
    finally:
        await consumer.stop()


async def test_read_committed_sees_only_the_committed_transaction(kafka: str, unique: Callable[[str], str]) -> None:
    topic = unique("transactions")
    await create_topic(kafka, topic)
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=unique("writer"))
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"committed")
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"aborted")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait(topic, b"committed too")
    finally:
        await producer.stop()
    assert await read_all(kafka, topic, "read_committed") == [b"committed", b"committed too"]
    assert await read_all(kafka, topic) == [b"committed", b"aborted", b"committed too"]


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_every_compression_that_kafka_knows_is_written_and_read(
    kafka: str, unique: Callable[[str], str], compression: str | None
) -> None:
    topic = unique("compressed")
    await create_topic(kafka, topic)
    producer = AIOKafkaProducer(bootstrap_servers=kafka, compression_type=compression)
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"same " * 1000)
    finally:
        await producer.stop()
    assert await read_all(kafka, topic) == [b"same " * 1000]


async def test_offsets_commit_in_the_transaction(kafka: str, unique: Callable[[str], str]) -> None:
    source, group = unique("source"), unique("group")
    await create_topic(kafka, source)
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=unique("pump"))
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, group_id=group, enable_auto_commit=False)
    await producer.start()
    await consumer.start()
    partition = TopicPartition(source, 0)
    try:
        consumer.assign([partition])
        async with producer.transaction():
            await producer.send_offsets_to_transaction({partition: 7}, group)
        # The coordinator shows offsets once the transaction's markers are written, a moment after the commit.
        async with asyncio.timeout(30):
            while await consumer.committed(partition) != 7:
                await asyncio.sleep(0.05)
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({partition: 9}, group)
        await producer.abort_transaction()
        # The coordinator shows offsets once the transaction's markers are written, a moment after the commit.
        async with asyncio.timeout(30):
            while await consumer.committed(partition) != 7:
                await asyncio.sleep(0.05)
    finally:
        await consumer.stop()
        await producer.stop()


async def test_broker_killed_and_started_again_keeps_acknowledged_messages(
    private_stack: Callable[[], PrivateStack],
) -> None:
    broker = private_stack().kafka
    await create_topic(broker.bootstrap_servers, "kept")
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all", retry_backoff_ms=50)
    await producer.start()
    try:
        await producer.send_and_wait("kept", b"before")
        broker.kill()
        assert not broker.answers()
        broker.start()
        await producer.send_and_wait("kept", b"after")
    finally:
        await producer.stop()
    assert await read_all(broker.bootstrap_servers, "kept") == [b"before", b"after"]


def test_redis_forgets_by_flush_and_by_wipe_but_not_by_a_crash(private_stack: Callable[[], PrivateStack]) -> None:
    server = private_stack().redis
    client = Redis.from_url(server.url)
    client.set("open-call", "pieces")
    server.kill()
    server.start()
    assert client.get("open-call") == b"pieces"
    server.flush()
    assert client.get("open-call") is None
    client.set("open-call", "pieces")
    server.kill()
    server.wipe()
    server.start()
    assert client.get("open-call") is None
    client.close()


def test_redis_refuses_to_evict(redis_url: str) -> None:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_held_stack_ends_with_its_leader(tmp_path: Path) -> None:
    leader = subprocess.Popen(["sleep", "600"])
    settings = tmp_path / "settings.json"
    command = [sys.executable, str(STACK), "hold", "--pid", str(leader.pid), "--folder", str(tmp_path)]
    # Only Redis is started: the environment names a broker.
    env = {**os.environ, KAFKA_VARIABLE: "127.0.0.1:1"}
    env.pop(REDIS_VARIABLE, None)
    holder = subprocess.Popen([*command, "--settings", str(settings)], env=env)
    wait_until(settings.exists)
    named = json.loads(settings.read_text())
    assert named[KAFKA_VARIABLE] == "127.0.0.1:1"
    client = Redis.from_url(named[REDIS_VARIABLE])
    assert client.ping()
    leader.kill()
    leader.wait()
    assert holder.wait(timeout=20) == 0
    assert_refused(client)


def test_owned_server_dies_with_a_killed_owner(tmp_path: Path) -> None:
    script = (
        f"import sys, time, pathlib; sys.path.insert(0, {str(LOCAL)!r})\n"
        "from redis_server import RedisServer\n"
        f"server = RedisServer(pathlib.Path({str(tmp_path)!r})); server.start(); print(server.url, flush=True)\n"
        "time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    client = Redis.from_url(owner.stdout.readline().strip())
    assert client.ping()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert_refused(client)


def test_up_is_idempotent_and_down_leaves_nothing(tmp_path: Path) -> None:
    script = (
        f"import sys, pathlib; sys.path.insert(0, {str(LOCAL)!r})\n"
        "from stack import Stack\n"
        f"stack = Stack(pathlib.Path({str(tmp_path)!r}), owned=False)\n"
        "getattr(stack, sys.argv[1])()\n"
        "print(stack.redis.pid, *stack.settings().values())\n"
    )

    def run(command: str) -> list[str]:
        env = {**os.environ, KAFKA_VARIABLE: "127.0.0.1:1"}
        env.pop(REDIS_VARIABLE, None)
        done = subprocess.run([sys.executable, "-c", script, command], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    try:
        first = run("up")
        assert run("up") == first
        with Redis.from_url(first[2]) as client:
            assert client.set("kept", "yes")
    finally:
        stopped = run("down")
    assert stopped == ["0", "127.0.0.1:1"]
    assert not Path(f"/proc/{first[0]}/cmdline").exists() or not Path(f"/proc/{first[0]}/cmdline").read_bytes()
    try:
        again = run("up")
        assert again[0] != first[0]
        with Redis.from_url(again[2], decode_responses=True) as client:
            assert client.get("kept") == "yes"
    finally:
        run("down")


@pytest.mark.parametrize(
    ("present", "fix"),
    [
        ((), "java is not installed. Fix: apt-get install -y default-jre-headless"),
        (("java",), "mvn is not installed. Fix: apt-get install -y maven"),
        (("java", "mvn"), "redis-server is not installed. Fix: apt-get install -y redis-server"),
    ],
)
def test_missing_program_is_named_with_its_package(tmp_path: Path, present: tuple[str, ...], fix: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in present:
        # Says it is a Java of the right age; and a Maven is never asked when only Redis is wanted.
        (programs / name).write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
        (programs / name).chmod(0o755)
    env = {"PATH": f"{programs}", "HOME": str(tmp_path)}
    if "mvn" in present:
        env[KAFKA_VARIABLE] = "127.0.0.1:1"
    command = [sys.executable, str(STACK), "hold", "--pid", str(os.getpid()), "--folder", str(tmp_path / "stack")]
    command += ["--settings", str(tmp_path / "settings.json")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.strip() == fix


def test_too_old_java_is_refused(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    command = [sys.executable, str(STACK), "hold", "--pid", str(os.getpid()), "--folder", str(tmp_path / "stack")]
    env = {"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "--settings", str(tmp_path / "s.json")], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "is not Java 17 or newer" in done.stderr
    assert "default-jre-headless" in done.stderr


def wait_until(true: Callable[[], bool], timeout: float = 30) -> None:
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def assert_refused(client: Redis) -> None:
    """The server goes away soon: no process of it is left."""

    def refused() -> bool:
        try:
            return not client.ping()
        except RedisConnectionError:
            return True

    wait_until(refused, timeout=10)
    client.close()
