"""Avro's primitive values -> bytes. A value of a wrong type raises one of `MISFIT`."""

from __future__ import annotations

from struct import Struct
from typing import Final

from librt.strings import BytesWriter

#: What writers raise on a value that does not fit.
MISFIT: Final = (TypeError, AttributeError, KeyError, ValueError, OverflowError)

#: Integers up to here are exact as a double.
_EXACT: Final = 1 << 53

#: Words kept a field, and the longest that is.
MOST_WORDS: Final = 512
LONGEST_WORD: Final = 64


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
VARINTS_KNOWN: Final = 8192
VARINTS: Final = [varint(value) for value in range(VARINTS_KNOWN)]


class Writer:
    """Writes the values of one type."""

    def write(self, value: object, out: BytesWriter) -> None:
        """Append the bytes of a value; raises one of `MISFIT` for what is no such value."""
        raise NotImplementedError


class TextWriter(Writer):
    """A string's length and its UTF-8."""

    def write(self, value: object, out: BytesWriter) -> None:
        if not isinstance(value, str):
            raise TypeError
        encoded = value.encode()
        size = len(encoded)
        out.write(VARINTS[size] if size < VARINTS_KNOWN else varint(size))
        out.write(encoded)


class WordWriter(Writer):
    """A string of which there are few, that come again and again: their bytes are kept."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}

    def write(self, value: object, out: BytesWriter) -> None:
        if not isinstance(value, str):
            raise TypeError
        written = self.known.get(value)
        if written is None:
            written = self._written(value)
        out.write(written)

    def _written(self, word: str) -> bytes:
        encoded = word.encode()
        written = varint(len(encoded)) + encoded
        if len(encoded) <= LONGEST_WORD and type(word) is str:
            if len(self.known) >= MOST_WORDS:
                self.known.clear()
            self.known[word] = written
        return written


class BytesValueWriter(Writer):
    """The length of bytes, and the bytes."""

    def write(self, value: object, out: BytesWriter) -> None:
        if type(value) is not bytes:
            raise TypeError
        out.write(varint(len(value)))
        out.write(value)


class BooleanWriter(Writer):
    """One byte; nothing but True and False is a boolean."""

    def write(self, value: object, out: BytesWriter) -> None:
        if value is True:
            out.write(b"\x01")
        elif value is False:
            out.write(b"\x00")
        else:
            raise TypeError


class IntegerWriter(Writer):
    """An integer of 32 or 64 bits; a boolean is none."""

    def __init__(self, bits: int) -> None:
        self._low: Final = -(1 << (bits - 1))
        self._end: Final = 1 << (bits - 1)

    def write(self, value: object, out: BytesWriter) -> None:
        if type(value) is not int or not self._low <= value < self._end:
            raise TypeError
        out.write(VARINTS[value] if 0 <= value < VARINTS_KNOWN else varint(value))


class FloatWriter(Writer):
    """IEEE 754, little-endian. form: as `struct` spells it. Integers are taken where they are exact."""

    def __init__(self, form: str) -> None:
        self._pack: Final = Struct(form).pack

    def write(self, value: object, out: BytesWriter) -> None:
        if type(value) is not float and (type(value) is not int or not -_EXACT <= value <= _EXACT):
            raise TypeError
        out.write(self._pack(value))


#: By the name of the type.
PRIMITIVE_WRITERS: Final[dict[str, Writer]] = {
    "string": TextWriter(),
    "bytes": BytesValueWriter(),
    "boolean": BooleanWriter(),
    "int": IntegerWriter(32),
    "long": IntegerWriter(64),
    "float": FloatWriter("<f"),
    "double": FloatWriter("<d"),
}
