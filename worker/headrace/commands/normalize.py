"""`headrace normalize`: capture files in, record files out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from headrace.commands.options import MappingOption, QuietOption, mapping_of
from headrace.commands.summary import print_summary
from headrace.offline.inputs import Reader, open_inputs
from headrace.offline.outputs import dead_letters_beside, open_output
from headrace.offline.run import run


class Format(StrEnum):
    """Formats of record files."""

    jsonl = "jsonl"
    avro = "avro"
    parquet = "parquet"


def normalize(
    files: Annotated[
        list[str],
        typer.Argument(help="Capture files: .jsonl, .jsonl.gz, .jsonl.zst or Avro containers; folders, globs, URLs."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the records go: a file, a URL, or - for standard output.")
    ],
    format_name: Annotated[Format, typer.Option("--format", "-f", help="Format of the records.")] = Format.jsonl,
    dead_letters: Annotated[
        str | None, typer.Option(help="Where dead letters go (JSON Lines). Default: OUTPUT.dead-letters.jsonl.")
    ] = None,
    mapping: MappingOption = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 1,
    memory: Annotated[int, typer.Option(min=1, help="MiB for open calls; beyond it they spill to a file.")] = 256,
    quiet: QuietOption = False,
) -> None:
    """Normalize capture files into canonical records.

    Same code and same records as the worker gives for the same captures. Exits with 3 when some input ended as
    dead letters.
    """
    inputs = open_inputs(files)
    reader = Reader(inputs)
    letters_path = dead_letters or dead_letters_beside(output)
    total = sum(file.size for file in inputs)
    with (
        open_output(output, format_name.value, "canonical_record") as records,
        open_output(letters_path, "jsonl", "dead_letter") as letters,
        nullcontext(_nothing) if quiet else _progress(reader, total) as progress,
    ):
        summary = run(
            reader,
            records,
            letters,
            format_name=format_name.value,
            mapping=mapping_of(mapping),
            workers=workers or os.cpu_count() or 1,
            memory_bytes=memory << 20,
            progress=progress,
        )
    if not quiet:
        print_summary(summary, output, letters_path)
    if summary.dead_letters:
        raise typer.Exit(3)


def _nothing() -> None:
    """Progress that nobody wants to see."""


@contextmanager
def _progress(reader: Reader, total: int) -> Iterator[Callable[[], None]]:
    columns = (
        TextColumn("normalizing"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total or None)
        yield lambda: bar.update(task, completed=reader.position)
