"""Workers as processes, between real Kafka and Redis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Mix, traffic
from tests.support.workers import Output, Topics, Workers, compare, offline, produce


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    """Topics of this test alone."""
    topics = Topics.named(unique("worker"))
    await topics.create(kafka)
    return topics


@pytest.fixture
def settings(kafka: str, redis_url: str, topics: Topics, unique: Callable[[str], str]) -> dict[str, str]:
    """A worker's settings for them."""
    return {
        "kafka.bootstrap_servers": kafka,
        "kafka.group": unique("group"),
        "kafka.session_timeout_ms": "6000",
        "state.redis_url": redis_url,
        **topics.settings(),
    }


async def test_a_thousand_calls_survive_sigterm_and_sigkill_half_way(
    kafka: str, topics: Topics, settings: dict[str, str], tmp_path: Path
) -> None:
    messages = list(traffic(range(1000), 12, mix=Mix(duplicates=0.0, reordered=0.0, spread=0.0), open_at_once=200))
    expected = offline(messages, tmp_path)
    half = len(messages) // 2
    with Workers(settings, tmp_path / "logs") as workers:
        first, second = workers.start(), workers.start()
        await first.until_reading()
        await second.until_reading()
        await produce(kafka, topics, messages[:half])
        async with Output(kafka, topics) as output:
            await output.until_records(len(expected) // 4)
            second.kill()
            await produce(kafka, topics, messages[half:])
            third = workers.start()
            await third.until_reading()
            assert first.terminate() == 0
            await output.until_records(len(expected))
            assert third.terminate() == 0
            seen = await output.read_to_end()
    comparison = compare(seen, expected)
    print(f"\n{len(messages)} messages, {len(expected)} records, {len(seen.dead_letters)} dead letters: {comparison}")
    assert comparison.exact, str(comparison)
    assert seen.dead_letters == []
