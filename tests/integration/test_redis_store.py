"""The Redis store on a real Redis: the contract, and what only a server can do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from headrace.reassembly.redis_store import RedisStore
from tests.support.store_contract import StoreContract


@pytest.fixture
async def store(redis_url: str, unique: Callable[[str], str]) -> AsyncIterator[RedisStore]:
    store = RedisStore.from_url(redis_url, prefix=unique("store"), open_ttl=600, tombstone_ttl=300)
    await store.connect()
    yield store
    await store.aclose()


class TestRedisStore(StoreContract):
    pass
