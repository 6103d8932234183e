"""The capability matrix: which protocol carries which place of a record. The data is in ``matrix.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from headrace.convert.codes import CODES

CARRIED, BY_RULE, LOST = "+", "*", "-"
COLUMNS = ("chat", "responses", "anthropic", "gemini", "interactions", "live")

_POSITION = re.compile(r"\[\d+\]")
_PART_TYPE = re.compile(r"parts\[[a-z_]+\]")

#: What says where a record came from and how it was made; no content, in no protocol.
ENVELOPE = frozenset(
    {
        *("record_id", "record_type", "revision", "ordinal", "call_id", "task_id", "tenant", "request_version"),
        *("protocol", "provider", "capture", "sources", "missing_events", "unknown_types", "chunk_count"),
        *("schema_version", "normalizer"),
        *("timing.first_captured_at", "timing.last_captured_at"),
    }
)
#: Fields that only tell how something was spelled, or repeat what another field says.
SPELLING = frozenset({"wire", "wire_type", "continuation", "index", "raw_arguments", "arguments_error"})


def is_envelope(path: str) -> bool:
    """Whether a path, with or without positions, leads into the envelope."""
    top = path.partition(".")[0].partition("[")[0]
    return top in ENVELOPE or path in ENVELOPE


def is_spelling(holder: str, field: str) -> bool:
    """Whether a field of the object at a path only tells spelling. A citation's index is content."""
    return field in SPELLING and (field != "index" or holder.endswith("tool_call"))


@dataclass(frozen=True, slots=True)
class Line:
    """One place of the record. marks: by column. code: of its loss."""

    path: str
    code: str
    marks: dict[str, str]

    @property
    def place(self) -> str:
        """The path without the type of record that it speaks of."""
        return self.path.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Matrix:
    """All lines, by path."""

    version: str
    lines: dict[str, Line]

    def line(self, pattern: str, record_type: str) -> Line | None:
        """The line of a place: of the record's type first, then of the part's type, then of any."""
        for path in (pattern, _PART_TYPE.sub("parts[]", pattern)):
            found = self.lines.get(f"{record_type}:{path}") or self.lines.get(path)
            if found is not None:
                return found
        return None


@cache
def matrix() -> Matrix:
    """The matrix of this version; a mistake in the file raises ValueError."""
    version = ""
    lines: dict[str, Line] = {}
    for text in (files(__package__) / "matrix.txt").read_text(encoding="utf-8").splitlines():
        words = text.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "version":
            version = words[1]
            continue
        path, code, *marks = words
        if len(marks) != len(COLUMNS) or code not in CODES or not set(marks) <= {CARRIED, BY_RULE, LOST}:
            raise ValueError(f"matrix.txt: {text!r} is no line")
        if path in lines:
            raise ValueError(f"matrix.txt: {path} twice")
        lines[path] = Line(path, code, dict(zip(COLUMNS, marks, strict=True)))
    return Matrix(version, lines)


def pattern_of(path: str) -> str:
    """The place of a path: without positions."""
    return _POSITION.sub("[]", path)


def fields(shape: Any, pattern: str = "") -> Iterator[tuple[Any, str, str]]:
    """Every leaf of a record, as (object it lies in, its field, its place). Lists of texts are one leaf.

    Places name the types of parts: ``messages[].parts[tool_call].tool_call.name``.
    """
    for key, value in list(shape.items()):
        place = f"{pattern}.{key}" if pattern else key
        if type(value) is dict:
            yield from fields(value, place)
        elif type(value) is list and value and type(value[0]) is dict:
            for item in value:
                kind = item.get("type", "unknown") if key == "parts" else ""
                yield from fields(item, f"{place}[{kind}]")
        elif type(value) is list:
            yield shape, key, f"{place}[]"
        else:
            yield shape, key, place
