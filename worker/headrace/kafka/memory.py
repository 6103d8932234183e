"""Which memory the store has: its epoch, as the lanes of a worker go by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from headrace.errors import StoreError
from headrace.kafka.progress import short

log = structlog.get_logger(__name__)


class EpochStore(Protocol):
    """A store that knows which memory it has."""

    async def epoch(self) -> str:
        """The mark of the memory there is now; from here on the store goes by it."""
        ...

    async def new_epoch(self) -> str:
        """Give the memory another mark, so that all who go by the old one take it for lost."""
        ...


class Memory:
    """The store's epoch, and the batches that go by it.

    A loss that one lane notices is a loss for all. The store takes the new epoch only when no batch is under way, so
    what a batch began under the old one never lands in the new memory.
    """

    def __init__(self, store: EpochStore) -> None:
        self._store = store
        self._known = ""
        self._batches = 0
        self._renewing = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def epoch(self) -> str:
        """The epoch to go by. Raises StoreError."""
        async with self._renewing:
            if not self._known:
                self._known = short(await self._store.epoch())
            return self._known

    @asynccontextmanager
    async def batch(self, epoch: str) -> AsyncIterator[None]:
        """While the store must keep this epoch. Raises StoreError (``store_lost_memory``) when it has another."""
        async with self._renewing:
            if self._known != epoch:
                raise StoreError(
                    "another lane noticed that the store lost its memory",
                    code="store_lost_memory",
                    fix="nothing: open calls are rebuilt from Kafka",
                )
            self._batches += 1
            self._quiet.clear()
        try:
            yield
        finally:
            self._batches -= 1
            if not self._batches:
                self._quiet.set()

    async def renew(self, seen: str) -> None:
        """After a ``store_lost_memory`` under the epoch ``seen``: go by the store's new one. Raises StoreError.

        Where the epoch is still the old one, only a part was lost (evicted, expired). Nobody else can notice, so the
        store gets a new epoch, and every worker rebuilds.
        """
        async with self._renewing:
            await self._quiet.wait()
            if self._known != seen:
                return
            self._known = short(await self._store.epoch())
            if self._known == seen:
                self._known = short(await self._store.new_epoch())
            log.warning("the store lost its memory: open calls are rebuilt from Kafka", epoch=self._known)
