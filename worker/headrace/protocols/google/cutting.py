"""A list of parts -> the lists by which it would have streamed; `PartFold` puts them together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.json_text import Json
from headrace.protocols.google.folding import is_plain

#: Characters of text a chunk.
_PIECE = 64


def cut(parts: Sequence[Json]) -> list[list[Json]]:
    """The parts of each chunk: one part, or a piece of a text."""
    return [piece for group in _groups(parts) for piece in _pieces(group)]


def _groups(parts: Sequence[Json]) -> list[list[Json]]:
    """Parts by chunk: one each, but texts that would run together share one, as does text that is empty."""
    groups: list[list[Json]] = []
    for part in parts:
        if groups and _must_share(groups[-1][-1], part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _must_share(before: Json, part: Json) -> bool:
    if is_plain(part):
        return part["text"] == "" or (is_plain(before) and before.get("thought") == part.get("thought"))
    return is_plain(before) and bool(before["text"] == "")


def _pieces(group: list[Json]) -> list[list[Json]]:
    """A chunk that starts with a long text -> several, the last with the rest of the group."""
    first: Any = group[0]
    if not is_plain(first) or len(first["text"]) <= _PIECE:
        return [group]
    texts = [{**first, "text": text} for text in cut_text(first["text"])]
    return [*([piece] for piece in texts[:-1]), [texts[-1], *group[1:]]]


def cut_text(text: str) -> list[str]:
    """A text in pieces; an empty text is one empty piece."""
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)] or [""]
