"""Record files read back: what a file holds, told by its content, and its records as sparse shapes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Any, Literal

import fastavro
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.canonical.avro import CANONICAL_RECORD, DEAD_LETTER, load_schema, record_format
from headrace.errors import CaptureError, FramingError, HeadraceError
from headrace.json_text import loads

Content = Literal["records", "dead letters", "captures"]
Container = Literal["lines", "avro", "parquet"]

_SCHEMAS: dict[Content, str] = {"records": CANONICAL_RECORD, "dead letters": DEAD_LETTER}
#: A field that only records of this content have.
_MARKS: dict[str, Content] = {"record_id": "records", "dead_letter_id": "dead letters"}
_AVRO_MAGIC, _PARQUET_MAGIC = b"Obj\x01", b"PAR1"
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ROWS = 500


def content_of(path: str) -> Content:
    """What the file at a path or URL holds; captures when it is neither records nor dead letters.

    Raises CaptureError when it cannot be read.
    """
    with _opened(path) as (raw, container):
        if container == "avro":
            names = {field["name"] for field in _writer_schema(raw)["fields"]}
        elif container == "parquet":
            names = set(pq.ParquetFile(raw).schema_arrow.names)
        else:
            names = _names_of_first_line(raw)
        return next((content for mark, content in _MARKS.items() if mark in names), "captures")


def read_shapes(path: str, content: Content) -> Iterator[dict[str, Any]]:
    """The records or dead letters of a file, in order; raises HeadraceError naming the line that is none."""
    schema = _SCHEMAS[content]
    with _opened(path) as (raw, container):
        if container == "avro":
            # The reader's schema is ours: a file of an older version comes out in today's shape.
            rows: Iterator[Any] = iter(fastavro.reader(raw, fastavro.parse_schema(load_schema(schema))))
            yield from map(_sparse, rows)
        elif container == "parquet":
            for batch in pq.ParquetFile(raw).iter_batches(_ROWS):
                yield from map(_sparse, batch.to_pylist())
        else:
            yield from _lines(path, raw, schema)


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], Container]]:
    """The file without its compression, and which container it is; both by its first bytes."""
    try:
        with fsspec.open(path, "rb") as raw:
            compression = next((name for magic, name in _COMPRESSIONS.items() if _begins(raw, magic)), None)
            opened = fsspec.compression.compr[compression](raw, mode="rb") if compression else raw
            if compression:
                yield opened, "lines"
            else:
                yield opened, "avro" if _begins(raw, _AVRO_MAGIC) else "parquet" if _is_parquet(raw) else "lines"
    except IsADirectoryError:
        raise CaptureError("it is a folder", place=path, fix="name one file") from None
    except FileNotFoundError:
        raise CaptureError("there is no such file", place=path, fix="check the path") from None
    except HeadraceError:
        raise
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        raise CaptureError(f"cannot read it: {error}", place=path, fix="check that the file is whole") from error


def _begins(raw: IO[bytes], magic: bytes) -> bool:
    begin = raw.read(len(magic))
    raw.seek(0)
    return begin == magic


def _is_parquet(raw: IO[bytes]) -> bool:
    return _begins(raw, _PARQUET_MAGIC)


def _writer_schema(raw: IO[bytes]) -> dict[str, Any]:
    schema: Any = fastavro.reader(raw).writer_schema
    return dict(schema)


def _names_of_first_line(raw: IO[bytes]) -> set[str]:
    first = next((line for line in raw if line.strip()), b"")
    try:
        value = loads(first)
    except FramingError:
        # Not JSON: as a capture it becomes a dead letter that says so.
        return set()
    return set(value) if isinstance(value, dict) else set()


def _lines(path: str, raw: IO[bytes], schema: str) -> Iterator[dict[str, Any]]:
    read = record_format(schema).from_json_line
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            yield read(line)
        except HeadraceError as error:
            error.place = f"{path}, line {number}{f', {error.place}' if error.place else ''}"
            raise


def _sparse(value: Any) -> Any:
    """A full row as a sparse shape: no nulls, no empty lists, times as microseconds."""
    if isinstance(value, dict):
        return {name: _sparse(held) for name, held in value.items() if held is not None and held != []}
    if isinstance(value, list):
        return [_sparse(held) for held in value]
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    return value
