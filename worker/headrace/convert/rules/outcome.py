"""How a response ended, in the target's own terms."""

from __future__ import annotations

from typing import Any

from headrace.convert.draft import Draft

#: Canonical finish reason -> the target's word. Words in `_NEAREST` are not the same thing, and are reported.
_REASONS: dict[str, dict[str, str]] = {
    "chat": {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "content_filter": "content_filter",
        "refusal": "content_filter",
        "pause": "length",
    },
    "anthropic": {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "refusal",
        "refusal": "refusal",
        "pause": "pause_turn",
    },
    "gemini": {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "tool_calls": "STOP",
        "content_filter": "SAFETY",
        "refusal": "SAFETY",
        "pause": "CONTINUATION",
        "error": "OTHER",
        "cancelled": "OTHER",
    },
    "interactions": {
        "stop": "completed",
        "length": "incomplete",
        "tool_calls": "requires_action",
        "content_filter": "incomplete",
        "refusal": "completed",
        "pause": "requires_continuation",
        "error": "failed",
        "cancelled": "cancelled",
    },
}
_NEAREST = {
    ("chat", "pause"),
    ("anthropic", "content_filter"),
    ("gemini", "pause"),
    ("gemini", "cancelled"),
    ("interactions", "content_filter"),
    ("interactions", "refusal"),
    ("interactions", "pause"),
    ("responses", "pause"),
    ("responses", "refusal"),
    ("live", "pause"),
    ("live", "refusal"),
    ("live", "length"),
}
#: Responses has no reasons of its own: canonical reason -> (status, reason for being cut).
_STATUSES: dict[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "refusal": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
    "pause": ("incomplete", None),
    "error": ("failed", None),
    "cancelled": ("cancelled", None),
}


def write_finish(draft: Draft) -> None:
    """Reasons and statuses of the whole response and of each choice."""
    record = draft.record
    reason = record.get("finish_reason")
    for message in draft.messages:
        own = message.get("finish_reason", reason)
        raw = message.get("raw_finish_reason", record.get("raw_finish_reason"))
        write_choice(draft, message, own, raw)
    draft.moved(record, "finish_reason", "raw_finish_reason", "status", "status_reason")
    _write_whole(draft, record, reason)


def write_choice(draft: Draft, message: Any, reason: str | None, raw: str | None) -> None:
    """The reason of one choice, where the target has reasons by choice."""
    for field in ("finish_reason", "raw_finish_reason"):
        message.pop(field, None)
    draft.moved(message, "finish_reason", "raw_finish_reason")
    if draft.target.column not in ("chat", "gemini") or message.get("role") != "assistant":
        return
    word = _REASONS[draft.target.column].get(reason or "")
    if word is None and reason is None and raw:
        # Nobody knows this reason: to say `stop` would be to make it up.
        word = raw
    if word is not None:
        message["raw_finish_reason"] = word
    message.setdefault("choice_index", 0)


def _write_whole(draft: Draft, record: Any, reason: str | None) -> None:
    column, raw, status = draft.target.column, record.get("raw_finish_reason"), record.get("status")
    why = record.pop("status_reason", None)
    known = _STATUSES if column == "responses" else _REASONS.get(column, _STATUSES)
    if reason is None and raw is not None:
        draft.note(record, "raw_finish_reason", "finish_reason", raw)
    elif reason is not None and reason not in known and column != "live":
        draft.note(record, "finish_reason", "finish_reason", raw or reason)
    elif (column, reason) in _NEAREST:
        draft.note(record, "finish_reason", "finish_reason", f"{reason} ({raw})")
    elif reason is None and status != "completed" and "error" not in record:
        draft.note(record, "status", "unfinished", why or status)
    if column in ("anthropic", "interactions"):
        word = _REASONS[column].get(reason or "", raw if reason is None else None)
        record.pop("raw_finish_reason", None)
        if word is not None:
            record["raw_finish_reason"] = word
        if column == "anthropic" and word == "end_turn" and "stop_sequence" in record:
            record["raw_finish_reason"] = "stop_sequence"
        elif column == "anthropic":
            draft.lose(record, "stop_sequence", "unsupported_field")
    elif column == "responses":
        record.pop("raw_finish_reason", None)
        wanted, cut = _STATUSES.get(reason or "", (status or "completed", None))
        record["status"] = wanted if status in (None, "completed", "incomplete", "failed", "cancelled") else status
        if record["status"] not in ("completed", "incomplete", "failed", "cancelled", "in_progress", "queued"):
            record["status"] = "incomplete"
        if "error" in record:
            record["status"] = "failed"
        if cut is not None and record["status"] == "incomplete":
            record["status_reason"] = cut
