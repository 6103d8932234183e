"""Functions made for the keys of an object read as the walk of its table does, for every table of every protocol."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import protocols
from headrace.canonical.fields import LONG, NAME, OBJECT, ONE_TEXT, TEXTS, Const, Field, Leftover, Other, Table
from headrace.canonical.table_reader import MOST_COMPILED, MOST_MET, Node

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


def _read(node: Node, table: Table, body: dict[str, Any], filled: str) -> tuple[Any, ...]:
    shape: dict[str, Any] = {}
    if filled:
        parent, _, leaf = filled.rpartition(".")
        (shape.setdefault(parent, {}) if parent else shape)[leaf] = "there before"
    left = Leftover()
    node.read(body, shape, left, left.extras)
    ordered = [list(left.extras.items()), list(left.wire.items()), list(left.others.items())]
    return shape, str(ordered)


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_a_function_reads_as_the_walk_does(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    body = data.draw(_values(table.tree))
    skip = frozenset(data.draw(st.sets(st.sampled_from(sorted(table.paths)), max_size=2)))
    names = ["", *(entry.name for entry in table.fields if entry.name.count(".") < 2)]
    filled = data.draw(st.sampled_from(names)) if data.draw(st.booleans()) else ""
    walking, compiling = (table.node(skip, walks) for walks in (1 << 60, 1))
    expected = _read(walking, table, body, filled)
    for _ in range(3):
        assert _read(compiling, table, body, filled) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"n": {"i": 1}, "h": 2},
        {"n": {"c": "nested"}, "a": "flat"},
        {"n": {"d": None}, "b": "alias"},
        {"b": "second", "a": "first"},
        {"m": {"k": {"l": 1}, "j": 2}, "n": {"i": 3}},
    ],
)
def test_what_is_gathered_has_the_order_of_the_wire(body: dict[str, Any]) -> None:
    walking, compiling = (OWN.node(frozenset(), walks) for walks in (1 << 60, 1))
    for _ in range(2):
        assert _read(compiling, OWN, body, "") == _read(walking, OWN, body, "")


def test_functions_are_made_and_are_used() -> None:
    table = Table(Field("id", "id"), Field("inner.name", "call.name"))
    node = table.node(frozenset(), walks=2)
    body = {"id": "i", "inner": {"name": "n"}}
    sources = []
    for _ in range(3):
        assert _read(node, table, body, "")[0] == {"id": "i", "call": {"name": "n"}}
        sources.append(node.source(("id", "inner")))
    assert [bool(source) for source in sources] == [False, True, True]
    assert "body['inner']" in sources[-1]


@pytest.mark.parametrize("walks", [1, 1 << 60])
def test_keys_that_are_made_up_do_not_pile_up(walks: int) -> None:
    table = Table(*(Field(f"k{number}", f"n{number}") for number in range(12)))
    node = table.node(frozenset(), walks=walks)
    for number in range(1, 1 << 12):
        body = {f"k{bit}": "x" for bit in range(12) if number >> bit & 1}
        assert len(_read(node, table, body, "")[0]) == number.bit_count()
        _read(node, table, {f"unknown {number}": 1}, "")
        kept = node.kept()
        assert kept[0] <= MOST_MET
        assert kept[1] <= MOST_COMPILED
    assert max(node.kept()) > 0
