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


def first(before: Json, after: Json) -> Json:
    """The first value that says something stays."""
    return before or after


def last(before: Json, after: Json) -> Json:
    """The newest value holds."""
    return after


def merged(before: Json, after: Json) -> Json:
    """Objects are merged, key by key; else the newest value holds."""
    if type(before) is not dict or type(after) is not dict:
        return after
    whole = dict(before)
    for key, value in after.items():
        if key not in whole or whole[key] is None:
            whole[key] = value
        elif value is not None:
            whole[key] = merged(whole[key], value)
    return whole


def every(before: Json, after: Json) -> Json:
    """All values, for `settled`."""
    if isinstance(before, Several):
        before.values.append(after)
        return before
    if type(before) is dict and type(after) is dict:
        return merged(before, after)
    return Several([before, after])


def put(body: dict[str, Json], key: str, value: Json, rule: Rule) -> None:
    """Add one chunk's value of a field."""
    if key not in body or body[key] is None:
        body[key] = value
    elif value is not None:
        body[key] = rule(body[key], value)


def settled(body: dict[str, Json], *, texts: bool) -> dict[str, Json]:
    """The body with `Several` values made one. texts: texts are pieces of one text."""
    for key, value in body.items():
        if isinstance(value, Several):
            body[key] = _settle(value.values, texts)
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
