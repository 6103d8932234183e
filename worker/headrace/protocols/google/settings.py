"""``generationConfig`` <-> parameters: what generateContent and Live's setup have in common."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import BOOL, DOUBLE, LONG, TEXTS, Field, Leftover, Other
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import Json

_NAMED = (
    ("temperature", "temperature", DOUBLE),
    ("topP", "top_p", DOUBLE),
    ("topK", "top_k", DOUBLE),
    ("maxOutputTokens", "max_output_tokens", LONG),
    ("stopSequences", "stop", TEXTS),
    ("responseLogprobs", "logprobs", BOOL),
    ("logprobs", "top_logprobs", LONG),
    ("presencePenalty", "presence_penalty", DOUBLE),
    ("frequencyPenalty", "frequency_penalty", DOUBLE),
    ("seed", "seed", LONG),
    ("responseModalities", "modalities", TEXTS),
    ("thinkingConfig.thinkingBudget", "reasoning_budget", LONG),
)
_FORMAT = ("responseMimeType", "responseSchema", "responseJsonSchema", "responseFormat")
_MINOR = (
    "thinkingConfig.includeThoughts",
    "mediaResolution",
    "speechConfig",
    "imageConfig",
    "audioTimestamp",
    "routingConfig",
    "modelSelectionConfig",
    "enableAffectiveDialog",
    "enableEnhancedCivicAnswers",
    "audioTranscriptionConfig",
    "translationConfig",
)


def settings(prefix: str = "") -> tuple[Field | Other, ...]:
    """The fields of a generationConfig that lies at ``<prefix>generationConfig``."""
    at = f"{prefix}generationConfig."
    return (
        *(Field(at + wire, f"parameters.{name}", kind) for wire, name, kind in _NAMED),
        Field(at + "thinkingConfig.thinkingLevel", "parameters.reasoning_effort"),
        *(Other(at + wire, "parameters.response_format") for wire in _FORMAT),
        *(Other(at + wire, "parameters.other") for wire in _MINOR),
    )


def name_effort(record: CanonicalRecord, left: Leftover) -> None:
    """Levels of thinking are upper case here and lower case everywhere else."""
    level = record.get("parameters", {}).get("reasoning_effort")
    if level is not None:
        record["parameters"]["reasoning_effort"] = level.lower()
        if level.lower().upper() != level:
            left.wire["effort"] = level


def wire_effort(record: CanonicalRecord, wire: dict[str, Json]) -> Any:
    """The record with its level of thinking as the wire has it; the record itself is not changed."""
    effort = record.get("parameters", {}).get("reasoning_effort")
    if effort is None:
        return record
    return {**record, "parameters": {**record["parameters"], "reasoning_effort": wire.get("effort", effort.upper())}}
