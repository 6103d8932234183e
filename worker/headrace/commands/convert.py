"""`headrace convert`: captures or canonical records in, bodies of another protocol out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from headrace.commands.options import MappingOption, QuietOption, mapping_of
from headrace.commands.page import Page
from headrace.commands.record_inputs import each_record
from headrace.convert import CODES, convert
from headrace.convert.codes import Severity
from headrace.convert.conversion import Policy
from headrace.convert.dialects import dialect_of
from headrace.convert.targets import target_of
from headrace.errors import HeadraceError
from headrace.json_text import Json, dumps
from headrace.offline.outputs import Writer, dead_letters_beside, open_output


class PolicyName(StrEnum):
    """What to do when something cannot be carried."""

    strict = "strict"
    lossy = "lossy"


def convert_files(
    files: Annotated[list[str], typer.Argument(help="Capture files (as for normalize) or files of canonical records.")],
    to: Annotated[str, typer.Option("--to", "-t", help="Protocol to write, for instance anthropic.messages.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Where the results go (JSON Lines): a file, a URL, or - for standard output."
        ),
    ],
    provider: Annotated[
        str | None, typer.Option(help="Dialect of the protocol: deepseek, openrouter, azure, vllm, …")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Responses as the events they would be streamed as.")
    ] = False,
    policy: Annotated[PolicyName, typer.Option(help="strict refuses any loss of meaning.")] = PolicyName.strict,
    dead_letters: Annotated[
        str | None, typer.Option(help="Where dead letters go (JSON Lines). Default: OUTPUT.dead-letters.jsonl.")
    ] = None,
    mapping: MappingOption = None,
    memory: Annotated[int, typer.Option(min=1, help="MiB for open calls; beyond it they spill to a file.")] = 256,
    quiet: QuietOption = False,
) -> None:
    """Write requests and responses in another protocol, and list what it cannot carry.

    One line a record: {"call_id", "record_type", "target", "body" | "events", "losses", "matrix_version"}, or
    {"call_id", "refused", "losses"}. Exits with 3 when a record was refused or some input ended as dead letters.
    """
    target_of(to)
    dialect_of(provider, to)
    tally = _Tally()
    letters_path = dead_letters or dead_letters_beside(output)
    with (
        open_output(output, "jsonl", "canonical_record") as results,
        open_output(letters_path, "jsonl", "dead_letter") as letters,
        nullcontext(_nothing) if quiet else _progress(tally) as progress,
    ):

        def take(record: Any) -> None:
            _write(results, tally, _line(record, to, provider, policy.value, stream))
            progress()

        tally.dead_letters = each_record(files, take, letters, mapping_of(mapping), memory << 20)
    if not quiet:
        _print(tally, output, letters_path)
    if tally.refused or tally.dead_letters:
        raise typer.Exit(3)


class _Tally:
    def __init__(self) -> None:
        self.written = 0
        self.refused: Counter[str] = Counter()
        self.losses: Counter[str] = Counter()
        self.dead_letters: Counter[str] = Counter()


def _line(record: Any, target: str, provider: str | None, policy: Policy, stream: bool) -> dict[str, Json]:
    """The result of one record. A fault of ours refuses this record alone."""
    try:
        return convert(record, target, provider=provider, policy=policy, stream=stream).to_json()
    except HeadraceError as error:
        return {
            "call_id": record.get("call_id", ""),
            "record_type": record.get("record_type", ""),
            "target": target,
            "refused": error.code,
            "message": error.message,
            "losses": [],
        }


def _write(results: Writer, tally: _Tally, line: dict[str, Json]) -> None:
    results.write(dumps(line).encode() + b"\n")
    if "refused" in line:
        tally.refused[line["refused"]] += 1
    else:
        tally.written += 1
    tally.losses.update(loss["code"] for loss in line["losses"])


def _nothing() -> None:
    """Progress that nobody wants to see."""


@contextmanager
def _progress(tally: _Tally) -> Iterator[Callable[[], None]]:
    columns = (SpinnerColumn(), TextColumn("converting {task.completed:,} records"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.update(task, completed=tally.written + tally.refused.total())


def in_order(codes: Iterable[str]) -> list[str]:
    """Codes of losses, the grave ones first."""
    severities: tuple[Severity, ...] = ("meaning", "context", "form")
    return sorted(codes, key=lambda code: (severities.index(CODES[code].severity), code))


def _print(tally: _Tally, output: str, letters_path: str) -> None:
    page = Page(Console(stderr=True, highlight=False))
    counts = [tally.written, *tally.refused.values(), *tally.dead_letters.values(), *tally.losses.values()]
    width = len(f"{max(counts):,}")
    page.line(f"{tally.written:>{width},}  written")
    for code, count in sorted(tally.refused.items()):
        page.line((f"{count:>{width},}", "red"), f"  refused: {code}")
    for code, count in sorted(tally.dead_letters.items()):
        page.line((f"{count:>{width},}", "red"), f"  dead letters: {code}")
    for code in in_order(tally.losses):
        page.line(f"{tally.losses[code]:>{width},}  {CODES[code].severity} ", (code, "cyan"), f": {CODES[code].text}")
    page.line(f"results: {output}")
    page.line(f"dead letters: {letters_path}")
