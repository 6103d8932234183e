"""Redis loses its memory, stops answering, or evicts: nothing is lost, and nothing is published twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import redis.asyncio as aioredis

from tests.support.calls import Mix, bears_repeating, messages_of, traffic
from tests.support.pumps import Rig
from tests.support.services import PrivateStack, RedisServer
from tests.support.workers import Output, Topics, Workers, compare, offline, produce, until

_CALM = Mix(duplicates=0.0, reordered=0.2, spread=0.3)


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    topics = Topics.named(unique("redis"), 2)
    await topics.create(kafka)
    return topics


@pytest.fixture
def own_redis(private_stack: Callable[[], PrivateStack]) -> RedisServer:
    return private_stack().redis


@pytest.fixture
def rig(kafka: str, own_redis: RedisServer, topics: Topics, unique: Callable[[str], str]) -> Rig:
    return Rig(kafka, own_redis.url, topics, unique("group"))


def _flush(redis: RedisServer) -> None:
    redis.flush()


def _replace(redis: RedisServer) -> None:
    redis.kill()
    redis.wipe()
    redis.start()


def _restart(redis: RedisServer) -> None:
    redis.kill()
    redis.start()


async def _evict(redis: RedisServer) -> None:
    """Somebody allows eviction and fills the memory."""
    client = aioredis.Redis.from_url(redis.url)
    used = (await client.info("memory"))["used_memory"]
    await client.config_set("maxmemory-policy", "allkeys-random")
    await client.config_set("maxmemory", str(used + (1 << 20)))
    before = (await client.info("stats"))["evicted_keys"]
    number = 0
    while (await client.info("stats"))["evicted_keys"] < before + 50:
        await client.set(f"filler-{number}", os.urandom(50_000), ex=60)
        number += 1
    await client.config_set("maxmemory", "0")
    await client.config_set("maxmemory-policy", "noeviction")
    await client.aclose()


@pytest.mark.parametrize("loss", [_flush, _replace, _restart, _evict])
@pytest.mark.parametrize("workers", [1, 2])
async def test_lost_memory_is_rebuilt(
    loss: Callable[[RedisServer], object], workers: int, kafka: str, own_redis: RedisServer, rig: Rig, tmp_path: Path
) -> None:
    messages = list(traffic(range(120), 10, open_at_once=60, mix=_CALM))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    async with Output(kafka, rig.topics) as output, contextlib.AsyncExitStack() as stack:
        pumps = [await stack.enter_async_context(rig.pump(wait=False)) for _ in range(workers)]
        await produce(kafka, rig.topics, messages[:half])
        await until(lambda: sum(each.total("headrace_consumed_total") for each in pumps) >= half, "half is read")
        done = loss(own_redis)
        if asyncio.iscoroutine(done):
            await done
        # What was published before the loss must still be known when it comes again.
        again = [message for message in messages[: half // 2] if bears_repeating(message)]
        await produce(kafka, rig.topics, [*again, *messages[half:]])
        await output.until_records(len(expected))
        await until(lambda: all(not lag for each in pumps for lag in each.pump.lag.values()), "all is read")
        seen = await output.read_to_end()
    comparison = compare(seen, expected)
    print(f"\n{loss.__name__}, {workers} workers, {len(expected)} records: {comparison}")
    assert comparison.exact, str(comparison)
    assert [(each["code"], each.get("call_id"), each.get("value", b"")[:300]) for each in seen.dead_letters] == []


async def test_a_call_that_timed_out_before_the_loss_stays_closed(kafka: str, own_redis: RedisServer, rig: Rig) -> None:
    rig.idle_seconds = rig.grace_seconds = 1.0
    call = messages_of(0, 6)
    async with Output(kafka, rig.topics) as output, rig.pump():
        await produce(kafka, rig.topics, call[:4])
        await output.until_records(2)
        own_redis.flush()
        await produce(kafka, rig.topics, call[4:])
        await output.until_records(2, dead_letters=1)
        seen = await output.read_to_end()
    assert seen.duplicated == 0
    assert seen.statuses == {"request": 1, "incomplete": 1}
    assert {letter["code"] for letter in seen.dead_letters} == {"late_chunk"}


async def test_a_silent_redis_is_waited_for(kafka: str, own_redis: RedisServer, rig: Rig, tmp_path: Path) -> None:
    """Longer than the session: the worker keeps its partitions, its place in the group and its memory."""
    rig.timeout = 1.0
    messages = list(traffic(range(60), 10, open_at_once=30, mix=_CALM))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await produce(kafka, rig.topics, messages[:half])
        await until(lambda: running.total("headrace_consumed_total") >= half, "half is read")
        lanes = dict(running.pump.lanes)
        os.kill(own_redis.pid, signal.SIGSTOP)
        try:
            await produce(kafka, rig.topics, messages[half:])
            await until(lambda: running.total("headrace_batch_retries_total") >= 12, "it has tried for a while")
        finally:
            os.kill(own_redis.pid, signal.SIGCONT)
        await output.until_records(len(expected))
        seen = await output.read_to_end()
        assert running.pump.lanes == lanes
    comparison = compare(seen, expected)
    assert comparison.exact, str(comparison)


async def test_a_worker_starts_before_redis_does(kafka: str, own_redis: RedisServer, rig: Rig, tmp_path: Path) -> None:
    own_redis.kill()
    settings = {
        "kafka.bootstrap_servers": kafka,
        "kafka.group": rig.group,
        "state.redis_url": own_redis.url,
        "state.timeout_seconds": "1",
        **rig.topics.settings(),
    }
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await until(
            lambda: "Redis does not answer" in worker.log.read_text(), "it says what it waits for", alive=worker
        )
        own_redis.start()
        await worker.until_reading()
        assert worker.terminate() == 0
