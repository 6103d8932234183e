"""Usage: the sums, and what is believed when they do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.json_text import loads
from headrace.protocols.google.usage import USAGE_PATHS, read_usage, write_usage

#: Usage -> input, output, total.
SUMS: list[tuple[dict[str, Any], tuple[int | None, int | None, int | None]]] = [
    (
        {"promptTokenCount": 20, "candidatesTokenCount": 198, "thoughtsTokenCount": 405, "totalTokenCount": 623},
        (20, 603, 623),
    ),
    (
        {"promptTokenCount": 20, "candidatesTokenCount": 30, "thoughtsTokenCount": 10, "totalTokenCount": 50},
        (20, 30, 50),
    ),
    ({"promptTokenCount": 20, "responseTokenCount": 30, "thoughtsTokenCount": 10, "totalTokenCount": 60}, (20, 40, 60)),
    (
        {"promptTokenCount": 20, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 26},
        (25, 1, 26),
    ),
    ({"promptTokenCount": 20, "thoughtsTokenCount": 2, "totalTokenCount": 22}, (20, 2, 22)),
    ({"promptTokenCount": 20, "totalTokenCount": 20}, (20, 0, 20)),
    ({"promptTokenCount": 20, "candidatesTokenCount": 3}, (20, 3, 23)),
    ({"promptTokenCount": 20}, (20, None, None)),
    ({"totalTokenCount": 20}, (None, None, 20)),
    ({"trafficType": "ON_DEMAND"}, (None, None, None)),
    ({"promptTokenCount": "20", "candidatesTokenCount": -1, "totalTokenCount": None}, (None, None, None)),
    ({}, (None, None, None)),
]


@pytest.mark.parametrize(("wire", "sums"), SUMS)
def test_sums(wire: dict[str, Any], sums: tuple[int | None, ...]) -> None:
    usage = read_usage(wire)
    assert (usage.get("input_tokens"), usage.get("output_tokens"), usage.get("total_tokens")) == sums
    assert write_usage(usage, "candidatesTokenCount") == wire


def test_every_field_of_the_wire_has_a_place() -> None:
    wire = {
        "promptTokenCount": 20,
        "cachedContentTokenCount": 8,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 11,
        "toolUsePromptTokenCount": 4,
        "totalTokenCount": 40,
        "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
        "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 8}],
        "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 5}],
        "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 4}],
        "serviceTier": "flex",
        "trafficType": "ON_DEMAND",
    }
    assert wire.keys() <= USAGE_PATHS
    usage = read_usage(wire)
    assert usage["input_audio_tokens"] == 20
    assert usage["output_image_tokens"] == 5
    assert usage["cache_read_tokens"] == 8
    assert usage["service_tier"] == "flex"
    assert loads(usage["detail"]).keys() == {
        "promptTokensDetails",
        "cacheTokensDetails",
        "candidatesTokensDetails",
        "toolUsePromptTokensDetails",
        "trafficType",
    }


def test_numbers_of_another_protocol_are_written_in_google_s_arithmetic() -> None:
    usage: Any = {
        "input_tokens": 24,
        "output_tokens": 16,
        "reasoning_tokens": 11,
        "tool_use_tokens": 4,
        "total_tokens": 40,
        "raw": '{"prompt_tokens":24,"completion_tokens":16,"total_tokens":40}',
    }
    assert write_usage(usage, "responseTokenCount") == {
        "promptTokenCount": 20,
        "responseTokenCount": 5,
        "toolUsePromptTokenCount": 4,
        "thoughtsTokenCount": 11,
        "totalTokenCount": 40,
    }
