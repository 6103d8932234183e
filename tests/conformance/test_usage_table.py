"""One arithmetic of tokens over all six protocols (catalogue, section 9), checked on every usage object of the traffic.

The formulas here are written from the catalogue, apart from the codecs: input includes cache, output includes
reasoning, and where the wire has a total of its own it is input plus output, or the difference is in `EXPLAINED`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Usage
from headrace.protocols import PROTOCOLS, codec
from tests.conformance.test_pipeline_corpus import exchanges_of
from tests.support import traffic

Wire = dict[str, Any]


def _sum(usage: Wire, *names: str) -> int:
    return sum(usage.get(name) or 0 for name in names)


def _inner(usage: Wire, name: str, inner: str) -> int | None:
    details = usage.get(name)
    found = details.get(inner) if isinstance(details, dict) else None
    return found if isinstance(found, int) else None


def _chat_output(usage: Wire) -> int:
    """xAI counts reasoning beside completion_tokens, which its total tells."""
    spoken, reasoning = _sum(usage, "completion_tokens"), _inner(usage, "completion_tokens_details", "reasoning_tokens")
    is_beside = _sum(usage, "prompt_tokens") + spoken + (reasoning or 0) == usage.get("total_tokens")
    return spoken + (reasoning or 0) if is_beside else spoken


def _live_output(usage: Wire) -> int:
    """Vertex has another name for it; models differ in whether thoughts are inside, which the total tells."""
    spoken = _sum(usage, "responseTokenCount", "candidatesTokenCount")
    asked = _sum(usage, "promptTokenCount", "toolUsePromptTokenCount")
    return spoken if asked + spoken == usage.get("totalTokenCount") else spoken + _sum(usage, "thoughtsTokenCount")


#: Protocol -> canonical field -> what the catalogue says it is; None where the wire does not say.
FORMULAS: dict[str, dict[str, Callable[[Wire], int | None]]] = {
    "openai.chat": {
        "input_tokens": lambda usage: usage.get("prompt_tokens"),
        "output_tokens": lambda usage: _chat_output(usage),
        "total_tokens": lambda usage: usage.get("total_tokens"),
        "cache_read_tokens": lambda usage: _inner(usage, "prompt_tokens_details", "cached_tokens"),
        "reasoning_tokens": lambda usage: _inner(usage, "completion_tokens_details", "reasoning_tokens"),
    },
    "openai.responses": {
        "input_tokens": lambda usage: usage.get("input_tokens"),
        "output_tokens": lambda usage: usage.get("output_tokens"),
        "total_tokens": lambda usage: usage.get("total_tokens"),
        "cache_read_tokens": lambda usage: _inner(usage, "input_tokens_details", "cached_tokens"),
        "reasoning_tokens": lambda usage: _inner(usage, "output_tokens_details", "reasoning_tokens"),
    },
    "anthropic.messages": {
        "input_tokens": lambda usage: _sum(
            usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"
        ),
        "output_tokens": lambda usage: usage.get("output_tokens"),
        "total_tokens": lambda usage: _sum(
            usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"
        ),
        "cache_read_tokens": lambda usage: usage.get("cache_read_input_tokens"),
        "cache_write_tokens": lambda usage: usage.get("cache_creation_input_tokens"),
        "reasoning_tokens": lambda usage: _inner(usage, "output_tokens_details", "thinking_tokens"),
    },
    "gemini.generate_content": {
        "input_tokens": lambda usage: _sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        "output_tokens": lambda usage: _sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        "total_tokens": lambda usage: usage.get("totalTokenCount"),
        "cache_read_tokens": lambda usage: usage.get("cachedContentTokenCount"),
        "reasoning_tokens": lambda usage: usage.get("thoughtsTokenCount"),
    },
    "gemini.interactions": {
        "input_tokens": lambda usage: _sum(usage, "total_input_tokens", "total_tool_use_tokens"),
        "output_tokens": lambda usage: _sum(usage, "total_output_tokens", "total_thought_tokens"),
        "total_tokens": lambda usage: usage.get("total_tokens"),
        "cache_read_tokens": lambda usage: usage.get("total_cached_tokens"),
        "reasoning_tokens": lambda usage: usage.get("total_thought_tokens"),
    },
    "gemini.live": {
        "input_tokens": lambda usage: _sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        "output_tokens": lambda usage: _live_output(usage),
        "total_tokens": lambda usage: usage.get("totalTokenCount"),
        "reasoning_tokens": lambda usage: usage.get("thoughtsTokenCount"),
    },
}

#: Exchange (end of its id) -> (wire's total less input and output, why).
EXPLAINED: dict[str, tuple[int, str]] = {
    "test_compatible_api_with_tool_calls_without_id#0": (
        62,
        _THOUGHTS := "Gemini's compatible API: thoughts in the total",
    ),
    "test_compatible_api_with_tool_calls_without_id#1": (28, _THOUGHTS),
}


def _usages(protocol: str) -> Iterator[tuple[str, Wire, Usage]]:
    """(exchange, usage on the wire, usage in the record) of every response, through Avro."""
    entry = codec(protocol)
    key = "usageMetadata" if protocol in ("gemini.generate_content", "gemini.live") else "usage"
    for exchange in exchanges_of(protocol):
        bodies = [(exchange.get("response"), None)]
        if traffic.is_stream(exchange):
            events = exchange.get("frames") or traffic.events_of(exchange)
            bodies = [(one.body, one.layout) for one in entry.fold(events) if one.record_type == "response"]
        for body, layout in bodies:
            usage = body.get(key) if isinstance(body, dict) else None
            if isinstance(usage, dict) and usage and "rerank" not in exchange["id"]:
                shape = entry.read_response(body, Reading("call", "response"), layout)
                yield exchange["id"], usage, decode_record(encode_record(shape))["usage"]


def _explained(exchange: str) -> int | None:
    return next((found for end, (found, _) in EXPLAINED.items() if exchange.endswith(end)), None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_usage_object_adds_up(protocol: str) -> None:
    seen: Counter[str] = Counter()
    for exchange, wire, usage in _usages(protocol):
        seen["usage objects"] += 1
        for name, formula in FORMULAS[protocol].items():
            said = formula(wire)
            if isinstance(said, int) and (said or name in usage):
                assert usage.get(name) == said, (exchange, name, wire)
                seen[name] += 1
        difference = usage.get("total_tokens", 0) - usage.get("input_tokens", 0) - usage.get("output_tokens", 0)
        if "total_tokens" in usage and difference:
            seen["explained"] += 1
            assert _explained(exchange) == difference, (exchange, difference, wire)
        # Not their sum: OpenRouter counts what a call reads of the cache that it wrote.
        cached = max(usage.get("cache_read_tokens", 0), usage.get("cache_write_tokens", 0))
        assert cached <= usage.get("input_tokens", cached), (exchange, wire)
        assert usage.get("reasoning_tokens", 0) <= usage.get("output_tokens", usage.get("reasoning_tokens", 0)), (
            exchange
        )
    print(protocol, dict(seen))
    assert seen["usage objects"]
