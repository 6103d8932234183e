"""Kafka's side of exactly once: zombies, revoked partitions, restarts, holes in the log, sizes, time."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from headrace.kafka.lane import Lane
from headrace.kafka.progress import Group, Progress
from headrace.pipeline import Batch
from tests.support.calls import Mix, messages_of, traffic
from tests.support.pumps import Rig, Running
from tests.support.services import KafkaBroker, PrivateStack
from tests.support.workers import Output, Topics, compare, offline, produce, until

_CALM = Mix(duplicates=0.0, reordered=0.2, spread=0.3)
_MINUTE_MS = 60_000


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    topics = Topics.named(unique("kafka"), 2)
    # The broker itself refuses times far in the future, unless it is told not to.
    await topics.create(kafka, {"max.message.bytes": "8388608", "message.timestamp.after.max.ms": str(2**63 - 1)})
    return topics


@pytest.fixture
def rig(kafka: str, redis_url: str, topics: Topics, unique: Callable[[str], str]) -> Rig:
    return Rig(kafka, redis_url, topics, unique("group"))


def consumed(*pumps: Running) -> float:
    return sum(pump.total("headrace_consumed_total") for pump in pumps)


async def test_a_zombie_publishes_nothing(kafka: str, rig: Rig) -> None:
    """It has claimed a call and not published it yet when another worker opens its partition."""
    call = [message for message in messages_of(0, 6) if message.kind == "stream"]
    partition = TopicPartition(rig.topics.chunks, int(call[0].route * 2))
    async with Output(kafka, rig.topics) as output, rig.pump() as zombie:
        zombie.gate.shut()
        await produce(kafka, rig.topics, call)
        await zombie.gate.at.wait()
        # Another worker's lane, as the group would have given it; the zombie hears nothing of it.
        async with rig.built() as (pump, _, _):
            shared = pump._shared
            shared.consumer.assign([partition])
            await shared.group.start()
            await shared.consumer.start()
            lane = Lane(partition, shared)
            lane.begin()
            await output.until_records(1)
            zombie.gate.open()
            await until(
                lambda: zombie.count("headrace_batch_retries_total", cause="ProducerFenced") >= 1, "it is fenced"
            )
            await lane.stop(10)
            await shared.consumer.stop()
            await shared.group.stop()
        seen = await output.read_to_end()
    assert (len(seen.records), seen.duplicated) == (1, 0)


async def test_a_partition_revoked_in_mid_batch_is_finished_by_its_next_owner(
    kafka: str, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.kafka.pump._REVOKE_SECONDS", 0.5)
    # What a worker remembered of slices goes with it: a call whose last event was cut there has to wait.
    rig.idle_seconds = 60.0
    messages = list(traffic(range(30), 8, open_at_once=10, mix=_CALM))
    expected = offline(messages, tmp_path)
    async with Output(kafka, rig.topics) as output, rig.pump() as first:
        first.gate.shut()
        await produce(kafka, rig.topics, messages)
        await first.gate.at.wait()
        async with rig.pump():
            first.gate.open()
            await output.until_records(len(expected))
            seen = await output.read_to_end()
    assert compare(seen, expected).exact, str(compare(seen, expected))


async def test_a_worker_that_dies_between_commit_and_close_repeats_nothing(
    kafka: str, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a worker remembered of slices goes with it: a call whose last event was cut there has to wait.
    rig.idle_seconds = 60.0
    messages = list(traffic(range(30), 8, open_at_once=10, mix=_CALM))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    async with Output(kafka, rig.topics) as output:
        async with rig.pump() as first:
            committed = asyncio.Event()

            async def die(_: object) -> None:
                committed.set()
                await asyncio.Event().wait()

            monkeypatch.setattr(first.pump._shared.pipeline, "close", die)
            await produce(kafka, rig.topics, messages[:half])
            await committed.wait()
            await first.die()
        async with rig.pump():
            await produce(kafka, rig.topics, messages[half:])
            await output.until_records(len(expected))
            seen = await output.read_to_end()
    assert compare(seen, expected).exact, str(compare(seen, expected))


async def test_a_transaction_that_never_ends_is_begun_again(
    kafka: str, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.kafka.lane._TRANSACTION_SECONDS", 2.0)
    messages = list(traffic(range(30), 8, open_at_once=10, mix=_CALM))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    commit, hung = AIOKafkaProducer.commit_transaction, asyncio.Event()

    async def hang_once(producer: AIOKafkaProducer) -> None:
        if not hung.is_set():
            hung.set()
            await asyncio.Event().wait()
        await commit(producer)

    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await produce(kafka, rig.topics, messages[:half])
        await output.until_records(1)
        monkeypatch.setattr(AIOKafkaProducer, "commit_transaction", hang_once)
        await produce(kafka, rig.topics, messages[half:])
        await hung.wait()
        await output.until_records(len(expected))
        assert running.count("headrace_batch_retries_total", cause="KafkaError") >= 1
        seen = await output.read_to_end()
    assert compare(seen, expected).exact, str(compare(seen, expected))


@pytest.mark.parametrize("size", [3, 7, 20_000])
async def test_transactions_that_fail_now_and_then_lose_and_repeat_nothing(
    size: int, kafka: str, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before their begin, or after their commit: nobody waits out a call's patience because of it."""
    monkeypatch.setattr("headrace.kafka.lane._RETRY_SECONDS", (0.01, 0.05, 0.1))
    rng, publish = random.Random(size), Lane._publish

    async def publish_or_fail(lane: Lane, batch: Batch, after: Progress) -> None:
        chance = rng.random()
        if chance < 0.3:
            raise KafkaError("before")
        await publish(lane, batch, after)
        if chance > 0.7:
            raise KafkaError("after")

    monkeypatch.setattr(Lane, "_publish", publish_or_fail)
    rig.options = {"batch_messages": size, "batch_wait_ms": 20}
    messages = list(traffic(range(60), 8, seed=size, open_at_once=20, mix=_CALM))
    expected = offline(messages, tmp_path)
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await produce(kafka, rig.topics, messages)
        await output.until_records(len(expected))
        assert running.total("headrace_batch_retries_total") >= 1
        seen = await output.read_to_end()
    assert compare(seen, expected).exact, str(compare(seen, expected))


@pytest.mark.parametrize("stop", ["restart", "crash"])
async def test_the_broker_goes_and_comes_back(
    stop: str, private_stack: Callable[[], PrivateStack], redis_url: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """With it go the coordinators of group and transactions."""
    broker = private_stack().kafka
    topics = Topics.named("broker", 2)
    await topics.create(broker.bootstrap_servers)
    rig = Rig(broker.bootstrap_servers, redis_url, topics, unique("group"))
    messages = list(traffic(range(60), 8, open_at_once=20, mix=_CALM))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    async with Output(broker.bootstrap_servers, topics) as output, rig.pump() as running:
        await produce(broker.bootstrap_servers, topics, messages[:half])
        await output.until_records(1)
        await asyncio.to_thread(broker.restart if stop == "restart" else broker.kill)
        await asyncio.to_thread(broker.start)
        await produce(broker.bootstrap_servers, topics, messages[half:])
        await output.until_records(len(expected))
        await running.until_open()
        seen = await output.read_to_end()
    assert compare(seen, expected).exact, str(compare(seen, expected))


async def test_holes_of_transactions_stop_neither_commits_nor_deadlines(kafka: str, rig: Rig) -> None:
    """Aborted messages and the markers of transactions take offsets that nobody is given."""
    rig.idle_seconds = rig.grace_seconds = 1.0
    call = [message for message in messages_of(0, 6) if message.kind == "stream"][:3]
    other = [message for message in messages_of(4, 6) if message.kind == "stream"]
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=rig.group + "-input")
    await producer.start()
    partition = TopicPartition(rig.topics.chunks, 0)
    for messages, ends in ((other, producer.abort_transaction), (call, producer.commit_transaction)):
        await producer.begin_transaction()
        for message in messages:
            await producer.send(partition.topic, message.value, partition=0)
        await ends()
    await producer.stop()
    group = Group({"bootstrap_servers": kafka}, rig.group)
    await group.start()
    end = (await group.ends([partition]))[partition]
    assert end == len(call) + len(other) + 2
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        seen = await output.until_records(1)
        await until(lambda: running.pump.lanes[partition].at.offset == end, "the last marker is committed too")
    assert (await group.progress([partition]))[partition] is not None
    await group.stop()
    assert seen.statuses == {"incomplete": 1}


async def test_compacted_offsets_are_no_holes_to_fall_into(
    tmp_path: Path, redis_url: str, unique: Callable[[str], str]
) -> None:
    broker = KafkaBroker(
        tmp_path / "kafka", settings={"log.cleaner.backoff.ms": "100", "log.segment.delete.delay.ms": "0"}
    )
    broker.start()
    try:
        topics = Topics.named("compacted", 1)
        quick = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.0", "max.compaction.lag.ms": "100"}
        await topics.create(broker.bootstrap_servers, {"cleanup.policy": "compact", **quick})
        group = Group({"bootstrap_servers": broker.bootstrap_servers}, "unused")
        await group.start()
        partition = TopicPartition(topics.requests, 0)
        requests = [message for number in range(4) for message in messages_of(number, 6) if message.kind == "request"]
        # The same keys again and again: only the last of each stays, somewhere behind holes.
        for _ in range(5):
            await produce(broker.bootstrap_servers, topics, requests)
            await asyncio.sleep(0.3)
        await until(lambda: _first_left(broker.bootstrap_servers, partition), "the log is compacted")
        rig = Rig(broker.bootstrap_servers, redis_url, topics, unique("group"))
        async with Output(broker.bootstrap_servers, topics) as output, rig.pump() as running:
            seen = await output.until_records(4)
            end = (await group.ends([partition]))[partition]
            await until(lambda: running.pump.lanes[partition].at.offset == end, "all is committed")
        await group.stop()
        assert (len(seen.records), seen.duplicated) == (4, 0)
    finally:
        broker.kill()


async def _first_left(bootstrap: str, partition: TopicPartition) -> bool:
    """Whether the first offset that is left is not 0."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        return bool((await consumer.getone()).offset > 0)
    finally:
        await consumer.stop()


async def test_messages_larger_than_fetch_limits_are_read(kafka: str, rig: Rig) -> None:
    rig.options = {"fetch_max_bytes": 1 << 16}
    text = "long " * 700_000
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": text}]}
    lines = [
        {"call_id": f"large-{number}", "kind": "request", "protocol": "openai.chat", "body": body}
        for number in range(3)
    ]
    producer = AIOKafkaProducer(bootstrap_servers=kafka, max_request_size=8 << 20)
    await producer.start()
    for line in lines:
        await producer.send_and_wait(rig.topics.requests, json.dumps(line).encode(), partition=0)
    await producer.stop()
    async with Output(kafka, rig.topics) as output, rig.pump():
        seen = await output.until_records(3)
    assert all(text.encode() in record for record in seen.records.values())


async def test_an_outage_times_nothing_out_that_waits_in_the_log(kafka: str, rig: Rig, tmp_path: Path) -> None:
    """Two hours of slow streams, all written while no worker ran; patience is a minute."""
    rig.idle_seconds = rig.grace_seconds = 60.0
    numbers = [number for number in range(40) if number % 7 != 5]
    messages = list(traffic(numbers, 8, open_at_once=3, mix=Mix(duplicates=0.0, reordered=0.0, spread=0.5)))
    expected = offline(messages, tmp_path)
    began = int(time.time() * 1000) - 180 * _MINUTE_MS
    step = 120 * _MINUTE_MS // len(messages)
    async with Output(kafka, rig.topics) as output:
        async with rig.pump() as running:
            await produce(kafka, rig.topics, messages[:5], timestamps=[began + at * step for at in range(5)])
            await until(lambda: consumed(running) >= 5, "some is read before the outage")
        rest = [began + at * step for at in range(5, len(messages))]
        await produce(kafka, rig.topics, messages[5:], timestamps=rest)
        # Small batches: deadlines are looked at again and again on the way.
        rig.options = {"batch_messages": 7}
        async with rig.pump():
            await output.until_records(len(expected))
            seen = await output.read_to_end()
    comparison = compare(seen, expected)
    print(f"\n{len(messages)} messages over two hours, step {step} ms: {comparison}")
    assert comparison.exact, str(comparison)


async def test_a_dead_stream_is_one_incomplete_record_and_what_comes_late_a_dead_letter(kafka: str, rig: Rig) -> None:
    rig.idle_seconds = rig.grace_seconds = 1.0
    call = messages_of(0, 6)
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await produce(kafka, rig.topics, call[:4])
        await output.until_records(2)
        await produce(kafka, rig.topics, call[4:])
        await output.until_records(2, dead_letters=1)
        await until(lambda: consumed(running) == len(call), "all is read")
        seen = await output.read_to_end()
    assert seen.statuses == {"request": 1, "incomplete": 1}
    assert seen.duplicated == 0
    assert {letter["code"] for letter in seen.dead_letters} == {"late_chunk"}
    kept = b"\n".join(letter["value"] for letter in seen.dead_letters)
    assert all(
        json.dumps(json.loads(each.value)["body"], ensure_ascii=False).encode()[:60] in kept for each in call[4:]
    )


async def test_a_message_from_the_future_ends_nobodys_patience(kafka: str, rig: Rig) -> None:
    rig.idle_seconds = rig.grace_seconds = 60.0
    call = [message for message in messages_of(0, 6) if message.kind == "stream"]
    other = [message for message in messages_of(7, 6) if message.kind == "request"]
    future = int(time.time() * 1000) + 10 * 365 * 24 * 60 * _MINUTE_MS
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await produce(kafka, rig.topics, call[:3])
        await produce(kafka, rig.topics, other, timestamps=[future])
        await until(lambda: consumed(running) == 4, "all is read")
        await asyncio.sleep(2.5)
        await produce(kafka, rig.topics, call[3:])
        seen = await output.until_records(2)
    assert seen.statuses == {"request": 1, "completed": 1}
