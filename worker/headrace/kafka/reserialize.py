"""Faust agents that write canonical records in other protocols: `llm.canonical` -> `llm.reserialized.<protocol>`.

One agent a target. A record that cannot be written is published as refused, a value that is no record becomes a dead
letter: an agent that raised would acknowledge the message all the same (Faust does), and it would be lost.

Only committed records are read: Faust reads everything unless it writes in transactions itself, so its consumer is told
otherwise. Results are keyed and identified as their records are, so a result that comes twice after a crash is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import faust
import structlog
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer

from headrace import records
from headrace.canonical.avro import CANONICAL_RECORD, DEAD_LETTER, decode_record, load_schema, record_format
from headrace.capture.inbound import Inbound, Source
from headrace.contract import all_schemas
from headrace.convert import Policy, convert
from headrace.errors import HeadraceError
from headrace.json_text import dumps
from headrace.kafka.registry import Registry, subject_of
from headrace.kafka.wire import Confluent, Decoder, SingleObject, WireFormat

log = structlog.get_logger(__name__)

_RESERIALIZED = "reserialized"
_TOPIC = "llm.reserialized.{protocol}"


@dataclass(frozen=True, slots=True)
class Writing:
    """One target: a protocol and how to write it. topic: where results go."""

    protocol: str
    provider: str | None = None
    policy: Policy = "lossy"
    stream: bool = False
    topic: str = ""

    @property
    def output(self) -> str:
        """Topic of the results."""
        return self.topic or _TOPIC.format(protocol=self.protocol)


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send."""

    topic: str
    key: bytes | None
    value: bytes
    headers: dict[str, bytes] = field(default_factory=dict)


class Reserializer:
    """Canonical values in, messages of one target out. Knows no Faust."""

    def __init__(
        self, writing: Writing, dead_letters: str, formats: Mapping[str, WireFormat], decoder: Decoder
    ) -> None:
        self._writing = writing
        self._dead_letters = dead_letters
        self._formats = formats
        self._decoder = decoder

    async def message(self, value: bytes, key: bytes | None, source: Source) -> Message:
        """The message for one canonical value; never raises for what the value holds."""
        try:
            schema, body = await self._decoder.decode(value)
            record = decode_record(body, schema)
        except HeadraceError as error:
            letter = records.dead_letter_of(error, Inbound.at(source, value, key))
            return self._framed(self._dead_letters, DEAD_LETTER, letter, key, {})
        shape = self._converted(record)
        headers = {"record_id": shape["record_id"].encode(), "protocol": self._writing.protocol.encode()}
        if record.get("tenant"):
            headers["tenant"] = record["tenant"].encode()
        return self._framed(self._writing.output, _RESERIALIZED, shape, key, headers)

    def _converted(self, record: Any) -> dict[str, Any]:
        writing = self._writing
        try:
            made = convert(
                record, writing.protocol, provider=writing.provider, policy=writing.policy, stream=writing.stream
            )
        except HeadraceError as error:
            log.error("a record could not be written", record_id=record.get("record_id"), error=str(error))
            return {**_identity(record, writing), "refused": error.code}
        shape = {
            **_identity(record, writing),
            "target_version": made.target_version,
            "matrix_version": made.matrix_version,
            "losses": [_without_nulls(loss.path, loss.code, loss.detail) for loss in made.losses],
            "body": None if made.body is None else dumps(made.body),
            "events": [dumps(event) for event in made.events or ()],
            "refused": made.refused,
        }
        return {name: held for name, held in shape.items() if held is not None and held != []}

    def _framed(self, topic: str, schema: str, shape: Any, key: bytes | None, headers: dict[str, bytes]) -> Message:
        value = self._formats[topic].encode(record_format(schema).encode(shape))
        return Message(topic, key, value, {"schema": schema.encode(), **headers})


def _identity(record: Any, writing: Writing) -> dict[str, Any]:
    named = {
        name: record[name] for name in ("record_id", "record_type", "call_id", "tenant", "sources") if record.get(name)
    }
    provider = {"target_provider": writing.provider} if writing.provider else {}
    return {**named, "target": writing.protocol, "policy": writing.policy, "normalizer": records.NORMALIZER, **provider}


def _without_nulls(path: str, code: str, detail: str | None) -> dict[str, str]:
    return {"path": path, "code": code} if detail is None else {"path": path, "code": code, "detail": detail}


async def wire_formats(topics: Mapping[str, str], registry: Registry | None) -> dict[str, WireFormat]:
    """The wire format of each topic, from its schema's name: Confluent's with a registry, else single-object."""
    formats: dict[str, WireFormat] = {}
    for topic, name in topics.items():
        schema = load_schema(name)
        if registry is None:
            formats[topic] = SingleObject(schema)
        else:
            formats[topic] = Confluent(await registry.register(subject_of(topic), schema), schema)
    return formats


# Faust


class _CommittedThread(AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"
        return consumer


class _CommittedConsumer(Consumer):
    """Faust's consumer, which has no setting for this."""

    def _new_consumer_thread(self) -> Any:
        return _CommittedThread(self, loop=self.loop, beacon=self.beacon)


def add_agents(
    app: faust.App,
    canonical: str,
    dead_letters: str,
    writings: Sequence[Writing],
    registry: Registry | None = None,
) -> None:
    """Add an agent a target to an app that has not started.

    canonical: topic of the records. dead_letters: topic of what is no record. registry: started; None for single-object
    encoding.
    """
    if not writings:
        return
    app.producer_only = False
    # Faust makes the consumer of the class that its transport names.
    app.transport.Consumer = _CommittedConsumer  # type: ignore[misc]
    source = app.topic(canonical, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    for writing in writings:
        _add_agent(app, source, writing, dead_letters, registry)


def _add_agent(app: faust.App, source: Any, writing: Writing, dead_letters: str, registry: Registry | None) -> None:
    ready: list[Reserializer] = []

    async def reserializer() -> Reserializer:
        if not ready:
            topics = {writing.output: _RESERIALIZED, dead_letters: DEAD_LETTER}
            decoder = Decoder((schema for name, schema in all_schemas() if name == CANONICAL_RECORD), registry)
            ready.append(Reserializer(writing, dead_letters, await wire_formats(topics, registry), decoder))
        return ready[0]

    async def write(stream: Any) -> None:
        async for event in stream.events():
            value = event.value
            if value is None:
                continue
            message = event.message
            place = Source(message.topic, message.partition, message.offset, int((message.timestamp or 0) * 1_000_000))
            made = await (await reserializer()).message(value, event.key, place)
            sink = app.topic(made.topic, key_serializer="raw", value_serializer="raw")
            await sink.send(key=made.key, value=made.value, headers=made.headers)

    app.agent(source, name=f"reserialize.{writing.protocol}.{writing.provider or ''}".rstrip("."))(write)
