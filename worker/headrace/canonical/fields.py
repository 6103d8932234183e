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

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from headrace.json_text import Json, dumps, loads

_INT64 = 1 << 63


def _is_long(value: Json) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _is_double(value: Json) -> bool:
    # An integer past 2^53 has no exact double: it stays JSON.
    return type(value) is float or (type(value) is int and -(1 << 53) <= value <= (1 << 53))


def is_text(value: Json) -> bool:
    """Whether a value is a string that UTF-8 (and so Avro) can carry; a lone surrogate stays JSON, escaped."""
    if type(value) is not str:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_texts(value: Json) -> bool:
    return type(value) is list and bool(value) and all(is_text(item) for item in value)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of canonical field: what fits, and how it is carried both ways."""

    fits: Callable[[Json], bool]
    to_shape: Callable[[Json], Any] | None = None
    to_wire: Callable[[Any], Json] | None = None


#: Seconds since the epoch <-> timestamp-micros, when exact.
def _is_epoch_seconds(value: Json) -> bool:
    return _is_long(value) and 0 <= value < 1 << 40


def _is_epoch_float(value: Json) -> bool:
    return type(value) is float and 0 <= value < 1 << 33 and round(value * 1e6) / 1e6 == value


_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _micros_of(text: str) -> int:
    return (datetime.fromisoformat(text) - _UNIX_EPOCH) // _MICROSECOND


def _time_text(micros: int) -> str:
    """RFC 3339 in UTC with no, three or six digits of fraction: as few as hold the value."""
    moment = _UNIX_EPOCH + micros * _MICROSECOND
    timespec = "microseconds" if micros % 1000 else "milliseconds" if micros % 1_000_000 else "seconds"
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def _is_time_text(value: Json) -> bool:
    if type(value) is not str or not value.endswith("Z") or not value.isascii():
        return False
    try:
        return _time_text(_micros_of(value)) == value
    except (ValueError, OverflowError):
        return False


TEXT = Kind(is_text)
#: For canonical fields that are never null, where "" means absent (role, names, ids): "" on the wire stays JSON.
NAME = Kind(lambda value: is_text(value) and value != "")
LONG = Kind(_is_long)
DOUBLE = Kind(_is_double)
BOOL = Kind(lambda value: type(value) is bool)
TEXTS = Kind(_is_texts)
JSON = Kind(lambda value: True, dumps, loads)
OBJECT = Kind(lambda value: type(value) is dict and bool(value), dumps, loads)
ARRAY = Kind(lambda value: type(value) is list and bool(value), dumps, loads)
EPOCH = Kind(_is_epoch_seconds, lambda value: value * 1_000_000, lambda micros: micros // 1_000_000)
EPOCH_FLOAT = Kind(_is_epoch_float, lambda value: round(value * 1e6), lambda micros: micros / 1e6)
#: RFC 3339 text ("2026-05-15T18:52:17Z") <-> timestamp-micros, when it comes back as it was.
TIME_TEXT = Kind(_is_time_text, _micros_of, _time_text)
#: A number that stands as text in the canonical field (error codes come as both).
NUMBER_AS_TEXT = Kind(_is_long, str, int)
#: One text where the canonical field is a list.
ONE_TEXT = Kind(is_text, lambda value: [value], "".join)


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


@dataclass(slots=True)
class Leftover:
    """What one object did not fit into named fields, and how it was spelled."""

    extras: dict[str, Json] = field(default_factory=dict)
    wire: dict[str, Json] = field(default_factory=dict)
    others: dict[str, dict[str, Json]] = field(default_factory=dict)

    def note(self, key: str, path: str) -> None:
        """Add a path to a list of spellings ("null", "absent", "empty")."""
        self.wire.setdefault(key, []).append(path)

    def store(self, shape: Any) -> None:
        """Write ``extras`` and ``wire`` of a shape as JSON text, where there is any."""
        if self.extras:
            shape["extras"] = dumps(self.extras)
        if self.wire:
            shape["wire"] = dumps(self.wire)


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
        self._expected: tuple[Field | Const, ...] = (*self.constants, *self.defaults)
        self._tree: dict[str, Any] = {}
        for entry in entries:
            self._plant(entry)
        self._preferred: dict[str, str] = {}
        for entry in self.fields:
            self._preferred.setdefault(entry.name, entry.wire)

    def _plant(self, entry: Field | Const | Other) -> None:
        *parents, leaf = entry.wire.split(".")
        node = self._tree
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

        skip: dotted wire paths that the codec handles itself.
        """
        left = Leftover()
        self._read(body, shape, self._tree, "", left, left.extras, skip)
        for name, gathered in left.others.items():
            _set_path(shape, name, dumps(gathered))
        for entry in self._expected:
            if not _has_path(body, entry.wire):
                left.note("absent", entry.wire)
        return left

    def _read(
        self,
        body: Mapping[str, Json],
        shape: Any,
        tree: Mapping[str, Any],
        prefix: str,
        left: Leftover,
        extras: dict[str, Json],
        skip: Collection[str],
    ) -> None:
        for key, value in body.items():
            if skip and prefix + key in skip and "." not in key:
                continue
            entry = tree.get(key)
            if entry is None:
                extras[key] = value
            elif type(entry) is dict:
                self._read_nested(key, value, shape, entry, prefix, left, extras, skip)
            elif type(entry) is Other:
                _set_path(left.others.setdefault(entry.name, {}), entry.wire, value)
            elif value is None:
                if type(entry) is Const or entry.default is not None:
                    left.note("null", prefix + key)
            elif type(entry) is Const:
                if value != entry.value or type(value) is not type(entry.value):
                    extras[key] = value
            elif entry.kind.fits(value):
                if not self._fill(entry, entry.kind, value, shape, left):
                    extras[key] = value
            elif entry.also is not None and entry.also.fits(value):
                if self._fill(entry, entry.also, value, shape, left):
                    left.note("also", prefix + key)
                else:
                    extras[key] = value
            elif value == {} and type(value) is dict:
                left.note("empty", prefix + key)
            elif value == [] and type(value) is list:
                left.note("empty_list", prefix + key)
            else:
                extras[key] = value

    def _read_nested(
        self,
        key: str,
        value: Json,
        shape: Any,
        tree: Mapping[str, Any],
        prefix: str,
        left: Leftover,
        extras: dict[str, Json],
        skip: Collection[str],
    ) -> None:
        if value is None:
            left.note("null", prefix + key)
        elif type(value) is not dict:
            extras[key] = value
        elif not value:
            left.note("empty", prefix + key)
        else:
            nested: dict[str, Json] = {}
            self._read(value, shape, tree, f"{prefix}{key}.", left, nested, skip)
            if nested:
                extras[key] = nested

    def _fill(self, entry: Field, kind: Kind, value: Json, shape: Any, left: Leftover) -> bool:
        """Put one value in its field; False when an alias filled it before."""
        *parents, leaf = entry.name.split(".")
        target = shape
        for parent in parents:
            target = target.setdefault(parent, {})
        if leaf in target:
            return False
        target[leaf] = kind.to_shape(value) if kind.to_shape else value
        if self._preferred[entry.name] != entry.wire:
            left.wire.setdefault("alias", {})[entry.name] = entry.wire
        return True

    def write(self, shape: Mapping[str, Any], spelled: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The wire object of a shape: named fields, constants, nulls, then extras over all of it."""
        wire = spelling(shape) if spelled is None else spelled
        body: dict[str, Json] = {}
        absent = wire.get("absent", ())
        for constant in self.constants:
            if constant.wire not in absent:
                _set_path(body, constant.wire, constant.value)
        aliases = wire.get("alias", {})
        also = wire.get("also", ())
        for entry in self.fields:
            if aliases.get(entry.name, self._preferred[entry.name]) != entry.wire:
                continue
            value = _get_path(shape, entry.name)
            if value is not None and value != [] and not (value == "" and entry.kind is NAME):
                kind = entry.also if entry.also is not None and entry.wire in also else entry.kind
                _set_path(body, entry.wire, kind.to_wire(value) if kind.to_wire else value)
        self._write_others(shape, body)
        for entry in self.defaults:
            if entry.wire not in absent and not _has_path(body, entry.wire):
                _set_path(body, entry.wire, deepcopy(entry.default))
        for path in wire.get("empty", ()):
            _set_path(body, path, {})
        for path in wire.get("empty_list", ()):
            _set_path(body, path, [])
        for path in wire.get("null", ()):
            _set_path(body, path, None)
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
            if _has_path(gathered[entry.name], entry.wire):
                _set_path(body, entry.wire, _get_path(gathered[entry.name], entry.wire))


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


def _set_path(body: dict[str, Json], path: str, value: Json) -> None:
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value


def _has_path(body: Mapping[str, Json], path: str) -> bool:
    value: Json = body
    for name in path.split("."):
        if type(value) is not dict or name not in value:
            return False
        value = value[name]
    return True
