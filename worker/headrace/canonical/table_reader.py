"""Reading one wire object by its table, key by key.

Each key of a table has a slot, made once with all that is known of the key: its path, its canonical place, what fits.
An object is read by handing each value to the slot of its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.canonical.entries import Const, Field, Leftover, Other, has_names, set_path
from headrace.canonical.kinds import BOOL, NAME, OBJECT, TEXT, Kind, is_text
from headrace.json_text import Json


class Slot:
    """Takes the values of one key. As it is: of a key that is left to the codec. path: with those above it."""

    def __init__(self, key: str, path: str) -> None:
        self._key: Final = key
        self._path: Final = path

    def take(self, value: Json, shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        """Move a value to ``shape``, or to ``extras`` when it does not fit."""


class _OtherSlot(Slot):
    """A key that is gathered with others."""

    def __init__(self, key: str, path: str, entry: Other) -> None:
        super().__init__(key, path)
        self._entry: Final = entry

    def take(self, value: Json, shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        set_path(left.others.setdefault(self._entry.name, {}), self._entry.wire, value)


class _ConstSlot(Slot):
    """A key that always holds one value."""

    def __init__(self, key: str, path: str, constant: Json) -> None:
        super().__init__(key, path)
        self._constant: Final = constant

    def take(self, value: Json, shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        if value is None:
            left.note("null", self._path)
        elif value != self._constant or type(value) is not type(self._constant):
            extras[self._key] = value


class _FieldSlot(Slot):
    """A named field, of any kind. preferred: the wire path that fills it as a rule."""

    def __init__(self, key: str, path: str, entry: Field, preferred: str) -> None:
        super().__init__(key, path)
        *parents, leaf = entry.name.split(".")
        self._entry: Final = entry
        self._kind: Final = entry.kind
        self._parents: Final = parents
        self._leaf: Final[str] = leaf
        self._is_alias: Final = preferred != entry.wire
        self._is_null_default: Final = entry.default is None

    def fits(self, value: Json) -> bool:
        """Whether the field's kind has such values."""
        return self._kind.fits(value)

    def take(self, value: Json, shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        if value is None:
            if not self._is_null_default:
                left.note("null", self._path)
        elif not (self._fill(self._kind, value, shape, left) if self.fits(value) else self._spell(value, shape, left)):
            extras[self._key] = value

    def _spell(self, value: Json, shape: dict[str, Any], left: Leftover) -> bool:
        """Take a value that is no such field's as a rule; False when it is none at all."""
        also = self._entry.also
        if also is not None and also.fits(value):
            if not self._fill(also, value, shape, left):
                return False
            left.note("also", self._path)
        elif value == {} and type(value) is dict:
            left.note("empty", self._path)
        elif value == [] and type(value) is list:
            left.note("empty_list", self._path)
        else:
            return False
        return True

    def _fill(self, kind: Kind, value: Json, shape: dict[str, Any], left: Leftover) -> bool:
        """Put one value in its field; False when an alias filled it before."""
        target = shape
        for parent in self._parents:
            target = target.setdefault(parent, {})
        if self._leaf in target:
            return False
        target[self._leaf] = kind.to_shape(value) if kind.to_shape is not None else value
        if self._is_alias:
            left.wire.setdefault("alias", {})[self._entry.name] = self._entry.wire
        return True


class _TextSlot(_FieldSlot):
    def fits(self, value: Json) -> bool:
        return is_text(value)


class _NameSlot(_FieldSlot):
    def fits(self, value: Json) -> bool:
        return is_text(value) and value != ""


class _BoolSlot(_FieldSlot):
    def fits(self, value: Json) -> bool:
        return value is True or value is False


class _ObjectSlot(_FieldSlot):
    def fits(self, value: Json) -> bool:
        return type(value) is dict and bool(value)


#: Kinds that nearly all fields have: their check needs no call of a function that is known at run time only.
_SLOTS: Final[dict[Kind, type[_FieldSlot]]] = {
    TEXT: _TextSlot,
    NAME: _NameSlot,
    BOOL: _BoolSlot,
    OBJECT: _ObjectSlot,
}


class Node(Slot):
    """Reads the objects at one place of a table: its top, or what nests there.

    tree: key -> entry, or the tree of a nested object. preferred: canonical name -> the wire path that fills it as a
    rule. skip: dotted paths left to the codec. expected: paths that the wire always has: where one lacks, ``wire`` says
    so. path: that of the place, "" for the top.
    """

    def __init__(
        self,
        tree: Mapping[str, Any],
        preferred: Mapping[str, str],
        skip: frozenset[str],
        expected: tuple[str, ...],
        key: str = "",
        path: str = "",
    ) -> None:
        super().__init__(key, path)
        self._expected: Final = [(each, each.split(".")) for each in expected]
        prefix = f"{path}." if path else ""
        self._slots: Final = {name: _slot(name, prefix + name, each, preferred, skip) for name, each in tree.items()}
        for skipped in skip:
            name = skipped.removeprefix(prefix)
            if skipped.startswith(prefix) and "." not in name:
                self._slots[name] = Slot(name, skipped)

    def read(self, body: dict[str, Json], shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        """Move values to ``shape``, and what does not fit to ``extras``."""
        slots = self._slots
        for key, value in body.items():
            slot = slots.get(key)
            if slot is None:
                extras[key] = value
            else:
                slot.take(value, shape, left, extras)
        for path, names in self._expected:
            if not has_names(body, names):
                left.note("absent", path)

    def take(self, value: Json, shape: dict[str, Any], left: Leftover, extras: dict[str, Json]) -> None:
        if value is None:
            left.note("null", self._path)
        elif type(value) is not dict:
            extras[self._key] = value
        elif not value:
            left.note("empty", self._path)
        else:
            nested: dict[str, Json] = {}
            self.read(value, shape, left, nested)
            if nested:
                extras[self._key] = nested


def _slot(key: str, path: str, entry: Any, preferred: Mapping[str, str], skip: frozenset[str]) -> Slot:
    if isinstance(entry, Other):
        return _OtherSlot(key, path, entry)
    if isinstance(entry, Const):
        return _ConstSlot(key, path, entry.value)
    if isinstance(entry, Field):
        return _SLOTS.get(entry.kind, _FieldSlot)(key, path, entry, preferred[entry.name])
    return Node(entry, preferred, skip, (), key, path)
