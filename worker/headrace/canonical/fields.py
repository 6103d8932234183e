"""Tables of fields: how one wire object maps to one canonical shape, as data.

A codec describes each wire object by a `Table`: wire path -> (canonical name, kind). `Table.read` moves every
value whose type fits into its named field; what the table does not know, or whose type does not fit, is kept
in ``extras``, nested as on the wire. Spelling that has no meaning (an explicit null, an absent constant, an
alias, an empty object) is kept in ``wire``. `Table.write` is the exact inverse: write(read(x)) == x.

Codecs pass keys with structure of their own (messages, content, tool calls) as ``skip`` and handle them.

``wire`` is JSON text of an object with these keys, each present only when needed:
    "null": [paths present with null]      "absent": [constants that were not there]
    "empty": [paths of empty objects]      "alias": {canonical name: wire path used}
    "empty_list": [paths of empty lists]   "also": [paths spelled in the field's second form]
    "absent" also names fields with a default that were not there
plus keys a codec adds for its own spellings (for instance "content": "string").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from headrace.canonical.entries import NO_DEFAULT, Const, Field, Leftover, Other, has_path, set_path
from headrace.canonical.kinds import (
    ARRAY,
    BOOL,
    DOUBLE,
    EPOCH,
    EPOCH_FLOAT,
    JSON,
    LONG,
    NAME,
    NUMBER_AS_TEXT,
    OBJECT,
    ONE_TEXT,
    TEXT,
    TEXTS,
    TIME_TEXT,
    Kind,
    is_text,
)
from headrace.canonical.table_reader import Node
from headrace.json_text import Json, dumps, loads

__all__ = [
    "ARRAY",
    "BOOL",
    "DOUBLE",
    "EPOCH",
    "EPOCH_FLOAT",
    "JSON",
    "LONG",
    "NAME",
    "NUMBER_AS_TEXT",
    "OBJECT",
    "ONE_TEXT",
    "TEXT",
    "TEXTS",
    "TIME_TEXT",
    "Const",
    "Field",
    "Kind",
    "Leftover",
    "Other",
    "Table",
    "is_text",
    "listed",
    "merge",
    "spelling",
]

#: Sets of skipped paths that a table is ready for; a codec has a few.
_MOST_ROOTS = 64


def listed(body: Mapping[str, Json], key: str, left: Leftover) -> list[Json]:
    """The elements under ``key``; what is no list with elements is noted in ``left``, and there are none."""
    if key not in body:
        return []
    value = body[key]
    if type(value) is list and value:
        return value
    if value is None:
        left.note("null", key)
    elif value == [] and type(value) is list:
        left.note("empty_list", key)
    else:
        left.extras[key] = value
    return []


def spelling(shape: Mapping[str, Any]) -> dict[str, Json]:
    """The ``wire`` object of a shape; {} where it has none."""
    text = shape.get("wire")
    return loads(text) if text else {}


class Table:
    """The fields of one wire object. Immutable; build once at import time."""

    def __init__(self, *entries: Field | Const | Other) -> None:
        self.fields = tuple(entry for entry in entries if isinstance(entry, Field))
        self.constants = tuple(entry for entry in entries if isinstance(entry, Const))
        self.others = tuple(entry for entry in entries if isinstance(entry, Other))
        self.defaults = tuple(entry for entry in self.fields if entry.default is not NO_DEFAULT)
        #: key -> entry, or the same of the object that nests there.
        self.tree: dict[str, Any] = {}
        for entry in entries:
            self._plant(entry)
        self._preferred: dict[str, str] = {}
        for entry in self.fields:
            self._preferred.setdefault(entry.name, entry.wire)
        #: What reads an object, by what is skipped in it.
        self._roots: dict[Collection[str], Node] = {}

    def _plant(self, entry: Field | Const | Other) -> None:
        *parents, leaf = entry.wire.split(".")
        node = self.tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = entry

    @property
    def paths(self) -> frozenset[str]:
        """All wire paths the table names."""
        entries: list[Field | Const | Other] = [*self.fields, *self.constants, *self.others]
        return frozenset(entry.wire for entry in entries)

    def read(self, body: Mapping[str, Json], shape: Any, skip: Collection[str] = ()) -> Leftover:
        """Move the object's values into ``shape``; returns the rest. Never raises on any JSON object.

        skip: dotted wire paths that the codec handles itself; a tuple or frozenset.
        """
        root = self._roots.get(skip)
        if root is None:
            root = self._root(skip)
        left = Leftover()
        root.read(body if isinstance(body, dict) else dict(body), shape, left, left.extras)
        if left.others:
            for name, gathered in left.others.items():
                set_path(shape, name, dumps(gathered))
        return left

    def _root(self, skip: Collection[str]) -> Node:
        if len(self._roots) >= _MOST_ROOTS:
            self._roots.clear()
        expected: tuple[Field | Const, ...] = (*self.constants, *self.defaults)
        paths = tuple(entry.wire for entry in expected)
        root = self._roots[skip] = Node(self.tree, self._preferred, frozenset(skip), paths)
        return root

    def write(self, shape: Mapping[str, Any], spelled: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The wire object of a shape: named fields, constants, nulls, then extras over all of it."""
        wire = spelling(shape) if spelled is None else spelled
        body: dict[str, Json] = {}
        absent = wire.get("absent", ())
        for constant in self.constants:
            if constant.wire not in absent:
                set_path(body, constant.wire, constant.value)
        aliases = wire.get("alias", {})
        also = wire.get("also", ())
        for entry in self.fields:
            if aliases.get(entry.name, self._preferred[entry.name]) != entry.wire:
                continue
            value = _get_path(shape, entry.name)
            if value is not None and value != [] and not (value == "" and entry.kind is NAME):
                kind = entry.also if entry.also is not None and entry.wire in also else entry.kind
                set_path(body, entry.wire, kind.to_wire(value) if kind.to_wire else value)
        self._write_others(shape, body)
        for entry in self.defaults:
            if entry.wire not in absent and not has_path(body, entry.wire):
                set_path(body, entry.wire, deepcopy(entry.default))
        for path in wire.get("empty", ()):
            set_path(body, path, {})
        for path in wire.get("empty_list", ()):
            set_path(body, path, [])
        for path in wire.get("null", ()):
            set_path(body, path, None)
        text = shape.get("extras")
        if text:
            merge(body, loads(text))
        return body

    def _write_others(self, shape: Mapping[str, Any], body: dict[str, Json]) -> None:
        gathered: dict[str, Json] = {}
        for entry in self.others:
            if entry.name not in gathered:
                text = _get_path(shape, entry.name)
                gathered[entry.name] = loads(text) if text else {}
            if has_path(gathered[entry.name], entry.wire):
                set_path(body, entry.wire, _get_path(gathered[entry.name], entry.wire))


def merge(body: dict[str, Json], extras: Mapping[str, Json]) -> None:
    """Lay ``extras`` over ``body``, object by object; any other value replaces."""
    for key, value in extras.items():
        present = body.get(key)
        if type(present) is dict and type(value) is dict:
            merge(present, value)
        else:
            body[key] = value


def _get_path(shape: Mapping[str, Any], path: str) -> Any:
    value: Any = shape
    for name in path.split("."):
        if value is None:
            return None
        value = value.get(name)
    return value
