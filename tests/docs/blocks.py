"""Fenced blocks of a document, and what their info strings ask for (see CONTRIBUTING.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARKS = frozenset({"make", "stack", "background"})


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. language, marks and values of its info string; line: where it begins."""

    language: str
    marks: frozenset[str]
    values: dict[str, str]
    body: str
    line: int

    def commands(self) -> Iterator[tuple[str, str]]:
        """(command, expected output) of a console block."""
        command, output = "", []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, "\n".join(output)
                command, output = line[2:], []
            else:
                output.append(line)
        if command:
            yield command, "\n".join(output)


def blocks(document: Path) -> Iterator[Block]:
    """The document's blocks in order; raises ValueError for an info string nobody knows."""
    text = document.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        language, *words = found[1].split() or [""]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        marks = frozenset(word for word in words if "=" not in word)
        if marks - _MARKS or values.keys() - {"file", "exit"}:
            raise ValueError(f"{document.name}, line {line}: unknown marks in {found[1]!r}")
        yield Block(language, marks, values, found[2], line)


def inline_code(document: Path) -> Iterator[str]:
    """The `code spans` of a document outside of blocks."""
    yield from re.findall(r"`([^`\n]+)`", _FENCE.sub("", document.read_text(encoding="utf-8")))


_VARIABLE = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"took \d+\.\d+ s"), "took TIME"),
]


def matches(expected: str, output: str) -> bool:
    """Whether output is what the document shows, but for times and trailing blanks; ``...`` is any text."""
    pattern = re.escape(_plain(expected)).replace(re.escape("..."), "[^\n]*")
    return re.fullmatch(pattern, _plain(output)) is not None


def _plain(text: str) -> str:
    for variable, name in _VARIABLE:
        text = variable.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
