"""Usage: cache reads and writes are part of the input, reasoning is part of the output.

``raw`` is the whole object and what the writer writes; named fields and ``detail`` are for readers.
"""

from __future__ import annotations

from headrace.canonical.fields import LONG, Field, Kind, Other, Table
from headrace.canonical.shape import Usage
from headrace.json_text import Json, dumps, loads

_COST = Kind(lambda value: type(value) in (int, float) and 0 <= value < 1 << 53, float)

_NAMED = (
    Field("input_tokens", "input_tokens", LONG),
    Field("input_tokens_details.cached_tokens", "cache_read_tokens", LONG),
    Field("input_tokens_details.cache_write_tokens", "cache_write_tokens", LONG),
    Field("input_tokens_details.audio_tokens", "input_audio_tokens", LONG),
    Field("input_tokens_details.image_tokens", "input_image_tokens", LONG),
    Field("output_tokens", "output_tokens", LONG),
    Field("output_tokens_details.reasoning_tokens", "reasoning_tokens", LONG),
    Field("output_tokens_details.audio_tokens", "output_audio_tokens", LONG),
    Field("output_tokens_details.image_tokens", "output_image_tokens", LONG),
    Field("total_tokens", "total_tokens", LONG),
    Field("service_tier", "service_tier"),
    # Dialects: xAI counts server tools; OpenRouter and gateways give a cost.
    Field("num_server_side_tools_used", "server_tool_calls", LONG),
    Field("cost", "cost", _COST),
    Field("pydantic_ai_gateway.cost_estimate", "cost", _COST),
)
_DETAIL = (
    "input_tokens_details.cache_write_tokens_details",
    "input_tokens_details.text_tokens",
    "output_tokens_details.text_tokens",
    "num_sources_used",
    "cost_in_usd_ticks",
    "cost_details",
    "is_byok",
    "server_side_tool_usage_details",
    "context_details",
)
#: What a usage object that was not read from this protocol is written with.
_ALWAYS = (
    *("input_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "total_tokens"),
)
_WRITTEN = Table(*(entry for entry in _NAMED if entry.name in _ALWAYS), *(Other(path, "detail") for path in _DETAIL))

_USAGE = Table(*_NAMED, *(Other(path, "detail") for path in _DETAIL))

#: Wire paths that named fields or ``detail`` carry.
USAGE_PATHS = _USAGE.paths


def read_usage(value: dict[str, Json], tool_usage: Json = None) -> Usage:
    """A usage object. tool_usage: what the response says of tools that are billed apart."""
    usage: Usage = {}
    _USAGE.read(value, usage)
    usage["raw"] = dumps(value)
    requests = _at(tool_usage, "web_search", "num_requests")
    if type(requests) is int and 0 <= requests < 1 << 63:
        usage.setdefault("server_tool_calls", requests)
    return usage


def _at(value: Json, *path: str) -> Json:
    for key in path:
        value = value.get(key) if type(value) is dict else None
    return value


def write_usage(usage: Usage) -> Json:
    """The usage object as it was, or one of the named fields."""
    if "raw" in usage:
        return loads(usage["raw"])
    spent = {"total_tokens": usage.get("input_tokens", 0) + usage.get("output_tokens", 0)}
    return _WRITTEN.write({**dict.fromkeys(_ALWAYS, 0), **spent, **usage}, {})
