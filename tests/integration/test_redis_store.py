"""The Redis store on a real Redis: the contract, and what only a server can do to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import redis.asyncio as aioredis

from headrace.errors import SettingsError, StoreError
from headrace.reassembly.facts import CallFacts, Trait
from headrace.reassembly.packing import pack, unpack
from headrace.reassembly.pieces import Fragment, Pieces
from headrace.reassembly.redis_link import connect_url
from headrace.reassembly.redis_store import RedisStore
from headrace.reassembly.sequence import in_order
from headrace.reassembly.store import Append, StateKey
from tests.support.redis_shapes import Proxy, redis_cluster, redis_sentinel
from tests.support.services import PrivateStack
from tests.support.shares import CALL, IDLE, at, closing, logged, numbered, unit
from tests.support.store_contract import StoreContract, due, one

#: Commands that the documentation of the store gives to its ACL user.
DOCUMENTED = (
    "get set del expire rpush lpush ltrim lrange lset lrem "
    "zadd zrem zscore zrangebyscore zcard eval evalsha script|load info"
)


@pytest.fixture
def prefix(unique: Callable[[str], str]) -> str:
    return unique("store")


@pytest.fixture
async def store(redis_url: str, prefix: str) -> AsyncIterator[RedisStore]:
    store = RedisStore.from_url(redis_url, prefix=prefix, open_ttl=600, tombstone_ttl=300)
    await store.connect()
    yield store
    await store.aclose()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[aioredis.Redis]:
    client = aioredis.Redis.from_url(redis_url)
    yield client
    await client.aclose()


async def keys_of(client: aioredis.Redis, prefix: str) -> list[bytes]:
    return [key async for key in client.scan_iter(f"{prefix}:*")]


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


class TestRedisStore(StoreContract):
    """One server."""


class TestClusterStore(StoreContract):
    """Three primaries: keys of one call share a slot, everything else is spread."""

    @pytest.fixture
    async def store(self, cluster_url: str, prefix: str) -> AsyncIterator[RedisStore]:
        store = RedisStore.from_url(cluster_url, prefix=prefix)
        await store.connect()
        yield store
        await store.aclose()

    async def test_memory_lost_by_one_primary_is_noticed(self, cluster_url: str, store: RedisStore) -> None:
        await one(store, numbered([0], 1))
        cluster = connect_url(cluster_url)
        await cluster.initialize()
        for node in cluster.get_primaries():
            await cluster.execute_command("FLUSHALL", target_nodes=node)
            with pytest.raises(StoreError) as caught:
                await one(store, numbered([0], 1))
            assert caught.value.code == "store_lost_memory"
            await store.epoch()
            assert (await one(store, numbered([0], 1))).outcome == "open"
        await cluster.aclose()


async def test_sentinel_leads_to_the_primary(private_stack: Callable[[], PrivateStack], tmp_path: Path) -> None:
    server = private_stack().redis
    with redis_sentinel(tmp_path / "sentinel", server.port) as url:
        store = RedisStore.from_url(url)
        await store.connect()
        assert (await one(store, numbered([0], 1))).outcome == "open"
        assert (await one(store, numbered([1], 2, hard=1))).outcome == "ready"
        await store.aclose()


# Two workers


async def test_of_two_workers_that_complete_one_call_at_once_exactly_one_is_told(
    redis_url: str, store: RedisStore, prefix: str
) -> None:
    other = RedisStore.from_url(redis_url, prefix=prefix)
    await other.connect()
    keys = [StateKey("t", f"call-{number}", "response") for number in range(100)]
    even = [numbered([0, 2], 10, key=key, hard=2) for key in keys]
    odd = [numbered([1], 20, key=key, partition=1) for key in keys]
    ours, theirs = await asyncio.gather(store.append(even), other.append(odd))
    for mine, its in zip(ours, theirs, strict=True):
        assert sorted([mine.outcome, its.outcome]) == ["open", "ready"]
        ready = mine if mine.outcome == "ready" else its
        assert sorted(ready.fragments) == [b"[0, 2]", b"[1]"]
    await other.aclose()


async def test_of_two_workers_that_claim_one_unit_exactly_one_is_told(
    redis_url: str, store: RedisStore, prefix: str
) -> None:
    other = RedisStore.from_url(redis_url, prefix=prefix)
    await other.connect()
    keys = [StateKey("t", f"call-{number}", "request") for number in range(100)]
    answers = await asyncio.gather(
        store.append([unit(5, key=key) for key in keys]),
        other.append([unit(5, key=key, partition=1) for key in keys]),
    )
    for pair in zip(*answers, strict=True):
        assert sorted(answer.outcome for answer in pair) == ["claimed", "ready"]
    await other.aclose()


async def test_new_owner_takes_over_what_the_old_one_claimed(redis_url: str, store: RedisStore, prefix: str) -> None:
    """The old worker died between its claims and its commit; the new one reads the partition again."""
    first, second = (StateKey("t", name, "response") for name in ("first", "second"))
    await store.append([numbered([0], 10, key=first, hard=0), numbered([0], 11, key=second, seen=0)])
    assert len(await due(store, at(12), committed=5)) == 1
    owner = RedisStore.from_url(redis_url, prefix=prefix)
    await owner.connect()
    assert (await one(owner, numbered([0], 10, key=first, hard=0))).outcome == "ready"
    (again,) = await due(owner, at(12), now=0, committed=5)
    assert again.key == second
    await owner.aclose()


async def test_new_owner_closes_what_the_old_one_committed(redis_url: str, store: RedisStore, prefix: str) -> None:
    await store.append([numbered([0], 10, hard=0)])
    owner = RedisStore.from_url(redis_url, prefix=prefix)
    await owner.connect()
    assert (await one(owner, numbered([1], 11, hard=1))).outcome == "claimed"
    (answer,) = await due(owner, at(11), now=0, committed=11)
    assert answer.through == 0
    assert answer.fragments == (b"[1]",)
    await owner.aclose()


# The server's memory


async def test_every_key_has_a_time_to_live(client: aioredis.Redis, store: RedisStore, prefix: str) -> None:
    names = [StateKey("t", name, "response") for name in ("open", "claimed", "closed", "due", "reopened")]
    opened, claimed, closed, late, again = names
    await store.append([numbered([0], 1, key=opened), numbered([0], 1, key=claimed, hard=0)])
    await store.close([closing(await one(store, numbered([0], 1, key=closed, hard=0)), 0)])
    await one(store, numbered([0], 2, key=late, seen=0))
    assert len(await due(store, at(2), now=IDLE)) == 1
    answer = await one(store, numbered([0], 3, key=again, hard=0))
    await store.close([closing(answer, 0, leftover=b"more")])
    keys = await keys_of(client, prefix)
    assert len(keys) >= 10
    for key in keys:
        assert 0 < await client.ttl(key) <= 1_200, key


async def test_closed_call_leaves_one_small_key(client: aioredis.Redis, store: RedisStore, prefix: str) -> None:
    answer = await one(store, numbered(range(50), 1, hard=49))
    await store.close([closing(answer, 49)])
    await store.open_calls()
    (key,) = [key for key in await keys_of(client, prefix) if b"epoch" not in key]
    assert await client.memory_usage(key) <= 160


def event(seq: int) -> bytes:
    """A chunk of a chat completion, as long as real ones."""
    words = ["the", "quick", "brown", "fox", "jumps", "over", "seven", "lazy", "wizards", "while", "judges", "box"]
    choice = {"index": 0, "delta": {"content": words[seq % len(words)] + " "}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-Dyln92ILj4hwfpf8pkB29u5SE8WQb", "object": "chat.completion.chunk", "created": 1783375763}
    return json.dumps({**head, "model": "gpt-4o-2024-08-06", "choices": [choice]}).encode()


def streamed(start: int, count: int) -> Append:
    """A share of ``count`` real-looking pieces from number ``start`` on."""
    pieces, trait = Pieces(), Trait("raw", 0, "stream", "json")
    for seq in range(start, start + count):
        pieces.add(trait, 100 + seq, 1_783_375_763_000_000 + 20_003 * seq, seq, None, event(seq))
    packed = pack(Fragment(CallFacts(call_id=CALL.call_id, protocol="openai.chat"), pieces))
    return numbered(range(start, start + count), 100 + start + count - 1, first=100 + start, packed=packed)


@pytest.mark.parametrize("together", [1, 5, 25])
async def test_open_call_costs_at_most_a_third_of_its_raw_bytes(
    client: aioredis.Redis, store: RedisStore, prefix: str, together: int
) -> None:
    for start in range(0, 100, together):
        assert (await one(store, streamed(start, together))).outcome == "open"
    keys = [key for key in await keys_of(client, prefix) if b"epoch" not in key]
    assert len(keys) == 3
    raw = sum(len(event(seq)) for seq in range(100))
    assert sum([await client.memory_usage(key, samples=0) for key in keys]) <= raw / 3


async def test_pieces_that_came_one_by_one_are_merged_and_all_come_back(
    client: aioredis.Redis, store: RedisStore, prefix: str
) -> None:
    for seq in range(99):
        await one(store, streamed(seq, 1))
    (fragments,) = [key for key in await keys_of(client, prefix) if key.endswith(b":f")]
    assert await client.llen(fragments) < 25
    answer = await one(store, msgspec.structs.replace(streamed(99, 1), hard=99))
    assert answer.outcome == "ready"
    pieces = in_order([unpack(packed) for packed in answer.fragments])
    assert pieces.seqs == list(range(100))
    assert pieces.offsets == list(range(100, 200))
    assert pieces.payloads == [event(seq) for seq in range(100)]


async def test_two_workers_that_merge_one_call_lose_nothing(redis_url: str, store: RedisStore, prefix: str) -> None:
    other = RedisStore.from_url(redis_url, prefix=prefix)
    await other.connect()
    for seq in range(0, 160, 4):
        await asyncio.gather(
            store.append([streamed(seq, 1), streamed(seq + 2, 1)]),
            other.append([streamed(seq + 1, 1), streamed(seq + 3, 1)]),
        )
    answer = await one(other, msgspec.structs.replace(streamed(160, 1), hard=160))
    assert answer.outcome == "ready"
    assert len(answer.fragments) < 60
    assert in_order([unpack(packed) for packed in answer.fragments]).seqs == list(range(161))
    await other.aclose()


async def test_fragments_that_cannot_be_read_are_kept_as_they_are(store: RedisStore) -> None:
    for seq in range(60):
        assert (await one(store, numbered([seq], seq, packed=b"\x07new %d" % seq))).outcome == "open"
    answer = await one(store, numbered([60], 60, hard=60))
    assert answer.fragments[:60] == tuple(b"\x07new %d" % seq for seq in range(60))


async def test_flushed_server_is_noticed_by_every_method(private_stack: Callable[[], PrivateStack]) -> None:
    server = private_stack().redis
    store = RedisStore.from_url(server.url)
    before = await store.connect()
    answer = await one(store, numbered([0], 1, hard=0))
    for use in (
        lambda: one(store, numbered([1], 2)),
        lambda: due(store, at(2)),
        lambda: store.close([closing(answer, 0)]),
    ):
        server.flush()
        with pytest.raises(StoreError) as caught:
            await use()
        assert caught.value.code == "store_lost_memory"
        after = await store.epoch()
        assert after != before
        before = after
    assert (await one(store, numbered([0], 1, hard=0))).outcome == "ready"
    await store.aclose()


async def test_restarted_server_is_noticed_though_it_kept_its_data(private_stack: Callable[[], PrivateStack]) -> None:
    """Its last acknowledged writes may be missing."""
    server = private_stack().redis
    store = RedisStore.from_url(server.url)
    await store.connect()
    await one(store, numbered([0], 1))
    server.restart()
    with pytest.raises(StoreError) as caught:
        await one(store, numbered([1], 2, hard=1))
    assert caught.value.code == "store_lost_memory"
    await store.epoch()
    # What it kept is not gone by: it would mix with what is rebuilt.
    assert (await one(store, numbered([1], 2, hard=1))).outcome == "open"
    assert (await one(store, numbered([0], 1))).outcome == "ready"
    await store.aclose()


async def test_evicted_fragments_are_noticed(client: aioredis.Redis, store: RedisStore, prefix: str) -> None:
    await one(store, numbered([0], 1))
    (fragments,) = [key for key in await keys_of(client, prefix) if key.endswith(b":f")]
    await client.delete(fragments)
    with pytest.raises(StoreError) as caught:
        await one(store, numbered([1], 2))
    assert caught.value.code == "store_lost_memory"
    # What was left of the call is gone, so that the rebuild starts clean.
    assert (await one(store, numbered([0, 1], 2, hard=1))).outcome == "ready"


async def test_evicted_state_is_noticed(client: aioredis.Redis, store: RedisStore, prefix: str) -> None:
    await one(store, numbered([0], 1))
    await one(store, numbered([0], 1, key=StateKey("t", "other", "response")))
    (state,) = [key for key in await keys_of(client, prefix) if key.endswith(b"call-1}:response")]
    await client.delete(state)
    with pytest.raises(StoreError) as caught:
        await one(store, numbered([1], 2))
    assert caught.value.code == "store_lost_memory"


async def test_open_call_that_is_gone_when_due_is_noticed(
    client: aioredis.Redis, store: RedisStore, prefix: str
) -> None:
    await one(store, numbered([0], 1))
    await client.delete(*[key for key in await keys_of(client, prefix) if b"call-1" in key])
    with pytest.raises(StoreError) as caught:
        await due(store, at(2))
    assert caught.value.code == "store_lost_memory"
    assert await due(store, at(2)) == []


async def test_state_of_another_call_is_refused(client: aioredis.Redis, store: RedisStore, prefix: str) -> None:
    await one(store, numbered([0], 1))
    await one(store, numbered([0], 1, key=StateKey("t", "other", "response")))
    mine, other = sorted(key for key in await keys_of(client, prefix) if key.endswith(b":response"))
    await client.copy(other, mine, replace=True)
    outcomes = []
    for key in (CALL, StateKey("t", "other", "response")):
        try:
            outcomes.append((await one(store, numbered([1], 2, key=key))).outcome)
        except StoreError as error:
            outcomes.append(error.code)
    assert sorted(outcomes) == ["open", "store_foreign_state"]


async def test_scripts_are_loaded_again(client: aioredis.Redis, store: RedisStore) -> None:
    await one(store, numbered([0], 1))
    await client.script_flush()
    answers = await store.append([numbered([1], 2, hard=1), unit(3, key=StateKey("t", "other", "request"))])
    assert [answer.outcome for answer in answers] == ["ready", "ready"]


async def test_full_server_keeps_what_it_has(private_stack: Callable[[], PrivateStack]) -> None:
    server = private_stack().redis
    store = RedisStore.from_url(server.url)
    await store.connect()
    await one(store, numbered([0], 1))
    admin = aioredis.Redis.from_url(server.url)
    await admin.config_set("maxmemory", 1)
    with pytest.raises(StoreError) as caught:
        await one(store, numbered([1], 2, hard=1))
    assert caught.value.code == "store_full"
    await admin.config_set("maxmemory", 0)
    answer = await one(store, numbered([1], 2, hard=1))
    assert answer.fragments == (b"[0]", b"[1]")
    await admin.aclose()
    await store.aclose()


async def test_server_that_may_evict_is_refused(private_stack: Callable[[], PrivateStack]) -> None:
    server = private_stack().redis
    admin = aioredis.Redis.from_url(server.url)
    await admin.config_set("maxmemory", 100_000_000)
    await admin.config_set("maxmemory-policy", "allkeys-lru")
    store = RedisStore.from_url(server.url)
    with pytest.raises(StoreError) as caught:
        await store.connect()
    assert caught.value.code == "store_may_evict"
    await store.aclose()
    store = RedisStore.from_url(server.url, allow_eviction=True)
    await store.connect()
    await store.aclose()
    await admin.aclose()


# Connections


async def test_documented_acl_is_enough_and_a_wrong_password_says_so(private_stack: Callable[[], PrivateStack]) -> None:
    server = private_stack().redis
    admin = aioredis.Redis.from_url(server.url)
    commands = [f"+{name}" for name in DOCUMENTED.split()]
    await admin.acl_setuser("worker", enabled=True, passwords=["+pa:ss@w/rd"], keys=["headrace:*"], commands=commands)
    url = server.url.replace("redis://", "redis://worker:pa%3Ass%40w%2Frd@")
    store = RedisStore.from_url(url)
    await store.connect()
    await one(store, numbered([0], 1, seen=0))
    (answer,) = await due(store, at(2))
    await store.close([closing(answer, 0, leftover=b"x")])
    await one(store, logged([5], key=StateKey("t", "b", "response"), seen=20_000_000))
    await due(store, at(5), now=20_000_050)
    for seq in range(20):
        await one(store, msgspec.structs.replace(streamed(seq, 1), key=StateKey("t", "c", "response")))
    await store.open_calls()
    await store.aclose()
    store = RedisStore.from_url(server.url.replace("redis://", "redis://worker:secret-guess@"))
    with pytest.raises(StoreError) as caught:
        await store.connect()
    assert caught.value.code == "store_denied"
    assert "secret-guess" not in str(caught.value)
    await store.aclose()
    await admin.aclose()


async def test_absent_server_says_so() -> None:
    store = RedisStore.from_url("redis://127.0.0.1:1/0", timeout=0.2)
    with pytest.raises(StoreError) as caught:
        await store.connect()
    assert caught.value.code == "store_unavailable"
    await store.aclose()


@pytest.mark.parametrize("url", ["http://example.org", "redis+sentinel://host:26379", "nothing", "redis://host:port/0"])
def test_url_that_cannot_be_read_is_a_settings_error(url: str) -> None:
    with pytest.raises(SettingsError):
        connect_url(url)


@pytest.mark.parametrize("settings", [{"prefix": "a{b}"}, {"prefix": ""}, {"open_ttl": 0}, {"tombstone_ttl": -1}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        RedisStore(connect_url("redis://127.0.0.1"), **settings)  # type: ignore[arg-type]


async def test_use_before_connect_says_so() -> None:
    store = RedisStore.from_url("redis://127.0.0.1:1/0")
    with pytest.raises(StoreError, match="connect"):
        await store.append([numbered([0], 1)])
    await store.aclose()


@pytest.fixture
async def proxy(private_stack: Callable[[], PrivateStack]) -> AsyncIterator[tuple[Proxy, RedisStore]]:
    proxy = Proxy(private_stack().redis.port)
    store = RedisStore.from_url(f"redis://127.0.0.1:{await proxy.start()}/0", timeout=0.3)
    await store.connect()
    yield proxy, store
    await store.aclose()
    await proxy.stop()


async def test_batch_is_one_trip(proxy: tuple[Proxy, RedisStore]) -> None:
    wire, store = proxy
    keys = [StateKey("t", f"call-{number}", "response") for number in range(20)]
    before = wire.trips
    answers = await store.append(
        [numbered([0], 1, key=key, hard=0, partition=number) for number, key in enumerate(keys)]
    )
    assert wire.trips == before + 1
    await store.close([closing(answer, 0) for answer in answers])
    assert wire.trips == before + 2
    await due(store, at(1))
    assert wire.trips == before + 3


@pytest.mark.parametrize("how", ["cancel", "time-out"])
async def test_reply_that_nobody_waited_for_never_reaches_the_next_user(
    proxy: tuple[Proxy, RedisStore], how: str
) -> None:
    wire, store = proxy
    keys = [StateKey("t", name, "response") for name in ("A", "B")]
    await store.append([numbered([0], 1, key=key, packed=key.call_id.encode()) for key in keys])
    connections = wire.connections
    wire.replies.clear()
    waiting = asyncio.create_task(one(store, numbered([1], 2, key=keys[0], hard=1, packed=b"A")))
    if how == "cancel":
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    else:
        with pytest.raises(StoreError) as caught:
            await waiting
        assert caught.value.code == "store_unavailable"
    wire.replies.set()
    answer = await one(store, numbered([1], 2, key=keys[1], hard=1, packed=b"B"))
    assert answer.key == keys[1]
    assert answer.fragments == (b"B", b"B")
    assert wire.connections > connections
    # The lost reply was a "ready": the batch is read again and gets it.
    answer = await one(store, numbered([1], 2, key=keys[0], hard=1, packed=b"A"))
    assert answer.outcome == "ready"
    assert set(answer.fragments) == {b"A"}
