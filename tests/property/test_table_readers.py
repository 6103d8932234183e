"""Reading by tables, for every table of every protocol and one where everything meets."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import protocols
from headrace.canonical.fields import LONG, NAME, OBJECT, ONE_TEXT, TEXTS, Const, Field, Other, Table

ODD = [None, True, 0, 1 << 70, -1.5, "", "text", "\ud800", [], {}, ["a"], [1], {"a": 1}, "2026-05-15T18:52:17Z"]


def _tables() -> Iterator[tuple[str, Table]]:
    """Each table of the protocols that a module names, alone or in a dict."""
    for found in pkgutil.walk_packages(protocols.__path__, "headrace.protocols."):
        for name, value in vars(importlib.import_module(found.name)).items():
            for key, held in value.items() if isinstance(value, dict) else [("", value)]:
                if isinstance(held, Table) and held.paths:
                    yield f"{found.name}.{name}.{key}", held


#: Everything that meets in one object: aliases, beside each other and nested, gathered keys, constants, defaults.
OWN = Table(
    Const("kind", "k"),
    Field("a", "inner.x"),
    Field("b", "inner.x"),
    Field("n.c", "inner.x"),
    Field("n.d", "inner.y", NAME),
    Field("e", "z", OBJECT, default={}),
    Field("f", "z", OBJECT),
    Field("g", "w", TEXTS, also=ONE_TEXT),
    Other("h", "rest"),
    Other("n.i", "rest"),
    Other("m.j", "rest"),
    Field("m.k.l", "v", LONG),
)
TABLES = {**dict(_tables()), **{f"own {number}": OWN for number in range(60)}}


def _values(tree: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(st.sampled_from(sorted(tree)), unique=True, max_size=5).flatmap(
        lambda keys: st.fixed_dictionaries({key: _value(tree[key]) for key in keys})
    )


def _value(entry: Any) -> st.SearchStrategy[Any]:
    """A value of any type, more often one that fits."""
    odd = st.sampled_from(ODD)
    if type(entry) is dict:
        return st.one_of(_values(entry), _values(entry), _values(entry), odd)
    if isinstance(entry, Const):
        return st.one_of(st.just(entry.value), st.just(entry.value), odd)
    fitting = [value for value in ODD if isinstance(entry, Field) and value is not None and entry.kind.fits(value)]
    return st.one_of(*[st.sampled_from(fitting)] * 5, odd) if fitting else odd


def _read(table: Table, body: dict[str, Any], skip: frozenset[str] = frozenset(), filled: str = "") -> tuple[Any, str]:
    """The shape, and what was left over, in its order."""
    shape: dict[str, Any] = {}
    if filled:
        parent, _, leaf = filled.rpartition(".")
        (shape.setdefault(parent, {}) if parent else shape)[leaf] = "there before"
    left = table.read(body, shape, skip)
    return shape, str([list(left.extras.items()), list(left.wire.items()), list(left.others.items())])


def _exactly(value: Any) -> str:
    """Text that tells 1 from True and from "1", whatever the order of keys; 0 and 0.0 are one number."""
    if isinstance(value, dict):
        return str(sorted((key, _exactly(each)) for key, each in value.items()))
    if isinstance(value, list):
        return str([_exactly(each) for each in value])
    return repr(value if value is None or isinstance(value, (bool, str)) else Fraction(value))


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_what_is_read_is_written_back_whatever_its_values(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    body = data.draw(_values(table.tree))
    shape: dict[str, Any] = {}
    table.read(body, shape).store(shape)
    assert _exactly(table.write(shape)) == _exactly(body)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_skipped_key_leaves_no_trace(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    body = data.draw(_values(table.tree))
    skip = frozenset(data.draw(st.sets(st.sampled_from(sorted(table.tree)), max_size=2)))
    rest = {key: value for key, value in body.items() if key not in skip}
    shape: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    left, without = table.read(body, shape, skip), table.read(rest, expected, skip)
    assert (shape, left.extras, left.others) == (expected, without.extras, without.others)
    spelled = {key: paths for key, paths in without.wire.items() if key != "absent"}
    assert {key: paths for key, paths in left.wire.items() if key != "absent"} == spelled


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_what_a_shape_holds_is_not_replaced(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(key for key, each in TABLES.items() if each.fields)))]
    body = data.draw(_values(table.tree))
    filled = data.draw(st.sampled_from([entry.name for entry in table.fields if entry.name.count(".") < 2]))
    shape: Any = _read(table, body, filled=filled)[0]
    for name in filled.split("."):
        shape = shape[name]
    assert shape == "there before"


@pytest.mark.parametrize(
    ("body", "shape", "left"),
    [
        ({"n": {"i": 1}, "h": 2}, {"rest": '{"n":{"i":1},"h":2}'}, [{}, {"absent": ["kind", "e"]}]),
        (
            {"n": {"c": "nested"}, "a": "flat"},
            {"inner": {"x": "nested"}},
            [{"a": "flat"}, {"alias": {"inner.x": "n.c"}, "absent": ["kind", "e"]}],
        ),
        (
            {"n": {"d": None}, "b": "alias"},
            {"inner": {"x": "alias"}},
            [{}, {"null": ["n.d"], "alias": {"inner.x": "b"}, "absent": ["kind", "e"]}],
        ),
        (
            {"b": "second", "a": "first"},
            {"inner": {"x": "second"}},
            [{"a": "first"}, {"alias": {"inner.x": "b"}, "absent": ["kind", "e"]}],
        ),
        (
            {"m": {"k": {"l": 1}, "j": 2}, "n": {"i": 3}, "kind": "k", "e": {}},
            {"v": 1, "rest": '{"m":{"j":2},"n":{"i":3}}'},
            [{}, {"empty": ["e"]}],
        ),
        (
            {"kind": "other", "g": "one", "n": {"d": "", "c": 5}, "m": {"k": {}}, "new": [1]},
            {"w": ["one"]},
            [
                {"kind": "other", "n": {"d": "", "c": 5}, "new": [1]},
                {"also": ["g"], "empty": ["m.k"], "absent": ["e"]},
            ],
        ),
    ],
)
def test_what_is_left_over_has_the_order_of_the_wire(
    body: dict[str, Any], shape: dict[str, Any], left: list[dict[str, Any]]
) -> None:
    for _ in range(2):
        read, ordered = _read(OWN, body)
        assert read == shape
        assert ordered.startswith(str([list(each.items()) for each in left])[:-1])
