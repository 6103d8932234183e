"""Record files: JSON Lines, Avro containers and Parquet.

Workers encode, the writer only lays bytes one after another: an encoded row is a JSON line or an Avro body. A
file appears under its name when it is whole; until then it is ``NAME.partial``.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any, Literal, Protocol

import fastavro
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from headrace.canonical.avro import load_schema, record_format
from headrace.errors import SettingsError
from headrace.json_text import dumps, loads

Format = Literal["jsonl", "avro", "parquet"]
FORMATS: tuple[Format, ...] = ("jsonl", "avro", "parquet")

#: The path that means standard output.
STDOUT = "-"

_BLOCK_BYTES = 1 << 20
_ROW_GROUP = 2_000


def encoder(format_name: Format, schema: str) -> Callable[[Any], bytes]:
    """Shape -> the bytes of one row, for a format and a schema's name."""
    layout = record_format(schema)
    return layout.to_json_line if format_name == "jsonl" else layout.encode


class Writer(Protocol):
    """Takes encoded rows in order."""

    def write(self, row: bytes) -> None:
        """Append one row, as `encoder` made it."""
        ...

    def close(self) -> None:
        """Write what is buffered, and the file's end."""
        ...


def dead_letters_beside(output: str) -> str:
    """Where the dead letters of an output go when nothing else is said."""
    return "dead-letters.jsonl" if output == STDOUT else f"{output}.dead-letters.jsonl"


@contextlib.contextmanager
def open_output(path: str, format_name: Format, schema: str) -> Iterator[Writer]:
    """A writer for one file; a path, any URL fsspec knows, or ``-`` for standard output.

    Raises SettingsError when it cannot be written.
    """
    if path == STDOUT:
        writer = _WRITERS[format_name](sys.stdout.buffer, schema)
        yield writer
        writer.close()
        return
    filesystem, name = fsspec.core.url_to_fs(path, auto_mkdir=True)
    partial = name + ".partial"
    compression = "zstd" if name.endswith(".zst") else "gzip" if name.endswith(".gz") else None
    try:
        with filesystem.open(partial, "wb") as raw:
            out = fsspec.compression.compr[compression](raw, mode="wb") if compression else raw
            writer = _WRITERS[format_name](out, schema)
            yield writer
            writer.close()
            if compression:
                out.close()
        filesystem.mv(partial, name)
    except OSError as error:
        raise SettingsError(f"cannot write it: {error}", place=path, fix="choose another output path") from error


class _JsonLines:
    def __init__(self, out: IO[bytes], schema: str) -> None:
        self._out = out

    def write(self, row: bytes) -> None:
        self._out.write(row)

    def close(self) -> None:
        self._out.flush()


class _AvroContainer:
    """An Avro object container of bodies that are encoded already (Avro specification, "Object Container Files")."""

    def __init__(self, out: IO[bytes], schema: str) -> None:
        parsed = load_schema(schema)
        text = dumps(parsed)
        # Derived, not random: the same input gives the same file.
        self._sync = hashlib.md5(text.encode(), usedforsecurity=False).digest()
        self._out = out
        self._compress = zstandard.ZstdCompressor(level=3).compress
        self._rows: list[bytes] = []
        self._size = 0
        header = io.BytesIO()
        fastavro.writer(header, parsed, [], codec="zstandard", sync_marker=self._sync)
        out.write(header.getvalue())

    def write(self, row: bytes) -> None:
        self._rows.append(row)
        self._size += len(row)
        if self._size >= _BLOCK_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._out.flush()

    def _flush(self) -> None:
        if self._rows:
            block = self._compress(b"".join(self._rows))
            self._out.write(_varint(len(self._rows)) + _varint(len(block)) + block + self._sync)
            self._rows, self._size = [], 0


def _varint(number: int) -> bytes:
    """An Avro long: zigzag, seven bits a byte. Counts are never negative."""
    rest = number << 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


class _Parquet:
    def __init__(self, out: IO[bytes], schema: str) -> None:
        self._format = record_format(schema)
        self._schema = arrow_schema(load_schema(schema))
        self._writer = pq.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[Any] = []

    def write(self, row: bytes) -> None:
        self._rows.append(self._format.decode_full(row))
        if len(self._rows) >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


_WRITERS: dict[Format, Callable[[IO[bytes], str], Writer]] = {
    "jsonl": _JsonLines,
    "avro": _AvroContainer,
    "parquet": _Parquet,
}

_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "bytes": pa.binary(),
}


def arrow_schema(avro: Any) -> pa.Schema:
    """The Arrow schema of an Avro record schema: same names, same nesting."""
    named: dict[str, pa.DataType] = {}
    record = _arrow_type(loads(dumps(avro)), named)
    return pa.schema(list(record))


def _arrow_type(avro: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    if isinstance(avro, list):
        return _arrow_type(next(branch for branch in avro if branch != "null"), named)
    if isinstance(avro, str):
        return named.get(avro) or _ARROW[avro]
    if avro.get("logicalType") == "timestamp-micros":
        return pa.timestamp("us", tz="UTC")
    if avro["type"] == "array":
        return pa.list_(_arrow_type(avro["items"], named))
    if avro["type"] == "record":
        fields = [pa.field(field["name"], _arrow_type(field["type"], named)) for field in avro["fields"]]
        named[avro["name"]] = named[f"headrace.{avro['name'].rpartition('.')[2]}"] = pa.struct(fields)
        return named[avro["name"]]
    return _arrow_type(avro["type"], named)
