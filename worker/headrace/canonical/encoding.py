"""Sparse shapes -> Avro bytes, by encoders compiled once from a schema.

Most fields of a record are absent, and an absent field is always the same byte: its default. So the bytes of
a record are a few values with constant runs between them. For each set of keys in each order that a record
comes with (there are few: a text part is ("type", "text")), a plan is made once: [(constant bytes, field,
writer), ...] and the constant bytes at the end. Writing a record is then a look-up and a loop over the keys
that are there; the eighteen absent fields of a text part cost nothing.

The writers trust the shape as far as they can without being fooled: they raise whatever a wrong type raises.
`check` then says what is wrong and where. It also takes out explicit nulls, which writers do not expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any

from headrace.canonical.schema_tree import MISSING, Array, Field, Node, Nullable, Primitive, Record
from headrace.errors import SchemaError

Append = Callable[[bytes], None]
Put = Callable[[Any, Append], None]
#: (constant bytes before the value, field name, writer of the value; None for text).
Step = tuple[bytes, str, Put | None]
Plan = tuple[tuple[Step, ...], bytes]

#: What writers raise on a value that does not fit.
MISFIT = (TypeError, AttributeError, KeyError, ValueError, OverflowError)

#: Integers up to here are exact as a double.
_EXACT = 1 << 53
_RANGES = {"int": (-(1 << 31), 1 << 31), "long": (-(1 << 63), 1 << 63)}
#: Plans kept a record type; real traffic has some dozens.
MOST_PLANS = 4096


def varint(value: int) -> bytes:
    """Zigzag variable-length form of a 64-bit integer (Avro specification, "Binary encoding")."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_VARINTS = tuple(varint(value) for value in range(8192))
_VARINTS_KNOWN = len(_VARINTS)
_pack_float, _pack_double = Struct("<f").pack, Struct("<d").pack


def encoder(record: Record) -> Callable[[Mapping[str, Any]], bytes]:
    """Function from a sparse shape to Avro bytes; it raises SchemaError (`bad_shape`) with the path."""
    write = _record_writer(record, {})

    def encode(shape: Mapping[str, Any]) -> bytes:
        out: list[bytes] = []
        try:
            write(shape, out.append)
        except MISFIT:
            out = []
            write(check(record, shape), out.append)
        return b"".join(out)

    return encode


def _writer(node: Node, compiled: dict[str, Put]) -> Put | None:
    """Writer of one type; None for text, which record writers write themselves (most values are text)."""
    match node:
        case Primitive(name="string"):
            return None
        case Primitive(name=name):
            return _PRIMITIVE_WRITERS[name]
        case Array(items=items):
            return _array_writer(_writer(items, compiled) or _put_text)
        case Nullable(of=inner):
            return _nullable_writer(_writer(inner, compiled) or _put_text)
        case Record(name=name):
            if name not in compiled:
                compiled[name] = _record_writer(node, compiled)
            return compiled[name]


def _record_writer(record: Record, compiled: dict[str, Put]) -> Put:
    make_plan = _planner(record, compiled)
    plans: dict[tuple[str, ...], Plan] = {}

    def put_record(shape: Any, append: Append) -> None:
        if type(shape) is not dict:
            raise TypeError
        keys = tuple(shape)
        plan = plans.get(keys)
        if plan is None:
            if len(plans) >= MOST_PLANS:
                plans.clear()
            plan = plans[keys] = make_plan(keys)
        steps, tail = plan
        for constant, name, put in steps:
            append(constant)
            if put is None:
                text = shape[name].encode()
                size = len(text)
                append(_VARINTS[size] if size < _VARINTS_KNOWN else varint(size))
                append(text)
            else:
                put(shape[name], append)
        append(tail)

    return put_record


def _planner(record: Record, compiled: dict[str, Put]) -> Callable[[tuple[str, ...]], Plan]:
    places = {field.name: place for place, field in enumerate(record.fields)}
    defaults = [_default_bytes(field, compiled) for field in record.fields]
    leads, writers = zip(*(_field_writer(field, compiled) for field in record.fields), strict=True)

    def constant(first: int, end: int) -> bytes:
        run = [default for default in defaults[first:end] if default is not None]
        if len(run) < end - first:
            raise KeyError
        return b"".join(run)

    def make_plan(keys: tuple[str, ...]) -> Plan:
        steps: list[Step] = []
        done = 0
        for place in sorted(places[key] for key in keys):
            steps.append((constant(done, place) + leads[place], record.fields[place].name, writers[place]))
            done = place + 1
        return tuple(steps), constant(done, len(defaults))

    return make_plan


def _field_writer(field: Field, compiled: dict[str, Put]) -> tuple[bytes, Put | None]:
    """Constant bytes before a value that is there, and its writer."""
    if isinstance(field.type, Nullable) and field.default is not MISSING:
        return b"\x02", _writer(field.type.of, compiled)
    return b"", _writer(field.type, compiled)


def _default_bytes(field: Field, compiled: dict[str, Put]) -> bytes | None:
    """Bytes of an absent field; None where the schema gives no default."""
    if field.default is MISSING:
        return None
    out: list[bytes] = []
    put = _writer(field.type, compiled) or _put_text
    # In a schema the default of a bytes field is text whose code points are the bytes.
    is_bytes = isinstance(field.type, Primitive) and field.type.name == "bytes"
    put(field.default.encode("latin-1") if is_bytes else field.default, out.append)
    return b"".join(out)


def _nullable_writer(put: Put) -> Put:
    def put_nullable(value: Any, append: Append) -> None:
        if value is None:
            append(b"\x00")
        else:
            append(b"\x02")
            put(value, append)

    return put_nullable


def _array_writer(put: Put) -> Put:
    def put_array(values: Any, append: Append) -> None:
        if type(values) is not list:
            raise TypeError
        if values:
            append(varint(len(values)))
            for value in values:
                put(value, append)
        append(b"\x00")

    return put_array


def _put_text(value: Any, append: Append) -> None:
    text = value.encode()
    append(varint(len(text)))
    append(text)


def _put_bytes(value: Any, append: Append) -> None:
    if type(value) is not bytes:
        raise TypeError
    append(varint(len(value)))
    append(value)


def _put_boolean(value: Any, append: Append) -> None:
    if value is not True and value is not False:
        raise TypeError
    append(b"\x01" if value else b"\x00")


def _integer_writer(name: str) -> Put:
    low, end = _RANGES[name]

    def put_integer(value: Any, append: Append) -> None:
        if type(value) is not int or not low <= value < end:
            raise TypeError
        append(_VARINTS[value] if 0 <= value < _VARINTS_KNOWN else varint(value))

    return put_integer


def _float_writer(pack: Callable[[float], bytes]) -> Put:
    def put_float(value: Any, append: Append) -> None:
        if type(value) is not float and (type(value) is not int or not -_EXACT <= value <= _EXACT):
            raise TypeError
        append(pack(value))

    return put_float


_PRIMITIVE_WRITERS: dict[str, Put] = {
    "string": _put_text,
    "bytes": _put_bytes,
    "boolean": _put_boolean,
    "int": _integer_writer("int"),
    "long": _integer_writer("long"),
    "float": _float_writer(_pack_float),
    "double": _float_writer(_pack_double),
}


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
        _PRIMITIVE_WRITERS[node.name](value, _discard)
    except UnicodeEncodeError:
        raise _bad("text holds half of a surrogate pair, which UTF-8 cannot carry", path) from None
    except MISFIT:
        # The value itself may be anyone's text or too long for a log: its type is enough, except for numbers.
        shown = f" {value!r}" if type(value) in (int, float, bool) else ""
        raise _bad(f"expected {node.name}, got {type(value).__name__}{shown}", path) from None


def _discard(written: bytes) -> None:
    """Nowhere to append: only what the writer raises is of interest."""


def _bad(message: str, path: str) -> SchemaError:
    return SchemaError(message, code="bad_shape", place=path, fix="give the field a value of the schema's type")
