"""The order of a message's parts: the usual one, or the one that a stream showed.

A layout is a list of runs [key, size] in the order in which they came. The size counts characters where the key
holds one string (content, a reasoning string, refusal) and elements where it holds a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from headrace.canonical.shape import Part
from headrace.json_text import Json
from headrace.protocols.openai_chat.reasoning import KEYS as REASONING_KEYS

#: The keys of content, in the order in which models write them.
ORDER = (*REASONING_KEYS, "executed_tools", "content", "refusal", "audio", "images", "tool_calls", "function_call")
_RANK = {key: rank for rank, key in enumerate(ORDER)}

Run = Sequence[Any]


def is_usual(runs: Sequence[Run]) -> bool:
    """Whether runs are in the usual order, so that no layout is needed."""
    ranks = [_RANK[key] for key, _ in runs]
    return all(before < after for before, after in pairwise(ranks))


def arranged(groups: Mapping[str, list[Part]], layout: Sequence[Run] | None, wire: Mapping[str, Json]) -> list[Part]:
    """The parts of all keys in one list. Whatever the layout does not reach follows in the usual order.

    wire: the message, which tells the keys that hold one string.
    """
    parts: list[Part] = []
    left = dict(groups)
    for key, size in layout or ():
        if left.get(key):
            take = _take_text if type(wire.get(key)) is str else _take_elements
            taken, left[key] = take(left[key], size)
            parts += taken
    for key in ORDER:
        parts += left.get(key, ())
    return parts


def _take_text(group: list[Part], size: int) -> tuple[list[Part], list[Part]]:
    (part,) = group
    text = part["reasoning"]["text"] if part["type"] == "reasoning" else part["text"]
    if len(text) <= size:
        return group, []
    return [_with_text(part, text[:size])], [_with_text(part, text[size:])]


def _take_elements(group: list[Part], size: int) -> tuple[list[Part], list[Part]]:
    taken = 0
    for at, part in enumerate(group):
        # The result of a server tool belongs to the call before it.
        if part["type"] != "tool_result":
            taken += 1
        if taken > size:
            return group[:at], group[at:]
    return group, []


def _with_text(part: Part, text: str) -> Part:
    if part["type"] == "reasoning":
        return cast(Part, {**part, "reasoning": {"text": text}})
    return cast(Part, {**part, "text": text})
