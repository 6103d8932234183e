"""What a run did, as a table on standard error."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.commands.page import visible
from headrace.offline.run import Summary


def print_summary(summary: Summary, output: str, dead_letters: str) -> None:
    """Print counts and where things went."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{summary.messages:,}", "captures")
    table.add_row(f"{summary.records['request']:,}", "request records")
    responses = summary.records["response"]
    table.add_row(f"{responses:,}", f"response records ({summary.errors:,} errors, {summary.incomplete:,} incomplete)")
    if summary.duplicates:
        table.add_row(f"{summary.duplicates:,}", "duplicate captures")
    for code, count in sorted(summary.dead_letters.items()):
        table.add_row(f"[red]{count:,}[/red]", f"dead letters: {code}")
    for (provider, model, kind, name), count in sorted(summary.unknown.items()):
        # Names come from traffic: they must not act as markup.
        table.add_row(f"{count:,}", Text(visible(f"unknown {kind} {name} carried raw ({provider} {model})")))
    console = Console(stderr=True, highlight=False)
    console.print(table)
    console.print(f"records: {output}\ndead letters: {dead_letters}", soft_wrap=True, markup=False)
