"""The schemas, the TypedDicts and the frozen classes say the same: names, order, types, defaults and docs."""

from __future__ import annotations

import re
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from headrace.canonical import model, shape
from headrace.canonical.avro import load_schema
from headrace.canonical.messages import AnyPart
from headrace.canonical.schema_tree import Array, Node, Nullable, Primitive, Record, parse
from headrace.canonical.shaped import Shaped

PYTHON_TYPES = {"string": str, "long": int, "double": float, "boolean": bool, "bytes": bytes}
PART_CLASSES: list[type[AnyPart]] = AnyPart.__subclasses__()


def _records(node: Node, found: dict[str, Record]) -> dict[str, Record]:
    match node:
        case Nullable(of=inner) | Array(items=inner):
            _records(inner, found)
        case Record(name=name, fields=fields):
            found[name.rpartition(".")[2]] = node
            for field in fields:
                _records(field.type, found)
    return found


RECORDS = {
    name: record
    for schema in ("canonical_record", "dead_letter")
    for name, record in _records(parse(load_schema(schema)), {}).items()
}


def _schema_type(node: Node) -> Any:
    """A type as a comparable value: Python type, list of one, or the name of a record."""
    match node:
        case Primitive(name=name):
            return PYTHON_TYPES[name]
        case Nullable(of=inner):
            return _schema_type(inner)
        case Array(items=items):
            return [_schema_type(items)]
        case Record(name=name):
            return name.rpartition(".")[2]


def _python_type(hint: Any) -> Any:
    """The same value out of a type hint of either kind of class."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner = get_args(hint)[0]
        is_part = get_origin(inner) in (Union, types.UnionType) and PART_CLASSES[0] in map(_bare, get_args(inner))
        return "Part" if is_part else _python_type(inner)
    if origin in (Union, types.UnionType):
        (only,) = (branch for branch in get_args(hint) if branch is not type(None))
        return _python_type(only)
    if origin in (list, tuple):
        return [_python_type(get_args(hint)[0])]
    if origin is Literal:
        return str
    return hint if hint in PYTHON_TYPES.values() else hint.__name__


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _model_fields(classes: list[type[Shaped]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for one in classes:
        hints = get_type_hints(one, include_extras=True)
        for name, info in one.model_fields.items():
            seen = _python_type(hints[name])
            assert fields.setdefault(info.alias or name, seen) == seen
    return fields


def _classes(name: str) -> list[type[Shaped]]:
    return list(PART_CLASSES) if name == "Part" else [getattr(model, name)]


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_typed_dicts_are_the_schema(name: str) -> None:
    typed = get_type_hints(getattr(shape, name))
    assert [(field, _python_type(hint)) for field, hint in typed.items()] == [
        (field.name, _schema_type(field.type)) for field in RECORDS[name].fields
    ]


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_frozen_classes_are_the_schema(name: str) -> None:
    assert _model_fields(_classes(name)) == {field.name: _schema_type(field.type) for field in RECORDS[name].fields}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_frozen_classes_have_the_defaults_and_docs_of_the_schema(name: str) -> None:
    for one in _classes(name):
        infos = {info.alias or field: info for field, info in one.model_fields.items()}
        for field in RECORDS[name].fields:
            if field.name not in infos or (name, field.name) == ("Part", "type"):
                continue
            default = infos[field.name].default
            assert (field.default if field.default != [] else ()) == default
            assert " ".join((infos[field.name].description or "").split()) == field.doc


def test_no_class_is_left_over() -> None:
    typed = {name for name, value in vars(shape).items() if getattr(value, "__total__", None) is False}
    assert typed == set(RECORDS)
    named = {name for name in model.__all__ if name not in {one.__name__ for one in PART_CLASSES}}
    assert named == set(RECORDS)


def test_the_type_of_each_part_is_in_the_schema() -> None:
    doc = next(field.doc for field in RECORDS["Part"].fields if field.name == "type")
    assert {one.model_fields["type"].default for one in PART_CLASSES} == set(re.findall(r"\w+", doc))


def test_every_field_of_json_text_can_be_read_as_its_value() -> None:
    for name, record in RECORDS.items():
        for one in _classes(name):
            fields = {info.alias or field for field, info in one.model_fields.items()}
            texts = {field.name for field in record.fields if field.doc.endswith("JSON text.")} & fields
            readable = {name[: -len("_value")] for name in dir(one) if name.endswith("_value") and name[0] != "_"}
            assert texts == readable
