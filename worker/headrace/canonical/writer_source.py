"""A plan of a record type -> the Python function that writes it, straight down.

Of a text part, say, whose keys are ("type", "text"):

    def write(shape, out):
        v0 = shape['type']
        v1 = shape['text'].encode()
        n1 = len(v1)
        out += (LABELS[v0], b'\\x00\\x00\\x02', VARINTS[n1] if n1 < 8192 else varint(n1), v1, b'\\x00\\x00...')

The source has names of fields as literals and nothing else of any input. A function's `__doc__` is its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.canonical.primitives import LABELS, VARINTS, VARINTS_KNOWN, Put, varint

#: Writes a shape to a list of bytes.
Write = Callable[[Any, list[bytes]], None]

#: String fields whose values are words: there are few of them, and they come again and again.
_WORDS = frozenset(
    [
        *("type", "role", "kind", "wire_type", "name", "status", "phase", "mode", "unit", "outcome", "wire"),
        *("language", "mime_type", "format", "finish_reason", "raw_finish_reason", "record_type", "schema_version"),
        *("protocol", "provider", "model", "served_model", "origin", "side", "fidelity", "normalizer", "topic"),
    ]
)


class Step(NamedTuple):
    """One field that is there.

    constant: bytes before its value. form: name of its primitive type; "record" or "records" for those with
    ``writers``; "other" for what only ``put`` knows.
    """

    constant: bytes
    name: str
    form: str
    put: Put
    writers: Mapping[tuple[str, ...], Write] | None = None


class Plan(NamedTuple):
    """The fields that are there, in the schema's order, and the bytes after the last one."""

    steps: tuple[Step, ...]
    tail: bytes


def compiled(record: str, plan: Plan) -> Write:
    """The function that writes what ``plan`` describes. record: the record's name, for the function's file name."""
    source = _Source()
    for step in plan.steps:
        source.take(step)
    source.constant(plan.tail)
    source.flush()
    text = "\n    ".join(["def write(shape, out):", *source.lines]) + "\n"
    file = f"<writer of {record}: {', '.join(step.name for step in plan.steps)}>"
    exec(compile(text, file, "exec"), source.names)
    write: Write = source.names["write"]
    write.__doc__ = text
    return write


class _Source:
    """Lines of a writer in the making. What is written next is gathered, and goes out in one piece."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"LABELS": LABELS, "VARINTS": VARINTS, "varint": varint}
        self._pieces: list[str] = []
        self._constant = b""
        self._count = 0

    def take(self, step: Step) -> None:
        """Write the next field."""
        at, self._count = self._count, self._count + 1
        self.constant(step.constant)
        forms = {"string": self._text, "long": self._integer, "int": self._integer, "record": self._record}
        (forms | {"boolean": self._boolean, "records": self._records}).get(step.form, self._other)(step, at)

    def constant(self, written: bytes) -> None:
        """Bytes that are always the same."""
        self._constant += written

    def flush(self) -> None:
        """Write what was gathered."""
        self._settle()
        if self._pieces:
            self.lines.append(f"out += {_tuple(self._pieces)}")
            self._pieces = []

    def _settle(self) -> None:
        if self._constant:
            self._pieces.append(repr(self._constant))
            self._constant = b""

    def _piece(self, expression: str) -> None:
        self._settle()
        self._pieces.append(expression)

    def _text(self, step: Step, at: int) -> None:
        if step.name in _WORDS:
            self._piece(f"LABELS[shape[{step.name!r}]]")
            return
        self.lines += [f"v{at} = shape[{step.name!r}].encode()", f"n{at} = len(v{at})"]
        self._piece(_size(f"n{at}"))
        self._piece(f"v{at}")

    def _integer(self, step: Step, at: int) -> None:
        self.lines.append(f"v{at} = shape[{step.name!r}]")
        self.names[f"integer{at}"] = _bytes_of(step.put)
        known = f"type(v{at}) is int and 0 <= v{at} < {VARINTS_KNOWN}"
        self._piece(f"VARINTS[v{at}] if {known} else integer{at}(v{at})")

    def _boolean(self, step: Step, at: int) -> None:
        self.lines.append(f"v{at} = shape[{step.name!r}]")
        self.names[f"boolean{at}"] = _bytes_of(step.put)
        self._piece(f"boolean{at}(v{at})")

    def _record(self, step: Step, at: int) -> None:
        self.flush()
        self.names[f"writers{at}"] = step.writers
        self.lines += [f"v{at} = shape[{step.name!r}]", f"writers{at}[tuple(v{at})](v{at}, out)"]

    def _records(self, step: Step, at: int) -> None:
        self.names[f"writers{at}"] = step.writers
        self.lines += [
            f"v{at} = shape[{step.name!r}]",
            f"if type(v{at}) is not list: raise TypeError",
            f"n{at} = len(v{at})",
            f"if n{at}:",
        ]
        self._settle()
        self.lines += [
            f"    out += {_tuple([*self._pieces, _size(f'n{at}')])}",
            f"    for each in v{at}: writers{at}[tuple(each)](each, out)",
        ]
        if self._pieces:
            self.lines.append(f"else: out += {_tuple(self._pieces)}")
        self._pieces = []
        self.constant(b"\x00")

    def _other(self, step: Step, at: int) -> None:
        self.flush()
        self.names[f"put{at}"] = step.put
        self.lines.append(f"put{at}(shape[{step.name!r}], out)")


def _tuple(pieces: list[str]) -> str:
    return f"({', '.join(pieces)},)"


def _size(name: str) -> str:
    return f"VARINTS[{name}] if {name} < {VARINTS_KNOWN} else varint({name})"


def _bytes_of(put: Put) -> Callable[[Any], bytes]:
    def bytes_of(value: Any) -> bytes:
        out: list[bytes] = []
        put(value, out)
        return b"".join(out)

    return bytes_of
