"""Captures through a real worker and real Kafka into three re-serialized topics, equal to `headrace convert`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from typer.testing import CliRunner

from headrace.canonical.avro import decode_dead_letter, encode_record, load_schema, record_format
from headrace.cli import app as cli
from headrace.json_text import loads
from headrace.kafka.wire import SingleObject
from tests.support import own
from tests.support.services import free_port
from tests.support.traffic import encode, lines_of

TARGETS = ("anthropic.messages", "openai.responses", "gemini.generate_content")
PATIENCE = 120.0


def captures() -> list[bytes]:
    """Calls of our own in four protocols."""
    exchanges = [value for value in vars(own).values() if isinstance(value, dict) and "ndjson_chunks" in value]
    return [line for at, exchange in enumerate(exchanges) for line in encode(lines_of(exchange, f"call-{at}"))]


async def make_topics(bootstrap: str, names: list[str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 2, 1) for name in names])
    finally:
        await admin.close()


async def produced(
    bootstrap: str, topic: str, lines: list[tuple[bytes, bytes]], transaction: str | None = None
) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transaction)
    await producer.start()
    try:
        if transaction is not None:
            await producer.begin_transaction()
        for key, value in lines:
            await producer.send(topic, value, key=key)
        await producer.flush()
        if transaction is not None:
            await producer.abort_transaction()
    finally:
        await producer.stop()


async def read(bootstrap: str, topic: str, count: int) -> list[Any]:
    """The messages of a topic, once there are as many as asked, and what comes in the moment after."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    await consumer.start()
    found: list[Any] = []
    try:
        places = [TopicPartition(topic, at) for at in range(2)]
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while len(found) < count and asyncio.get_running_loop().time() < deadline:
            for messages in (await consumer.getmany(timeout_ms=500)).values():
                found += messages
        for messages in (await consumer.getmany(timeout_ms=1000)).values():
            found += messages
    finally:
        await consumer.stop()
    return found


def decoded(name: str, value: bytes) -> Any:
    _, body = SingleObject.decode(value)
    return record_format(name).decode(body, load_schema(name))


async def test_three_topics_hold_what_convert_gives_for_the_same_file(
    kafka: str, redis_url: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    names = {name: unique(name) for name in ("requests", "responses", "chunks", "canonical", "dead_letters")}
    outputs = {target: unique(f"out-{target}") for target in TARGETS}
    await make_topics(kafka, [*names.values(), *outputs.values()])
    file = tmp_path / "captures.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in captures()))
    expected = {target: await asyncio.to_thread(converted, file, target, tmp_path) for target in TARGETS}

    settings = {
        "kafka.bootstrap_servers": kafka,
        "kafka.group": unique("group"),
        "state.redis_url": redis_url,
        "web.port": str(free_port()),
        **{f"topics.{name}": topic for name, topic in names.items()},
        "reserialize": json.dumps([{"protocol": target, "topic": topic} for target, topic in outputs.items()]),
    }
    # An aborted record and bytes that are no record: the first must not be seen, the second is a dead letter.
    await produced(kafka, names["canonical"], [(b"x", aborted())], unique("aborts"))
    await produced(kafka, names["canonical"], [(b"bad", b"no record")])
    keyed = [(json.loads(line)["call_id"].encode(), line) for line in captures()]
    await produced(kafka, names["chunks"], keyed)
    flags = [text for name, value in settings.items() for text in ("--set", f"{name}={value}")]
    log = (tmp_path / "worker.log").open("wb")
    worker = subprocess.Popen([sys.executable, "-m", "headrace.cli", "worker", *flags], stdout=log, stderr=log)
    try:
        for target, topic in outputs.items():
            messages = await read(kafka, topic, len(expected[target]))
            found = [decoded("reserialized", message.value) for message in messages]
            assert {shape["call_id"] for shape in found} == {line["call_id"] for line in expected[target]}
            assert sorted(map(lined, found), key=json.dumps) == sorted(expected[target], key=json.dumps), target
            for message, shape in zip(messages, found, strict=True):
                assert message.key == shape["call_id"].encode()
                assert dict(message.headers)["record_id"] == shape["record_id"].encode()
        letters = await read(kafka, names["dead_letters"], len(TARGETS))
        codes = [decode_dead_letter(SingleObject.decode(letter.value)[1])["code"] for letter in letters]
        assert codes == ["bad_wire_format"] * len(TARGETS)
    finally:
        worker.terminate()
        assert worker.wait(60) == 0, (tmp_path / "worker.log").read_text()[-2000:]
        log.close()


def converted(file: Path, target: str, folder: Path) -> list[dict[str, Any]]:
    """What `headrace convert` writes, without what depends on where the captures lay."""
    output = folder / f"{target}.jsonl"
    done = CliRunner().invoke(cli, ["convert", str(file), "-t", target, "--policy", "lossy", "-o", str(output), "-q"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in output.read_text().splitlines()]


def lined(shape: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of a result line."""
    return {
        "call_id": shape["call_id"],
        "record_type": shape["record_type"],
        "target": shape["target"],
        "body": loads(shape["body"]),
        "losses": [{"path": x["path"], "code": x["code"], "detail": x.get("detail")} for x in shape.get("losses", ())],
        "matrix_version": shape["matrix_version"],
    }


def aborted() -> bytes:
    """A record that was never committed."""
    body = encode_record({"record_id": "x", "record_type": "request", "call_id": "x", "protocol": "openai.chat"})
    return SingleObject(load_schema("canonical_record")).encode(body)
