"""Which memory the store has: its epoch, as the lanes of a worker go by it."""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

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
    """The store's epoch. A loss that one lane notices is a loss for all: `known` changes under them."""

    def __init__(self, store: EpochStore) -> None:
        self._store = store
        self._lock = asyncio.Lock()
        self.known = ""

    async def epoch(self) -> str:
        """The epoch to go by. Raises StoreError."""
        async with self._lock:
            if not self.known:
                self.known = short(await self._store.epoch())
            return self.known

    async def renew(self, seen: str) -> None:
        """After a ``store_lost_memory`` under the epoch ``seen``: go by the store's new one. Raises StoreError.

        Where the epoch is still the old one, only a part was lost (evicted, expired). Nobody else can notice, so the
        store gets a new epoch, and every worker rebuilds.
        """
        async with self._lock:
            if self.known != seen:
                return
            self.known = short(await self._store.epoch())
            if self.known == seen:
                self.known = short(await self._store.new_epoch())
            log.warning("the store lost its memory: open calls are rebuilt from Kafka", epoch=self.known)
