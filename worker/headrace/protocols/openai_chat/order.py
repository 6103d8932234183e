"""The order of a message's parts: the usual one, or the one that a stream showed.

A layout is a list of runs [key, size] in the order in which they came. The size counts characters where the key
holds one string (content, a reasoning string, refusal) and elements where it holds a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from headrace.canonical.shape import Part
from headrace.protocols.openai_chat.reasoning import KEYS as REASONING_KEYS

#: The keys of content, in the order in which models write them.
ORDER = (*REASONING_KEYS, "executed_tools", "content", "refusal", "audio", "images", "tool_calls", "function_call")
_RANK = {key: rank for rank, key in enumerate(ORDER)}

Run = Sequence[Any]


def is_usual(runs: Sequence[Run]) -> bool:
    """Whether runs are in the usual order, so that no layout is needed."""
    ranks = [_RANK[key] for key, _ in runs]
    return all(before < after for before, after in pairwise(ranks))


def arranged(groups: Mapping[str, list[Part]], layout: Sequence[Run] | None) -> list[Part]:
    """The parts of all keys in one list. Whatever the layout does not reach follows in the usual order."""
    parts: list[Part] = []
    left = dict(groups)
    for key, size in layout or ():
        if left.get(key):
            taken, left[key] = _take(left[key], size)
            parts += taken
    for key in ORDER:
        parts += left.get(key, ())
    return parts


def _take(group: list[Part], size: int) -> tuple[list[Part], list[Part]]:
    text = _text(group[0]) if len(group) == 1 else None
    if text is not None and len(text) > size:
        return [_with_text(group[0], text[:size])], [_with_text(group[0], text[size:])]
    taken = 0
    for at, part in enumerate(group):
        # The result of a server tool belongs to the call before it.
        if part["type"] != "tool_result":
            taken += 1
        if taken > size:
            return group[:at], group[at:]
    return group, []


def _text(part: Part) -> str | None:
    """The text that may be split: of a string, never of an element of a list."""
    if "wire" in part or "extras" in part:
        return None
    if part["type"] in ("text", "refusal"):
        return part.get("text")
    wire_type = part.get("wire_type")
    return part["reasoning"].get("text") if wire_type in ("reasoning", "reasoning_content") else None


def _with_text(part: Part, text: str) -> Part:
    if part["type"] == "reasoning":
        return cast(Part, {**part, "reasoning": {"text": text}})
    return cast(Part, {**part, "text": text})
