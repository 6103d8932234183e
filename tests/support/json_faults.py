"""JSON values with random faults: something dropped, replaced, repeated or put in, anywhere."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

#: Values of every JSON type, and those that parsers and Avro stumble over.
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -7,
    1 << 63,
    1 << 70,
    1.5,
    "",
    "x",
    "text",
    "{}",
    "\ud83d",
    "Grüße",
    [],
    {},
    [None],
    [[]],
    ["x"],
    [{}],
    {"type": "new"},
    {"type": None},
    {"type": "text", "text": "q"},
    {"a": {"b": []}},
)


@st.composite
def faulty(
    draw: st.DrawFn,
    originals: Sequence[Any],
    odd_values: Sequence[Any] = (),
    odd_keys: Sequence[str] = (),
    most: int = 3,
) -> Any:
    """One of the values with up to ``most`` faults; odd_values and odd_keys: what else may be put in."""
    value = copy.deepcopy(draw(st.sampled_from(originals)))
    odd = st.sampled_from([*ODD_VALUES, *odd_values])
    keys = st.sampled_from(["new", "type", "id", "wire", *odd_keys])
    for _ in range(draw(st.integers(1, most))):
        holders = _holders(value)
        if not holders:
            break
        _break(draw, draw(st.sampled_from(holders)), odd, keys)
    return value


def _holders(value: Any) -> list[Any]:
    """All objects and lists of a value, itself included."""
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(holder for one in inner for holder in _holders(one))]


def _break(draw: st.DrawFn, holder: Any, odd: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> None:
    action = draw(st.sampled_from(["drop", "replace", "repeat", "insert"]))
    if action == "insert" or not holder:
        _put(holder, draw(keys), draw(st.integers(0, len(holder))), draw(odd))
        return
    at = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    if action == "drop":
        del holder[at]
    elif action == "replace":
        holder[at] = copy.deepcopy(draw(odd))
    else:
        _put(holder, draw(keys), draw(st.integers(0, len(holder))), holder[at])


def _put(holder: Any, key: str, place: int, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = copy.deepcopy(value)
    else:
        holder.insert(place, copy.deepcopy(value))
