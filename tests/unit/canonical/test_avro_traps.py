"""Faults that Avro libraries really had: none of them can happen here."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.avro import RecordFormat
from headrace.errors import SchemaError
from tests.support.shared import traps

#: Small twins of the faults, so that this module shows them without the shared folder.
OWN: list[dict[str, Any]] = [
    {
        "id": "c11",
        "schema": [{"type": "record", "name": "A", "fields": []}, {"type": "record", "name": "B", "fields": []}],
    },
    {"id": "c12", "schema": ["string", "null"]},
    {"id": "c13", "schema": ["float", "double"]},
    {"id": "c15", "schema": ["string", "null"], "default": None},
]


def _refused(schema: Any, record: Any = None) -> bool:
    """Whether the schema, or else the record, is refused with a typed error."""
    try:
        compiled = RecordFormat(schema)
        if record is not None:
            compiled.encode(record)
    except SchemaError:
        return True
    return False


@pytest.mark.parametrize("trap", OWN, ids=lambda trap: trap["id"])
def test_unions_whose_branch_could_be_guessed_wrong_are_refused(trap: dict[str, Any]) -> None:
    field = {"name": "f", "type": trap["schema"]} | ({"default": trap["default"]} if "default" in trap else {})
    assert _refused({"type": "record", "name": "R", "fields": [field]})


def test_integers_out_of_range_are_refused() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
    assert not _refused(schema, {"n": (1 << 31) - 1})
    assert _refused(schema, {"n": 1 << 31})


def test_doubles_keep_their_digits() -> None:
    format_ = RecordFormat(
        {"type": "record", "name": "R", "fields": [{"name": "v", "type": ["null", "double"], "default": None}]}
    )
    assert format_.decode(format_.encode({"v": 0.1})) == {"v": 0.1}


def test_read_then_write_gives_the_same_bytes() -> None:
    inner = {"type": "record", "name": "Sub", "fields": [{"name": "n", "type": "long", "default": 0}]}
    format_ = RecordFormat(
        {"type": "record", "name": "R", "fields": [{"name": "s", "type": ["null", inner], "default": None}]}
    )
    body = format_.encode({"s": {"n": 42}})
    assert format_.encode(format_.decode(body)) == body


def test_shared_faults_do_not_happen() -> None:
    for trap in (trap for trap in traps() if trap["protocol"] == "avro"):
        given, expected = trap["input"], trap["expected"]["result"]
        schemas = given.get("schemas") or [given["schema"]]
        records = given.get("records") or [None] * len(schemas)
        outcomes = [_refused(schema, record) for schema, record in zip(schemas, records, strict=True)]
        # Unions of like records or of two number types never get as far as a wrong branch.
        assert all(outcomes), trap["id"]
        assert set(expected) <= {"error", "portable", "bytes_hex", "read_back"}, trap["id"]
