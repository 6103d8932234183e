"""camelCase and snake_case: both are read, one is worked with, and the writer gives back what came.

A grammar says at which places of a body a key is Google's and not the user's: a `Node` has a body's known keys, in
camelCase, and the node of each key's value. A node speaks of an object, or of the objects in a list.

The spelling found is a list of paths such as ``contents.parts.functionCall``: at this path every key was spelled with
underscores. Where spellings were mixed, the path has list indices (``contents.2.parts.0.functionCall``) and speaks of
one place.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from headrace.json_text import Json

_CAPITAL = re.compile(r"[A-Z]")

#: Where ``wire`` of a record keeps the paths.
SPELLED = "snake"


def snake(camel: str) -> str:
    """camelCase -> snake_case, as proto-JSON spells the same key."""
    return _CAPITAL.sub(lambda capital: "_" + capital.group().lower(), camel)


#: Keys of an object that hold further keys, with their nodes.
Inner = tuple[tuple[str, "Node"], ...]
#: Sets of keys whose `Inner` a node remembers, of keys that it knows: real traffic has some dozens.
_MOST_INNER = 256


class Node:
    """The known keys of one wire object, and the nodes of their values."""

    __slots__ = ("_inner", "children", "long", "names", "underscored")

    def __init__(self, plain: str = "", /, **nested: Node) -> None:
        """plain: camelCase keys whose values hold no keys of Google's, separated by blanks."""
        self.names: dict[str, tuple[str, Node | None]] = {}
        for camel, child in {**dict.fromkeys(plain.split()), **nested}.items():
            self.names[camel] = (camel, child)
            self.names[snake(camel)] = (camel, child)
        #: Only in camelCase: where another spelling is met, the search for one is over.
        self.children = nested
        self.underscored = frozenset(name for name in self.names if "_" in name)
        #: The keys, in camelCase, that are spelled otherwise with underscores.
        self.long = frozenset(camel for name, (camel, _) in self.names.items() if "_" in name)
        self._inner: dict[tuple[str, ...], Inner] = {}

    def inner(self, keys: tuple[str, ...]) -> Inner | None:
        """What holds further keys under an object's keys; None where one of them has an underscore."""
        found = self._inner.get(keys)
        if found is None and self.underscored.isdisjoint(keys):
            found = tuple((key, self.children[key]) for key in keys if key in self.children)
            if self.names.keys() >= set(keys):
                if len(self._inner) >= _MOST_INNER:
                    self._inner.clear()
                self._inner[keys] = found
        return found


class _Tally:
    """How often a path was spelled each way."""

    def __init__(self) -> None:
        self.camel: defaultdict[str, int] = defaultdict(int)
        self.places: defaultdict[str, list[str]] = defaultdict(list)

    def paths(self) -> list[str]:
        found: list[str] = []
        for path, places in self.places.items():
            found += places if self.camel[path] else [path]
        return found


def to_camel(value: Json, node: Node) -> tuple[Json, list[str]]:
    """The value with known keys in camelCase, and the paths that were not. The value itself is never changed."""
    if type(value) is not dict or not _has_underscores(value, node):
        return value, []
    tally = _Tally()
    return _renamed(value, node, tally, "", ""), tally.paths()


def camelled(value: dict[str, Json], node: Node) -> dict[str, Json]:
    """As `to_camel`, for those who need not know how the keys were spelled."""
    return _camelled(value, node) if _has_underscores(value, node) else value


def _camelled(value: dict[str, Json], node: Node) -> dict[str, Json]:
    renamed: dict[str, Json] = {}
    for key, item in value.items():
        found = node.names.get(key)
        if found is None or (key != found[0] and found[0] in value):
            # See `_renamed`.
            renamed[key] = item
            continue
        child = found[1]
        if child is not None:
            if type(item) is dict:
                item = _camelled(item, child)
            elif type(item) is list:
                item = [_camelled(each, child) if type(each) is dict else each for each in item]
        renamed[found[0]] = item
    return renamed


def _has_underscores(value: dict[str, Json], node: Node) -> bool:
    """Whether any known key has an underscore. Every body is searched, so this is as tight as it can be."""
    inner = node.inner(tuple(value))
    if inner is None:
        return True
    for key, child in inner:
        item = value[key]
        if type(item) is dict:
            if _has_underscores(item, child):
                return True
        elif type(item) is list:
            for element in item:
                if type(element) is dict and _has_underscores(element, child):
                    return True
    return False


def _renamed(value: Json, node: Node, tally: _Tally, path: str, place: str) -> Json:
    if type(value) is list:
        return [
            _renamed(item, node, tally, path, f"{place}{index}.") if type(item) is dict else item
            for index, item in enumerate(value)
        ]
    if type(value) is not dict:
        return value
    renamed: dict[str, Json] = {}
    for key, item in value.items():
        camel, child = node.names.get(key, (None, None))
        if camel is None or (key != camel and camel in value):
            # Nobody's key, or the same key twice: the second spelling stays an unknown field.
            renamed[key] = item
            continue
        if key != camel:
            tally.places[path + camel].append(place + camel)
        elif camel in node.long:
            tally.camel[path + camel] += 1
        renamed[camel] = item if child is None else _renamed(item, child, tally, f"{path}{camel}.", f"{place}{camel}.")
    return renamed


def to_spelled(body: dict[str, Json], paths: Iterable[str]) -> None:
    """Give keys at these paths their underscores back, in place. Deep paths first: a parent's new name hides them."""
    for steps in sorted((path.split(".") for path in paths), key=_depth, reverse=True):
        _respell(body, steps)


def _depth(steps: Sequence[str]) -> int:
    return sum(not step.isdigit() for step in steps)


def _respell(value: Json, steps: Sequence[str]) -> None:
    if type(value) is list:
        if steps[0].isdigit():
            if int(steps[0]) < len(value):
                _respell(value[int(steps[0])], steps[1:])
        else:
            for item in value:
                if type(item) is dict:
                    _respell(item, steps)
    elif type(value) is dict and steps[0] in value:
        if len(steps) > 1:
            _respell(value[steps[0]], steps[1:])
        elif snake(steps[0]) not in value:
            value[snake(steps[0])] = value.pop(steps[0])
