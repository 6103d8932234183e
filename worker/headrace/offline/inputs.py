"""Capture files as input messages: JSON Lines (plain, gzip, zstd) and Avro containers, read as streams."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import fastavro
import fsspec

from headrace.canonical.avro import load_schema
from headrace.capture.avro_form import default_avro
from headrace.capture.inbound import Inbound, Source
from headrace.capture.json_form import write_json
from headrace.errors import CaptureError
from headrace.kafka.wire import SingleObject

_COMPRESSION = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
_AVRO_MAGIC = b"Obj\x01"


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file: a path or any URL fsspec knows. size: bytes as stored, for progress; 0 when unknown."""

    path: str
    size: int


def open_inputs(paths: Sequence[str]) -> list[InputFile]:
    """The files behind paths, folders and globs, sorted by name; raises CaptureError when one is not there."""
    files: list[InputFile] = []
    for path in paths:
        filesystem, root = fsspec.core.url_to_fs(path)
        found = sorted(filesystem.glob(root)) if any(mark in path for mark in "*?[") else [root]
        found = [name for entry in found for name in _files_under(filesystem, entry)]
        if not found or not all(filesystem.exists(name) for name in found):
            raise CaptureError("there is no such file", place=path, fix="check the path")
        protocol = path.partition("://")[0] + "://" if "://" in path else ""
        for name in found:
            shown = path if len(found) == 1 and name == root else protocol + name
            files.append(InputFile(shown, filesystem.size(name) or 0))
    return files


def _files_under(filesystem: Any, entry: str) -> list[str]:
    return sorted(filesystem.find(entry)) if filesystem.isdir(entry) else [entry]


class Reader:
    """Reads one file after another; ``position`` tells how many stored bytes are done."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._done = 0
        self._raw: IO[bytes] | None = None

    @property
    def position(self) -> int:
        """Stored bytes read so far, over all files."""
        return self._done + (self._raw.tell() if self._raw is not None and not self._raw.closed else 0)

    def messages(self) -> Iterator[Inbound]:
        """Every line or Avro record, as the pipeline takes it. Offsets count from 1."""
        for file in self._files:
            with fsspec.open(file.path, "rb") as raw:
                self._raw = raw
                yield from self._read(file, raw)
                self._raw = None
            self._done += file.size

    def _read(self, file: InputFile, raw: IO[bytes]) -> Iterator[Inbound]:
        compression = next((name for suffix, name in _COMPRESSION.items() if file.path.endswith(suffix)), None)
        opened = fsspec.compression.compr[compression](raw, mode="rb") if compression else raw
        if not compression and raw.read(4) == _AVRO_MAGIC:
            raw.seek(0)
            yield from _avro_records(file, raw)
            return
        if not compression:
            raw.seek(0)
        try:
            for number, line in enumerate(opened, 1):
                if line.strip():
                    yield Inbound.at(Source(file.path, 0, number, 0), line.rstrip(b"\r\n"))
        except (OSError, EOFError, ValueError) as error:
            raise CaptureError(
                f"cannot read on: {error}", place=file.path, fix="check that the file is whole"
            ) from error


def _avro_records(file: InputFile, raw: IO[bytes]) -> Iterator[Inbound]:
    """Records of a container, in the JSON form: one envelope reader serves all input files."""
    captures = default_avro()
    for number, body in enumerate(_bodies(raw), 1):
        source = Source(file.path, 0, number, 0)
        yield Inbound.at(source, write_json(captures.read(Inbound.at(source, body))))


def _bodies(raw: IO[bytes]) -> Iterator[bytes]:
    """Each record as a single-object value, resolved from the container's schema to ours."""
    schema = load_schema("raw_capture")
    framing = SingleObject(schema)
    ours = fastavro.parse_schema(schema)
    for record in fastavro.reader(raw, ours):
        body = io.BytesIO()
        fastavro.schemaless_writer(body, ours, record)
        yield framing.encode(body.getvalue())
