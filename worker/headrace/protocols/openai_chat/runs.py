"""In which order the pieces of a choice came, while it streams.

A run starts where the key of the content changes; it notes how many pieces the key had then. The reasoning keys say
the same thing side by side, so a change among them is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.json_text import Json
from headrace.protocols.openai_chat.order import is_usual
from headrace.protocols.openai_chat.reasoning import KEYS, read_keys

_REASONING = frozenset(KEYS)


class Runs:
    """The runs of one choice."""

    __slots__ = ("key", "runs", "stretch")

    def __init__(self) -> None:
        #: The key of the last piece.
        self.key = ""
        self.runs: list[tuple[str, int]] = []
        #: The reasoning keys since the last other key.
        self.stretch: set[str] = set()

    def at(self, key: str, size: int) -> bool:
        """A piece of ``key`` comes, which has ``size`` pieces so far; whether other content came in between."""
        if key == self.key:
            return False
        if key in _REASONING:
            self.key = key
            if key in self.stretch:
                return False
            self.stretch.add(key)
        else:
            self.stretch.clear()
            self.key = key
        self.runs.append((key, size))
        return True

    def renumber(self, key: str) -> list[int]:
        """Let the runs of ``key`` count one piece each; returns how many pieces it had at the start of each."""
        marks: list[int] = []
        for at, (name, mark) in enumerate(self.runs):
            if name == key:
                self.runs[at] = (name, len(marks))
                marks.append(mark)
        return marks

    def layout(
        self, message: dict[str, Json], count: Callable[[str], int], size: Callable[[str, int, int], int]
    ) -> list[list[Any]] | None:
        """[key, size] of the runs that become parts; None when they are in the usual order.

        count: pieces of a key. size: of the pieces of a key from one to another.
        """
        if len(self.runs) < 2:
            return None
        read = {*read_keys(message)}
        layout: list[list[Any]] = []
        ends: dict[str, int] = {}
        for key, mark in reversed(self.runs):
            end = ends[key] if key in ends else count(key)
            ends[key] = mark
            if key in _REASONING and key not in read:
                continue
            if layout and layout[-1][0] == key:
                layout[-1][1] += size(key, mark, end)
            else:
                layout.append([key, size(key, mark, end)])
        layout.reverse()
        return None if is_usual(layout) else layout
