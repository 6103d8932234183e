"""What a target cannot do without: ids, times, empty lists and nulls that its own bodies always have."""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.convert.draft import Draft
from headrace.convert.rules.outcome import write_choice
from headrace.json_text import Json, dumps


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
        write_choice(draft, record["messages"][0], record.get("finish_reason"), None)
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
