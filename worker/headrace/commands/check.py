"""`headrace check`: what a protocol could not carry of some records, without writing them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Annotated, Any

import typer

from headrace.commands.convert import in_order
from headrace.commands.page import Page
from headrace.commands.record_inputs import each_record
from headrace.convert import CODES, Loss, check
from headrace.convert.dialects import dialect_of
from headrace.convert.targets import target_of
from headrace.json_text import dumps

_EXAMPLES = 3


def check_files(
    files: Annotated[list[str], typer.Argument(help="Capture files (as for normalize) or files of canonical records.")],
    target: Annotated[str, typer.Option("--for", "-t", help="Protocol to check for, for instance openai.responses.")],
    provider: Annotated[str | None, typer.Option(help="Dialect of the protocol.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One JSON line a finding on standard output.")] = False,
) -> None:
    """Run the rules of a target over records: what would be lost, changed or refused, and where.

    Exits with 3 when some record would lose meaning, or some input cannot be read.
    """
    target_of(target)
    dialect_of(provider, target)
    found: dict[str, list[tuple[str, Loss]]] = defaultdict(list)
    counts: Counter[str] = Counter()

    def take(record: Any) -> None:
        call_id = record.get("call_id", "")
        for loss in check(record, target, provider=provider):
            counts[loss.code] += 1
            if len(found[loss.code]) < _EXAMPLES:
                found[loss.code].append((call_id, loss))
            if lines:
                finding = {"call_id": call_id, "record_type": record.get("record_type", ""), "path": loss.path}
                typer.echo(dumps({**finding, "code": loss.code, "severity": loss.severity, "detail": loss.detail}))

    unread = each_record(files, take, None, None, 256 << 20)
    if not lines:
        _print(counts, found)
    if unread or any(CODES[code].severity == "meaning" for code in counts):
        raise typer.Exit(3)


def _print(counts: Counter[str], found: dict[str, list[tuple[str, Loss]]]) -> None:
    page = Page()
    if not counts:
        page.line("nothing would be lost")
        return
    width = len(f"{max(counts.values()):,}")
    for code in in_order(counts):
        severity = CODES[code].severity
        colour = "red" if severity == "meaning" else "default"
        page.line(f"{counts[code]:>{width},}  ", (severity, colour), " ", (code, "cyan"), f": {CODES[code].text}")
        for call_id, loss in found[code]:
            page.line(f"{call_id}: {loss.path}", indent=width + 4)
