"""Avro schemas as small typed nodes: the subset that Headrace allows itself, and nothing else.

Storage engines read what Headrace writes, so its schemas have no enums, no recursion and no unions but
``null | T`` with null first (design section 4). `parse` turns .avsc JSON into nodes and refuses the rest, so
everything that walks a schema (encoders, pruning, compatibility) has four cases to handle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.errors import SchemaError
from headrace.json_text import Json

PRIMITIVES: Final = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})


class _Missing:
    """Type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


#: Default of a field that has none; None would be the default ``null``.
MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type, with its logical type where it has one."""

    name: str
    logical: str | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """An array of one type."""

    items: Node


@dataclass(frozen=True, slots=True)
class Nullable:
    """``null | T``."""

    of: Node


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record. default: `MISSING` where the schema gives none."""

    name: str
    type: Node
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A record. name: with its namespace."""

    name: str
    fields: tuple[Field, ...]
    doc: str
    aliases: tuple[str, ...] = ()


Node = Primitive | Array | Nullable | Record


def parse(schema: Json) -> Record:
    """Nodes of an .avsc value whose top is a record; raises SchemaError (`unsupported_schema`) with the path."""
    top = _parse(schema, "$", {}, "")
    if not isinstance(top, Record):
        raise _unsupported("the top of a schema must be a record", "$")
    return top


def full_name(name: str, namespace: str) -> str:
    """A name with its namespace, unless it has one (Avro specification, "Names")."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _parse(schema: Json, path: str, named: dict[str, Record | None], namespace: str) -> Node:
    if isinstance(schema, str):
        return _parse_name(schema, path, named, namespace)
    if isinstance(schema, list):
        if len(schema) != 2 or schema[0] != "null" or schema[1] == "null":
            raise _unsupported('a union must be ["null", T]', path)
        return Nullable(_parse(schema[1], path, named, namespace))
    if not isinstance(schema, Mapping) or "type" not in schema:
        raise _unsupported(f"{schema!r} is no Avro type", path)
    kind = schema["type"]
    if kind == "array":
        return Array(_parse(schema.get("items"), f"{path}[]", named, namespace))
    if kind == "record":
        return _parse_record(schema, path, named, namespace)
    if isinstance(kind, str) and kind in PRIMITIVES:
        return Primitive(kind, schema.get("logicalType"))
    raise _unsupported(f"type {kind!r} is not used in Headrace's schemas", path)


def _parse_name(name: str, path: str, named: dict[str, Record | None], namespace: str) -> Node:
    if name in PRIMITIVES:
        return Primitive(name)
    full = full_name(name, namespace)
    if full not in named:
        raise _unsupported(f"type {name!r} is not used in Headrace's schemas", path)
    record = named[full]
    if record is None:
        raise _unsupported(f"record {name!r} holds itself", path)
    return record


def _parse_record(schema: Mapping[str, Json], path: str, named: dict[str, Record | None], outer: str) -> Record:
    name, fields = schema.get("name"), schema.get("fields")
    if not isinstance(name, str) or not isinstance(fields, list):
        raise _unsupported("a record needs a name and fields", path)
    full = full_name(name, schema.get("namespace", outer))
    namespace = full.rpartition(".")[0]
    named[full] = None
    record = Record(
        full,
        tuple(_parse_field(entry, path, named, namespace) for entry in fields),
        schema.get("doc", ""),
        tuple(full_name(alias, namespace) for alias in schema.get("aliases", ())),
    )
    named[full] = record
    return record


def _parse_field(entry: Json, path: str, named: dict[str, Record | None], namespace: str) -> Field:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise _unsupported(f"{entry!r} is no field", path)
    name, default = entry["name"], entry.get("default", MISSING)
    node = _parse(entry.get("type"), f"{path}.{name}", named, namespace)
    if default is not MISSING and not fits(node, default):
        raise _unsupported(f"default {default!r} does not fit the field's (first) type", f"{path}.{name}")
    return Field(name, node, default, entry.get("doc", ""), tuple(entry.get("aliases", ())))


def fits(node: Node, default: Json) -> bool:
    """Whether a field of this type may have this default: that of a union fits its first branch, null."""
    match node:
        case Nullable():
            return default is None
        case Array(items=items):
            return isinstance(default, list) and all(fits(items, item) for item in default)
        case Record(fields=fields):
            names = {field.name for field in fields}
            return (
                isinstance(default, dict) and default.keys() <= names and all(_has_default(f, default) for f in fields)
            )
        case Primitive(name=name):
            return _DEFAULT_FITS[name](default)


def _has_default(field: Field, default: Mapping[str, Json]) -> bool:
    return fits(field.type, default[field.name]) if field.name in default else field.default is not MISSING


def _is_integer(bits: int) -> Callable[[Json], bool]:
    return lambda value: type(value) is int and -(1 << bits) <= value < 1 << bits


_DEFAULT_FITS: dict[str, Callable[[Json], bool]] = {
    "boolean": lambda value: type(value) is bool,
    "int": _is_integer(31),
    "long": _is_integer(63),
    "float": lambda value: type(value) in (int, float),
    "double": lambda value: type(value) in (int, float),
    "bytes": lambda value: type(value) is str and all(ord(character) < 256 for character in value),
    "string": lambda value: type(value) is str,
}


def _unsupported(message: str, path: str) -> SchemaError:
    return SchemaError(
        message, code="unsupported_schema", place=path, fix="use records, arrays, null | T and primitive types"
    )
