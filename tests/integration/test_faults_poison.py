"""Messages that cannot become records: each is a dead letter with cause and place, and the partition goes on."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from headrace.canonical.avro import CANONICAL_RECORD, record_format, to_json_line
from headrace.claim_check import ClaimCheck
from headrace.kafka.outputs import CLAIM_HEADER
from headrace.protocols import codec
from headrace.protocols.entry_points import Codec
from tests.support.calls import messages_of
from tests.support.pumps import Rig
from tests.support.workers import Output, Topics, Workers, offline, produce, until


@pytest.fixture
async def topics(kafka: str, unique: Callable[[str], str]) -> Topics:
    topics = Topics.named(unique("poison"), 1)
    await topics.create(kafka, {"max.message.bytes": "1048576"})
    return topics


@pytest.fixture
def rig(kafka: str, redis_url: str, topics: Topics, unique: Callable[[str], str]) -> Rig:
    return Rig(kafka, redis_url, topics, unique("group"), limit=1 << 20)


async def send(kafka: str, topic: str, values: list[bytes | None], **options: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka, max_request_size=200 << 20, **options)
    await producer.start()
    for value in values:
        await producer.send_and_wait(topic, value, key=b"key", partition=0)
    await producer.stop()


def response(call_id: str, body: dict[str, Any], **more: Any) -> bytes:
    line = {"call_id": call_id, "kind": "response", "protocol": "openai.chat", **body, **more}
    return json.dumps(line).encode()


GZIP = {"http": {"status": 200, "headers": {"content-encoding": "gzip"}}}
CUT_GZIP = {"body_base64": base64.b64encode(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb").decode()}

POISON: dict[str, tuple[bytes | None, str]] = {
    "no value": (None, "bad_capture"),
    "bad JSON": (b'{"call_id": "x", ', "bad_capture"),
    "not UTF-8": (b'{"call_id": "\xff"}', "bad_capture"),
    "JSON of another kind": (b"42", "bad_capture"),
    "Avro cut off": (b"\xc3\x01" + bytes(8), ""),
    "Avro of an unknown registry": (b"\x00\x00\x00\x00\x07junk", ""),
    "nested too deep": (b'{"call_id":"x","kind":"response","body":' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
    "wrong compression": (response("x", CUT_GZIP, **GZIP), "bad_body"),
    "unknown protocol": (
        json.dumps({"call_id": "y", "kind": "response", "body": {"a": 1}}).encode(),
        "unknown_protocol",
    ),
}


async def test_every_kind_of_poison_is_a_dead_letter_and_the_partition_goes_on(kafka: str, rig: Rig) -> None:
    request = next(message for message in messages_of(0, 6) if message.kind == "request")
    values = [value for value, _ in POISON.values()]
    async with Output(kafka, rig.topics) as output, rig.pump() as running:
        await send(kafka, rig.topics.requests, [*values, request.value])
        seen = await output.until_records(1, dead_letters=len(POISON))
    letters = {letter["sources"][0]["first_offset"]: letter for letter in seen.dead_letters}
    assert sorted(letters) == list(range(len(POISON)))
    for offset, (name, (value, code)) in enumerate(POISON.items()):
        letter = letters[offset]
        assert letter["code"] and letter["message"], name
        assert code in ("", letter["code"]), f"{name}: {letter['code']}"
        assert letter["sources"][0]["topic"] == rig.topics.requests
        if value is not None and b"gzip" not in value and b"body" not in value:
            assert letter["value"] == value, name
    assert running.total("headrace_dead_letters_total") == len(POISON)
    print("\n" + ", ".join(f"{name}: {letters[at]['code']}" for at, name in enumerate(POISON)))


async def test_a_bug_of_our_own_costs_one_call(kafka: str, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("quotes the input")

    def codec_of(protocol: str) -> Codec:
        found = codec(protocol)
        return dataclasses.replace(found, fold=broken) if protocol == "openai.chat" else found

    first = [message for message in messages_of(0, 6) if message.kind == "stream"]
    second = [message for message in messages_of(1, 6) if message.kind == "stream"]
    monkeypatch.setattr("headrace.normalize.codec_of", codec_of)
    async with Output(kafka, rig.topics) as output, rig.pump():
        await produce(kafka, rig.topics, [*first, *second])
        seen = await output.until_records(1, dead_letters=1)
    (letter,) = seen.dead_letters
    assert (letter["code"], letter["cause"], letter["call_id"]) == (
        "internal_error",
        "ZeroDivisionError",
        "call-000000",
    )
    assert "quotes the input" not in json.dumps(letter, default=str)


async def test_a_hundred_megabytes(kafka: str, rig: Rig, tmp_path: Path) -> None:
    """Small on the wire, for it compresses; the worker has all of it in hand, and its output cannot hold it."""
    request = next(message for message in messages_of(0, 6) if message.kind == "request")
    rig.claim_check = ClaimCheck(str(tmp_path / "claims"))
    async with Output(kafka, rig.topics) as output, rig.pump():
        await send(kafka, rig.topics.requests, [b"x" * 100_000_000], compression_type="gzip")
        await send(kafka, rig.topics.requests, [request.value])
        seen = await output.until_records(1, dead_letters=1)
    (letter,) = seen.dead_letters
    assert letter["sources"][0]["first_offset"] == 0
    (uri,) = [header["value"].decode() for header in letter["headers"] if header["name"] == CLAIM_HEADER]
    kept = await rig.claim_check.get(uri.rpartition("/")[2])
    assert kept == b"x" * 100_000_000


def _large(call_id: str) -> bytes:
    """A request with an image and a long text, larger than the topic takes."""
    image = base64.b64encode(os.urandom(600_000)).decode()
    parts = [
        {"type": "text", "text": "é" * 300_000},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
    ]
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": parts}]}
    return json.dumps({"call_id": call_id, "kind": "request", "protocol": "openai.chat", "body": body}).encode()


class _Large:
    def __init__(self, value: bytes) -> None:
        self.value = value


async def test_what_the_broker_does_not_take_goes_to_the_claim_check(kafka: str, rig: Rig, tmp_path: Path) -> None:
    value = _large("large")
    await _wide_input(kafka, rig.topics)
    (whole,) = offline([_Large(value)], tmp_path / "offline").values()  # type: ignore[list-item]
    rig.claim_check = ClaimCheck(str(tmp_path / "claims"))
    async with Output(kafka, rig.topics) as output, rig.pump():
        await send(kafka, rig.topics.requests, [value])
        seen = await output.until_records(1)
    (line,) = seen.records.values()
    assert len(line) < 1 << 20
    record = record_format(CANONICAL_RECORD).from_json_line(line)
    claims = json.loads(record["extras"])["claim_check"]
    restored = await rig.claim_check.restore(record)
    wanted = record_format(CANONICAL_RECORD).from_json_line(whole)
    _drop_hashes(restored, wanted)
    assert to_json_line(restored) == to_json_line(wanted)
    print(f"\n{len(whole)} bytes became {len(line)} and {len(claims)} claims")


async def test_without_a_claim_check_it_is_a_dead_letter_that_finds_its_input(kafka: str, rig: Rig) -> None:
    await _wide_input(kafka, rig.topics)
    async with Output(kafka, rig.topics) as output, rig.pump():
        await send(kafka, rig.topics.requests, [_large("large")])
        seen = await output.until_records(0, dead_letters=1)
    (letter,) = seen.dead_letters
    assert (letter["code"], letter["call_id"]) == ("output_too_large", "large")
    assert letter["sources"][0]["topic"] == rig.topics.requests


async def _wide_input(kafka: str, topics: Topics) -> None:
    """Raw topics take more than output topics do."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    wide = {"max.message.bytes": "8388608"}
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topics.requests, configs=wide)])
    await admin.close()


def _drop_hashes(restored: Any, wanted: Any) -> None:
    """A media value keeps hash and size of its claim; take them from both."""
    for record in (restored, wanted):
        for message in record["messages"]:
            for part in message["parts"]:
                for name in ("sha256", "size_bytes"):
                    part.get("media", {}).pop(name, None)


async def test_a_full_claim_store_is_waited_for(kafka: str, rig: Rig, tmp_path: Path) -> None:
    await _wide_input(kafka, rig.topics)
    settings = {
        "kafka.bootstrap_servers": kafka,
        "kafka.group": rig.group,
        "claim_check.url": str(tmp_path / "claims"),
        **rig.topics.settings(),
    }
    with Workers(settings, tmp_path / "logs") as workers:
        worker = await workers.start().until_reading()
        # The kernel refuses to write more to a file than this, as a full disk would.
        _, hard = resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (100_000, hard))
        async with Output(kafka, rig.topics) as output:
            await send(kafka, rig.topics.requests, [_large("large")])
            await until(lambda: worker.metric("headrace_batch_retries_total") >= 3, "it tries", alive=worker)
            assert (await output.read_to_end()).records == {}
            resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            seen = await output.until_records(1)
        assert seen.dead_letters == []
        assert not list((tmp_path / "claims").rglob("*.part"))


async def test_dead_letters_are_listed_shown_and_replayed(kafka: str, rig: Rig) -> None:
    bad = b'{"call_id": "broken", "kind": "request", "protocol": "openai.chat"'
    async with Output(kafka, rig.topics) as output, rig.pump():
        await send(kafka, rig.topics.requests, [bad])
        (letter,) = (await output.until_records(0, dead_letters=1)).dead_letters
        flags = {"kafka.bootstrap_servers": kafka, **rig.topics.settings()}
        sets = [text for pair in flags.items() for text in ("--set", "=".join(pair))]

        async def run(*arguments: str) -> str:
            command = [sys.executable, "-m", "headrace.cli", "dead-letters", *arguments, *sets]
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return str(done.stdout)

        assert "1 dead letters" in await run("list")
        assert "no dead letters" in await run("list", "--code", "late_chunk")
        assert bad.decode() in await run("show", letter["dead_letter_id"][:8])
        assert "1 messages of 1 dead letters sent" in await run("replay", "--code", letter["code"])
        seen = await output.until_records(0, dead_letters=2)
    assert [each["sources"][0]["first_offset"] for each in seen.dead_letters] == [0, 1]
    assert seen.dead_letters[1]["value"] == bad
