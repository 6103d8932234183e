"""Sparse shapes -> Avro bytes, by writers made once from a schema.

Most fields of a record are absent, and an absent field is always the same byte: its default. So the bytes of
a record are a few values with constant runs between them. For each set of keys in each order that a record
comes with (there are few: a text part is ("type", "text")), a plan is made once: the fields that are there, the
constant bytes before each, and those at the end. The eighteen absent fields of a text part cost nothing.

A plan is found key by key: from a record's first state each key leads to a state of its own, and the state after the
last key has the plan. The key that came last time mostly comes again, as the same object: one comparison of two
pointers a key, where the hash of all keys would cost more than writing their values.

The writers trust the shape as far as they can without being fooled: they raise whatever a wrong type raises.
`check` (in `shape_check`) then says what is wrong and where. It also takes out explicit nulls, which writers do not
expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from librt.strings import BytesWriter

from headrace.canonical.primitives import MISFIT, PRIMITIVE_WRITERS, VARINTS, VARINTS_KNOWN, WordWriter, Writer, varint
from headrace.canonical.schema_tree import MISSING, Array, Field, Node, Nullable, Primitive, Record
from headrace.canonical.shape_check import check

#: States kept a record type; real traffic has some hundreds.
MOST_STATES: Final = 4096

#: String fields whose values are words: there are few of them, and they come again and again.
_WORDS: Final = frozenset(
    [
        *("type", "role", "kind", "wire_type", "name", "status", "phase", "mode", "unit", "outcome", "wire"),
        *("language", "mime_type", "format", "finish_reason", "raw_finish_reason", "record_type", "schema_version"),
        *("protocol", "provider", "model", "served_model", "origin", "side", "fidelity", "normalizer", "topic"),
    ]
)


def encoder(record: Record) -> Callable[[Mapping[str, Any]], bytes]:
    """Function from a sparse shape to Avro bytes; it raises SchemaError (`bad_shape`) with the path."""
    return Encoder(record).encode


class Encoder:
    """Writes the shapes of one schema."""

    def __init__(self, record: Record) -> None:
        self._record: Final = record
        self._writer: Final = RecordWriter(record, {})

    def encode(self, shape: Mapping[str, Any]) -> bytes:
        """See `encoder`."""
        out = BytesWriter()
        try:
            self._writer.write(shape, out)
        except MISFIT:
            out = BytesWriter()
            self._writer.write(check(self._record, shape), out)
        return out.getvalue()


class ArrayWriter(Writer):
    """A list in one block."""

    def __init__(self, items: Writer) -> None:
        self._items: Final = items

    def write(self, value: object, out: BytesWriter) -> None:
        if type(value) is not list:
            raise TypeError
        if value:
            items, size = self._items, len(value)
            out.write(VARINTS[size] if size < VARINTS_KNOWN else varint(size))
            for each in value:
                items.write(each, out)
        out.write(b"\x00")


class NullableWriter(Writer):
    """Null, or a value."""

    def __init__(self, of: Writer) -> None:
        self._of: Final = of

    def write(self, value: object, out: BytesWriter) -> None:
        if value is None:
            out.write(b"\x00")
        else:
            out.write(b"\x02")
            self._of.write(value, out)


class Step:
    """One field that is there. constant: the bytes before its value."""

    def __init__(self, constant: bytes, name: str, writer: Writer) -> None:
        self.constant: Final = constant
        self.name: Final = name
        self.writer: Final = writer


class Plan:
    """The fields that are there, in the schema's order, and the bytes after the last one."""

    def __init__(self, steps: list[Step], tail: bytes) -> None:
        self.steps: Final = steps
        self.tail: Final = tail


class State:
    """The keys of a shape so far: where the next one leads, and the plan where there is none.

    key and following: the key that came last time, and where it led.
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.following: State | None = None
        self.states: dict[str, State] = {}
        self.plan: Plan | None = None


class RecordWriter(Writer):
    """A record type. known: the writers of a schema's records, by name."""

    def __init__(self, record: Record, known: dict[str, RecordWriter]) -> None:
        known[record.name] = self
        self._places: Final = {each.name: place for place, each in enumerate(record.fields)}
        self._defaults: Final = [_default_bytes(each, known) for each in record.fields]
        self._steps: Final = [_step(each, known) for each in record.fields]
        #: (place after the last field that is there, place of the next) -> the step between.
        self._between: Final[dict[tuple[int, int], Step]] = {}
        self._first = State()
        self._states = 1

    def write(self, value: object, out: BytesWriter) -> None:
        if type(value) is not dict:
            raise TypeError
        shape: dict[str, object] = value
        state = self._first
        for key in shape:
            following = state.following
            state = following if following is not None and key is state.key else self._follow(state, key)
        plan = state.plan
        if plan is None:
            plan = state.plan = self._plan(shape)
        for step in plan.steps:
            out.write(step.constant)
            step.writer.write(shape[step.name], out)
        out.write(plan.tail)

    def kept(self) -> int:
        """How many states are kept."""
        return self._states

    def _follow(self, state: State, key: str) -> State:
        following = state.states.get(key)
        if following is None:
            if key not in self._places:
                raise KeyError
            if self._states >= MOST_STATES:
                # All are dropped: they are made again when they are needed.
                self._first, self._states = State(), 1
            following = state.states[key] = State()
            self._states += 1
        state.key, state.following = key, following
        return following

    def _plan(self, keys: dict[str, object]) -> Plan:
        steps: list[Step] = []
        done = 0
        for place in sorted([self._places[key] for key in keys]):
            steps.append(self._step_between(done, place))
            done = place + 1
        return Plan(steps, self._constant(done, len(self._defaults)))

    def _step_between(self, done: int, place: int) -> Step:
        step = self._between.get((done, place))
        if step is None:
            bare = self._steps[place]
            step = Step(self._constant(done, place) + bare.constant, bare.name, bare.writer)
            self._between[done, place] = step
        return step

    def _constant(self, first: int, end: int) -> bytes:
        run = [default for default in self._defaults[first:end] if default is not None]
        if len(run) < end - first:
            raise KeyError
        return b"".join(run)


def _writer(node: Node, known: dict[str, RecordWriter]) -> Writer:
    """Writer of one type."""
    match node:
        case Primitive(name=name):
            return PRIMITIVE_WRITERS[name]
        case Array(items=items):
            return ArrayWriter(_writer(items, known))
        case Nullable(of=inner):
            return NullableWriter(_writer(inner, known))
        case Record(name=name):
            return known[name] if name in known else RecordWriter(node, known)


def _step(of: Field, known: dict[str, RecordWriter]) -> Step:
    """How a value that is there is written. constant: the bytes before it, without absent fields."""
    node, constant = of.type, b""
    if isinstance(node, Nullable) and of.default is not MISSING:
        node, constant = node.of, b"\x02"
    if isinstance(node, Primitive) and node.name == "string" and of.name in _WORDS:
        return Step(constant, of.name, WordWriter())
    return Step(constant, of.name, _writer(node, known))


def _default_bytes(of: Field, known: dict[str, RecordWriter]) -> bytes | None:
    """Bytes of an absent field; None where the schema gives no default."""
    if of.default is MISSING:
        return None
    out = BytesWriter()
    # In a schema the default of a bytes field is text whose code points are the bytes.
    is_bytes = isinstance(of.type, Primitive) and of.type.name == "bytes"
    _writer(of.type, known).write(of.default.encode("latin-1") if is_bytes else of.default, out)
    return out.getvalue()
