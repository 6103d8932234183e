"""Two workers over a real Redis that crash, replay and race; and the two stores, told the same, answer the same."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.redis_store import RedisStore
from headrace.reassembly.store import Append, Close, StateKey, Store
from tests.support.shares import GRACE, IDLE, at, logged, numbered, unit
from tests.support.store_world import StoreWorld


class RedisWorld(StoreWorld):
    url: ClassVar[str]

    async def connect(self) -> list[Store]:
        prefix = f"world-{uuid.uuid4().hex}"
        self.opened = [RedisStore.from_url(self.url, prefix=prefix, open_ttl=60, tombstone_ttl=60) for _ in range(2)]
        for store in self.opened:
            await store.connect()
        return list(self.opened)

    async def disconnect(self) -> None:
        for store in self.opened:
            await store.aclose()


def test_workers_lose_nothing_and_publish_nothing_twice(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedisWorld, "url", redis_url, raising=False)
    run_state_machine_as_test(RedisWorld, settings=settings(max_examples=25, stateful_step_count=40, deadline=None))


_KEYS = [StateKey("t", name, "response") for name in ("a", "b")]


@st.composite
def _appends(draw: st.DrawFn, offset: int) -> list[Append]:
    shares = []
    for key in draw(st.lists(st.sampled_from(_KEYS), min_size=1, max_size=2)):
        first = offset - draw(st.integers(0, 6))
        kind = draw(st.sampled_from(["numbered", "numbered", "numbered", "logged", "unit"]))
        whole = draw(st.integers(0, 5)) == 0
        if kind == "unit":
            shares.append(unit(offset, key=key))
        elif kind == "logged":
            signs: dict[str, Any] = draw(st.sampled_from([{}, {"hard": True}, {"soft": True}, {"ended": True}]))
            shares.append(logged(sorted({first, offset}), key=key, whole=whole, **signs))
        else:
            base = draw(st.integers(0, 9))
            seqs = draw(st.one_of(st.just(range(base, base + 3)), st.lists(st.integers(0, 9), min_size=1, max_size=4)))
            signs = draw(
                st.sampled_from(
                    [{}, {}, {"hard": max(seqs)}, {"soft": True}, {"count": max(seqs) + 1}, {"ended": True}]
                )
            )
            loose = draw(st.sampled_from([-1, -1, first, offset]))
            shares.append(numbered(seqs, offset, key=key, first=first, whole=whole, loose=loose, **signs))
    return shares


@st.composite
def _history(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """What one partition's owner asks of a store. Offsets may go back: replays."""
    steps: list[tuple[str, Any]] = []
    offset = 10
    for _ in range(draw(st.integers(1, 14))):
        offset = max(10, offset + draw(st.sampled_from([1, 1, 2, 5, -3])))
        kind = draw(st.sampled_from(["append", "append", "append", "due", "close", "close"]))
        if kind == "append":
            steps.append((kind, draw(_appends(offset))))
        elif kind == "due":
            committed = offset - draw(st.sampled_from([-1, 0, 1, 3, 20]))
            now = draw(st.sampled_from([0, offset + GRACE, offset + IDLE, 10 * IDLE]))
            round_, committed_round = draw(st.sampled_from([(0, 0), (0, 0), (1, 0), (2, 1), (1, 1)]))
            steps.append((kind, (at(offset, round=round_), now, committed, 100, committed_round)))
        else:
            steps.append((kind, draw(st.tuples(st.integers(0, 3), st.integers(-1, 1), st.booleans(), st.booleans()))))
    return steps


async def _run(store: Store, history: list[tuple[str, Any]]) -> list[Any]:
    """Everything the store answered; closes are made from its own answers."""
    seen: list[Any] = []
    ready = []
    for kind, what in history:
        if kind == "append":
            answers = await store.append(what)
        elif kind == "due":
            # States with one deadline come in any order.
            answers = sorted(await store.due(*what), key=repr)
        else:
            which, shift, final, leftover = what
            for answer in ready[which : which + 2]:
                reach = answer.limit if answer.limit >= 0 else 9
                await store.close(
                    [
                        Close(
                            key=answer.key,
                            through=max(reach + shift, 0),
                            emitted=answer.emitted + 1,
                            leftover=b"rest" if leftover else None,
                            final=final,
                            claim=answer.claim,
                        )
                    ]
                )
            ready = ready[:which] + ready[which + 2 :]
            continue
        ready += [answer for answer in answers if answer.outcome == "ready"]
        seen.append((kind, msgspec.to_builtins(answers)))
    return seen


@given(history=_history())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_redis_and_memory_answer_the_same(redis_url: str, history: list[tuple[str, Any]]) -> None:
    async def both() -> tuple[list[Any], list[Any]]:
        store = RedisStore.from_url(redis_url, prefix=f"same-{uuid.uuid4().hex}", open_ttl=60, tombstone_ttl=60)
        await store.connect()
        try:
            return await _run(store, history), await _run(MemoryStore(), history)
        finally:
            await store.aclose()

    ours, theirs = asyncio.run(both())
    assert ours == theirs
