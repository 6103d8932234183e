"""What is wrong with a shape, and where: the slow look at what a writer refused."""

from __future__ import annotations

from typing import Any

from librt.strings import BytesWriter

from headrace.canonical.primitives import MISFIT, PRIMITIVE_WRITERS
from headrace.canonical.schema_tree import MISSING, Array, Node, Nullable, Primitive, Record
from headrace.errors import SchemaError


def check(node: Node, value: Any, path: str = "$") -> Any:
    """The value without explicit nulls; raises SchemaError (`bad_shape`) that names the path of what does not fit."""
    match node:
        case Primitive():
            _check_primitive(node, value, path)
            return value
        case Array(items=items):
            if type(value) is not list:
                raise _bad(f"expected a list, got {type(value).__name__}", path)
            return [check(items, item, f"{path}[{place}]") for place, item in enumerate(value)]
        case Nullable(of=inner):
            return None if value is None else check(inner, value, path)
        case Record():
            return _check_record(node, value, path)


def _check_record(record: Record, shape: Any, path: str) -> dict[str, Any]:
    if type(shape) is not dict:
        raise _bad(f"expected a dict ({record.name}), got {type(shape).__name__}", path)
    fields = {field.name: field for field in record.fields}
    for key in shape:
        if key not in fields:
            raise _bad(f"{record.name} has no field {key!r}", path)
    for field in record.fields:
        if field.default is MISSING and field.name not in shape:
            raise _bad(f"field {field.name!r} is missing and has no default", path)
    checked = {key: check(fields[key].type, value, f"{path}.{key}") for key, value in shape.items()}
    return {key: value for key, value in checked.items() if value is not None or fields[key].default is MISSING}


def _check_primitive(node: Primitive, value: Any, path: str) -> None:
    try:
        PRIMITIVE_WRITERS[node.name].write(value, BytesWriter())
    except UnicodeEncodeError:
        raise _bad("text holds half of a surrogate pair, which UTF-8 cannot carry", path) from None
    except MISFIT:
        # The value itself may be anyone's text or too long for a log: its type is enough, except for numbers.
        shown = f" {value!r}" if type(value) in (int, float, bool) else ""
        raise _bad(f"expected {node.name}, got {type(value).__name__}{shown}", path) from None


def _bad(message: str, path: str) -> SchemaError:
    return SchemaError(message, code="bad_shape", place=path, fix="give the field a value of the schema's type")
