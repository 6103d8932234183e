"""Lines for people: colours and hanging indents on a terminal, plain whole lines in a pipe."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

#: Everything that moves a cursor, hides text or reverses it: traffic is written by strangers.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PIPE_WIDTH = 1_000


class Page:
    """Writes lines and tables to standard output (or another console)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
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
        table = Table(box=box.SIMPLE_HEAD if not self._plain else None, pad_edge=False, header_style="bold")
        for place, heading in enumerate(headings):
            right = place >= len(headings) - numbers
            table.add_column(heading, justify="right" if right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        self._console.print(table, width=_PIPE_WIDTH if self._plain else None, crop=False)


def visible(text: str) -> str:
    """Text with control characters and lone surrogates as escapes, so that it cannot act on a terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def shortened(text: str, limit: int | None) -> str:
    """At most ``limit`` characters of a text, and how many more there are; None: all of it."""
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … ({len(text) - limit:,} more characters)"
