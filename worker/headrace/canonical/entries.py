"""What a table of fields is made of, and what reading by it leaves over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.canonical.kinds import TEXT, Kind
from headrace.json_text import Json, dumps

#: Of a field that the wire may leave out.
NO_DEFAULT: Final = object()


@dataclass(frozen=True, slots=True)
class Field:
    """One named field: dotted wire path, dotted canonical path, kind.

    Several fields may share a canonical name (aliases): the first of them that the wire has fills it, the
    others stay in extras; ``wire`` remembers which one it was when it was not the first of the table.
    also: a second form the wire uses for the same meaning (a code as number, one stop string instead of a list).
    default: what the wire has where the canonical field is empty, for fields that the wire always has. A record that
    another protocol's reader made is then written whole; where the wire really lacked the field, ``wire`` says so.
    """

    wire: str
    name: str
    kind: Kind = TEXT
    also: Kind | None = None
    default: Json = NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Const:
    """A key that always holds one value (``object``, ``type``): absent or different is spelling."""

    wire: str
    value: Json


@dataclass(frozen=True, slots=True)
class Other:
    """A known key without a field of its own. All of one name become one JSON object, nested as on the wire.

    For ``parameters.other``, ``usage.detail``, ``data`` and the like. Any value fits, null and empty included.
    """

    wire: str
    name: str


class Leftover:
    """What one object did not fit into named fields, and how it was spelled."""

    __slots__ = ("extras", "others", "wire")

    def __init__(self, wire: dict[str, Json] | None = None) -> None:
        self.extras: dict[str, Json] = {}
        self.wire: dict[str, Json] = {} if wire is None else wire
        self.others: dict[str, dict[str, Json]] = {}

    def note(self, key: str, path: str) -> None:
        """Add a path to a list of spellings ("null", "absent", "empty")."""
        self.wire.setdefault(key, []).append(path)

    def store(self, shape: Any) -> None:
        """Write ``extras`` and ``wire`` of a shape as JSON text, where there is any."""
        if self.extras:
            shape["extras"] = dumps(self.extras)
        if self.wire:
            shape["wire"] = dumps(self.wire)


def set_path(body: dict[str, Json], path: str, value: Json) -> None:
    """Put a value at a dotted path, with the objects above it."""
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value


def has_path(body: Mapping[str, Json], path: str) -> bool:
    """Whether there is a value at a dotted path."""
    return has_names(body, path.split("."))


def has_names(body: Json, names: list[str]) -> bool:
    """`has_path` of a path that is split already."""
    value = body
    for name in names:
        if type(value) is not dict or name not in value:
            return False
        value = value[name]
    return True
