"""Records out of files of any kind: canonical records as they are, captures through the normalizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from headrace.canonical.avro import CANONICAL_RECORD, record_format
from headrace.capture.mapping import Mapping
from headrace.errors import CaptureError
from headrace.offline.inputs import InputFile, Reader, open_inputs
from headrace.offline.outputs import Writer
from headrace.offline.record_files import content_of, read_shapes
from headrace.offline.run import run

Take = Callable[[Any], None]


def each_record(
    paths: Sequence[str], take: Take, dead_letters: Writer | None, mapping: Mapping | None, memory_bytes: int
) -> Counter[str]:
    """Give every record of the files to ``take``, record files first; returns counts of dead letters by code.

    Files are read as streams. Raises CaptureError for a file of dead letters, and for what is not there.
    """
    captures: list[InputFile] = []
    for file in open_inputs(paths):
        content = content_of(file.path)
        if content == "captures":
            captures.append(file)
        elif content == "records":
            for shape in read_shapes(file.path, "records"):
                take(shape)
        else:
            raise CaptureError("dead letters are no records", place=file.path, fix="replay them first")
    if not captures:
        return Counter()
    summary = run(
        Reader(captures), _Taker(take), dead_letters or _Taker(_ignore), mapping=mapping, memory_bytes=memory_bytes
    )
    return summary.dead_letters


def _ignore(_: Any) -> None:
    """Dead letters are counted; whoever wants to see them normalizes."""


class _Taker:
    """A writer that hands each row on as a record."""

    def __init__(self, take: Take) -> None:
        self._take = take

    def write(self, row: bytes) -> None:
        self._take(_read(row) if self._take is not _ignore else None)

    def close(self) -> None:
        """Nothing is held back."""


_read = record_format(CANONICAL_RECORD).from_json_line
