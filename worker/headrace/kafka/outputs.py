"""What a batch puts on Kafka: records and dead letters as messages, framed for a schema registry or without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from headrace import records
from headrace.canonical.avro import encode_dead_letter, encode_record, load_schema
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.claim_check import ClaimCheck
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry, subject_of
from headrace.kafka.wire import Confluent, SingleObject, WireFormat
from headrace.pipeline import Batch

log = structlog.get_logger(__name__)

#: What Kafka adds to a message: headers of batch and record, lengths.
_OVERHEAD = 512
_LEAST_LIMIT = 2048
#: A dead letter's header that says where its value is, when that is too large for a message: a URI.
CLAIM_HEADER = "headrace-claim-check"


@dataclass(frozen=True, slots=True)
class Output:
    """One message to produce."""

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]

    @property
    def size(self) -> int:
        """About its bytes in a Kafka batch, before compression."""
        return _OVERHEAD + len(self.value) + len(self.key or b"") + sum(len(n) + len(v) for n, v in self.headers)


class Outputs:
    """Encodes batches. Use `create`; schemas are registered once, at the start.

    limit: bytes of the largest message. claim_check: where what is larger goes; without one it becomes a dead letter
    that says where its input lies.
    """

    def __init__(
        self,
        canonical: str,
        dead_letters: str,
        formats: Mapping[str, WireFormat],
        *,
        limit: int = 16 << 20,
        claim_check: ClaimCheck | None = None,
        client: Mapping[str, Any] | None = None,
    ) -> None:
        self._canonical = canonical
        self._dead_letters = dead_letters
        self._formats = dict(formats)
        self._most = limit
        self._claim_check = claim_check
        self._client = client
        self.limit = limit

    @classmethod
    async def create(
        cls,
        canonical: str,
        dead_letters: str,
        registry: Registry | None,
        *,
        limit: int = 16 << 20,
        claim_check: ClaimCheck | None = None,
        client: Mapping[str, Any] | None = None,
    ) -> Outputs:
        """With a registry the Confluent wire format, without one single-object encoding.

        canonical, dead_letters: topic names. client: to ask the broker for the topics' own limits. Raises
        SchemaError, RegistryError.
        """
        formats: dict[str, WireFormat] = {}
        for topic, name in ((canonical, "canonical_record"), (dead_letters, "dead_letter")):
            schema = load_schema(name)
            if registry is None:
                formats[topic] = SingleObject(schema)
            else:
                formats[topic] = Confluent(await registry.register(subject_of(topic), schema), schema)
        outputs = cls(canonical, dead_letters, formats, limit=limit, claim_check=claim_check, client=client)
        await outputs.look_at_limits()
        return outputs

    @property
    def topics(self) -> tuple[str, str]:
        """Where outputs go: records, dead letters."""
        return self._canonical, self._dead_letters

    async def look_at_limits(self) -> None:
        """Go by what the topics take, where that is less than the setting."""
        if self._client is None:
            return
        admin = AIOKafkaAdminClient(**self._client)
        try:
            await admin.start()
            asked = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in self.topics]
            answers = await admin.describe_configs(asked)
            found = [
                int(entry[1])
                for answer in answers
                for resource in answer.resources
                for entry in resource[4]
                if entry[0] == "max.message.bytes"
            ]
        except (KafkaError, OSError, ValueError, TypeError) as error:
            # Not everybody may read configurations; then the setting holds.
            log.debug("topic limits are not known", error=repr(error))
            return
        finally:
            await admin.close()
        self.limit = max(_LEAST_LIMIT, min([self._most, *found]))

    def of(self, batch: Batch) -> list[Output]:
        """The batch's messages whatever their size: records first, then dead letters, each in order."""
        return [
            *(self._record_or_letter(record) for _, record in batch.records),
            *(self._letter(letter) for _, letter in batch.dead_letters),
        ]

    async def fitting(self, batch: Batch) -> list[Output]:
        """The same, each as large as the broker takes. Raises ClaimCheckError."""
        return [
            *[await self._fitting_record(record) for _, record in batch.records],
            *[await self._fitting_letter(letter) for _, letter in batch.dead_letters],
        ]

    # Records

    async def _fitting_record(self, record: CanonicalRecord) -> Output:
        output = self._record_or_letter(record)
        if output.size > self.limit and self._claim_check is not None:
            output = self._record_or_letter(await self._claim_check.shrunk(record, output.size - self.limit))
        if output.size > self.limit:
            return self._letter(records.dead_letter_instead(record, self._too_large(output)))
        return output

    def _record_or_letter(self, record: CanonicalRecord) -> Output:
        try:
            return self._record(record)
        except HeadraceError as error:
            return self._letter(records.dead_letter_instead(record, error))
        except Exception as fault:
            ours = records.unexpected(fault, record["call_id"])
            return self._letter(records.dead_letter_instead(record, ours))

    def _record(self, record: CanonicalRecord) -> Output:
        headers = {
            "record-id": record["record_id"],
            "record-type": record["record_type"],
            "schema": f"CanonicalRecord/{record['schema_version']}",
            "protocol": record.get("protocol", ""),
            "tenant": record.get("tenant", ""),
        }
        value = self._formats[self._canonical].encode(encode_record(record))
        return Output(self._canonical, _bytes(record["call_id"]), value, _headers(headers))

    # Dead letters

    async def _fitting_letter(self, letter: DeadLetter) -> Output:
        output = self._letter(letter)
        if output.size <= self.limit:
            return output
        if self._claim_check is not None and letter.get("value"):
            _, _, uri = await self._claim_check.put(letter["value"])
            moved: DeadLetter = {**letter, "headers": [*letter.get("headers", ()), _claim_header(uri)]}
            del moved["value"]
            output = self._letter(moved)
        if output.size > self.limit:
            instead = records.dead_letter_instead(letter, self._too_large(output))
            # Its reason and its coordinates are what remains: they find the input.
            instead["code"] = letter["code"]
            if "timestamp" in letter:
                instead["timestamp"] = letter["timestamp"]
            output = self._letter(instead)
        return output

    def _letter(self, letter: DeadLetter) -> Output:
        headers = {
            "dead-letter-id": letter["dead_letter_id"],
            "code": letter["code"],
            "schema": f"DeadLetter/{letter['schema_version']}",
            "protocol": letter.get("protocol", ""),
            "tenant": letter.get("tenant", ""),
        }
        key = _bytes(letter["call_id"]) if "call_id" in letter else letter.get("key")
        value = self._formats[self._dead_letters].encode(encode_dead_letter(letter))
        return Output(self._dead_letters, key, value, _headers(headers))

    def _too_large(self, output: Output) -> HeadraceError:
        return HeadraceError(
            f"the message is {len(output.value)} bytes long, more than the broker takes",
            code="output_too_large",
            place=output.topic,
            fix="set claim_check.url, or raise kafka.max_message_bytes and the topic's max.message.bytes, and replay",
        )


def _claim_header(uri: str) -> Any:
    return {"name": CLAIM_HEADER, "value": uri.encode()}


def _bytes(text: str) -> bytes:
    # Ids come from the wire and may hold what UTF-8 has no bytes for.
    return text.encode("utf-8", "surrogatepass")


def _headers(named: Mapping[str, str]) -> tuple[tuple[str, bytes], ...]:
    return tuple((f"headrace-{name}", _bytes(value)) for name, value in named.items() if value)
