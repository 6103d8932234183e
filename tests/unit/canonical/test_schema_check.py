"""Schema compatibility: what may change between versions, what may not, and our own rules."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.canonical.schema_check import Problem, check_schemas
from headrace.contract import contract_path

INNER = {
    "type": "record",
    "name": "Inner",
    "doc": "Inner.",
    "fields": [{"name": "x", "type": "long", "default": 0, "doc": "X."}],
}
BASE: dict[str, Any] = {
    "type": "record",
    "name": "Outer",
    "namespace": "test",
    "doc": "Outer.",
    "fields": [
        {"name": "id", "type": "string", "default": "", "doc": "Id."},
        {"name": "note", "type": ["null", "string"], "default": None, "doc": "Note."},
        {"name": "inner", "type": {"type": "array", "items": INNER}, "default": [], "doc": "Inners."},
    ],
}


def _field(schema: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(field for field in schema["fields"] if field["name"] == name)
    return found


def _write(folder: Path, schema: dict[str, Any], *released: tuple[str, dict[str, Any]]) -> Path:
    (folder / "released" / "outer").mkdir(parents=True, exist_ok=True)
    (folder / "outer.avsc").write_text(json.dumps(schema))
    for version, old in released:
        (folder / "released" / "outer" / f"{version}.avsc").write_text(json.dumps(old))
    return folder


def _changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    schema = copy.deepcopy(BASE)
    change(schema)
    return schema


def _add(**field: Any) -> Callable[[dict[str, Any]], object]:
    return lambda schema: schema["fields"].append({"doc": "Added."} | field)


def _set(name: str, **values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda schema: _field(schema, name).update(values)


def _drop(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda schema: schema["fields"].remove(_field(schema, name))


def _inner(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda schema: change(_field(schema, "inner")["type"]["items"])


@pytest.mark.parametrize(
    "change",
    [
        _add(name="extra", type=["null", "string"], default=None),
        _add(name="count", type="long", default=1),
        _add(name="inners", type={"type": "array", "items": "test.Inner"}, default=[]),
        _drop("note"),
        _set("note", doc="Another doc."),
        _set("id", default="none"),
        _set("id", type="bytes"),  # the only promotion that goes both ways
        _inner(_add(name="y", type="double", default=0.0)),
        lambda schema: schema["fields"].reverse(),
    ],
)
def test_good_evolutions(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    assert check_schemas(_write(tmp_path, _changed(change), ("1.0.0", BASE))) == []


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        (_set("id", type="long", default=0), "$.id", "string cannot be read as long"),
        (_set("id", type=["null", "string"], default=None), "$.id", "the writer may write null"),
        (_set("note", type="string", default=""), "$.note", "the writer may write null"),
        (_set("note", type=["null", "long"]), "$.note", "string cannot be read as long"),
        (_set("inner", type="string", default=""), "$.inner", "the writer has an array, the reader string"),
        (_inner(_set("x", type="double")), "$.inner[].x", "double cannot be read as long"),
        (
            _inner(_set("x", type={"type": "long", "logicalType": "timestamp-micros"})),
            "$.inner[].x",
            "logical type timestamp-micros cannot be read as None",
        ),
        (_inner(lambda inner: inner.update(name="Renamed")), "$.inner[]", "the writer's record is test.Renamed"),
        (lambda schema: schema.update(namespace="other"), "$", "the writer's record is other.Outer"),
    ],
)
def test_bad_evolutions(tmp_path: Path, change: Callable[[dict[str, Any]], object], path: str, reason: str) -> None:
    problems = check_schemas(_write(tmp_path, _changed(change), ("1.0.0", BASE)))
    assert {problem.path for problem in problems} == {path}
    assert any(reason in problem.reason for problem in problems)
    assert {(problem.name, problem.version) for problem in problems} == {("outer", "1.0.0")}


def test_a_rename_needs_an_alias_in_both_versions(tmp_path: Path) -> None:
    renamed = _changed(lambda schema: schema.update(name="New", aliases=["Outer"]))
    (problem,) = check_schemas(_write(tmp_path, renamed, ("1.0.0", BASE)))
    assert problem.reason.startswith("1.0.0 cannot read the new schema")
    aliased = _changed(lambda schema: schema.update(aliases=["New"]))
    assert check_schemas(_write(tmp_path, renamed, ("1.0.0", aliased))) == []


def test_a_field_read_under_its_alias_must_still_fit(tmp_path: Path) -> None:
    renamed = _changed(lambda schema: _field(schema, "id").update(name="key", aliases=["id"], type="long", default=0))
    problems = check_schemas(_write(tmp_path, renamed, ("1.0.0", BASE)))
    assert [problem.path for problem in problems] == ["$.key"]


def test_every_released_version_counts(tmp_path: Path) -> None:
    gone = _changed(_drop("note"))
    back_with_another_type = _changed(_set("note", type=["null", "long"]))
    problems = check_schemas(_write(tmp_path, back_with_another_type, ("1.0.0", BASE), ("1.1.0", gone)))
    assert {problem.version for problem in problems} == {"1.0.0"}


def test_a_released_version_without_defaults_is_still_checked(tmp_path: Path) -> None:
    strict = _changed(lambda schema: _field(schema, "id").pop("default"))
    problems = check_schemas(_write(tmp_path, _changed(_drop("id")), ("1.0.0", strict)))
    assert problems == [
        Problem(
            "outer",
            "1.0.0",
            "$.id",
            "1.0.0 cannot read the new schema: the writer has no such field and the reader no default",
        )
    ]


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        (
            _add(name="e", type={"type": "enum", "name": "E", "symbols": ["A"]}, default="A"),
            "$.e",
            "'enum' is not used",
        ),
        (_add(name="u", type=["null", "string", "long"], default=None), "$.u", "a union must be"),
        (_add(name="u", type=["string", "null"], default=""), "$.u", "a union must be"),
        (_add(name="u", type=["null", "string"], default="null"), "$.u", "does not fit the field's (first) type"),
        (_add(name="n", type="long", default="1"), "$.n", "does not fit"),
        (_add(name="n", type="long", default=1 << 63), "$.n", "does not fit"),
        (_add(name="l", type={"type": "array", "items": "string"}, default=[1]), "$.l", "does not fit"),
        (_add(name="r", type=["null", "test.Outer"], default=None), "$.r", "holds itself"),
        (_add(name="m", type={"type": "map", "values": "string"}, default={}), "$.m", "'map' is not used"),
        (_add(name="n", type="int", default=0), "$.n", "int is too narrow: use long"),
        (_add(name="n", type="float", default=0.0), "$.n", "float is too narrow: use double"),
        (
            _add(name="t", type={"type": "long", "logicalType": "timestamp-millis"}, default=0),
            "$.t",
            "timestamp-micros",
        ),
        (_add(name="l", type={"type": "array", "items": ["null", "string"]}, default=[]), "$.l", "items of an array"),
        (_add(name="d", type="long"), "$.d", "the field has no default"),
        (_set("id", doc=""), "$.id", "the field has no doc"),
        (_inner(_set("x", doc="")), "$.inner[].x", "the field has no doc"),
        (lambda schema: schema.pop("doc"), "$", "the record has no doc"),
        (lambda schema: schema["fields"].append(7), "$", "7 is no field"),
    ],
)
def test_our_own_rules(tmp_path: Path, change: Callable[[dict[str, Any]], object], path: str, reason: str) -> None:
    (problem,) = check_schemas(_write(tmp_path, _changed(change)))
    assert (problem.name, problem.version, problem.path) == ("outer", "", path)
    assert reason in problem.reason


def test_a_file_that_is_no_json_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "outer.avsc").write_text("{")
    (problem,) = check_schemas(tmp_path)
    assert "bad_json" in problem.reason
    _write(tmp_path, BASE)
    (tmp_path / "released" / "outer" / "1.0.0.avsc").write_text("[")
    (problem,) = check_schemas(tmp_path)
    assert (problem.version, "bad_json" in problem.reason) == ("1.0.0", True)


def test_a_released_schema_may_not_go(tmp_path: Path) -> None:
    _write(tmp_path, BASE, ("1.0.0", BASE))
    (tmp_path / "outer.avsc").unlink()
    assert check_schemas(tmp_path) == [Problem("outer", "1.0.0", "$", "the schema was released and is gone")]


def test_one_name_means_one_record_in_all_schemas(tmp_path: Path) -> None:
    _write(tmp_path, BASE)
    other = _changed(lambda schema: schema.update(name="Another"))
    (tmp_path / "another.avsc").write_text(json.dumps(other))
    assert check_schemas(tmp_path) == []
    _inner(_add(name="y", type="long", default=0))(other)
    (tmp_path / "another.avsc").write_text(json.dumps(other))
    (problem,) = check_schemas(tmp_path)
    assert problem == Problem("outer", "", "$.inner[]", "test.Inner is defined otherwise in another.avsc")


def test_our_schemas_are_fit_to_release() -> None:
    assert check_schemas(contract_path("schemas")) == []
