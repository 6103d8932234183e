"""How a response ended, what it cost and what went wrong, in the target's own terms; and what it cannot do without."""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.convert.draft import Draft
from headrace.json_text import Json, dumps, loads
from headrace.protocols import codec

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
        _write_choice(draft, message, own, raw)
    draft.moved(record, "finish_reason", "raw_finish_reason", "status", "status_reason")
    _write_whole(draft, record, reason)


def _write_choice(draft: Draft, message: Any, reason: str | None, raw: str | None) -> None:
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


# Usage

_ADDED_UP = ("input_tokens", "output_tokens")


def write_usage(draft: Draft) -> None:
    """The same arithmetic under other names; the raw object's other figures are listed."""
    usage = draft.record.get("usage")
    if usage is None:
        return
    if "raw" in usage:
        _list_raw(draft, usage)
    if "detail" in usage:
        draft.lose_json(usage, "detail", "usage_detail")
    if draft.target.family == "google":
        _keep_sums(draft, usage)
    if all(name in usage for name in _ADDED_UP) and "total_tokens" not in usage:
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    if draft.target.column in ("chat", "responses", "anthropic"):
        for name in _ADDED_UP:
            usage.setdefault(name, 0)
    if draft.target.column == "responses":
        usage.setdefault("cache_write_tokens", 0)
    if draft.target.column in ("chat", "responses"):
        usage.setdefault("total_tokens", usage["input_tokens"] + usage["output_tokens"])
    if draft.target.column == "anthropic":
        cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
        if cached > usage["input_tokens"]:
            # The wire's figures add up; what came does not.
            draft.note(usage, "input_tokens", "usage_detail", str(usage["input_tokens"]))
            usage["input_tokens"] = cached
    if draft.target.column == "anthropic" and "total_tokens" in usage:
        total = usage.pop("total_tokens")
        code = "default_elsewhere" if total == usage["input_tokens"] + usage["output_tokens"] else "usage_detail"
        draft.note(usage, "total_tokens", code)


def _keep_sums(draft: Draft, usage: Any) -> None:
    """Google counts parts beside their wholes: a part that is larger than its whole cannot be said."""
    for name in [name for name, count in usage.items() if type(count) is int and not 0 <= count < 1 << 53]:
        draft.lose(usage, name, "usage_detail")
    for part, whole in (("tool_use_tokens", "input_tokens"), ("reasoning_tokens", "output_tokens")):
        if usage.get(part, 0) > usage.get(whole, 0):
            draft.lose(usage, part, "usage_detail")


def _list_raw(draft: Draft, usage: Any) -> None:
    """Figures of the raw object that no named field or ``detail`` repeats."""
    raw = loads(usage.pop("raw"))
    protocol = draft.source.get("protocol")
    named = codec(protocol).usage_paths if protocol else frozenset()
    for path in _leaves(raw, ""):
        if path not in named and not any(path.startswith(f"{one}.") for one in named):
            draft.report(f"usage.raw.{path}", "usage_detail")
    draft.moved(usage, "raw")


def _leaves(value: Json, path: str) -> list[str]:
    if type(value) is dict:
        return [leaf for key, held in value.items() for leaf in _leaves(held, f"{path}.{key}" if path else key)]
    return [] if value in (None, [], 0) else [path]


#: Tiers that OpenAI's answers name.
_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast"})


def write_tier(draft: Draft) -> None:
    """The tier that served, where the target has that word."""
    if draft.record.get("service_tier") not in _TIERS:
        draft.lose(draft.record, "service_tier", "provider_detail")


# Errors

#: HTTP status -> (OpenAI's type, its code, Anthropic's type, Google's status).
_ERRORS = {
    400: ("invalid_request_error", None, "invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", None, "permission_error", "PERMISSION_DENIED"),
    404: ("invalid_request_error", "not_found", "not_found_error", "NOT_FOUND"),
    408: ("server_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED"),
    429: ("rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("server_error", "server_error", "api_error", "INTERNAL"),
    503: ("server_error", "server_error", "overloaded_error", "UNAVAILABLE"),
}
_ALIASES = {
    "overloaded_error": 503,
    "api_error": 500,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "billing_error": 403,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNKNOWN": 500,
}
_RESPONSES_CODES = frozenset({"server_error", "rate_limit_exceeded", "invalid_prompt"})


def write_error(draft: Draft) -> None:
    """The error under the target's names."""
    error = draft.record.get("error")
    if error is None:
        return
    status = _status_of(error)
    openai, code, anthropic, google = _ERRORS.get(status, _ERRORS[500 if status >= 500 else 400])
    if "detail" in error:
        draft.lose_json(error, "detail", "provider_detail")
    given_type, given_code = error.get("type"), error.get("code")
    column = draft.target.column
    error.setdefault("message", given_code or given_type or "unknown error")
    if column == "chat":
        _set(draft, error, "type", openai if draft.source_family != "openai" else given_type or openai)
        _set(draft, error, "code", given_code if draft.source_family == "openai" else code)
    elif column == "responses":
        # A response that failed knows few codes; an error body takes any.
        if "response_id" in draft.record or draft.messages:
            _set(draft, error, "type", None)
            _set(draft, error, "code", given_code if given_code in _RESPONSES_CODES else code or "server_error")
            draft.lose(error, "param", "provider_detail")
        else:
            _set(draft, error, "type", openai if draft.source_family != "openai" else given_type or openai)
            _set(draft, error, "code", given_code if draft.source_family == "openai" else code)
    elif column == "anthropic":
        _set(draft, error, "type", anthropic)
        _set(draft, error, "code", None)
    elif column == "interactions":
        _set(draft, error, "code", google.lower() if draft.source_family != "google" else given_code or google.lower())
        _set(draft, error, "type", None)
    else:
        _set(draft, error, "code", str(status))
        _set(draft, error, "type", google)
    if column in ("gemini", "live"):
        draft.note(error, "http_status", "error_renamed", "code")
        error.pop("http_status", None)
    else:
        draft.lose(error, "http_status", "provider_detail", "the HTTP status says it")


def _status_of(error: Any) -> int:
    if "http_status" in error:
        return int(error["http_status"])
    for name in (error.get("code"), error.get("type")):
        if name is None:
            continue
        if name.isascii() and name.isdigit() and len(name) == 3:
            return int(name)
        if name in _ALIASES:
            return _ALIASES[name]
        found = next((status for status, names in _ERRORS.items() if name in names or name.upper() in names), None)
        if found is not None:
            return found
    return 500


def _set(draft: Draft, error: Any, field: str, value: str | None) -> None:
    if error.get(field) != value and field in error:
        draft.note(error, field, "error_renamed", str(error[field]))
    if value is None:
        error.pop(field, None)
    else:
        error[field] = value


# What a target cannot do without


def fill_response(draft: Draft) -> None:
    """Fields that the target's own answers always have."""
    record, column = draft.record, draft.target.column
    only_error = "error" in record and not draft.messages and "response_id" not in record and "usage" not in record
    if only_error:
        _bare_error(draft)
        return
    _FILL[column](draft, record)


def _bare_error(draft: Draft) -> None:
    record = draft.record
    for field in ("status", "finish_reason", "raw_finish_reason", "status_reason"):
        record.pop(field, None)
    record.pop("messages", None)
    for field in ("served_model", "service_tier", "system_fingerprint", "timing", "metadata"):
        if field in record:
            draft.lose(record, field, "provider_detail")
    if draft.target.column in ("gemini", "live"):
        record["wire"] = '{"error":"error"}'


def _id(draft: Draft, prefix: str, *coordinates: object) -> str:
    seed = "|".join(map(str, (draft.source.get("record_id", ""), draft.source.get("call_id", ""), *coordinates)))
    return prefix + hashlib.sha256(seed.encode()).hexdigest()[:24]


def _common(draft: Draft, record: Any, prefix: str, id_field: str = "response_id") -> None:
    if id_field not in record:
        record[id_field] = _id(draft, prefix)
    if "served_model" not in record:
        record["served_model"] = record.get("model") or "unknown"
        draft.added("served_model", "default_added", record["served_model"])


def _created(draft: Draft, record: Any, unit: int = 1_000_000) -> None:
    timing = record.setdefault("timing", {})
    if "created_at" not in timing:
        timing["created_at"] = (draft.source.get("timing") or {}).get("first_captured_at", 0)
    for field in ("created_at", "completed_at"):
        if timing.get(field, 0) % unit:
            timing[field] -= timing[field] % unit
            draft.note(timing, field, "timing", "whole seconds")


def _fill_chat(draft: Draft, record: Any) -> None:
    _common(draft, record, "chatcmpl-")
    _created(draft, record)
    if not any(message["role"] == "assistant" for message in draft.messages):
        record["messages"] = [{"role": "assistant", "parts": [], "choice_index": 0}]
        _write_choice(draft, record["messages"][0], record.get("finish_reason"), None)
    for message in draft.messages:
        spelled = '{"null":["finish_reason"]}' if "raw_finish_reason" not in message else None
        if spelled is not None:
            message["wire"] = spelled
    record.pop("raw_finish_reason", None)


def _fill_responses(draft: Draft, record: Any) -> None:
    _common(draft, record, "resp_")
    _created(draft, record)
    record["parameters"] = {"parallel_tool_calls": True}
    record["tool_choice"] = {"mode": "auto"}
    nulls = [key for key, held in (("error", "error"), ("incomplete_details", "status_reason")) if held not in record]
    record["wire"] = dumps({"empty_list": ["tools"], "null": nulls})
    name_items(draft)


#: Key of the history that a request cannot do without.
_HISTORIES = {"anthropic": "messages", "gemini": "contents", "interactions": "input"}


def fill_request(draft: Draft) -> None:
    """Fields that the target's requests always have; in Responses, also the ids of items of the history."""
    column = draft.target.column
    if column == "responses":
        name_items(draft)
    elif column in _HISTORIES and all(message["role"] == "system" for message in draft.messages):
        draft.record["wire"] = dumps({"empty_list": [_HISTORIES[column]]})
        draft.added("messages", "first_role", "there is no user message")


def name_items(draft: Draft) -> None:
    """Ids that items of Responses must have: of messages that hold a list, and of reasoning."""
    for at, message in enumerate(draft.messages):
        if message["role"] != "assistant":
            continue
        content = [part for part in message["parts"] if part.get("type") in ("text", "refusal", "media")]
        plain = len(content) == 1 and content[0].keys() <= {"type", "text"} and content[0]["type"] == "text"
        if draft.is_request and plain:
            message["wire"] = '{"content":"string"}'
            _drop_id(draft, message)
        elif content:
            _drop_id(draft, message)
            message["id"] = _id(draft, "msg_", at)
            message["status"] = "completed"
            for part in content:
                if "provider_item_id" in part:
                    draft.lose(part, "provider_item_id", "provider_id")
        for place, part in enumerate(message["parts"]):
            if part.get("type") == "reasoning":
                if "provider_item_id" in part:
                    draft.lose(part, "provider_item_id", "provider_id")
                part["provider_item_id"] = _id(draft, "rs_", at, place)


def _drop_id(draft: Draft, message: Any) -> None:
    for field in ("id", "status"):
        if field in message:
            draft.lose(message, field, "provider_id")


def _fill_anthropic(draft: Draft, record: Any) -> None:
    _common(draft, record, "msg_")
    if not draft.messages:
        record["messages"] = [{"role": "assistant", "wire": '{"empty_list":["content"]}'}]
    if "usage" not in record:
        record["usage"] = {"input_tokens": 0, "output_tokens": 0}
        draft.added("usage", "default_added", "the type demands figures")
    if "error" in record:
        record["error"]["wire"] = '{"form":"event"}'
    nulls = [key for key in ("stop_sequence", "stop_reason") if _ANTHROPIC_FIELDS[key] not in record]
    record["wire"] = dumps({"null": nulls})


_ANTHROPIC_FIELDS = {"stop_sequence": "stop_sequence", "stop_reason": "raw_finish_reason"}


def _fill_gemini(draft: Draft, record: Any) -> None:
    record.pop("raw_finish_reason", None)
    if not draft.messages:
        record["wire"] = '{"empty_list":["candidates"]}'


def _fill_interactions(draft: Draft, record: Any) -> None:
    _common(draft, record, "interaction_")
    _created(draft, record)
    timing = record["timing"]
    if record.get("status") in ("in_progress", "queued", "idle"):
        draft.lose(timing, "completed_at", "timing")
    else:
        timing.setdefault("completed_at", timing["created_at"])
    if "raw_finish_reason" not in record:
        status = record.get("status")
        record["wire"] = dumps({"status": status if status in ("in_progress", "queued") else "incomplete"})


def _fill_live(draft: Draft, record: Any) -> None:
    for field in ("served_model", "response_id"):
        if field in record:
            draft.lose(record, field, "unsupported_field")
    reason = record.get("finish_reason")
    record.pop("raw_finish_reason", None)
    flags: dict[str, Json] = {}
    if reason == "cancelled":
        flags["interrupted"] = True
    elif reason == "content_filter":
        flags["turnCompleteReason"] = "RESPONSE_REJECTED"
    elif reason == "error":
        flags["turnCompleteReason"] = "MALFORMED_FUNCTION_CALL"
    if reason is not None:
        flags = {"generationComplete": True, "turnComplete": True, **flags} if reason != "cancelled" else flags
    last = next((one for one in reversed(draft.messages) if one["role"] == "assistant"), None)
    if flags and last is not None:
        last["detail"] = dumps(flags)


_FILL = {
    "chat": _fill_chat,
    "responses": _fill_responses,
    "anthropic": _fill_anthropic,
    "gemini": _fill_gemini,
    "interactions": _fill_interactions,
    "live": _fill_live,
}
