"""Are the schemas fit to be a contract: by Headrace's own rules, and with every version released before.

FULL_TRANSITIVE: every version of a schema reads what every other version wrote, and the other way round, by
the resolution rules of the Avro specification. Released versions stay in ``<folder>/released/<name>/<version>.avsc``
and never change. Nothing here does IO but reading that folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.canonical.schema_tree import MISSING, Array, Field, Node, Nullable, Primitive, Record, parse
from headrace.errors import HeadraceError, SchemaError
from headrace.json_text import loads

#: Writer type -> types that a reader may have instead ("Schema Resolution").
PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a schema.

    name: of the schema. version: the released version it does not go with; "" for a fault of its own.
    path: where in the schema, as ``$.messages[].role``. reason: what is wrong.
    """

    name: str
    version: str
    path: str
    reason: str


def check_schemas(folder: Path) -> list[Problem]:
    """All problems of the schemas in a folder (``*.avsc``), sorted by name; [] when it can be released."""
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.avsc")):
        problems += _check_schema(path.stem, path, sorted((folder / "released" / path.stem).glob("*.avsc")))
    problems += _withdrawn(folder)
    problems += _ambiguous(folder)
    return problems


def _check_schema(name: str, path: Path, released: list[Path]) -> Iterator[Problem]:
    current, fault = _load(path)
    if current is None:
        yield Problem(name, "", *fault)
        return
    for where, reason in faults(current):
        yield Problem(name, "", where, reason)
    for release in released:
        version = release.stem
        old, fault = _load(release)
        if old is None:
            yield Problem(name, version, *fault)
            continue
        for where, reason in incompatibilities(reader=current, writer=old):
            yield Problem(name, version, where, f"the new schema cannot read {version}: {reason}")
        for where, reason in incompatibilities(reader=old, writer=current):
            yield Problem(name, version, where, f"{version} cannot read the new schema: {reason}")


def _withdrawn(folder: Path) -> Iterator[Problem]:
    """Released schemas that are gone: their readers would be left without a writer."""
    for released in sorted((folder / "released").glob("*")):
        if released.is_dir() and not (folder / f"{released.name}.avsc").exists():
            versions = ", ".join(sorted(path.stem for path in released.glob("*.avsc")))
            yield Problem(released.name, versions, "$", "the schema was released and is gone")


def _ambiguous(folder: Path) -> Iterator[Problem]:
    """Records of one name that two schemas define differently: readers that know both could not tell them apart."""
    seen: dict[str, tuple[Record, str]] = {}
    for path in sorted(folder.glob("*.avsc")):
        tree, _ = _load(path)
        for where, record in _records(tree) if tree else ():
            first, owner = seen.setdefault(record.name, (record, path.name))
            if first != record:
                yield Problem(path.stem, "", where, f"{record.name} is defined otherwise in {owner}")


def _records(node: Node, path: str = "$") -> Iterator[tuple[str, Record]]:
    match node:
        case Nullable(of=inner):
            yield from _records(inner, path)
        case Array(items=items):
            yield from _records(items, f"{path}[]")
        case Record(fields=fields):
            yield path, node
            for field in fields:
                yield from _records(field.type, f"{path}.{field.name}")


def _load(path: Path) -> tuple[Record | None, tuple[str, str]]:
    """The schema's tree, or None with the place and the reason of what cannot be read."""
    try:
        return parse(loads(path.read_bytes())), ("", "")
    except SchemaError as error:
        return None, (error.place, error.message)
    except HeadraceError as error:
        return None, ("$", str(error))


def faults(node: Node, path: str = "$") -> Iterator[tuple[str, str]]:
    """(path, reason) of every breach of the rules that a parsed schema can still have."""
    match node:
        case Primitive(name=name, logical=logical):
            if name in ("int", "float"):
                yield path, f"{name} is too narrow: use {'long' if name == 'int' else 'double'}"
            if logical not in (None, "timestamp-micros"):
                yield path, f"logical type {logical} is not timestamp-micros"
        case Nullable(of=inner):
            yield from faults(inner, path)
        case Array(items=items):
            if isinstance(items, Nullable | Array):
                yield path, "items of an array must be records or primitive types"
            yield from faults(items, f"{path}[]")
        case Record(fields=fields, doc=doc):
            if not doc:
                yield path, "the record has no doc"
            for field in fields:
                yield from _field_faults(field, f"{path}.{field.name}")


def _field_faults(field: Field, path: str) -> Iterator[tuple[str, str]]:
    if not field.doc:
        yield path, "the field has no doc"
    if field.default is MISSING:
        yield path, "the field has no default"
    yield from faults(field.type, path)


def incompatibilities(reader: Node, writer: Node, path: str = "$") -> Iterator[tuple[str, str]]:
    """(path, reason) of everything that keeps the reader's schema from reading what the writer's schema wrote."""
    match reader, writer:
        case Nullable(of=read), Nullable(of=written):
            yield from incompatibilities(read, written, path)
        case Nullable(of=read), _:
            yield from incompatibilities(read, writer, path)
        case _, Nullable():
            yield path, "the writer may write null, the reader knows no null"
        case Array(items=read), Array(items=written):
            yield from incompatibilities(read, written, f"{path}[]")
        case Record(), Record():
            yield from _record_incompatibilities(reader, writer, path)
        case Primitive(), Primitive():
            yield from _primitive_incompatibilities(reader, writer, path)
        case _:
            yield path, f"the writer has {_kind(writer)}, the reader {_kind(reader)}"


def _record_incompatibilities(reader: Record, writer: Record, path: str) -> Iterator[tuple[str, str]]:
    if writer.name != reader.name and writer.name not in reader.aliases:
        yield path, f"the writer's record is {writer.name}, the reader's {reader.name} without such an alias"
        return
    written = {field.name: field for field in writer.fields}
    for field in reader.fields:
        where = f"{path}.{field.name}"
        match = next((written[name] for name in (field.name, *field.aliases) if name in written), None)
        if match is not None:
            yield from incompatibilities(field.type, match.type, where)
        elif field.default is MISSING:
            yield where, "the writer has no such field and the reader no default"


def _primitive_incompatibilities(reader: Primitive, writer: Primitive, path: str) -> Iterator[tuple[str, str]]:
    if reader.name != writer.name and reader.name not in PROMOTIONS.get(writer.name, ()):
        yield path, f"{writer.name} cannot be read as {reader.name}"
    elif reader.logical != writer.logical:
        yield path, f"logical type {writer.logical} cannot be read as {reader.logical}"


def _kind(node: Node) -> str:
    return node.name if isinstance(node, Primitive | Record) else "an array"
