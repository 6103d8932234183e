"""Any shape of the schemas: our bytes are fastavro's, and every way there and back gives the shape again."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import load_schema, record_format
from headrace.canonical.encoding import encoder
from headrace.canonical.messages import AnyPart
from headrace.canonical.model import CanonicalRecord, DeadLetter
from headrace.canonical.schema_tree import parse
from headrace.canonical.shaped import Shaped
from headrace.errors import SchemaError
from tests.support.schema_shapes import shapes

NAMES = ["canonical_record", "dead_letter"]
CLASSES: dict[str, type[Shaped]] = {"canonical_record": CanonicalRecord, "dead_letter": DeadLetter}
TREE = parse(load_schema("canonical_record"))
FIELDS_OF_PARTS = {one.model_fields["type"].default: set(one.model_fields) for one in AnyPart.__subclasses__()}


def fastavro_bytes(name: str, shape: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(load_schema(name)), shape)
    return out.getvalue()


def _with_real_parts(shape: dict[str, Any], types: list[str]) -> dict[str, Any]:
    """The shape with its parts cut down to the fields that some type of part has."""
    for place, part in enumerate(part for message in shape.get("messages", ()) for part in message.get("parts", ())):
        part["type"] = types[place % len(types)]
        for key in part.keys() - FIELDS_OF_PARTS[part["type"]]:
            del part[key]
    return shape


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bytes_are_fastavro_s_and_come_back(name: str, data: st.DataObject) -> None:
    shape = data.draw(shapes(parse(load_schema(name))))
    body = fastavro_bytes(name, shape)
    assert record_format(name).encode(shape) == body
    assert record_format(name).decode(body) == shape


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_what_an_encoder_has_kept_changes_neither_bytes_nor_refusals(data: st.DataObject) -> None:
    shape = data.draw(shapes(TREE))
    record_format("canonical_record").encode(shape)
    holder, key = data.draw(st.sampled_from(list(_places(shape))))
    holder[key] = data.draw(
        st.sampled_from([None, True, 1, -1.5, "x", "", b"x", [], {}, ["x"], [1], [{}], {"type": 1}])
    )
    assert _outcome(record_format("canonical_record").encode, shape) == _outcome(encoder(TREE), shape)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, held in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(held, (dict, list)):
            yield from _places(held)


def _outcome(encode: Callable[[dict[str, Any]], bytes], shape: dict[str, Any]) -> bytes | tuple[str, str]:
    try:
        return encode(shape)
    except SchemaError as error:
        return error.place, error.message


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_frozen_classes_and_json_lines_give_the_shape_back(name: str, data: st.DataObject) -> None:
    shape = data.draw(shapes(parse(load_schema(name))))
    types = data.draw(st.lists(st.sampled_from(sorted(FIELDS_OF_PARTS)), min_size=1, max_size=4))
    shape = _with_real_parts(shape, types)
    assert CLASSES[name].from_shape(shape).to_shape() == shape
    if not _holds_infinity(shape):
        assert record_format(name).from_json_line(record_format(name).to_json_line(shape)) == shape


def _holds_infinity(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_infinity, value.values()))
    if isinstance(value, list):
        return any(map(_holds_infinity, value))
    return value in (float("inf"), float("-inf"))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_value_of_any_type_is_refused_or_written_as_fastavro_does(data: st.DataObject) -> None:
    shape = data.draw(shapes(parse(load_schema("canonical_record"))))
    key = data.draw(st.sampled_from(sorted(shape)))
    shape[key] = data.draw(st.sampled_from([None, True, 1, -1.5, "x", b"x", [], {}, ["x"], [1], [{}], {"type": "x"}]))
    try:
        body = record_format("canonical_record").encode(shape)
    except SchemaError as error:
        assert error.place.startswith(f"$.{key}")
    else:
        assert body == fastavro_bytes("canonical_record", shape)


@settings(max_examples=150, deadline=None)
@given(body=st.binary(max_size=300))
def test_bytes_that_are_no_record_give_a_typed_error(body: bytes) -> None:
    try:
        decoded = record_format("canonical_record").decode(body)
    except SchemaError as error:
        assert error.code == "bad_avro"
    else:
        assert record_format("canonical_record").decode(record_format("canonical_record").encode(decoded)) == decoded
