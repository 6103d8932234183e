"""Reading one wire object by its table.

Any object can be walked, key by key. Wire objects come with the same keys again and again, and nearly always with
values that fit; so for keys that came often, a function of its own is made (see `reader_source`) which checks and
moves exactly those. It declines, with nothing done, when any value does not fit. What comes out is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.canonical.entries import Const, Field, Leftover, Other, has_path, set_path
from headrace.canonical.kinds import Kind
from headrace.canonical.reader_source import Children, Read, compiled
from headrace.json_text import Json

#: Sets of keys counted for one object of a table, and functions kept for it; real traffic has a few.
MOST_MET = 256
MOST_COMPILED = 64
#: Making a function costs what it saves in about as many readings.
WALKS_BEFORE_COMPILING = 400


class Node:
    """Reads the objects at one place of a table: its top, or what nests there.

    tree: key -> entry, or the tree of a nested object. preferred: canonical name -> the wire path that fills it as a
    rule. skip: dotted paths left to the codec. expected: paths that the wire always has: where one lacks, ``wire`` says
    so. walks: how often keys come before they get a function. prefix: the path of the place, with a dot after it.
    """

    def __init__(
        self,
        tree: Mapping[str, Any],
        preferred: Mapping[str, str],
        skip: frozenset[str],
        expected: tuple[str, ...],
        walks: int,
        prefix: str = "",
    ) -> None:
        self._expected = expected
        self._walks = walks
        self._tree = tree
        self._prefix = prefix
        self._skipped = frozenset(path[len(prefix) :] for path in skip if path.startswith(prefix))
        self._preferred = preferred
        self._children: Children = {
            key: Node(held, preferred, skip, (), walks, f"{prefix}{key}.")
            for key, held in tree.items()
            if type(held) is dict
        }
        self._known = frozenset(tree) | {path for path in self._skipped if "." not in path}
        #: Keys in their order -> the function for objects with them. One that returns False leaves them to `walk`.
        self.readers: dict[tuple[str, ...], Read] = {}
        self._met: dict[tuple[str, ...], int] = {}

    def read(self, body: Mapping[str, Json], shape: Any, left: Leftover, extras: dict[str, Json]) -> None:
        """Move values to ``shape``, and what does not fit to ``extras``."""
        reader = self.readers.get(tuple(body))
        if reader is None or not reader(body, shape, left, extras):
            self.walk(body, shape, left, extras)

    def walk(self, body: Mapping[str, Json], shape: Any, left: Leftover, extras: dict[str, Json]) -> None:
        """`read`, key by key. Keys that come often get a function."""
        keys = tuple(body)
        if keys not in self.readers:
            self._meet(keys)
        self._walk(body, shape, left, extras)
        for path in self._expected:
            if not has_path(body, path):
                left.note("absent", path)

    def source(self, keys: tuple[str, ...]) -> str:
        """The source of the function for these keys; "" where there is none."""
        return getattr(self.readers.get(keys), "__doc__", None) or ""

    def kept(self) -> tuple[int, int]:
        """How many sets of keys are counted, and how many have a function."""
        return len(self._met), len(self.readers)

    def _meet(self, keys: tuple[str, ...]) -> None:
        """Count keys that the table knows, all of them; with any other key there is no end of them."""
        if not self._known.issuperset(keys):
            return
        met = self._met.get(keys, 0) + 1
        if met == self._walks:
            if len(self.readers) >= MOST_COMPILED:
                self.readers.clear()
            reader = self._compiled(keys)
            if reader is not None:
                self._met.pop(keys, None)
                self.readers[keys] = reader
                return
        if len(self._met) >= MOST_MET and keys not in self._met:
            self._met.clear()
        self._met[keys] = met

    def _compiled(self, keys: tuple[str, ...]) -> Read | None:
        tree = {key: self._tree[key] for key in keys if key not in self._skipped}
        missing = tuple(path for path in self._expected if "." in path or path not in keys)
        return compiled(tree, self._children, self._preferred, missing)

    def _walk(self, body: Mapping[str, Json], shape: Any, left: Leftover, extras: dict[str, Json]) -> None:
        skipped, prefix = self._skipped, self._prefix
        for key, value in body.items():
            if key in skipped and "." not in key:
                continue
            entry = self._tree.get(key)
            if entry is None:
                extras[key] = value
            elif type(entry) is dict:
                self._walk_nested(key, value, shape, left, extras)
            elif type(entry) is Other:
                set_path(left.others.setdefault(entry.name, {}), entry.wire, value)
            elif value is None:
                if type(entry) is Const or entry.default is not None:
                    left.note("null", prefix + key)
            elif type(entry) is Const:
                if value != entry.value or type(value) is not type(entry.value):
                    extras[key] = value
            elif not self._take(entry, key, value, shape, left):
                extras[key] = value

    def _take(self, entry: Field, key: str, value: Json, shape: Any, left: Leftover) -> bool:
        """Put a value where it belongs; False when it fits no field."""
        if entry.kind.fits(value):
            return self._fill(entry, entry.kind, value, shape, left)
        if entry.also is not None and entry.also.fits(value):
            if not self._fill(entry, entry.also, value, shape, left):
                return False
            left.note("also", self._prefix + key)
        elif value == {} and type(value) is dict:
            left.note("empty", self._prefix + key)
        elif value == [] and type(value) is list:
            left.note("empty_list", self._prefix + key)
        else:
            return False
        return True

    def _walk_nested(self, key: str, value: Json, shape: Any, left: Leftover, extras: dict[str, Json]) -> None:
        if value is None:
            left.note("null", self._prefix + key)
        elif type(value) is not dict:
            extras[key] = value
        elif not value:
            left.note("empty", self._prefix + key)
        else:
            nested: dict[str, Json] = {}
            self._children[key].read(value, shape, left, nested)
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
