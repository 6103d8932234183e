"""A small path language for reading JSON: where in a producer's message something stands.

    $                the value itself
    .name ['a.b']    a member; if there is none of that name, one that differs only in case (HTTP headers)
    [0] [-1]         an element
    [key=name]       the first object of a list whose member "key" is "name", in any case
    [*]              every element (only in ``find_all``)

A string on the way that is itself JSON is read through: log entries like to hold bodies as escaped text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from headrace.errors import FramingError, SettingsError
from headrace.json_text import Json, loads

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_@][\w@-]*)|\[(?:(?P<quote>['"])(?P<quoted>.+?)(?P=quote)|(?P<index>-?\d+)|(?P<all>\*)"""
    r"""|(?P<key>[\w.@-]+)=(?P<value>[^\]]+))\]"""
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path. kind: "name", "index", "match" or "all"."""

    kind: str
    name: str = ""
    index: int = 0
    value: str = ""


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path; raises SettingsError (`bad_path`) with the place in the text."""
    if not text.startswith("$"):
        raise _bad_path(text, 0)
    steps: list[Step] = []
    position = 1
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            raise _bad_path(text, position)
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"]:
        return Step("index", index=int(found["index"]))
    if found["all"]:
        return Step("all")
    if found["key"]:
        return Step("match", name=found["key"], value=found["value"].strip("'\"").lower())
    return Step("name", name=found["name"] or found["quoted"])


def find(value: Json, path: str) -> Json:
    """What stands at a path; None when nothing does, or null."""
    for step in parse_path(path):
        value = _take(value, step)
        if value is None:
            return None
    return value


def find_all(value: Json, path: str) -> list[Json]:
    """Everything a path with ``[*]`` leads to; a list at its end counts as its elements."""
    found = [value]
    for step in parse_path(path):
        if step.kind == "all":
            found = [element for one in found for element in _elements(one)]
        else:
            found = [taken for one in found if (taken := _take(one, step)) is not None]
    if len(found) == 1 and isinstance(found[0], list):
        return found[0]
    return found


def _take(value: Json, step: Step) -> Json:
    value = read_through(value)
    if step.kind == "name" and isinstance(value, dict):
        if step.name in value:
            return value[step.name]
        lower = step.name.lower()
        return next((member for name, member in value.items() if name.lower() == lower), None)
    if step.kind == "index" and isinstance(value, list):
        return value[step.index] if -len(value) <= step.index < len(value) else None
    if step.kind == "match":
        return next((one for one in _elements(value) if _matches(one, step)), None)
    return None


def _matches(element: Json, step: Step) -> bool:
    return isinstance(element, dict) and str(element.get(step.name, "")).lower() == step.value


def _elements(value: Json) -> list[Json]:
    value = read_through(value)
    return value if isinstance(value, list) else []


def read_through(value: Json) -> Json:
    """The value, or what it says if it is JSON text of an object or array."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return loads(value)
        except FramingError:
            return value
    return value


def _bad_path(text: str, position: int) -> SettingsError:
    return SettingsError(
        f"not a path: {text!r}",
        code="bad_path",
        place=f"character {position + 1}",
        fix="write $.name, $['name'], $[0] or $[key=name] steps",
    )
