"""Usage objects (catalogue, sections 2.6 and 9).

OpenAI counts inclusively: prompt_tokens holds cache reads and writes, completion_tokens holds reasoning. Some
dialects (xAI) leave reasoning out of completion_tokens; the provider's own total tells, so it decides.
"""

from __future__ import annotations

from typing import cast

from headrace.canonical.fields import DOUBLE, LONG, Field, Other, Table
from headrace.canonical.shape import Usage
from headrace.json_text import Json, dumps, loads

#: Figures of one dialect or another without a field of their own.
_DETAIL = (
    # OpenRouter, vLLM, xAI, Mistral: parts of the parts
    "prompt_tokens_details.text_tokens",
    "prompt_tokens_details.video_tokens",
    "prompt_tokens_details.multimodal_tokens",
    "prompt_tokens_details.file_tokens",
    "completion_tokens_details.text_tokens",
    "completion_tokens_details.video_tokens",
    "prompt_token_details",
    "prompt_audio_seconds",
    # Groq, Cerebras: seconds
    "queue_time",
    "prompt_time",
    "completion_time",
    "total_time",
    # DeepSeek
    "prompt_cache_miss_tokens",
    # OpenRouter, xAI, Perplexity, gateways: money and searches
    "cost_details",
    "is_byok",
    "cost_in_usd_ticks",
    "num_sources_used",
    "server_side_tool_usage_details",
    "citation_tokens",
    "num_search_queries",
    "search_context_size",
    "pydantic_ai_gateway.cost_estimate",
)

USAGE = Table(
    Field("prompt_tokens", "input_tokens", LONG),
    Field("completion_tokens", "output_tokens", LONG),
    Field("total_tokens", "total_tokens", LONG),
    Field("prompt_tokens_details.cached_tokens", "cache_read_tokens", LONG),
    Field("prompt_cache_hit_tokens", "cache_read_tokens", LONG),
    Field("cached_tokens", "cache_read_tokens", LONG),
    Field("num_cached_tokens", "cache_read_tokens", LONG),
    Field("cache_read_input_tokens", "cache_read_tokens", LONG),
    Field("prompt_tokens_details.cache_write_tokens", "cache_write_tokens", LONG),
    # LiteLLM, New API: Anthropic's figures beside OpenAI's
    Field("prompt_tokens_details.cache_creation_tokens", "cache_write_tokens", LONG),
    Field("prompt_tokens_details.cached_creation_tokens", "cache_write_tokens", LONG),
    Field("cache_creation_input_tokens", "cache_write_tokens", LONG),
    Field("prompt_tokens_details.audio_tokens", "input_audio_tokens", LONG),
    Field("prompt_tokens_details.image_tokens", "input_image_tokens", LONG),
    Field("completion_tokens_details.reasoning_tokens", "reasoning_tokens", LONG),
    Field("reasoning_tokens", "reasoning_tokens", LONG),
    Field("completion_tokens_details.audio_tokens", "output_audio_tokens", LONG),
    Field("completion_tokens_details.image_tokens", "output_image_tokens", LONG),
    Field("completion_tokens_details.accepted_prediction_tokens", "accepted_prediction_tokens", LONG),
    Field("completion_tokens_details.rejected_prediction_tokens", "rejected_prediction_tokens", LONG),
    Field("server_tool_use_details.web_search_requests", "server_tool_calls", LONG),
    Field("server_tool_use.web_search_requests", "server_tool_calls", LONG),
    Field("service_tier", "service_tier"),
    Field("cost", "cost", DOUBLE),
    *(Other(path, "detail") for path in _DETAIL),
)

USAGE_PATHS = USAGE.paths


def read_usage(wire: dict[str, Json]) -> Usage:
    """The usage of a wire object: one arithmetic, and the object itself as ``raw``."""
    usage: Usage = {}
    USAGE.read(wire, usage)
    usage["raw"] = dumps(wire)
    _balance(usage)
    return usage


def _balance(usage: Usage) -> None:
    """Make input + output = total where the total shows which part the provider left out; else leave all as given."""
    spent_in, spent_out = usage.get("input_tokens"), usage.get("output_tokens")
    if spent_in is None or spent_out is None:
        return
    gap = usage.setdefault("total_tokens", spent_in + spent_out) - spent_in - spent_out
    if gap <= 0:
        return
    if gap == usage.get("reasoning_tokens"):
        usage["output_tokens"] = spent_out + gap
    elif gap == usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0):
        usage["input_tokens"] = spent_in + gap


def write_usage(usage: Usage) -> dict[str, Json]:
    """The wire object: as it was read, or made of the named fields."""
    if "raw" in usage:
        return cast(dict[str, Json], loads(usage["raw"]))
    spent = {"prompt_tokens": usage.get("input_tokens", 0), "completion_tokens": usage.get("output_tokens", 0)}
    return {**spent, "total_tokens": sum(spent.values()), **USAGE.write(usage)}
