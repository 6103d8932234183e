"""What a run did, as lines on standard error."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from headrace.commands.page import Page, visible
from headrace.offline.run import Summary


def print_summary(summary: Summary, output: str, dead_letters: str) -> None:
    """Print counts and where things went."""
    page = Page(Console(stderr=True, highlight=False))
    rows = list(_rows(summary))
    width = max(len(f"{count:,}") for count, _, _ in rows)
    for count, what, style in rows:
        page.line((f"{count:>{width},}", f"bold {style}".rstrip()), f"  {visible(what)}")
    page.line(f"records: {output}")
    page.line(f"dead letters: {dead_letters}")


def _rows(summary: Summary) -> Iterator[tuple[int, str, str]]:
    """(count, of what, style)."""
    responses = summary.records["response"]
    yield summary.messages, "captures", ""
    yield summary.records["request"], "request records", ""
    yield responses, f"response records ({summary.errors:,} errors, {summary.incomplete:,} incomplete)", ""
    if summary.duplicates:
        yield summary.duplicates, "duplicate captures", ""
    for code, count in sorted(summary.dead_letters.items()):
        yield count, f"dead letters: {code}", "red"
    for (provider, model, kind, name), count in sorted(summary.unknown.items()):
        yield count, f"unknown {kind} {name} carried raw ({provider} {model})", ""
