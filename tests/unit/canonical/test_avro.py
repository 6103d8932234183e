"""Avro bytes and JSON Lines: equal to fastavro's, strict about every field, and back again."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from headrace.canonical.avro import (
    RecordFormat,
    decode_record,
    encode_dead_letter,
    encode_record,
    load_schema,
    record_format,
    to_json_line,
)
from headrace.canonical.primitives import varint
from headrace.canonical.shape import CanonicalRecord
from headrace.errors import FramingError, SchemaError

RECORD: CanonicalRecord = {
    "record_id": "6f1c9f0a-6a4e-5f0e-9a53-2d1f5b6c8e10",
    "record_type": "response",
    "call_id": "c1",
    "protocol": "openai.chat",
    "messages": [{"role": "assistant", "parts": [{"type": "text", "text": "Grüße, 世界"}]}],
    "usage": {"input_tokens": 3, "output_tokens": 70_000, "cost": 0.1},
    "timing": {"created_at": 1_790_000_000_000_000},
    "unknown_types": [{"kind": "part", "type": "hologram", "count": 2}],
    "schema_version": "1.0.0",
    "normalizer": "headrace",
}


def _fastavro_bytes(schema: Any, shape: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), shape)
    return out.getvalue()


def _with(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


def test_bytes_are_those_of_fastavro() -> None:
    assert encode_record(RECORD) == _fastavro_bytes(load_schema("canonical_record"), RECORD)


def test_key_order_makes_no_difference() -> None:
    turned: Any = dict(reversed(RECORD.items()))
    assert encode_record(turned) == encode_record(RECORD)
    assert to_json_line(turned) == to_json_line(RECORD)


def test_explicit_nulls_and_empty_lists_are_the_same_as_absence() -> None:
    spelled: Any = RECORD | {"model": None, "tools": [], "messages": [{**RECORD["messages"][0], "name": None}]}
    assert encode_record(spelled) == encode_record(RECORD)
    assert to_json_line(spelled) == to_json_line(RECORD)


def test_a_decoded_record_is_sparse_and_has_what_cannot_be_null() -> None:
    assert decode_record(encode_record(RECORD)) == RECORD | {"revision": 0, "ordinal": 0}


@pytest.mark.parametrize("value", [0, -1, 1, 63, 64, -64, -65, 8191, 8192, 1 << 31, (1 << 63) - 1, -(1 << 63)])
def test_integers_are_zigzag_varints(value: int) -> None:
    schema = _with({"name": "n", "type": "long"})
    assert varint(value) == RecordFormat(schema).encode({"n": value}) == _fastavro_bytes(schema, {"n": value})


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ({"mesages": []}, "$"),
        ({"model": 3}, "$.model"),
        ({"model": b"gpt"}, "$.model"),
        ({"record_id": None}, "$.record_id"),
        ({"revision": True}, "$.revision"),
        ({"revision": 1.0}, "$.revision"),
        ({"revision": 1 << 63}, "$.revision"),
        ({"chunk_count": -(1 << 63) - 1}, "$.chunk_count"),
        ({"parameters": {"temperature": True}}, "$.parameters.temperature"),
        ({"parameters": {"temperature": (1 << 53) + 1}}, "$.parameters.temperature"),
        ({"parameters": {"stream": 1}}, "$.parameters.stream"),
        ({"parameters": {"stop": "END"}}, "$.parameters.stop"),
        ({"parameters": {"stop": ["a", 1]}}, "$.parameters.stop[1]"),
        ({"parameters": []}, "$.parameters"),
        ({"messages": {"role": "user"}}, "$.messages"),
        ({"messages": [{"role": "user"}, {"parts": [{"type": "text", "txt": ""}]}]}, "$.messages[1].parts[0]"),
        ({"messages": [{"parts": [{"media": {"size_bytes": "1"}}]}]}, "$.messages[0].parts[0].media.size_bytes"),
        ({"messages": [{"parts": [{"text": "\ud800"}]}]}, "$.messages[0].parts[0].text"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(shape: Any, place: str) -> None:
    with pytest.raises(SchemaError) as caught:
        encode_record(shape)
    assert (caught.value.code, caught.value.place) == ("bad_shape", place)


def test_an_error_never_shows_text() -> None:
    with pytest.raises(SchemaError) as caught:
        encode_record({"messages": [{"parts": [{"text": ["a private word"]}]}]})  # type: ignore[typeddict-item]
    assert "private" not in str(caught.value)


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_body_cut_short_is_no_record(cut: int) -> None:
    with pytest.raises(SchemaError) as caught:
        decode_record(encode_record(RECORD)[:-cut])
    assert caught.value.code == "bad_avro"


def test_bytes_after_the_record_are_refused() -> None:
    with pytest.raises(SchemaError, match="1 bytes are left over"):
        decode_record(encode_record(RECORD) + b"\x00")


def test_the_writer_s_schema_is_resolved_with_ours() -> None:
    older = load_schema("canonical_record")
    older = older | {"fields": [field for field in older["fields"] if field["name"] not in ("usage", "ordinal")]}
    shape = {key: value for key, value in RECORD.items() if key != "usage"}
    body = RecordFormat(older).encode(shape)
    assert decode_record(body, older) == shape | {"revision": 0, "ordinal": 0}
    other = {"type": "record", "name": "Other", "fields": [{"name": "record_id", "type": "long"}]}
    with pytest.raises(SchemaError) as caught:
        decode_record(b"\x02", other)
    assert caught.value.code == "incompatible_schema"


def test_times_stay_integers() -> None:
    timing = decode_record(encode_record(RECORD))["timing"]
    assert timing == {"created_at": 1_790_000_000_000_000}


def test_a_json_line_has_schema_order_and_every_default_that_is_not_null() -> None:
    line = to_json_line({"call_id": "c1", "record_type": "request", "messages": [{"parts": [{"text": "a\nb"}]}]})
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert list(json.loads(line)) == [
        "record_id",
        "record_type",
        "revision",
        "ordinal",
        "call_id",
        "protocol",
        "messages",
        "schema_version",
        "normalizer",
    ]
    assert json.loads(line)["messages"] == [{"role": "", "parts": [{"type": "unknown", "text": "a\nb"}]}]


def test_json_lines_come_back() -> None:
    assert record_format("canonical_record").from_json_line(to_json_line(RECORD)) == RECORD | {
        "revision": 0,
        "ordinal": 0,
    }


def test_bytes_are_base64_in_json_lines() -> None:
    letter = {"code": "bad_json", "value": b"\xff\x00{", "headers": [{"name": "n", "value": b"\x80"}]}
    line = to_json_line(letter, "dead_letter")
    assert json.loads(line)["value"] == "/wB7"
    formats = record_format("dead_letter")
    assert formats.encode(formats.from_json_line(line)) == encode_dead_letter(letter)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [{"mesages": []}, {"messages": {}}, {"usage": [1]}, {"record_id": "\ud800"}])
def test_json_lines_refuse_what_has_no_place(shape: Any) -> None:
    with pytest.raises(SchemaError):
        to_json_line(shape)


def test_a_line_that_is_no_record_is_refused() -> None:
    with pytest.raises(SchemaError, match="has no field 'modell'"):
        record_format("canonical_record").from_json_line(b'{"modell":"m"}')
    with pytest.raises(SchemaError, match="expected a dict"):
        record_format("canonical_record").from_json_line(b"[]")
    with pytest.raises(SchemaError, match="expected bytes"):
        record_format("dead_letter").from_json_line(b'{"value":"not base64!"}')
    with pytest.raises(FramingError):
        record_format("canonical_record").from_json_line(b"{")


def test_a_missing_schema_is_named() -> None:
    with pytest.raises(SchemaError, match="there is no schema 'canonical_recrod'"):
        load_schema("canonical_recrod")


def test_a_field_without_a_default_must_be_there_even_if_it_may_be_null() -> None:
    format_ = RecordFormat(_with({"name": "foo", "type": ["null", "string"]}))
    assert format_.encode({"foo": None}) == b"\x00"
    assert format_.encode({"foo": "a"}) == b"\x02\x02a"
    for shape in ({}, {"bar": "huh?"}):
        with pytest.raises(SchemaError):
            format_.encode(shape)


def test_lists_may_hold_nulls_and_lists() -> None:
    schema = _with(
        {"name": "maybe", "type": {"type": "array", "items": ["null", "string"]}, "default": []},
        {"name": "grid", "type": {"type": "array", "items": {"type": "array", "items": "double"}}, "default": []},
    )
    shape = {"maybe": ["a", None], "grid": [[1.5], [], [2.0, 3.0]]}
    assert RecordFormat(schema).encode(shape) == _fastavro_bytes(schema, shape)


def test_defaults_of_every_type_are_written() -> None:
    schema = _with(
        {"name": "s", "type": "string", "default": "ä"},
        {"name": "b", "type": "bytes", "default": "\u00ff"},
        {"name": "i", "type": "int", "default": -7},
        {"name": "f", "type": "float", "default": 0.5},
        {"name": "t", "type": "boolean", "default": True},
        {"name": "l", "type": {"type": "array", "items": "long"}, "default": [1, 2]},
    )
    full = {"s": "ä", "b": b"\xff", "i": -7, "f": 0.5, "t": True, "l": [1, 2]}
    assert RecordFormat(schema).encode({}) == _fastavro_bytes(schema, full)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "type 'enum' is not used"),
        ({"type": "map", "values": "string"}, "type 'map' is not used"),
        (["string", "null"], "a union must be"),
        (["null", "string", "long"], "a union must be"),
        ("R", "record 'R' holds itself"),
        ("Unknown", "type 'Unknown' is not used"),
        (7, "7 is no Avro type"),
        ({"type": "record", "name": "X"}, "needs a name and fields"),
    ],
)
def test_schemas_that_storage_engines_cannot_read_are_refused(kind: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason) as caught:
        RecordFormat(_with({"name": "f", "type": kind, "doc": "F."}))
    assert caught.value.code == "unsupported_schema"
    assert caught.value.place.startswith("$.f")
