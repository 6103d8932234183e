"""The pipeline's share of real faults, each as a run of the real thing: our own forms, and those beside the checkout.

Offsets in a fault are places in somebody's log; here the same happens at places nearer to the log's beginning.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from bench.soak import MEMORY_BAND, Load, soak

from headrace.capture.inbound import Inbound, Source
from headrace.capture.mapping import Mapping as SourceMapping
from headrace.errors import StoreError
from headrace.kafka.progress import Group
from headrace.pipeline import Batch, Pipeline
from headrace.reassembly.redis_link import RedisLink, connect_url
from headrace.reassembly.redis_store import RedisStore
from headrace.reassembly.store import StateKey
from tests.support.calls import Message, messages_of
from tests.support.pipeline_traps import Trap, pipeline_traps, told
from tests.support.pumps import Rig, Running
from tests.support.redis_shapes import Proxy
from tests.support.services import PrivateStack
from tests.support.shares import at, closing, numbered
from tests.support.store_contract import due, one
from tests.support.workers import PATIENCE, Output, Topics, compare, offline, produce, until


def forms(name: str) -> pytest.MarkDecorator:
    """The fault's forms as parameters."""
    return pytest.mark.parametrize("trap", pipeline_traps(name), ids=lambda trap: trap.get("id", "own"))


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    topics = Topics.named(unique("traps"), 1)
    await topics.create(kafka)
    return topics


@pytest.fixture
def rig(kafka: str, redis_url: str, topics: Topics, unique: Callable[[str], str]) -> Rig:
    return Rig(kafka, redis_url, topics, unique("group"))


def request(name: object) -> bytes:
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": str(name)}]}
    line = {"call_id": f"call-{name}", "kind": "request", "protocol": "openai.chat", "body": body}
    return json.dumps(line).encode()


async def send(kafka: str, topic: str, values: Iterable[bytes], **options: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka, **options)
    await producer.start()
    for value in values:
        await producer.send_and_wait(topic, value, partition=0)
    await producer.stop()


async def committed(kafka: str, rig: Rig) -> int:
    """The group's committed offset in the requests' partition; -1 for none."""
    reader = Group({"bootstrap_servers": kafka}, rig.group)
    await reader.start()
    try:
        partition = TopicPartition(rig.topics.requests, 0)
        found = (await reader.progress([partition]))[partition]
        return -1 if found is None else found.offset
    finally:
        await reader.stop()


async def all_committed(kafka: str, rig: Rig, offset: int) -> None:
    async def is_there() -> bool:
        return await committed(kafka, rig) >= offset

    await until(is_there, f"{offset} is committed")


async def rebalance(running: Running) -> None:
    """The group takes the partitions away and gives the same ones again."""
    lanes = dict(running.pump.lanes)
    await running.pump.on_partitions_revoked(lanes)
    await running.pump.on_partitions_assigned(lanes)


class Watch:
    """Notes the offsets of the requests that batches are made of, before and after; ``before`` may raise or wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
        self.begun: list[int] = []
        self.done: list[int] = []
        process = Pipeline.process

        async def watched(pipeline: Pipeline, messages: Sequence[Inbound]) -> Batch:
            offsets = [message.source.offset for message in messages if message.source.topic == topic]
            self.begun += offsets
            await self.before(offsets)
            batch = await process(pipeline, messages)
            self.done += offsets
            return batch

        monkeypatch.setattr(Pipeline, "process", watched)

    async def before(self, offsets: list[int]) -> None:
        """What a test puts in the way."""


@forms("c01")
async def test_c01_a_commit_never_passes_what_is_still_in_work(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, trap: Trap
) -> None:
    given, expected = trap["input"], trap["expected"]["result"]
    watch = Watch(monkeypatch, rig.topics.requests)
    first, last = min(given["in_flight"]), max([*given["in_flight"], *given["acked"]])
    shift = first - min(first, 3)
    async with Output(kafka, rig.topics) as output:
        async with rig.pump() as killed:
            await send(kafka, rig.topics.requests, map(request, range(first - shift)))
            await output.until_records(first - shift)
            await all_committed(kafka, rig, first - shift)
            killed.gate.shut()
            await send(kafka, rig.topics.requests, map(request, range(first - shift, last - shift + 1)))
            await killed.gate.at.wait()
            assert await committed(kafka, rig) == expected["committed_after"] - shift
            await killed.die()
        assert await committed(kafka, rig) == expected["committed_after"] - shift
        watch.begun.clear()
        async with rig.pump():
            await output.until_records(last - shift + 1)
            seen = await output.read_to_end()
            await all_committed(kafka, rig, last - shift + 1)
    assert watch.begun[0] == expected["redelivered_from"] - shift
    assert (len(seen.records), seen.duplicated) == (last - shift + 1, 0)


async def until_end(kafka: str, topic: str, offset: int) -> None:
    """Wait until the log of a topic's first partition ends at an offset."""
    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka)
    await consumer.start()
    async with asyncio.timeout(PATIENCE):
        while (await consumer.end_offsets([partition]))[partition] != offset:
            await asyncio.sleep(0.05)
    await consumer.stop()


async def write_with_holes(kafka: str, topic: str, transactional_id: str, offsets: Sequence[int]) -> None:
    """A request at each of the offsets and nothing that a reader is given at those between.

    What fills them is the marker of a transaction, and before it aborted messages if there is more than one to fill.
    """
    ends = [place for place, (left, right) in enumerate(pairwise(offsets), 1) if right > left + 1]
    runs = [offsets[low:high] for low, high in pairwise([0, *ends, len(offsets)])]
    plain = AIOKafkaProducer(bootstrap_servers=kafka)
    transactional = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=transactional_id)
    await plain.start()
    await transactional.start()
    for run, following in pairwise([*runs, []]):
        hole = following[0] - run[-1] - 1 if following else 0
        if hole == 1:
            await transactional.begin_transaction()
        for offset in run:
            producer = transactional if hole == 1 else plain
            assert (await producer.send_and_wait(topic, request(offset), partition=0)).offset == offset
        if hole == 1:
            await transactional.commit_transaction()
        elif hole:
            await transactional.begin_transaction()
            for _ in range(hole - 1):
                await transactional.send_and_wait(topic, request("aborted"), partition=0)
            await transactional.abort_transaction()
        if following:
            # The broker writes a transaction's marker after it has said that the transaction has ended.
            await until_end(kafka, topic, following[0])
    await transactional.stop()
    await plain.stop()


@forms("c02")
async def test_c02_holes_in_the_log_stop_no_commit(kafka: str, rig: Rig, trap: Trap) -> None:
    given, expected = trap["input"], trap["expected"]["result"]
    shift = given["committed"] - min(given["committed"], 3)
    offsets = [*range(given["committed"] - shift), *(offset - shift for offset in given["log_offsets"])]
    assert set(given["acked"]) == set(given["log_offsets"])
    await write_with_holes(kafka, rig.topics.requests, rig.group + "-input", offsets)
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        seen = await output.until_records(len(offsets))
        await all_committed(kafka, rig, expected["committed_after"] - shift)
        await until(lambda: running.pump.lag and sum(running.pump.lag.values()) == 0, "no lag is left")
    assert await committed(kafka, rig) == expected["committed_after"] - shift
    assert (len(seen.records), seen.duplicated) == (len(offsets), 0)


@forms("c03")
async def test_c03_what_was_fetched_before_a_seek_is_thrown_away(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, trap: Trap
) -> None:
    """The group gives the same partition again while far more of it was fetched than was read."""
    prefetched, (allowed,) = told(trap, "prefetch"), trap["expected"]["result"]["allowed_orders"]
    (resumed,) = told(trap, "seek")
    shift = min(allowed)
    watch = Watch(monkeypatch, rig.topics.requests)
    rebalancing: list[asyncio.Task[None]] = []

    async def before(offsets: list[int]) -> None:
        if resumed - shift - 1 in offsets and not rebalancing:
            rebalancing.append(asyncio.create_task(rebalance(running)))
            await asyncio.sleep(0)

    monkeypatch.setattr(watch, "before", before)
    rig.options = {"batch_messages": 1}
    total = max(prefetched) - shift + 1
    await send(kafka, rig.topics.requests, map(request, range(total)))
    async with Output(kafka, rig.topics) as output, rig.pump(wait=False) as running:
        seen = await output.until_records(total)
        await rebalancing[0]
    assert seen.duplicated == 0
    assert [offset + shift for offset in dict.fromkeys(watch.begun)][: len(allowed)] == allowed
    assert watch.begun == sorted(watch.begun), "the stream jumped"


@forms("c03")
async def test_c03_a_piece_that_jumps_ahead_is_held(redis_url: str, unique: Callable[[str], str], trap: Trap) -> None:
    """The same order of delivery as sequence numbers of one call: the last one ends the stream."""
    (allowed,) = trap["expected"]["result"]["allowed_orders"]
    delivered = [seq - min(allowed) for seq in told(trap, "deliver")]
    last = max(delivered)
    missing = sorted(set(range(last)) - set(delivered))
    store = RedisStore.from_url(redis_url, prefix=unique("jump"), open_ttl=60, tombstone_ttl=60)
    await store.connect()
    for offset, seq in enumerate(delivered):
        answer = await one(store, numbered([seq], offset, hard=seq if seq == last else -1))
        assert answer.outcome == "open"
    answer = await one(store, numbered(missing, len(delivered)))
    await store.aclose()
    assert answer.outcome == "ready"
    assert sorted(seq for each in answer.fragments for seq in json.loads(each)) == list(range(last + 1))


def mapping_of(schema: str) -> SourceMapping:
    """A source mapping for values of a schema written as ``name: type, …``: its texts name the call, its ints count."""
    fields = dict(part.strip().split(": ") for part in schema.split(","))
    texts, numbers = ([name for name, kind in fields.items() if kind == wanted] for wanted in ("str", "int"))
    counts = dict(zip(("attempt", "seq", "count"), (f"$.{name}" for name in numbers), strict=False))
    body = {"template": {"model": "m", "messages": [{"role": "user", "content": f"$.{texts[0]}"}]}}
    capture = {"kind": "request", "protocol": "openai.chat", "call_id": f"$.{texts[0]}", "body": body, **counts}
    return SourceMapping.model_validate({"name": "own", "captures": [capture]})


@forms("c06")
async def test_c06_a_value_that_does_not_decode_is_a_dead_letter_and_reading_goes_on(
    kafka: str, rig: Rig, trap: Trap
) -> None:
    given, expected = trap["input"], trap["expected"]["result"]
    values = [value.encode() for value in given["values"]]
    rig.mappings = {rig.topics.requests: mapping_of(given["value_schema"])}
    async with Output(kafka, rig.topics) as output, rig.pump():
        await send(kafka, rig.topics.requests, values)
        seen = await output.until_records(len(expected["processed"]), dead_letters=len(expected["dead_letter"]))
        await all_committed(kafka, rig, len(values))
        # It still reads.
        await send(kafka, rig.topics.requests, values)
        await output.until_records(len(expected["processed"]), dead_letters=2 * len(expected["dead_letter"]))
        await all_committed(kafka, rig, 2 * len(values))
    letters = {letter["sources"][0]["first_offset"]: letter for letter in seen.dead_letters}
    assert sorted(letters) == [*expected["dead_letter"], *(place + len(values) for place in expected["dead_letter"])]
    assert all(letters[place]["value"] == values[place] and letters[place]["code"] for place in expected["dead_letter"])
    records = [json.loads(line) for line in seen.records.values()]
    calls = {record["call_id"] for record in records}
    assert calls == {next(iter(json.loads(values[place]).values())) for place in expected["processed"]}


def sunk(output: Output) -> set[str]:
    return {json.loads(line)["call_id"] for line in output.seen.records.values()}


@pytest.mark.parametrize("fault", [KafkaError, RuntimeError])
@forms("c07")
async def test_c07_what_failed_once_is_neither_skipped_nor_lost(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, trap: Trap, fault: type[Exception]
) -> None:
    """A fault that passes by is tried again; one that nobody expects ends the worker, and the next one reads on."""
    ids = [next(iter(value.values())) for value in trap["input"]["values"]]
    found = re.search(r"\d+", trap["input"]["agent"])
    assert found is not None
    failing = ids.index(int(found[0]))
    watch = Watch(monkeypatch, rig.topics.requests)

    async def before(offsets: list[int]) -> None:
        if failing in offsets and watch.begun.count(failing) == 1:
            raise fault("first time only")

    monkeypatch.setattr(watch, "before", before)
    rig.options = {"batch_messages": 2}
    await send(kafka, rig.topics.requests, map(request, ids))
    async with Output(kafka, rig.topics) as output:
        if fault is RuntimeError:
            with pytest.raises(RuntimeError, match="first time only"):
                async with rig.pump() as first:
                    await first.task
            assert await committed(kafka, rig) <= failing
        async with rig.pump():
            seen = await output.until_records(len(ids))
            await all_committed(kafka, rig, len(ids))
    assert watch.begun.count(failing) == 2
    assert sunk(output) == {f"call-{each}" for each in trap["expected"]["result"]["sink_ids"]}
    assert seen.duplicated == 0


async def test_c08_memory_is_flat_with_traffic_and_without(tmp_path: Path) -> None:
    """A short form of ``make soak``: flat is at most 5 % more in the last third than in the first, warm-up left out."""
    pace, rate = 2.0, max(trap["input"]["rate_per_s"] for trap in pipeline_traps("c08"))
    load = Load(calls=int(rate * pace) // 18, chunks=20, pace=pace)
    seen = await soak(24.0, tmp_path, load, quiet_seconds=6.0)
    growth, quiet = seen.growth("resident", warm_up=9.0), seen.quiet_growth()
    print(f"\n{seen.messages:,} messages: resident {growth:+.1%}, then without traffic {quiet:+.1%}")
    assert seen.messages > 1_000
    assert growth <= MEMORY_BAND
    assert quiet <= MEMORY_BAND


@pytest.fixture
async def proxy(private_stack: Callable[[], PrivateStack]) -> AsyncIterator[tuple[Proxy, int]]:
    proxy = Proxy(private_stack().redis.port)
    port = await proxy.start()
    yield proxy, port
    await proxy.stop()


@pytest.mark.parametrize("how", ["cancel", "time-out"])
@forms("c20")
async def test_c20_a_reply_that_nobody_waited_for_never_reaches_the_next_command(
    proxy: tuple[Proxy, int], trap: Trap, how: str
) -> None:
    wire, port = proxy
    commands = [tuple(command["cmd"].split()) for command in trap["input"]["commands"]]
    patience = next(command["cancel_after_ms"] for command in trap["input"]["commands"] if "cancel_after_ms" in command)
    url = f"redis://127.0.0.1:{port}/0"
    link = RedisLink(connect_url(url, timeout=0.3, retries=0, max_connections=1), "trap", 60, timeout=0.3)
    await link.connect()
    await link.exchange([("SET", name, value) for name, value in trap["input"]["values"].items()])
    wire.replies.clear()
    first = asyncio.create_task(link.exchange(commands[:1]))
    if how == "cancel":
        await asyncio.sleep(patience / 1000)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    else:
        with pytest.raises(StoreError):
            await first
    wire.replies.set()
    (reply,) = await link.exchange(commands[1:2])
    assert reply.decode() == trap["expected"]["result"]["second_reply"]
    (reply,) = await link.exchange(commands[:1])
    assert reply.decode() == trap["input"]["values"][commands[0][1]]
    await link.aclose()


def piece(body: Any) -> bytes:
    """A piece without a number, so that places in the log alone order what is said."""
    return json.dumps({"call_id": "c", "kind": "stream", "protocol": "openai.chat", "body": body}).encode()


def said(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return piece({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


async def stores(url: str, prefix: str, names: Iterable[str]) -> dict[str, RedisStore]:
    made = {
        name: RedisStore.from_url(url, prefix=prefix, open_ttl=60, tombstone_ttl=60) for name in dict.fromkeys(names)
    }
    for store in made.values():
        await store.connect()
    return made


@forms("c21")
async def test_c21_what_a_former_owner_still_appends_changes_nothing(
    redis_url: str, unique: Callable[[str], str], trap: Trap
) -> None:
    """After a rebalance: what the former owner holds is read again, from the same places, by the new one."""
    events = trap["input"]["events"]
    workers = await stores(redis_url, unique("stale"), told(trap, "worker"))
    pipelines = {name: Pipeline(store) for name, store in workers.items()}
    #: Where each worker reads on: an owner from where the former one is.
    places: dict[str, int] = {}
    owner = ""
    for event in events:
        worker = event["worker"]
        if "acquire" in event:
            places[worker] = places.get(owner, 0)
            owner = worker
        elif "append" in event:
            message = Inbound.at(Source("raw", 0, places[worker], 1_000_000), said(event["append"]))
            batch = await pipelines[worker].process([message])
            places[worker] += 1
            assert not batch.records
    last = [said("", "stop"), piece("[DONE]")]
    ending = [Inbound.at(Source("raw", 0, places[owner] + at_, 1_000_000), value) for at_, value in enumerate(last)]
    batch = await pipelines[owner].process(ending)
    ((_, record),) = batch.records
    (expected,) = trap["expected"]["result"].values()
    assert record["messages"][0]["parts"][0]["text"] == "".join(expected)
    for store in workers.values():
        await store.aclose()


@forms("c21")
async def test_c21_a_former_owner_deletes_nothing(redis_url: str, unique: Callable[[str], str], trap: Trap) -> None:
    workers = await stores(redis_url, unique("stale"), told(trap, "worker"))
    former, owner = (workers[name] for name in workers)
    key = StateKey("t", told(trap, "acquire")[0], "response")
    held = await one(former, numbered([0], 0, key=key, hard=0))
    taken = await one(owner, numbered([0], 0, key=key, hard=0))
    await owner.close([closing(taken, 0)])
    following = await one(owner, numbered([1], 1, key=key))
    assert following.outcome == "open"
    await former.close([closing(held, 0, final=True)])
    (answer,) = await due(owner, at(1), committed=1)
    assert answer.fragments == (b"[1]",)
    for store in workers.values():
        await store.aclose()


@forms("c21")
async def test_c21_who_goes_by_an_older_epoch_appends_nothing(
    redis_url: str, unique: Callable[[str], str], trap: Trap
) -> None:
    """After the memory was declared lost: the epoch is looked at in the trip of the append itself."""
    events = trap["input"]["events"]
    workers = await stores(redis_url, unique("epoch"), told(trap, "worker"))
    keys: dict[str, StateKey] = {}
    epochs: dict[str, int] = {}
    kept: list[bytes] = []
    for seq, event in enumerate(events):
        worker = event["worker"]
        if "acquire" in event:
            if epochs and event["epoch"] > max(epochs.values()):
                await workers[worker].new_epoch()
                kept.clear()
            keys[worker], epochs[worker] = StateKey("t", event["acquire"], "response"), event["epoch"]
        elif "append" in event:
            share = numbered([seq], seq, key=keys[worker], packed=event["append"].encode())
            if epochs[worker] == max(epochs.values()):
                await one(workers[worker], share)
                kept.append(event["append"].encode())
            else:
                with pytest.raises(StoreError) as caught:
                    await one(workers[worker], share)
                assert caught.value.code == "store_lost_memory"
    newest = max(epochs, key=lambda name: epochs[name])
    (answer,) = await due(workers[newest], at(len(events)))
    assert list(answer.fragments) == kept
    for store in workers.values():
        await store.aclose()


@forms("c22")
async def test_c22_what_failed_is_done_after_the_rebalance_and_committed(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, trap: Trap
) -> None:
    expected = trap["expected"]["result"]
    failing, first = told(trap, "fail"), min(expected["processed"])
    shift = first - min(first, 2)
    watch = Watch(monkeypatch, rig.topics.requests)
    rebalancing: list[asyncio.Task[None]] = []
    fails = [offset - shift for offset in failing]

    async def before(offsets: list[int]) -> None:
        for offset in offsets:
            if offset in fails and watch.begun.count(offset) == 1:
                rebalancing.append(asyncio.create_task(rebalance(running)))
                raise KafkaError("before the rebalance")

    monkeypatch.setattr(watch, "before", before)
    rig.options = {"batch_messages": 1}
    total = max(expected["processed"]) - shift + 1
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await send(kafka, rig.topics.requests, map(request, range(total)))
        seen = await output.until_records(total)
        await all_committed(kafka, rig, total)
        await asyncio.gather(*rebalancing)
    assert len(rebalancing) == len(failing)
    assert [offset + shift for offset in watch.done if offset + shift >= first] == expected["processed"]
    assert await committed(kafka, rig) == expected["committed_after"] - shift
    assert (len(seen.records), seen.duplicated) == (total, 0)


def streamed(number: int, chunks: int) -> list[Message]:
    return [message for message in messages_of(number, chunks) if message.kind == "stream"]


@pytest.mark.parametrize("number", [0, 2], ids=["numbered", "unnumbered"])
@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
@forms("c23")
async def test_c23_a_half_built_call_that_is_revoked_is_neither_lost_nor_built_twice(
    kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trap: Trap, when: str, number: int
) -> None:
    """The pieces are in the store already; the new owner reads from the last commit, which has or has not seen them."""
    half = len(told(trap, "deliver"))
    messages = next(made for size in count(half) if len(made := streamed(number, size)) > half)
    partition = TopicPartition(rig.topics.chunks, 0)
    process = Pipeline.process
    taken = asyncio.Event()
    stuck = when == "before the commit"

    async def held(pipeline: Pipeline, batch: Sequence[Inbound]) -> Batch:
        made = await process(pipeline, batch)
        if stuck and any(message.source.offset == half - 1 for message in batch):
            taken.set()
            await asyncio.Event().wait()
        return made

    monkeypatch.setattr(Pipeline, "process", held)
    async with Output(kafka, rig.topics) as output:
        async with rig.pump() as former:
            await produce(kafka, rig.topics, messages[:half])
            if stuck:
                await taken.wait()
                assert former.pump.lanes[partition].at.offset < half
            else:
                await until(lambda: former.pump.lanes[partition].at.offset == half, "the pieces are committed")
            await former.die()
        stuck = False
        async with rig.pump():
            await produce(kafka, rig.topics, messages[half:])
            await output.until_records(1)
            seen = await output.read_to_end()
    compared = compare(seen, offline(messages, tmp_path))
    assert compared.exact, str(compared)
