"""Sparse shapes -> Avro bytes, by writers made once from a schema.

Most fields of a record are absent, and an absent field is always the same byte: its default. So the bytes of
a record are a few values with constant runs between them. For each set of keys in each order that a record
comes with (there are few: a text part is ("type", "text")), a plan is made once: the fields that are there, the
constant bytes before each, and those at the end. A plan is walked; one that is walked often is made into a function
of its own (see `writer_source`). The eighteen absent fields of a text part cost nothing either way.

The writers trust the shape as far as they can without being fooled: they raise whatever a wrong type raises.
`check` (in `shape_check`) then says what is wrong and where. It also takes out explicit nulls, which writers do not
expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.canonical.primitives import MISFIT, PRIMITIVE_WRITERS, Put, varint
from headrace.canonical.schema_tree import MISSING, Array, Field, Node, Nullable, Primitive, Record
from headrace.canonical.shape_check import check
from headrace.canonical.writer_source import Plan, Step, Write, compiled

#: Plans kept a record type; real traffic has some dozens.
MOST_PLANS = 1024
#: Functions kept a record type.
MOST_COMPILED = 128
#: A plan walked this often becomes a function: making one costs what it saves in about as many uses, so shapes that
#: are made up to be new each time cost no more than their plan.
WALKS_BEFORE_COMPILING = 400


def encoder(record: Record, walks: int = WALKS_BEFORE_COMPILING) -> Callable[[Mapping[str, Any]], bytes]:
    """Function from a sparse shape to Avro bytes; it raises SchemaError (`bad_shape`) with the path.

    walks: how often a plan is walked before it is made into a function.
    """
    write = _writer(record, Known(walks))

    def encode(shape: Mapping[str, Any]) -> bytes:
        out: list[bytes] = []
        try:
            write(shape, out)
        except MISFIT:
            out = []
            write(check(record, shape), out)
        return b"".join(out)

    return encode


@dataclass(slots=True)
class Known:
    """The writers of a schema's records, by name, and how often they walk a plan before they compile it."""

    walks: int = WALKS_BEFORE_COMPILING
    writers: dict[str, Writers] = field(default_factory=dict)


class Writers(dict[tuple[str, ...], Write]):
    """Writers of one record type, by the keys of a shape in their order; what is missing is made.

    ``writers[tuple(shape)](shape, out)`` writes a shape. What is no dict but has such elements fails by its type
    when the writer takes its first field.
    """

    def __init__(self, record: Record, known: Known) -> None:
        known.writers[record.name] = self
        self.name = record.name
        self._patience = known.walks
        self._fields = record.fields
        self._places = {each.name: place for place, each in enumerate(record.fields)}
        self._defaults = [_default_bytes(each, known) for each in record.fields]
        self._steps = [_step(each, known) for each in record.fields]
        self._compiled = 0

    def __missing__(self, keys: tuple[str, ...]) -> Write:
        if len(self) >= MOST_PLANS:
            self.forget()
        write = self[keys] = self._walker(keys, self._plan(keys))
        return write

    def forget(self) -> None:
        """Drop all writers: they are made again when they are needed."""
        self.clear()
        self._compiled = 0

    def _plan(self, keys: tuple[str, ...]) -> Plan:
        steps: list[Step] = []
        done = 0
        for place in sorted(self._places[key] for key in keys):
            step = self._steps[place]
            steps.append(step._replace(constant=self._constant(done, place) + step.constant))
            done = place + 1
        return Plan(tuple(steps), self._constant(done, len(self._defaults)))

    def _constant(self, first: int, end: int) -> bytes:
        run = [default for default in self._defaults[first:end] if default is not None]
        if len(run) < end - first:
            raise KeyError
        return b"".join(run)

    def _walker(self, keys: tuple[str, ...], plan: Plan) -> Write:
        steps, tail = [(step.constant, step.name, step.put) for step in plan.steps], plan.tail
        walks = 0

        def walk(shape: Any, out: list[bytes]) -> None:
            nonlocal walks
            if type(shape) is not dict:
                raise TypeError
            walks += 1
            if walks == self._patience and keys:
                self._compile(keys, plan)
            for constant, name, put in steps:
                out.append(constant)
                put(shape[name], out)
            out.append(tail)

        return walk

    def _compile(self, keys: tuple[str, ...], plan: Plan) -> None:
        if self._compiled >= MOST_COMPILED:
            self.forget()
        self._compiled += 1
        self[keys] = compiled(self.name, plan)


def _writer(node: Node, known: Known) -> Put:
    """Writer of one type."""
    match node:
        case Primitive(name=name):
            return PRIMITIVE_WRITERS[name]
        case Array(items=items):
            return _array_writer(_writer(items, known))
        case Nullable(of=inner):
            return _nullable_writer(_writer(inner, known))
        case Record():
            return _record_writer(_writers(node, known))


def _writers(record: Record, known: Known) -> Writers:
    return known.writers[record.name] if record.name in known.writers else Writers(record, known)


def _record_writer(writers: Writers) -> Put:
    def put_record(shape: Any, out: list[bytes]) -> None:
        writers[tuple(shape)](shape, out)

    return put_record


def _step(of: Field, known: Known) -> Step:
    """How a value that is there is written. constant: the bytes before it, without absent fields."""
    node, constant = of.type, b""
    if isinstance(node, Nullable) and of.default is not MISSING:
        node, constant = node.of, b"\x02"
    inner = node.items if isinstance(node, Array) else node
    if isinstance(inner, Record):
        form = "records" if isinstance(node, Array) else "record"
        return Step(constant, of.name, form, _writer(node, known), _writers(inner, known))
    return Step(constant, of.name, node.name if isinstance(node, Primitive) else "other", _writer(node, known))


def _default_bytes(of: Field, known: Known) -> bytes | None:
    """Bytes of an absent field; None where the schema gives no default."""
    if of.default is MISSING:
        return None
    out: list[bytes] = []
    # In a schema the default of a bytes field is text whose code points are the bytes.
    is_bytes = isinstance(of.type, Primitive) and of.type.name == "bytes"
    _writer(of.type, known)(of.default.encode("latin-1") if is_bytes else of.default, out)
    return b"".join(out)


def _nullable_writer(put: Put) -> Put:
    def put_nullable(value: Any, out: list[bytes]) -> None:
        if value is None:
            out.append(b"\x00")
        else:
            out.append(b"\x02")
            put(value, out)

    return put_nullable


def _array_writer(put: Put) -> Put:
    def put_array(values: Any, out: list[bytes]) -> None:
        if type(values) is not list:
            raise TypeError
        if values:
            out.append(varint(len(values)))
            for value in values:
                put(value, out)
        out.append(b"\x00")

    return put_array
