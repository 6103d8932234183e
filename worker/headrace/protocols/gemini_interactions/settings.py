"""Settings that a request makes and an interaction echoes."""

from __future__ import annotations

from headrace.canonical.fields import ARRAY, BOOL, DOUBLE, JSON, LONG, OBJECT, ONE_TEXT, TEXTS, Field, Other
from headrace.json_text import Json
from headrace.protocols.gemini_interactions.tools import TOOL_CHOICE

#: Fields of request and interaction alike.
SETTINGS: tuple[Field | Other, ...] = (
    Field("generation_config.temperature", "parameters.temperature", DOUBLE),
    Field("generation_config.top_p", "parameters.top_p", DOUBLE),
    Field("generation_config.top_k", "parameters.top_k", DOUBLE),
    Field("generation_config.seed", "parameters.seed", LONG),
    Field("generation_config.stop_sequences", "parameters.stop", TEXTS, ONE_TEXT),
    Field("generation_config.max_output_tokens", "parameters.max_output_tokens", LONG),
    Field("generation_config.thinking_level", "parameters.reasoning_effort"),
    Field("generation_config.thinking_summaries", "parameters.reasoning_summary"),
    Field("generation_config.tool_choice", "tool_choice", TOOL_CHOICE),
    *(
        Other(f"generation_config.{key}", "parameters.other")
        for key in ("speech_config", "image_config", "video_config", "transcription_config")
    ),
    *(Other(key, "parameters.other") for key in ("agent_config", "response_mime_type", "webhook_config")),
    Field("previous_interaction_id", "previous_response_id"),
    Field("continuation_token", "continuation_token"),
    Field("environment", "container", JSON),
    Field("store", "parameters.store", BOOL),
    Field("stream", "parameters.stream", BOOL),
    Field("background", "parameters.background", BOOL),
    Field("cached_content", "parameters.cached_content"),
    Field("response_format", "parameters.response_format", JSON),
    Field("response_modalities", "parameters.modalities", TEXTS),
    Field("safety_settings", "parameters.safety_settings", ARRAY),
    Field("labels", "metadata", OBJECT),
)

#: What the provider needs back to go on.
_CONTINUATION = ("previous_interaction_id", "continuation_token", "environment", "environment_id", "event_id")


def continuation(body: dict[str, Json]) -> list[str]:
    """The fields of a body that continue an exchange, of those it has."""
    return [key for key in _CONTINUATION if body.get(key)]
