"""Canonical shapes <-> Avro bytes and JSON Lines.

Bytes here are Avro bodies without a header: the framing on Kafka (schema id or fingerprint) is not their
business. Encoders are compiled from the schemas in `schemas/` and give exactly the bytes of the Avro
specification; decoding with another writer's schema resolves by the specification too (fastavro does it).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import fastavro
import msgspec
from fastavro.schema import SchemaParseException

from headrace.canonical import encoding, sparse
from headrace.canonical.primitives import MISFIT
from headrace.canonical.schema_tree import parse
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.canonical.shape_check import check
from headrace.contract import contract_path
from headrace.errors import SchemaError
from headrace.json_text import Json, loads

CANONICAL_RECORD, DEAD_LETTER = "canonical_record", "dead_letter"

_json = msgspec.json.Encoder()


@cache
def load_schema(name: str) -> Json:
    """The schema ``schemas/<name>.avsc`` as JSON; raises SchemaError (`no_schema`) when there is none."""
    path = contract_path("schemas") / f"{name}.avsc"
    try:
        return loads(path.read_bytes())
    except FileNotFoundError:
        raise SchemaError(f"there is no schema {name!r}", code="no_schema", place=str(path)) from None


class RecordFormat:
    """One record schema, compiled: encode, decode, to_json_line, from_json_line.

    Shapes are sparse dicts: an absent key is the schema's default. Shapes that come back hold every field but
    nulls and empty arrays.
    """

    def __init__(self, schema: Json) -> None:
        self.tree = parse(schema)
        #: Sparse shape -> Avro body; raises SchemaError (`bad_shape`) naming the path of what does not fit.
        self.encode = encoding.encoder(self.tree)
        self._reader = plain_schema(schema)
        self._prune = sparse.pruner(self.tree) or dict
        self._in_order = sparse.orderer(self.tree) or dict

    def decode(self, body: bytes, writer_schema: Json = None) -> dict[str, Any]:
        """Avro body -> sparse shape; raises SchemaError (`bad_avro`) for bytes that are no such record.

        writer_schema: the schema it was written with, where that is not this one.
        """
        return cast(dict[str, Any], self._prune(self.decode_full(body, writer_schema)))

    def decode_full(self, body: bytes, writer_schema: Json = None) -> dict[str, Any]:
        """As `decode`, with every field of the schema, nulls and empty arrays too: what a table wants."""
        source = io.BytesIO(body)
        try:
            writer = self._reader if writer_schema is None else plain_schema(writer_schema)
            full = fastavro.schemaless_reader(source, writer, None if writer is self._reader else self._reader)
        except (EOFError, LookupError, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise _bad_avro(f"{type(error).__name__}: {error}", source.tell()) from error
        except (fastavro.read.SchemaResolutionError, SchemaParseException) as error:
            raise SchemaError(str(error), code="incompatible_schema") from error
        if source.tell() != len(body):
            raise _bad_avro(f"{len(body) - source.tell()} bytes are left over", source.tell())
        return cast(dict[str, Any], full)

    def to_json_line(self, shape: Mapping[str, Any]) -> bytes:
        """One line of JSON, newline included, the same for equal records: schema order, nothing that is null or empty.

        Bytes become base64. Raises SchemaError (`bad_shape`) for unknown keys and lists or records of a wrong type.
        """
        try:
            return _json.encode(self._in_order(shape)) + b"\n"
        except MISFIT:
            check(self.tree, shape)
            raise

    def from_json_line(self, line: bytes | str) -> dict[str, Any]:
        """The sparse shape of a line; raises SchemaError (`bad_shape`) or FramingError (`bad_json`)."""
        shape = check(self.tree, sparse.with_bytes(self.tree, loads(line)))
        return cast(dict[str, Any], self._prune(shape))


@cache
def record_format(name: str) -> RecordFormat:
    """The compiled format of ``schemas/<name>.avsc``."""
    return RecordFormat(load_schema(name))


def encode_record(shape: CanonicalRecord) -> bytes:
    """Avro body of a canonical record; raises SchemaError (`bad_shape`) naming the path of what does not fit."""
    return record_format(CANONICAL_RECORD).encode(shape)


def decode_record(body: bytes, writer_schema: Json = None) -> CanonicalRecord:
    """Canonical record of an Avro body; raises SchemaError (`bad_avro`)."""
    return cast(CanonicalRecord, record_format(CANONICAL_RECORD).decode(body, writer_schema))


def encode_dead_letter(shape: DeadLetter) -> bytes:
    """Avro body of a dead letter; raises SchemaError (`bad_shape`)."""
    return record_format(DEAD_LETTER).encode(shape)


def decode_dead_letter(body: bytes, writer_schema: Json = None) -> DeadLetter:
    """Dead letter of an Avro body; raises SchemaError (`bad_avro`)."""
    return cast(DeadLetter, record_format(DEAD_LETTER).decode(body, writer_schema))


def to_json_line(shape: Mapping[str, Any], name: str = CANONICAL_RECORD) -> bytes:
    """`RecordFormat.to_json_line` of the schema with this name."""
    return record_format(name).to_json_line(shape)


def plain_schema(schema: Json) -> Json:
    """The schema for fastavro, without logical types: shapes hold microseconds, not datetimes."""
    return fastavro.parse_schema(_without_logical_types(schema))


def _without_logical_types(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_without_logical_types(branch) for branch in schema]
    if isinstance(schema, dict):
        # A default is data, not a schema.
        return {
            key: value if key == "default" else _without_logical_types(value)
            for key, value in schema.items()
            if key != "logicalType"
        }
    return schema


def _bad_avro(message: str, offset: int) -> SchemaError:
    return SchemaError(
        f"not an Avro body of this schema: {message}",
        code="bad_avro",
        place=f"byte {offset}",
        fix="decode with the schema it was written with",
    )
