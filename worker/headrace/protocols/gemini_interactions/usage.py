"""Usage. Input includes what server tools wrote into the prompt, output includes thoughts.

Wire: total_input_tokens and total_output_tokens exclude tool use and thoughts, total_tokens is their sum.
"""

from __future__ import annotations

from headrace.canonical.shape import Usage
from headrace.json_text import Json, dumps, loads

#: Figures without a named field: they go to ``detail``.
_DETAIL = (
    "initial_input_tokens",
    "input_tokens_by_modality",
    "output_tokens_by_modality",
    "cached_tokens_by_modality",
    "tool_use_tokens_by_modality",
    "grounding_tool_count",
)
_TOTALS = (
    "total_input_tokens",
    "total_cached_tokens",
    "total_output_tokens",
    "total_thought_tokens",
    "total_reasoning_tokens",
    "total_tool_use_tokens",
    "total_tokens",
)
#: Paths whose figures named fields or ``detail`` carry.
USAGE_PATHS = frozenset({*_TOTALS, *_DETAIL})

#: Wire list -> {modality: canonical field}.
_BY_MODALITY = {
    "input_tokens_by_modality": {"audio": "input_audio_tokens", "image": "input_image_tokens"},
    "output_tokens_by_modality": {"audio": "output_audio_tokens", "image": "output_image_tokens"},
}


def read_usage(raw: dict[str, Json]) -> Usage:
    """The one arithmetic over a usage object, which is kept in ``raw``."""
    usage: Usage = {}
    figures = {key: value for key in _TOTALS if (value := _count(raw.get(key))) is not None}
    # Called reasoning tokens before they were thought tokens.
    thought = figures.get("total_thought_tokens", figures.get("total_reasoning_tokens"))
    tool_use = figures.get("total_tool_use_tokens")
    _put(usage, "input_tokens", _sum(figures.get("total_input_tokens"), tool_use))
    _put(usage, "cache_read_tokens", figures.get("total_cached_tokens"))
    _put(usage, "output_tokens", _sum(figures.get("total_output_tokens"), thought))
    _put(usage, "reasoning_tokens", thought)
    _put(usage, "tool_use_tokens", tool_use)
    total = figures.get("total_tokens")
    _put(usage, "total_tokens", _sum(usage.get("input_tokens"), usage.get("output_tokens")) if total is None else total)
    for key, fields in _BY_MODALITY.items():
        _read_modalities(raw.get(key), fields, usage)
    _put(usage, "server_tool_calls", _tool_calls(raw.get("grounding_tool_count")))
    detail = {key: raw[key] for key in _DETAIL if key in raw}
    if detail:
        usage["detail"] = dumps(detail)
    usage["raw"] = dumps(raw)
    return usage


def write_usage(usage: Usage) -> dict[str, Json]:
    """The usage object: as it was, or from the named fields of a record of another protocol."""
    if "raw" in usage:
        raw: dict[str, Json] = loads(usage["raw"])
        return raw
    thought, tool_use = usage.get("reasoning_tokens"), usage.get("tool_use_tokens")
    figures: dict[str, Json] = {
        "total_input_tokens": _less(usage.get("input_tokens"), tool_use),
        "total_cached_tokens": usage.get("cache_read_tokens"),
        "total_output_tokens": _less(usage.get("output_tokens"), thought),
        "total_thought_tokens": thought,
        "total_tool_use_tokens": tool_use,
        "total_tokens": usage.get("total_tokens"),
    }
    detail: dict[str, Json] = loads(usage["detail"]) if "detail" in usage else {}
    figures |= {key: detail[key] for key in _DETAIL if key in detail}
    return {key: value for key, value in figures.items() if value is not None}


def _less(whole: int | None, part: int | None) -> int | None:
    return whole if whole is None or part is None else max(whole - part, 0)


def _read_modalities(entries: Json, fields: dict[str, str], usage: Usage) -> None:
    for entry in entries if type(entries) is list else ():
        if type(entry) is dict and type(entry.get("modality")) is str:
            _put(usage, fields.get(entry["modality"].lower(), ""), _count(entry.get("tokens")))


def _tool_calls(entries: Json) -> int | None:
    counts = [entry.get("count") for entry in entries if type(entry) is dict] if type(entries) is list else []
    return _sum(*map(_count, counts))


def _count(value: Json) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _put(usage: Usage, field: str, value: int | None) -> None:
    if field and value is not None:
        usage[field] = value  # type: ignore[literal-required]
