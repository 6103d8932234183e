"""The texts of a reasoning item: ``summary`` and ``content``, lists of {type, text} <-> plain strings.

Several content texts are joined by a blank line; ``wire`` spells their lengths as "texts". An element that is
not exactly a text of its list becomes a part of its own, unknown, that remembers where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headrace.canonical.fields import Leftover, is_text
from headrace.canonical.shape import Part, Reasoning
from headrace.json_text import Json

#: Key -> type of its elements.
LISTS = {"summary": "summary_text", "content": "reasoning_text"}
_GAP = "\n\n"

#: An odd element: (key, position, value).
Odd = tuple[str, int, Json]


def read_texts(item: Mapping[str, Json], part: Part, left: Leftover) -> list[Odd]:
    """Fill the reasoning's texts; returns elements that are no such text."""
    odd: list[Odd] = []
    reasoning: Reasoning = part.setdefault("reasoning", {})
    for key, kind in LISTS.items():
        value = item.get(key)
        if type(value) is not list:
            _spell_missing(item, key, left)
            continue
        texts: list[str] = []
        for position, element in enumerate(value):
            if _is_plain(element, kind):
                texts.append(element["text"])
            else:
                odd.append((key, position, element))
        _store(key, texts, value, reasoning, left)
    return odd


def _is_plain(element: Json, kind: str) -> bool:
    return type(element) is dict and len(element) == 2 and element.get("type") == kind and is_text(element.get("text"))


def _spell_missing(item: Mapping[str, Json], key: str, left: Leftover) -> None:
    """``summary`` is always there and ``content`` seldom: anything else is spelled."""
    if key not in item:
        if key == "summary":
            left.note("absent", key)
    elif item[key] is None:
        left.note("null", key)
    else:
        left.extras[key] = item[key]


def _store(key: str, texts: list[str], value: list[Json], reasoning: Reasoning, left: Leftover) -> None:
    if key == "summary":
        if texts:
            reasoning["summary"] = texts
    elif texts:
        reasoning["text"] = _GAP.join(texts)
        if len(texts) > 1:
            left.wire["texts"] = [len(text) for text in texts]
    else:
        left.wire["texts"] = []


def write_texts(part: Part, item: dict[str, Json], spelled: Mapping[str, Json]) -> None:
    """Add ``summary`` and ``content`` to an item, unless they are there already (null, extras)."""
    reasoning = part.get("reasoning", {})
    if "summary" not in item and "summary" not in spelled.get("absent", ()):
        item["summary"] = [_element("summary", text) for text in reasoning.get("summary", ())]
    if "content" not in item and ("text" in reasoning or "texts" in spelled):
        texts = _split(reasoning.get("text", ""), spelled.get("texts"))
        item["content"] = [_element("content", text) for text in texts]


def _element(key: str, text: str) -> dict[str, Json]:
    return {"type": LISTS[key], "text": text}


def _split(text: str, lengths: Sequence[int] | None) -> Iterator[str]:
    if lengths is None:
        yield text
        return
    start = 0
    for length in lengths:
        yield text[start : start + length]
        start += length + len(_GAP)
