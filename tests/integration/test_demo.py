"""`headrace demo` on real servers: a real worker process, exact counts, nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import redis
from aiokafka.admin import AIOKafkaAdminClient


def demo(settings: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace.cli", "demo", *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **settings}
    )


async def topics_of(kafka: str, run: str) -> list[str]:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await client.start()
    try:
        return sorted(topic for topic in await client.list_topics() if topic.startswith(f"{run}."))
    finally:
        await client.close()


async def test_every_count_holds_and_nothing_is_left(stack_settings: dict[str, str]) -> None:
    done = demo(stack_settings)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "WRONG "))]
    assert len(counted) == 6
    assert not any(line.startswith("WRONG") for line in counted)
    assert "incomplete" in next(line for line in done.stdout.splitlines() if line.startswith("story-1     response"))
    found = re.search(r"creating topics (demo-\w+)\.", done.stderr)
    assert found
    assert await topics_of(stack_settings["KAFKA_BOOTSTRAP_SERVERS"], found[1]) == []
    assert redis.from_url(stack_settings["REDIS_URL"]).keys(f"{found[1]}*") == []


async def test_a_second_run_is_as_clean_and_may_keep_its_topics(stack_settings: dict[str, str]) -> None:
    done = demo(stack_settings, "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"kept: topics (demo-\w+)\.", done.stdout)
    assert found
    topics = await topics_of(stack_settings["KAFKA_BOOTSTRAP_SERVERS"], found[1])
    kept = ["canonical", "dead-letters", "raw.chunks", "raw.requests", "raw.responses"]
    assert topics == [f"{found[1]}.llm.{name}" for name in kept]
