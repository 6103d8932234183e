"""``usageMetadata`` <-> `Usage`.

Google counts thoughts beside the candidates and tool-use prompts beside the prompt; the cached part is inside the
prompt. Some endpoints were seen to count thoughts inside the candidates (Live does): where the wire's own total says
so, it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.canonical.shape import Usage
from headrace.json_text import Json, dumps, loads

_COUNTS = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "responseTokenCount",
    "toolUsePromptTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)
_DETAILS = (
    "promptTokensDetails",
    "cacheTokensDetails",
    "candidatesTokensDetails",
    "responseTokensDetails",
    "toolUsePromptTokensDetails",
)
_DETAIL = (*_DETAILS, "trafficType")
#: Paths in the usage object that named fields carry.
USAGE_PATHS = frozenset(
    [
        *_COUNTS,
        *_DETAILS,
        *(f"{path}.{key}" for path in _DETAILS for key in ("modality", "tokenCount")),
        "trafficType",
        "serviceTier",
    ]
)
_SPLIT = (
    ("promptTokensDetails", {"AUDIO": "input_audio_tokens", "IMAGE": "input_image_tokens"}),
    ("candidatesTokensDetails", {"AUDIO": "output_audio_tokens", "IMAGE": "output_image_tokens"}),
    ("responseTokensDetails", {"AUDIO": "output_audio_tokens", "IMAGE": "output_image_tokens"}),
)


def read_usage(wire: Mapping[str, Json]) -> Usage:
    """A usage object -> one arithmetic, with the object itself in ``raw``."""
    usage: Usage = {"raw": dumps(wire)}
    counts = {name: wire[name] for name in _COUNTS if _is_count(wire.get(name))}
    prompt, tool_use = counts.get("promptTokenCount"), counts.get("toolUsePromptTokenCount", 0)
    answer = counts.get("candidatesTokenCount", counts.get("responseTokenCount"))
    thoughts, total = counts.get("thoughtsTokenCount"), counts.get("totalTokenCount")
    if prompt is not None or tool_use:
        usage["input_tokens"] = (prompt or 0) + tool_use
    output = _output(usage.get("input_tokens", 0), answer, thoughts, total)
    if output is not None:
        usage["output_tokens"] = output
    if total is not None:
        usage["total_tokens"] = total
    elif "input_tokens" in usage and output is not None:
        usage["total_tokens"] = usage["input_tokens"] + output
    if thoughts is not None:
        usage["reasoning_tokens"] = thoughts
    if "toolUsePromptTokenCount" in counts:
        usage["tool_use_tokens"] = tool_use
    if "cachedContentTokenCount" in counts:
        usage["cache_read_tokens"] = counts["cachedContentTokenCount"]
    tier = wire.get("serviceTier")
    if type(tier) is str and tier.isascii():
        usage["service_tier"] = tier
    _read_details(wire, usage)
    return usage


def _is_count(value: Json) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _output(given: int, answer: int | None, thoughts: int | None, total: int | None) -> int | None:
    """Output with thoughts; None when the wire does not tell."""
    if answer is None and thoughts is None:
        # An answer of no tokens has no count, but the total then equals the input.
        return total - given if total is not None and given and total >= given else None
    inside = thoughts and answer is not None and answer >= thoughts and given + answer == total
    return (answer or 0) + (0 if inside else thoughts or 0)


def _read_details(wire: Mapping[str, Json], usage: Usage) -> None:
    detail = {name: wire[name] for name in _DETAIL if name in wire}
    if detail:
        usage["detail"] = dumps(detail)
    for name, fields in _SPLIT:
        entries = wire.get(name)
        for entry in entries if type(entries) is list else ():
            if type(entry) is dict and _is_count(entry.get("tokenCount")):
                modality = entry.get("modality")
                field = fields.get(modality) if type(modality) is str else None
                if field is not None:
                    usage[field] = entry["tokenCount"]  # type: ignore[literal-required]


def write_usage(usage: Usage, answer: str) -> dict[str, Json]:
    """The usage object as it was, or one built from another protocol's numbers.

    answer: the wire's name of the answer's tokens, ``candidatesTokenCount`` or ``responseTokenCount``.
    """
    raw = loads(usage["raw"]) if "raw" in usage else None
    if type(raw) is dict and _says(raw, usage):
        return raw
    tool_use, thoughts = usage.get("tool_use_tokens", 0), usage.get("reasoning_tokens", 0)
    counts: dict[str, Json] = {
        "promptTokenCount": usage["input_tokens"] - tool_use if "input_tokens" in usage else None,
        "cachedContentTokenCount": usage.get("cache_read_tokens"),
        answer: usage["output_tokens"] - thoughts if "output_tokens" in usage else None,
        "toolUsePromptTokenCount": usage.get("tool_use_tokens"),
        "thoughtsTokenCount": usage.get("reasoning_tokens"),
        "totalTokenCount": usage.get("total_tokens"),
        "serviceTier": usage.get("service_tier"),
    }
    detail = loads(usage["detail"]) if "detail" in usage else {}
    written = {name: count for name, count in counts.items() if count is not None}
    return written | {name: detail[name] for name in _DETAIL if name in detail}


def _says(raw: dict[str, Json], usage: Usage) -> bool:
    """Whether raw usage is Google's: read again, it gives the same totals. Another protocol's gives none."""
    again = read_usage(raw)
    return all(again.get(name) == usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens"))
