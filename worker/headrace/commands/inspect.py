"""`headrace inspect`: what is in a file of records, dead letters or captures, for a person's eyes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer
from rich.console import Console

from headrace import coverage
from headrace.canonical.avro import CANONICAL_RECORD, DEAD_LETTER, to_json_line
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.capture.envelope import read_captures
from headrace.capture.inbound import Inbound
from headrace.capture.mapping import Mapping
from headrace.capture.model import Capture
from headrace.commands.options import MappingOption, mapping_of
from headrace.commands.page import Page
from headrace.commands.record_view import RecordView, print_coverage
from headrace.errors import HeadraceError
from headrace.offline.inputs import Reader, open_inputs
from headrace.offline.normalizer import batches
from headrace.offline.record_files import content_of, read_shapes


class RecordType(StrEnum):
    """Types of records."""

    request = "request"
    response = "response"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which records to show."""

    call: str | None
    record_type: str | None
    limit: int | None

    def of(self, shapes: Iterable[Any]) -> Iterator[Any]:
        """The wanted ones, in order."""
        matching = (
            shape
            for shape in shapes
            if self.call in (None, shape.get("call_id")) and self.record_type in (None, shape.get("record_type"))
        )
        return islice(matching, self.limit)


def inspect(
    file: Annotated[
        str, typer.Argument(help="Records (.jsonl, .gz, .zst, Avro, Parquet), dead letters or captures; path or URL.")
    ],
    call: Annotated[str | None, typer.Option(help="Only this call id.")] = None,
    record_type: Annotated[RecordType | None, typer.Option("--type", help="Only requests, or only responses.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON Lines instead, for jq and the like.")] = False,
    show_coverage: Annotated[
        bool, typer.Option("--coverage", help="Instead: the share of the input's values that named fields carry.")
    ] = False,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Of captures: the dead letters they end as, not the records.")
    ] = False,
    mapping: MappingOption = None,
) -> None:
    """Show records as a person reads them: who asked what, what came back, in order.

    What the file holds is told by its content. Captures are normalized on the fly, and nothing is written.

    Exits with 3 when some captures end as dead letters.
    """
    wanted = _Wanted(call, record_type.value if record_type else None, limit)
    content = "captures" if mapping else content_of(file)
    page = Page()
    if content == "captures":
        captures = _Captures(file, mapping_of(mapping))
        if show_coverage:
            _show_capture_coverage(page, captures, call)
            return
        shapes = wanted.of(captures.dead_letters() if dead_letters else captures.records())
        _show(page, shapes, letters=dead_letters, full=full, as_json=as_json)
        _report_dead_letters(captures, shown=dead_letters)
        return
    letters = content == "dead letters"
    if dead_letters and not letters:
        raise HeadraceError(
            "the file holds records, not dead letters",
            code="no_dead_letters",
            place=file,
            fix="name the dead letters' file: OUTPUT.dead-letters.jsonl of `headrace normalize`",
        )
    if show_coverage and letters:
        raise HeadraceError(
            "dead letters have no fields to cover", code="no_coverage", place=file, fix="name records or captures"
        )
    shapes = wanted.of(read_shapes(file, content))
    if show_coverage:
        _show_record_coverage(page, shapes)
    else:
        _show(page, shapes, letters=letters, full=full, as_json=as_json)


def _report_dead_letters(captures: _Captures, *, shown: bool) -> None:
    if captures.letter_count:
        if not shown:
            _note(f"{captures.letter_count:,} dead letters; --dead-letters shows them")
        raise typer.Exit(3)


def _show(page: Page, shapes: Iterable[Any], *, letters: bool, full: bool, as_json: bool) -> None:
    view = RecordView(page, full=full)
    schema = DEAD_LETTER if letters else CANONICAL_RECORD
    count = 0
    for shape in shapes:
        count += 1
        if as_json:
            sys.stdout.buffer.write(to_json_line(shape, schema))
        elif letters:
            view.dead_letter(shape)
        else:
            view.record(shape)
    if not count:
        _note(f"no {'dead letters' if letters else 'records'} to show")


class _Captures:
    """A capture file, normalized while it is read."""

    def __init__(self, file: str, mapping: Mapping | None) -> None:
        self._file = file
        self._mapping = mapping
        self.letter_count = 0

    def records(self) -> Iterator[CanonicalRecord]:
        """Its records, in the order in which their calls end."""
        for records, letters in self._made():
            self.letter_count += len(letters)
            yield from records

    def dead_letters(self) -> Iterator[DeadLetter]:
        """Its dead letters."""
        for _, letters in self._made():
            self.letter_count += len(letters)
            yield from letters

    def captures(self) -> Iterator[Capture]:
        """Its captures, as their envelopes read; what is none is left out and counted."""
        for message in self._messages():
            read = read_captures(message, self._mapping)
            self.letter_count += len(read.rejects)
            yield from read.captures

    def _messages(self) -> Iterator[Inbound]:
        return Reader(open_inputs([self._file])).messages()

    def _made(self) -> Iterator[tuple[list[CanonicalRecord], list[DeadLetter]]]:
        for batch in batches(self._messages(), self._mapping):
            yield [record for _, record in batch.records], [letter for _, letter in batch.dead_letters]


def _show_capture_coverage(page: Page, source: _Captures, call: str | None) -> None:
    captures = (capture for capture in source.captures() if call in (None, capture.call_id))
    found, unread = coverage.of_captures(captures)
    print_coverage(page, found)
    if unread or source.letter_count:
        _note(
            f"not counted: {unread:,} bodies that cannot be read, {source.letter_count:,} messages that are no capture"
        )


def _show_record_coverage(page: Page, shapes: Iterable[CanonicalRecord]) -> None:
    print_coverage(page, coverage.of_records(shapes))
    _note("measured on the bodies that these records are written back to; give captures to measure the input itself")


def _note(text: str) -> None:
    """What a person should know, out of the way of what a pipe reads."""
    Console(stderr=True, highlight=False).print(text, soft_wrap=True, markup=False)
