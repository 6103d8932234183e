"""Both wire formats are the published ones, and a reader tells them apart by their first bytes."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest

from headrace.contract import all_schemas
from headrace.errors import SchemaError
from headrace.kafka.wire import Confluent, Decoder, SingleObject, schema_fingerprint

OLD: dict[str, Any] = {
    "type": "record",
    "name": "Thing",
    "namespace": "t",
    "fields": [{"name": "n", "type": "long", "default": 0}],
}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "s", "type": ["null", "string"], "default": None}]}


def body_of(schema: Any, datum: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, schema, datum)
    return file.getvalue()


@pytest.mark.parametrize(
    ("schema", "little_endian"),
    [
        # Avro's share/test/data/schema-tests.txt gives these fingerprints as signed 64-bit numbers.
        ("null", (7195948357588979594).to_bytes(8, "little", signed=True)),
        ("boolean", (-6970731678124411036).to_bytes(8, "little", signed=True)),
        ("int", (8247732601305521295).to_bytes(8, "little", signed=True)),
        ({"type": "fixed", "name": "foo", "size": 15}, (1756455273707447556).to_bytes(8, "little", signed=True)),
    ],
)
def test_fingerprints_are_those_of_the_specification(schema: Any, little_endian: bytes) -> None:
    assert schema_fingerprint(schema) == little_endian


def test_fingerprint_ignores_what_does_not_change_the_bytes() -> None:
    documented = {**OLD, "doc": "x", "fields": [{"doc": "y", "default": 5, "name": "n", "type": "long"}]}
    assert schema_fingerprint(documented) == schema_fingerprint(OLD)
    assert schema_fingerprint(NEW) != schema_fingerprint(OLD)


def test_single_object_value_is_marker_fingerprint_and_body() -> None:
    assert SingleObject("int").encode(b"\x02") == bytes.fromhex("c301 8f5c393f1ad57572 02")
    assert SingleObject.decode(bytes.fromhex("c301 8f5c393f1ad57572 02")) == (
        bytes.fromhex("8f5c393f1ad57572"),
        b"\x02",
    )


def test_confluent_value_is_magic_id_and_body() -> None:
    assert Confluent(258, OLD).encode(b"\x02") == b"\x00\x00\x00\x01\x02\x02"
    assert Confluent.decode(b"\x00\x00\x00\x01\x02\x02") == (258, b"\x02")


@pytest.mark.parametrize("value", [b"", b"\xc3", b"\xc3\x01\x00", b"\xc3\x02" + bytes(8), b'{"a":1}', b"\x00\x00\x01"])
def test_value_in_no_format_is_refused(value: bytes) -> None:
    with pytest.raises(SchemaError) as single:
        SingleObject.decode(value)
    with pytest.raises(SchemaError) as confluent:
        Confluent.decode(value)
    assert single.value.code == confluent.value.code == "bad_wire_format"


class Ids:
    """Schemas by id, as a registry has them."""

    async def schema(self, schema_id: int) -> Any:
        return {7: OLD, 8: NEW}[schema_id]


async def test_decoder_finds_the_writers_schema_in_either_format() -> None:
    decoder = Decoder([OLD, NEW], Ids())
    for schema, schema_id in ((OLD, 7), (NEW, 8)):
        body = body_of(schema, {"n": 3, "s": "x"})
        assert await decoder.decode(SingleObject(schema).encode(body)) == (schema, body)
        assert await decoder.decode(Confluent(schema_id, schema).encode(body)) == (schema, body)


async def test_unknown_schemas_are_named() -> None:
    decoder = Decoder([OLD])
    with pytest.raises(SchemaError, match=schema_fingerprint(NEW).hex()) as unknown:
        await decoder.decode(SingleObject(NEW).encode(b""))
    assert unknown.value.code == "unknown_schema"
    with pytest.raises(SchemaError, match="schema 8 of a schema registry") as no_registry:
        await decoder.decode(Confluent(8, NEW).encode(b""))
    assert "registry.url" in no_registry.value.fix


def test_every_schema_of_the_contract_has_a_fingerprint_of_its_own() -> None:
    names: dict[bytes, str] = {}
    for name, schema in all_schemas():
        assert names.setdefault(schema_fingerprint(schema), name) == name
    assert "canonical_record" in names.values()


def test_what_fastavro_writes_with_the_schema_comes_back_whole() -> None:
    body = body_of(NEW, {"n": 1, "s": "ä"})
    fingerprint, same = SingleObject.decode(SingleObject(NEW).encode(body))
    assert fingerprint == SingleObject(NEW).fingerprint
    assert fastavro.schemaless_reader(io.BytesIO(same), NEW, OLD) == {"n": 1}
