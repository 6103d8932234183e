"""The memory store keeps the contract, and its memory within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.store import FOREVER, StateKey
from tests.support.shares import at, closing, numbered, unit
from tests.support.store_contract import StoreContract, due, one


class TestMemoryStore(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[MemoryStore]:
        store = MemoryStore()
        yield store
        await store.aclose()


class TestSpillingMemoryStore(StoreContract):
    """With room for nothing everything goes through the file."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[MemoryStore]:
        store = MemoryStore(budget=0, tombstones=0, folder=tmp_path)
        yield store
        await store.aclose()
        assert list(tmp_path.iterdir()) == []


async def test_fragments_spill_past_the_budget_and_come_back(tmp_path: Path) -> None:
    store = MemoryStore(budget=10_000, folder=tmp_path)
    keys = [StateKey("t", f"call-{number}", "response") for number in range(40)]
    for seq in range(10):
        for key in keys:
            packed = f"{key.call_id}/{seq}".encode().ljust(100, b".")
            await store.append([numbered([seq], seq, key=key, packed=packed)])
            assert store.resident_bytes <= 10_000
    assert list(tmp_path.iterdir())
    for key in keys:
        answer = await one(store, numbered([10], 10, key=key, hard=10, packed=b"last"))
        assert answer.outcome == "ready"
        names = [packed.rstrip(b".").decode() for packed in answer.fragments]
        assert names == [f"{key.call_id}/{seq}" for seq in range(10)] + ["last"]
        await store.close([closing(answer, 10)])
    assert store.resident_bytes == 0
    await store.aclose()
    assert list(tmp_path.iterdir()) == []


async def test_tombstones_past_the_bound_are_still_known(tmp_path: Path) -> None:
    store = MemoryStore(tombstones=10, folder=tmp_path)
    keys = [StateKey("t", f"call-{number}\ud800", "request") for number in range(100)]
    for key in keys:
        await store.close([closing(await one(store, unit(1, key=key)), 0)])
    assert {(await one(store, unit(2, key=key))).outcome for key in keys} == {"duplicate"}
    await store.aclose()


async def test_end_of_input_gives_open_calls_by_first_appearance() -> None:
    store = MemoryStore()
    names = ["d", "a", "c", "b"]
    for number, name in enumerate(names):
        await store.append([numbered([0], number, key=StateKey("", name, "response"), seen=100 - number)])
    await store.append([numbered([2], 9, key=StateKey("", "a", "response"), seen=500)])
    assert [answer.key.call_id for answer in await due(store, at(9), now=FOREVER)] == names
    assert [answer.key.call_id for answer in await store.due(at(9), 0, 10, 10)] == []
