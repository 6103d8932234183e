"""Settings that a request has and its response echoes, as table entries for both."""

from __future__ import annotations

from headrace.canonical.fields import BOOL, DOUBLE, LONG, OBJECT, TEXTS, Field, Other

#: Settings with a field of their own in ``parameters``.
NAMED = (
    Field("temperature", "parameters.temperature", DOUBLE),
    Field("top_p", "parameters.top_p", DOUBLE),
    Field("top_k", "parameters.top_k", DOUBLE),
    Field("top_logprobs", "parameters.top_logprobs", LONG),
    Field("presence_penalty", "parameters.presence_penalty", DOUBLE),
    Field("frequency_penalty", "parameters.frequency_penalty", DOUBLE),
    Field("max_output_tokens", "parameters.max_output_tokens", LONG),
    Field("max_tool_calls", "parameters.max_tool_calls", LONG),
    Field("parallel_tool_calls", "parameters.parallel_tool_calls", BOOL),
    Field("store", "parameters.store", BOOL),
    Field("background", "parameters.background", BOOL),
    Field("stream", "parameters.stream", BOOL),
    Field("stream_options", "parameters.stream_options", OBJECT),
    Field("include", "parameters.include", TEXTS),
    Field("modalities", "parameters.modalities", TEXTS),
    Field("truncation", "parameters.truncation"),
    Field("user", "parameters.user"),
    Field("safety_identifier", "parameters.safety_identifier"),
    Field("prompt_cache_key", "parameters.cache_key"),
    Field("text.format", "parameters.response_format", OBJECT),
    Field("text.verbosity", "parameters.verbosity"),
    Field("reasoning.effort", "parameters.reasoning_effort"),
    Field("reasoning.summary", "parameters.reasoning_summary"),
    Field("reasoning.mode", "parameters.reasoning_mode"),
)

#: Known settings without a field of their own: wire paths. The last line is of dialects (OpenRouter, xAI).
MINOR = (
    *("reasoning.context", "reasoning.generate_summary", "context_management", "prompt"),
    *("background_options", "prompt_cache_options", "prompt_cache_retention", "image", "access_programs"),
    *("multi_agent", "generate", "stream_id"),
    *("models", "provider", "plugins", "route", "transforms", "session_id", "search_parameters"),
)

SETTINGS: tuple[Field | Other, ...] = (
    *NAMED,
    *(Other(path, "parameters.other") for path in MINOR),
    Field("previous_response_id", "previous_response_id"),
    Field("conversation.id", "conversation_id"),
    Field("metadata", "metadata", OBJECT),
)
