"""What a batch puts on Kafka: records and dead letters as messages, framed for a schema registry or without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace import records
from headrace.canonical.avro import encode_dead_letter, encode_record, load_schema
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry, subject_of
from headrace.kafka.wire import Confluent, SingleObject, WireFormat
from headrace.pipeline import Batch


@dataclass(frozen=True, slots=True)
class Output:
    """One message to produce. shape: what ``value`` was made of."""

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    shape: CanonicalRecord | DeadLetter


class Outputs:
    """Encodes batches. Use `create`; schemas are registered once, at the start."""

    def __init__(self, canonical: str, dead_letters: str, formats: Mapping[str, WireFormat]) -> None:
        self._canonical = canonical
        self._dead_letters = dead_letters
        self._formats = dict(formats)

    @classmethod
    async def create(cls, canonical: str, dead_letters: str, registry: Registry | None) -> Outputs:
        """With a registry the Confluent wire format, without one single-object encoding.

        canonical, dead_letters: topic names. Raises SchemaError, RegistryError.
        """
        formats: dict[str, WireFormat] = {}
        for topic, name in ((canonical, "canonical_record"), (dead_letters, "dead_letter")):
            schema = load_schema(name)
            if registry is None:
                formats[topic] = SingleObject(schema)
            else:
                formats[topic] = Confluent(await registry.register(subject_of(topic), schema), schema)
        return cls(canonical, dead_letters, formats)

    def of(self, batch: Batch) -> list[Output]:
        """The batch's messages: records first, then dead letters, each in order."""
        return [
            *(self._record_or_letter(record) for _, record in batch.records),
            *(self._letter(letter) for _, letter in batch.dead_letters),
        ]

    def too_large(self, output: Output) -> Output:
        """In place of a message that the broker does not take: a dead letter that says where its input lies."""
        error = HeadraceError(
            f"the message is {len(output.value)} bytes long, more than the broker takes",
            code="output_too_large",
            place=output.topic,
            fix="raise kafka.max_message_bytes here and max.message.bytes on the topic, then replay the input",
        )
        return self._letter(records.dead_letter_instead(output.shape, error))

    def _record_or_letter(self, record: CanonicalRecord) -> Output:
        try:
            return self._record(record)
        except HeadraceError as error:
            return self._letter(records.dead_letter_instead(record, error))

    def _record(self, record: CanonicalRecord) -> Output:
        headers = {
            "record-id": record["record_id"],
            "record-type": record["record_type"],
            "schema": f"CanonicalRecord/{record['schema_version']}",
            "protocol": record.get("protocol", ""),
            "tenant": record.get("tenant", ""),
        }
        value = self._formats[self._canonical].encode(encode_record(record))
        return Output(self._canonical, record["call_id"].encode(), value, _headers(headers), record)

    def _letter(self, letter: DeadLetter) -> Output:
        headers = {
            "dead-letter-id": letter["dead_letter_id"],
            "code": letter["code"],
            "schema": f"DeadLetter/{letter['schema_version']}",
            "protocol": letter.get("protocol", ""),
            "tenant": letter.get("tenant", ""),
        }
        key = letter["call_id"].encode() if "call_id" in letter else letter.get("key")
        value = self._formats[self._dead_letters].encode(encode_dead_letter(letter))
        return Output(self._dead_letters, key, value, _headers(headers), letter)


def _headers(named: Mapping[str, str]) -> tuple[tuple[str, bytes], ...]:
    return tuple((f"headrace-{name}", value.encode()) for name, value in named.items() if value)
