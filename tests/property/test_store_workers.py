"""Workers that crash, replay and race over one memory store lose nothing and publish nothing twice."""

from __future__ import annotations

from hypothesis import settings

from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.store import Store
from tests.support.store_world import StoreWorld


class MemoryWorld(StoreWorld):
    """All workers share the one store: its process does not die with them."""

    async def connect(self) -> list[Store]:
        self.store = MemoryStore(budget=200)
        return [self.store]

    async def disconnect(self) -> None:
        await self.store.aclose()


TestMemoryWorld = MemoryWorld.TestCase
TestMemoryWorld.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
