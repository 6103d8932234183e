"""Hypothesis strategies that make sparse shapes out of an Avro schema, and the same walk for other tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headrace.canonical.schema_tree import Array, Field, Node, Nullable, Primitive, Record

_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    "bytes": st.binary(max_size=200),
    "boolean": st.booleans(),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False) | st.integers(-(1 << 53), 1 << 53),
}


def shapes(record: Record) -> st.SearchStrategy[dict[str, Any]]:
    """Sparse shapes of a record in its normal form: no null, no empty list, every field that cannot be null."""
    required = [field for field in record.fields if not isinstance(field.type, Nullable | Array)]
    optional = [field for field in record.fields if isinstance(field.type, Nullable | Array)]
    return st.builds(
        lambda chosen, order: dict(sorted(chosen.items(), key=lambda item: hash((order, item[0])))),
        st.tuples(_some(required, all_of_them=True), _some(optional, all_of_them=False)).map(
            lambda two: two[0] | two[1]
        ),
        st.integers(0, 3),
    )


def values(node: Node) -> st.SearchStrategy[Any]:
    """Values of a type, never null and never an empty list."""
    match node:
        case Primitive(name=name):
            return _PRIMITIVES[name]
        case Nullable(of=inner):
            return values(inner)
        case Array(items=items):
            return st.lists(values(items), min_size=1, max_size=3)
        case Record():
            return st.deferred(lambda: shapes(node))


def _some(fields: list[Field], *, all_of_them: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of all of the fields, or of a few of them."""
    by_name = {field.name: values(field.type) for field in fields}
    if all_of_them:
        return st.fixed_dictionaries(by_name)
    if not by_name:
        return st.just({})
    few = st.lists(st.sampled_from(sorted(by_name)), max_size=6, unique=True)
    return few.flatmap(lambda names: st.fixed_dictionaries({name: by_name[name] for name in names}))
