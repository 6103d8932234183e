"""Sparse shapes: leaving out what is absent by default, putting what is there in schema order.

Both walk every record on its way out, so both are compiled once from the schema, as encoders are.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from headrace.canonical.schema_tree import MISSING, Array, Node, Nullable, Primitive, Record
from headrace.json_text import Json

Convert = Callable[[Any], Any]
#: (field, default, converter) of the fields that a shape with certain keys comes out with.
Plan = tuple[tuple[str, Any, Convert | None], ...]

#: Plans kept a record type; real traffic has some dozens.
MOST_PLANS = 1024


def pruner(node: Node) -> Convert | None:
    """Function that drops nulls and empty arrays from a decoded value; None where it holds none."""
    match node:
        case Primitive():
            return None
        case Nullable(of=inner):
            return pruner(inner)
        case Array(items=items):
            prune = pruner(items)
            return prune and (lambda values: [prune(value) for value in values])
        case Record(fields=fields):
            return _record_pruner({field.name: pruner(field.type) for field in fields})


def _record_pruner(pruners: Mapping[str, Convert | None]) -> Convert:
    structured = [(name, prune) for name, prune in pruners.items() if prune]

    def prune_record(full: dict[str, Any]) -> dict[str, Any]:
        shape = {name: value for name, value in full.items() if value is not None and value != []}
        for name, prune in structured:
            if name in shape:
                shape[name] = prune(shape[name])
        return shape

    return prune_record


def orderer(node: Node) -> Convert | None:
    """Function that gives a shape in schema order with its defaults, without nulls and empty arrays; None: as is."""
    match node:
        case Primitive():
            return None
        case Nullable(of=inner):
            return orderer(inner)
        case Array(items=items):
            return _array_orderer(orderer(items))
        case Record():
            return _record_orderer(node)


def _array_orderer(order: Convert | None) -> Convert:
    def order_array(values: Any) -> list[Any]:
        if type(values) is not list:
            raise TypeError("expected a list")
        return [order(value) for value in values] if order else values

    return order_array


def _record_orderer(record: Record) -> Convert:
    orderers = {field.name: orderer(field.type) for field in record.fields}
    defaults = {
        field.name: field.default
        for field in record.fields
        if field.default is not MISSING and field.default is not None and field.default != []
    }
    plans: dict[tuple[str, ...], Plan] = {}

    def make_plan(keys: tuple[str, ...]) -> Plan:
        if not orderers.keys() >= set(keys):
            raise KeyError(*(set(keys) - orderers.keys()))
        names = [name for name in orderers if name in keys or name in defaults]
        return tuple((name, defaults.get(name), orderers[name]) for name in names)

    def order_record(shape: Any) -> dict[str, Any]:
        if type(shape) is not dict:
            raise TypeError("expected a dict")
        keys = tuple(shape)
        plan = plans.get(keys)
        if plan is None:
            if len(plans) >= MOST_PLANS:
                plans.clear()
            plan = plans[keys] = make_plan(keys)
        out = {}
        for name, default, order in plan:
            value = shape.get(name, default)
            if value is not None and value != []:
                out[name] = order(value) if order else value
        return out

    return order_record


def with_bytes(node: Node, value: Json) -> Any:
    """JSON value -> the same with base64 text decoded where the schema says bytes."""
    match node:
        case Primitive(name="bytes") if isinstance(value, str):
            try:
                return b64decode(value, validate=True)
            except ValueError:
                return value
        case Nullable(of=inner):
            return value if value is None else with_bytes(inner, value)
        case Array(items=items) if isinstance(value, list):
            return [with_bytes(items, item) for item in value]
        case Record(fields=fields) if isinstance(value, dict):
            return value | {
                field.name: with_bytes(field.type, value[field.name]) for field in fields if field.name in value
            }
    return value
