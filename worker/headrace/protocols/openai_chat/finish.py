"""Finish reasons, and what they say of a response's status (catalogue, section 2.5)."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.canonical.reading import Reading
from headrace.json_text import Json

#: Lower-cased wire reason -> canonical reason. The first block is OpenAI's; the rest are dialects.
REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",
    # vLLM, Together, Hugging Face
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "abort": "cancelled",
    # Mistral, DeepSeek, z.ai
    "model_length": "length",
    "insufficient_system_resource": "error",
    "sensitive": "content_filter",
    "network_error": "error",
    # gateways that pass another provider's word on
    "end_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    "safety": "content_filter",
    "recitation": "content_filter",
    "malformed_function_call": "error",
    "error": "error",
    "cancelled": "cancelled",
}

#: Canonical reason -> status of a response that ended so; any other reason ends a turn normally.
_STATUS = {"length": "incomplete", "content_filter": "incomplete", "error": "failed", "cancelled": "cancelled"}
_GRAVITY = ("failed", "cancelled", "incomplete", "completed")

#: Canonical reason -> OpenAI's word, for responses without one of this wire.
_WORDS = {reason: reason for reason in ("stop", "length", "tool_calls", "content_filter")}
#: Reasons that this wire has no word for -> the nearest one.
_NEAREST = {"refusal": "content_filter", "pause": "length"}


def wire_reason(raw: str | None, reason: str | None) -> str | None:
    """The wire's reason: the raw one where it means what the canonical one says, else OpenAI's word for that."""
    if reason is None or (raw is not None and REASONS.get(raw.lower()) == reason):
        return raw
    return _WORDS.get(reason) or _NEAREST.get(reason)


def canonical_reason(raw: Json, reading: Reading) -> str | None:
    """The canonical reason of a wire reason; None where there is none, or (counted) nobody knows it."""
    if type(raw) is not str or not raw:
        return None
    known = REASONS.get(raw.lower())
    if known is None:
        reading.unknown_type("finish_reason", raw)
    return known


def outcome(reasons: Iterable[tuple[str | None, Json]]) -> tuple[str, str | None]:
    """(status, status_reason) of a response, from the (canonical, wire) reasons of its choices: the gravest holds.

    A choice whose reason is null or absent was not finished. A blank reason says nothing: the body is whole.
    """
    worst: tuple[str, str | None] = ("completed", None)
    ended = False
    for canonical, raw in reasons:
        ended = True
        status, reason = _STATUS.get(canonical or "", "completed"), raw
        if raw is None:
            status, reason = "incomplete", "no_finish_reason"
        if _GRAVITY.index(status) < _GRAVITY.index(worst[0]):
            worst = (status, str(reason))
    return worst if ended else ("incomplete", "no_choices")
