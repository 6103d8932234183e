"""What stands before an Avro body on Kafka and tells which schema wrote it.

    single-object encoding   C3 01, fingerprint of the schema (8 bytes), body      no registry needed
    Confluent wire format    00, schema id in the registry (4 bytes), body

Single-object encoding is in the Avro specification ("Single object encoding"): the fingerprint is CRC-64-AVRO of
the schema's Parsing Canonical Form, little-endian. The Confluent format is a magic byte and a big-endian id. The
first bytes differ, so a reader needs no setting to tell them apart.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Protocol

from fastavro.schema import fingerprint as _fingerprint
from fastavro.schema import to_parsing_canonical_form

from headrace.errors import SchemaError
from headrace.json_text import Json

_SINGLE_OBJECT = b"\xc3\x01"
_SINGLE_OBJECT_LENGTH = 10
_CONFLUENT = b"\x00"
_CONFLUENT_LENGTH = 5


class WireFormat(Protocol):
    """A header for bodies of one schema."""

    def encode(self, avro_body: bytes) -> bytes:
        """The Kafka value of a body."""


def schema_fingerprint(schema: Json) -> bytes:
    """CRC-64-AVRO of a schema's Parsing Canonical Form, as the 8 bytes of a header.

    The form leaves out docs, defaults and logical types: schemas that write the same bytes have the same one.
    """
    return bytes.fromhex(_fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


class SingleObject:
    """Avro single-object encoding."""

    def __init__(self, schema: Json) -> None:
        self.schema = schema
        self.fingerprint = schema_fingerprint(schema)
        self._header = _SINGLE_OBJECT + self.fingerprint

    def encode(self, avro_body: bytes) -> bytes:
        """The Kafka value of a body written with the schema."""
        return self._header + avro_body

    @staticmethod
    def decode(value: bytes) -> tuple[bytes, bytes]:
        """(fingerprint, body); raises SchemaError (`bad_wire_format`)."""
        if not value.startswith(_SINGLE_OBJECT) or len(value) < _SINGLE_OBJECT_LENGTH:
            raise _not_framed(value, "Avro single-object encoding")
        return value[2:_SINGLE_OBJECT_LENGTH], value[_SINGLE_OBJECT_LENGTH:]


class Confluent:
    """Confluent wire format, for a schema that a registry knows by ``schema_id``."""

    def __init__(self, schema_id: int, schema: Json) -> None:
        self.schema_id = schema_id
        self.schema = schema
        self._header = _CONFLUENT + struct.pack(">i", schema_id)

    def encode(self, avro_body: bytes) -> bytes:
        """The Kafka value of a body written with the schema."""
        return self._header + avro_body

    @staticmethod
    def decode(value: bytes) -> tuple[int, bytes]:
        """(schema id, body); raises SchemaError (`bad_wire_format`)."""
        if not value.startswith(_CONFLUENT) or len(value) < _CONFLUENT_LENGTH:
            raise _not_framed(value, "the Confluent wire format")
        return struct.unpack_from(">i", value, 1)[0], value[_CONFLUENT_LENGTH:]


class SchemaSource(Protocol):
    """Where schemas are by id: a schema registry."""

    async def schema(self, schema_id: int) -> Json:
        """The schema with an id; raises SchemaError."""


class Decoder:
    """Finds the schema that a Kafka value was written with: any known version, in either format."""

    def __init__(self, known: Iterable[Json], registry: SchemaSource | None = None) -> None:
        """known: all versions of all schemas that may come (`headrace.contract.all_schemas`).

        registry: needed only for values in the Confluent wire format.
        """
        self._by_fingerprint = {schema_fingerprint(schema): schema for schema in known}
        self._registry = registry

    async def decode(self, value: bytes) -> tuple[Json, bytes]:
        """(writer's schema, Avro body); raises SchemaError (`bad_wire_format`, `unknown_schema`)."""
        if not value.startswith(_CONFLUENT):
            return self.decode_single_object(value)
        schema_id, body = Confluent.decode(value)
        if self._registry is None:
            raise SchemaError(
                f"the value was written with schema {schema_id} of a schema registry",
                code="unknown_schema",
                fix="set registry.url to the registry its producer used",
            )
        return await self._registry.schema(schema_id), body

    def decode_single_object(self, value: bytes) -> tuple[Json, bytes]:
        """The same for single-object encoding alone, which needs nothing from outside."""
        fingerprint, body = SingleObject.decode(value)
        schema = self._by_fingerprint.get(fingerprint)
        if schema is None:
            raise SchemaError(
                f"no known schema has the fingerprint {fingerprint.hex()}",
                code="unknown_schema",
                fix="use a version of headrace that knows the producer's schemas",
            )
        return schema, body


def _not_framed(value: bytes, format_name: str) -> SchemaError:
    begins = value[:4].hex(" ") or "nothing"
    return SchemaError(
        f"the value is not in {format_name}: it begins with {begins}",
        code="bad_wire_format",
        fix="check that the topic holds the records this reader is for",
    )
