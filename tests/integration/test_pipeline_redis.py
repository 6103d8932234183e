"""Both stores give the same records, byte for byte, however the streams were cut, ordered and repeated."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.protocols import PROTOCOLS
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.redis_store import RedisStore
from tests.conformance.test_pipeline_corpus import exchanges_of, lines_of_all
from tests.support import traffic
from tests.support.running import run


@pytest.mark.parametrize("cut", traffic.CUTS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_redis_and_memory_agree(
    protocol: str, cut: traffic.Cut, redis_url: str, unique: Callable[[str], str]
) -> None:
    streams = [exchange for exchange in exchanges_of(protocol) if traffic.is_stream(exchange)]
    whole = (await run(MemoryStore(), lines_of_all(streams, "events", random.Random(1)))).content()
    rng = random.Random(7)
    lines = lines_of_all(streams, cut, rng)
    lines += rng.sample(lines, len(lines) // 5)
    rng.shuffle(lines)
    store = RedisStore.from_url(redis_url, prefix=unique("pipeline"))
    await store.connect()
    try:
        mixed = await run(store, lines, batch=211)
        assert mixed.content() == whole
        assert await store.open_calls() == 0
    finally:
        await store.aclose()
