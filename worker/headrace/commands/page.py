"""Lines for people: colours and hanging indents on a terminal, plain whole lines in a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

#: Everything that moves a cursor, hides text or reverses it: traffic is written by strangers.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: Characters of the note about a cut: cutting less than that would only lengthen the text.
_NOTE = 30


class Page:
    """Writes lines and tables to standard output (or another console)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        if isinstance(self._console.file, io.TextIOWrapper):
            # What the terminal's encoding lacks is shown as an escape.
            self._console.file.reconfigure(errors="backslashreplace")
        self._plain = not self._console.is_terminal

    def line(self, *pieces: str | tuple[str, str], indent: int = 0) -> None:
        """One line of (text, style) pieces; a terminal wraps it under its indent, a pipe gets it whole."""
        text = Text.assemble(*pieces)
        if self._plain:
            text.pad_left(indent)
            self._console.print(text, soft_wrap=True)
        else:
            self._console.print(Padding(text, (0, 0, 0, indent), expand=False))

    def text(self, value: str, *, indent: int, style: str = "") -> None:
        """Text of several lines, made safe to print."""
        for line in visible(value).split("\n"):
            self.line((line, style), indent=indent)

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> None:
        """A table; the last ``numbers`` columns are aligned to the right."""
        shown = [[visible(cell) for cell in row] for row in rows]
        if self._plain:
            self._plain_table([list(headings), *shown], numbers)
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for place, heading in enumerate(headings):
            right = place >= len(headings) - numbers
            table.add_column(heading, justify="right" if right else "left", overflow="fold")
        for row in shown:
            table.add_row(*map(Text, row))
        self._console.print(table)

    def _plain_table(self, rows: Sequence[Sequence[str]], numbers: int) -> None:
        """One line a row, however long: a pipe has no width."""
        widths = [max(cell_len(row[place]) for row in rows) for place in range(len(rows[0]))]
        left = len(widths) - numbers
        for row in rows:
            cells = [
                " " * (width - cell_len(cell)) + cell if place >= left else cell + " " * (width - cell_len(cell))
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            self.line("  ".join(cells).rstrip())


def visible(text: str) -> str:
    """Text with control characters and lone surrogates as escapes, so that it cannot act on a terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def shortened(text: str, limit: int | None) -> str:
    """At most ``limit`` characters of a text, and how many more there are; None: all of it."""
    if limit is None or len(text) <= limit + _NOTE:
        return text
    return f"{text[:limit].rstrip()} … ({len(text) - limit:,} more characters)"
