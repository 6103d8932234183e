"""Faults that Avro libraries really had: Headrace's schemas and its encoder allow none of them.

A union whose branch could be guessed wrong is no schema of Headrace at all: it is refused before a byte is written, so
the record behind it has no bytes to get wrong. What Headrace reads may have been written with any schema; and what each
fault was about is possible in the schemas that are allowed, and right.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from headrace.canonical.avro import RecordFormat
from headrace.canonical.schema_check import Problem, check_schemas
from headrace.errors import SchemaError
from tests.support.pipeline_traps import Trap, pipeline_traps


def forms(name: str) -> pytest.MarkDecorator:
    """The fault's forms as parameters."""
    return pytest.mark.parametrize("trap", pipeline_traps(name), ids=lambda trap: trap.get("id", "own"))


def refused(schema: Any, record: Any = None) -> str:
    """Why the schema, or else the record, is refused; "" when it is not."""
    try:
        made = RecordFormat(schema)
        if record is not None:
            made.encode(record)
    except SchemaError as error:
        assert error.code in ("unsupported_schema", "bad_shape") and error.place.startswith("$")
        return error.message
    return ""


def problems(schema: Any, folder: Path) -> list[Problem]:
    (folder / "contract.avsc").write_text(json.dumps(schema))
    return check_schemas(folder)


def field_of(schema: Any) -> dict[str, Any]:
    """The schema's first field."""
    field: dict[str, Any] = schema["fields"][0]
    return field


def one_field(type_: Any, name: str = "f", **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "Outer",
        "doc": "D.",
        "fields": [{"name": name, "type": type_, "doc": "D."} | more],
    }


@forms("c11")
def test_c11_a_union_of_like_records_is_refused_and_read_by_its_branch(trap: Trap) -> None:
    schema, (record,) = trap["input"]["schema"], trap["input"]["records"]
    field = field_of(schema)
    name, value = record[field["name"]]
    assert "a union must be" in refused(schema, record)
    # What another program wrote with it is read as what it was.
    written = bytes.fromhex(trap["expected"]["result"]["bytes_hex"][0])
    branch = next(branch for branch in field["type"] if branch["name"] == name)
    ours = one_field(["null", branch], field["name"], default=None) | {"name": schema["name"]}
    reader = RecordFormat(ours)
    shape = reader.decode(written, writer_schema=schema)
    assert shape == {field["name"]: value}
    # And what is written with ours is the same bytes again after it was read.
    body = reader.encode(shape)
    assert reader.encode(reader.decode(body)) == body


@forms("c12")
def test_c12_a_missing_or_misspelt_field_is_refused(trap: Trap) -> None:
    schema, (record,) = trap["input"]["schema"], trap["input"]["records"]
    field = field_of(schema)
    assert bool(refused(schema, record)) is trap["expected"]["result"]["error"]
    present = next(branch for branch in field["type"] if branch != "null")
    # With null first, and with no union at all: without a default the field must be there, with one it may not be
    # misspelt.
    for type_ in (["null", present], present):
        assert refused(one_field(type_, field["name"]), record)
        assert refused(one_field(type_, field["name"]), {})
    optional = one_field(["null", present], field["name"], default=None)
    assert not refused(optional, {})
    assert refused(optional, record)


@forms("c13")
def test_c13_no_digit_of_a_number_is_lost(trap: Trap) -> None:
    schema, (record,) = trap["input"]["schema"], trap["input"]["records"]
    name = field_of(schema)["name"]
    assert "a union must be" in refused(schema, record)
    reader = RecordFormat(one_field(["null", "double"], name, default=None) | {"name": schema["name"]})
    read_back = trap["expected"]["result"]["read_back"]
    assert reader.decode(reader.encode(record)) == {name: read_back}
    # A writer that took the wide branch is read exactly, too.
    out = io.BytesIO()
    wide = max(place for place, branch in enumerate(field_of(schema)["type"]) if branch == "double")
    out.write(bytes([wide << 1]))
    fastavro.schemaless_writer(out, {"type": "double"}, record[name])
    assert reader.decode(out.getvalue(), writer_schema=schema) == {name: read_back}


@forms("c15")
def test_c15_a_default_that_stricter_readers_refuse_is_a_problem_of_the_schema(trap: Trap, tmp_path: Path) -> None:
    schemas = trap["input"]["schemas"]
    assert [not problems(schema, tmp_path) for schema in schemas] == trap["expected"]["result"]["portable"]
    for schema in schemas:
        field = field_of(schema)
        (problem,) = problems(schema, tmp_path)
        assert problem.path == f"$.{field['name']}"
        assert "union" in problem.reason or "default" in problem.reason
        # The same field with null first and null for its default is one that every reader takes.
        branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
        wide = {"int": "long", "float": "double"}
        present = next(wide.get(str(branch), branch) for branch in branches if branch != "null")
        assert problems(one_field(["null", present], field["name"], default=None), tmp_path) == []


@forms("c16")
def test_c16_a_number_that_does_not_fit_is_refused_and_named(trap: Trap, tmp_path: Path) -> None:
    schemas, records = trap["input"]["schemas"], trap["input"]["records"]
    reasons = [refused(schema, record) for schema, record in zip(schemas, records, strict=True)]
    assert list(map(bool, reasons)) == trap["expected"]["result"]["error"]
    for schema, record in zip(schemas, records, strict=True):
        field = field_of(schema)
        inner = next((branch for branch in field["type"] if isinstance(branch, dict)), None)
        path, value = f"$.{field['name']}", record[field["name"]]
        if inner is not None:
            path, value = f"{path}.{field_of(inner)['name']}", value[field_of(inner)["name"]]
        # In a union that is allowed, the error says which number and where.
        allowed = one_field(["null", inner] if inner else field["type"], field["name"])
        with pytest.raises(SchemaError) as caught:
            RecordFormat(allowed).encode(record)
        assert (caught.value.code, caught.value.place) == ("bad_shape", path)
        assert str(value) in caught.value.message
        # The contract's own schemas have no type that narrow.
        if "long" not in json.dumps(schema):
            assert any("too narrow" in problem.reason for problem in problems(allowed, tmp_path))
