"""Avro's primitive values -> bytes. A value of a wrong type raises one of `MISFIT`."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

#: Appends the bytes of a value to a list of bytes.
Put = Callable[[Any, list[bytes]], None]

#: What writers raise on a value that does not fit.
MISFIT = (TypeError, AttributeError, KeyError, ValueError, OverflowError)

#: Integers up to here are exact as a double.
_EXACT = 1 << 53
_RANGES = {"int": (-(1 << 31), 1 << 31), "long": (-(1 << 63), 1 << 63)}

#: Labels kept, and the longest that is: they are words of a protocol or names of tools.
_MOST_LABELS = 4096
_LONGEST_LABEL = 64


def varint(value: int) -> bytes:
    """Zigzag variable-length form of a 64-bit integer (Avro specification, "Binary encoding")."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


#: The small ones, which lengths and counts mostly are.
VARINTS = tuple(varint(value) for value in range(8192))
VARINTS_KNOWN = len(VARINTS)
_pack_float, _pack_double = Struct("<f").pack, Struct("<d").pack


class Labels(dict[str, bytes]):
    """Texts of which there are few, with the bytes they are written as; others are written anew each time."""

    def __missing__(self, text: str) -> bytes:
        if not isinstance(text, str):
            raise TypeError
        encoded = text.encode()
        written = varint(len(encoded)) + encoded
        if type(text) is str and len(encoded) <= _LONGEST_LABEL:
            if len(self) >= _MOST_LABELS:
                self.clear()
            self[text] = written
        return written


#: One for the process: the same words stand in all records.
LABELS = Labels()


def put_text(value: Any, out: list[bytes]) -> None:
    """A string's length and its UTF-8."""
    text = value.encode()
    size = len(text)
    out.append(VARINTS[size] if size < VARINTS_KNOWN else varint(size))
    out.append(text)


def _put_bytes(value: Any, out: list[bytes]) -> None:
    if type(value) is not bytes:
        raise TypeError
    out.append(varint(len(value)))
    out.append(value)


def _put_boolean(value: Any, out: list[bytes]) -> None:
    if value is not True and value is not False:
        raise TypeError
    out.append(b"\x01" if value else b"\x00")


def _integer_writer(name: str) -> Put:
    low, end = _RANGES[name]

    def put_integer(value: Any, out: list[bytes]) -> None:
        if type(value) is not int or not low <= value < end:
            raise TypeError
        out.append(VARINTS[value] if 0 <= value < VARINTS_KNOWN else varint(value))

    return put_integer


def _float_writer(pack: Callable[[float], bytes]) -> Put:
    def put_float(value: Any, out: list[bytes]) -> None:
        if type(value) is not float and (type(value) is not int or not -_EXACT <= value <= _EXACT):
            raise TypeError
        out.append(pack(value))

    return put_float


#: By the name of the type.
PRIMITIVE_WRITERS: dict[str, Put] = {
    "string": put_text,
    "bytes": _put_bytes,
    "boolean": _put_boolean,
    "int": _integer_writer("int"),
    "long": _integer_writer("long"),
    "float": _float_writer(_pack_float),
    "double": _float_writer(_pack_double),
}
