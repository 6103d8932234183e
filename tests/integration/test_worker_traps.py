"""The pipeline's share of real faults (cases kept beside the checkout), each as a run of the real thing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from headrace.kafka.progress import Group
from headrace.pipeline import Pipeline
from tests.support.pumps import Rig
from tests.support.workers import Output, Topics, until


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    topics = Topics.named(unique("traps"), 1)
    await topics.create(kafka)
    return topics


@pytest.fixture
def rig(kafka: str, redis_url: str, topics: Topics, unique: Callable[[str], str]) -> Rig:
    return Rig(kafka, redis_url, topics, unique("group"))


async def send(kafka: str, topic: str, numbers: range) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    await producer.start()
    for number in numbers:
        body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": str(number)}]}
        line = {"call_id": f"call-{number}", "kind": "request", "protocol": "openai.chat", "body": body}
        await producer.send_and_wait(topic, json.dumps(line).encode(), partition=0)
    await producer.stop()


async def committed(kafka: str, group: str, topic: str) -> int:
    reader = Group({"bootstrap_servers": kafka}, group)
    await reader.start()
    try:
        at = (await reader.progress([TopicPartition(topic, 0)]))[TopicPartition(topic, 0)]
        return -1 if at is None else at.offset
    finally:
        await reader.stop()


async def test_c01_a_commit_never_passes_what_is_still_in_work(kafka: str, rig: Rig) -> None:
    topic = rig.topics.requests
    async with Output(kafka, rig.topics) as output:
        async with rig.pump() as first:
            await send(kafka, topic, range(3))
            await output.until_records(3)
            first.gate.shut()
            await send(kafka, topic, range(3, 8))
            await first.gate.at.wait()
            assert await committed(kafka, rig.group, topic) == 3
            await first.die()
        assert await committed(kafka, rig.group, topic) == 3
        async with rig.pump():
            await output.until_records(8)
            seen = await output.read_to_end()
    assert (len(seen.records), seen.duplicated) == (8, 0)
    assert await committed(kafka, rig.group, topic) == 8


async def test_c03_what_was_fetched_before_a_seek_is_thrown_away(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group gives the same partition again and again while messages are on their way."""
    offsets: list[int] = []
    process = Pipeline.process

    async def noted(self: Pipeline, messages: list[object]) -> object:
        offsets.extend(message.source.offset for message in messages)  # type: ignore[attr-defined]
        return await process(self, messages)  # type: ignore[arg-type]

    monkeypatch.setattr(Pipeline, "process", noted)
    rig.options = {"batch_messages": 2}
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        sending = asyncio.create_task(send(kafka, rig.topics.requests, range(60)))
        for count in (10, 25, 40):
            await output.until_records(count)
            lanes = dict(running.pump.lanes)
            await running.pump.on_partitions_revoked(lanes)
            await running.pump.on_partitions_assigned(lanes)
        await sending
        await output.until_records(60)
        seen = await output.read_to_end()
    assert seen.duplicated == 0
    assert offsets == sorted(offsets), "the stream jumped"


async def test_c07_c22_what_failed_once_is_read_again_and_committed(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Pipeline.process
    failed: list[int] = []

    async def failing(self: Pipeline, messages: list[object]) -> object:
        if messages and not failed:
            failed.append(1)
            raise KafkaError("first time only")
        return await process(self, messages)  # type: ignore[arg-type]

    monkeypatch.setattr(Pipeline, "process", failing)
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await send(kafka, rig.topics.requests, range(1, 10))
        await output.until_records(9)
        seen = await output.read_to_end()
        await until(lambda: sum(running.pump.lag.values()) == 0, "all is committed")
    assert failed
    assert (len(seen.records), seen.duplicated) == (9, 0)
    assert await committed(kafka, rig.group, rig.topics.requests) == 9
