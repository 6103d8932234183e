"""Streamed arguments (Vertex): ``partialArgs`` fragments -> the ``args`` object.

A fragment sets the value at a path (``$.items[0].name``); a string may come in several fragments, each but the last
with ``willContinue``. What cannot be applied (a path that is no path, a value where an object is) is handed back and
kept raw: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from headrace.json_text import Json, dumps, loads

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^'\\]*)'\]|\[\"([^\"\\]*)\"\]", re.ASCII)
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_EMPTY_FRAGMENT = frozenset({"jsonPath", "willContinue"})


def parse_path(path: Json) -> list[str | int] | None:
    """``$.a[0].b`` -> ["a", 0, "b"]; None when it is no such path or the root itself."""
    if type(path) is not str or not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        name, index, single, double = step.groups()
        steps.append(int(index) if index is not None else next(x for x in (name, single, double) if x is not None))
        at = step.end()
    return steps or None


class PartialArgs:
    """The arguments of one call as they come."""

    def __init__(self) -> None:
        self._args: dict[str, Json] = {}
        self._started = False
        #: Strings still open or joined at the end: path -> (container, step, pieces).
        self._strings: dict[str, tuple[Any, str | int, list[str]]] = {}
        self._open: set[str] = set()

    def merge(self, args: dict[str, Json]) -> None:
        """Take arguments that came whole."""
        self._args.update(loads(dumps(args)))
        self._started = True

    def add(self, fragment: Json) -> bool:
        """Apply one fragment; False when it cannot be."""
        if type(fragment) is not dict:
            return False
        path: Json = fragment.get("jsonPath")
        if type(path) is str and path in self._open and self._continue(path, fragment):
            return True
        steps = parse_path(path)
        if steps is None:
            return False
        key = next((key for key in _VALUES if key in fragment), None)
        if key is None:
            return _EMPTY_FRAGMENT.issuperset(fragment)
        if len(fragment.keys() - _EMPTY_FRAGMENT) > 1:
            return False
        if key == "stringValue":
            return self._add_string(path, steps, fragment)
        self._open.discard(path)
        self._strings.pop(path, None)
        return self._set(steps, None if key == "nullValue" else fragment[key])

    def _continue(self, path: str, fragment: dict[str, Json]) -> bool:
        """Add to an open string, as most fragments do; False, with nothing done, for a fragment of another form."""
        text = fragment.get("stringValue")
        if type(text) is not str or len(fragment) != (3 if "willContinue" in fragment else 2):
            return False
        self._strings[path][2].append(text)
        if fragment.get("willContinue") is not True:
            self._open.discard(path)
        return True

    def _add_string(self, path: str, steps: list[str | int], fragment: Mapping[str, Json]) -> bool:
        text = fragment["stringValue"]
        if type(text) is not str:
            return False
        if path in self._open:
            self._strings[path][2].append(text)
        else:
            if not self._set(steps, text):
                return False
            container = self._walk(steps)
            self._strings[path] = (container, steps[-1], [text])
        (self._open.add if fragment.get("willContinue") is True else self._open.discard)(path)
        return True

    def _set(self, steps: list[str | int], value: Json) -> bool:
        container = self._walk(steps)
        last = steps[-1]
        if type(container) is dict and type(last) is str:
            container[last] = value
        elif type(container) is list and type(last) is int and last <= len(container):
            # Elements come in order: a place past the next one is no fragment of a growing list.
            container[last : last + 1] = [value]
        else:
            return False
        self._started = True
        return True

    def _walk(self, steps: list[str | int]) -> Any:
        """The container that the last step is in, made on the way; None where a step does not fit."""
        node: Any = self._args
        for step, following in pairwise(steps):
            empty: Json = [] if type(following) is int else {}
            if type(node) is dict and type(step) is str:
                node = node.setdefault(step, empty)
            elif type(node) is list and type(step) is int and step <= len(node):
                if step == len(node):
                    node.append(empty)
                node = node[step]
            else:
                return None
        return node

    def args(self) -> dict[str, Json] | None:
        """The arguments so far; None when no fragment brought any."""
        for container, step, pieces in self._strings.values():
            if len(pieces) > 1:
                container[step] = "".join(pieces)
        return self._args if self._started else None
