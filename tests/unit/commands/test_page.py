"""Lines and tables: safe to print, plain in a pipe, under their indent on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from headrace.commands.page import Page, shortened, visible


def printed(terminal: bool, width: int = 30) -> tuple[Page, io.StringIO]:
    out = io.StringIO()
    return Page(
        Console(file=out, force_terminal=terminal, width=width, color_system="standard" if terminal else None)
    ), out


def test_a_pipe_gets_lines_of_any_length() -> None:
    page, out = printed(terminal=False)
    page.line(("word " * 20, "bold red"), indent=2)
    assert out.getvalue() == "  " + "word " * 20 + "\n"


def test_a_terminal_wraps_under_the_indent() -> None:
    page, out = printed(terminal=True)
    page.line("word " * 20, indent=4)
    shown = out.getvalue().splitlines()
    assert len(shown) > 3
    assert all(line.startswith("    word") for line in shown)


def test_tables_in_a_pipe_align_by_what_characters_take() -> None:
    page, out = printed(terminal=False)
    page.table(["city", "n"], [["Zürich", "7"], ["東京", "1,000"]], numbers=1)
    assert out.getvalue() == "city        n\nZürich      7\n東京    1,000\n"


def test_control_characters_are_shown_not_obeyed() -> None:
    assert visible("a\x1b[31mb\u202ec\x9bd\ud83d\r\ne\tf") == "a\\u001b[31mb\\u202ec\\u009bd\\ud83d\ne\tf"


def test_texts_are_cut_only_where_that_shortens_them() -> None:
    assert shortened("x" * 30, 10) == "x" * 30
    assert shortened("x" * 300, 10) == "xxxxxxxxxx … (290 more characters)"
    assert shortened("x" * 300, None) == "x" * 300
