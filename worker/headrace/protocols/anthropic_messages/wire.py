"""Small rules that every table of this protocol shares: kinds of fields, and continuation fields."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.canonical.fields import Kind
from headrace.json_text import Json

#: For booleans that the wire words the other way round.
NEGATED = Kind(lambda value: type(value) is bool, lambda value: not value, lambda value: not value)


def renamed(names: Mapping[str, str]) -> Kind:
    """A kind of field whose values have other names in the canonical shape; other values do not fit."""
    back = {shape: wire for wire, shape in names.items()}
    return Kind(
        lambda value: type(value) is str and value in names, names.__getitem__, lambda name: back.get(name, name)
    )


#: Paths as named, with their steps; made once by `paths`.
Paths = tuple[tuple[str, tuple[str, ...]], ...]


def paths(*names: str) -> Paths:
    """Paths to look for with `present`: ``a.b`` steps into objects, ``a[].b`` into the elements of a list."""
    return tuple((name, tuple(name.split("."))) for name in names)


def present(body: Json, wanted: Paths) -> list[str]:
    """The names of those paths that hold a value."""
    return [name for name, steps in wanted if _holds(body, steps)]


def _holds(value: Json, steps: tuple[str, ...]) -> bool:
    if not steps:
        return value not in (None, "", [], {})
    if type(value) is not dict:
        return False
    name, rest = steps[0], steps[1:]
    if name.endswith("[]"):
        elements = value.get(name[:-2])
        return type(elements) is list and any(_holds(element, rest) for element in elements)
    return name in value and _holds(value[name], rest)
