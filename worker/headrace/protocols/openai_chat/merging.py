"""How the values that one field has in several chunks become the one value of the whole body.

Known fields have a rule each, by table: ``first``, ``last``, ``merged``. A field nobody knows keeps all it said:
objects are merged, lists joined, texts of a delta joined; of other values, one that is repeated counts once and
several become a list. Null never replaces a value.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.json_text import Json

Rule = Callable[[Json, Json], Json]


class Several:
    """The values of one field, in order, until the stream has ended."""

    __slots__ = ("values",)

    def __init__(self, values: list[Json]) -> None:
        self.values = values


class Merged:
    """The objects that are the values of one field, merged key by key, until the stream has ended."""

    __slots__ = ("fields",)

    def __init__(self, start: dict[str, Json]) -> None:
        self.fields = start.copy()

    def add(self, wire: dict[str, Json]) -> None:
        """Add one chunk's object."""
        for key, value in wire.items():
            put(self.fields, key, value, merged)

    def whole(self) -> dict[str, Json]:
        """The object as the whole body has it."""
        return {key: whole(value) for key, value in self.fields.items()}


def whole(value: Json) -> Json:
    """A value that may be `Merged`, as the whole body has it."""
    return value.whole() if isinstance(value, Merged) else value


def says_again(known: dict[str, Json] | None, wire: dict[str, Json], own: tuple[str, ...]) -> bool:
    """Whether an object is equal to one before it but for some keys. known: a copy of that, which takes them over."""
    if known is None:
        return False
    for key in own:
        if key in wire:
            known[key] = wire[key]
        elif key in known:
            del known[key]
    return known == wire


def first(before: Json, after: Json) -> Json:
    """The first value that says something stays."""
    return before or after


def last(before: Json, after: Json) -> Json:
    """The newest value holds."""
    return after


def merged(before: Json, after: Json) -> Json:
    """Objects are merged, key by key; else the newest value holds."""
    if type(after) is not dict:
        return after
    if type(before) is dict:
        before = Merged(before)
    if not isinstance(before, Merged):
        return after
    before.add(after)
    return before


def every(before: Json, after: Json) -> Json:
    """All values, for `settled`."""
    if isinstance(before, Several):
        before.values.append(after)
        return before
    if type(after) is dict and (type(before) is dict or isinstance(before, Merged)):
        return merged(before, after)
    return Several([whole(before), after])


def put(body: dict[str, Json], key: str, value: Json, rule: Rule) -> None:
    """Add one chunk's value of a field."""
    if key not in body or body[key] is None:
        body[key] = value
    elif value is not None:
        body[key] = rule(body[key], value)


def settled(body: dict[str, Json], *, texts: bool) -> dict[str, Json]:
    """The body with `Several` and `Merged` values made one. texts: texts are pieces of one text."""
    for key, value in body.items():
        if isinstance(value, Several):
            body[key] = _settle(value.values, texts)
        elif isinstance(value, Merged):
            body[key] = value.whole()
    return body


def _settle(values: list[Json], texts: bool) -> Json:
    if all(type(value) is list for value in values):
        return joined_lists(values)
    distinct: list[Json] = []
    for value in values:
        if not distinct or distinct[-1] != value:
            distinct.append(value)
    if len(distinct) == 1:
        return distinct[0]
    if texts and all(type(value) is str for value in values):
        return "".join(values)
    return distinct


def joined_lists(lists: list[Json]) -> list[Json]:
    """Lists in order; one that says all of the earlier ones again (and more) replaces them."""
    whole: list[Json] = []
    for elements in lists:
        if whole and len(elements) >= len(whole) and elements[: len(whole)] == whole:
            whole = list(elements)
        else:
            whole.extend(elements)
    return whole
