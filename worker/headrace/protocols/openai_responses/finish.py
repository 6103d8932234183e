"""Status and finish reason. The wire has no finish reason: it follows from status, reason and output."""

from __future__ import annotations

from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message, Part

STATUSES = frozenset({"completed", "incomplete", "failed", "cancelled", "in_progress", "queued"})

#: ``incomplete_details.reason`` -> finish reason.
INCOMPLETE = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
    # A steered response gives way to its successor, which goes on.
    "steered": "pause",
}
#: Finish reason -> the reason that a response from another protocol is written with.
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
_BY_STATUS = {"failed": "error", "cancelled": "cancelled"}
#: Kinds of calls that the provider runs itself: they never wait for the client.
_HOSTED = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)


def set_finish(record: CanonicalRecord, reading: Reading) -> None:
    """Fill ``finish_reason`` and ``status_reason`` (and count what is not known) from what the record says already."""
    status = record.get("status")
    if status is not None and status not in STATUSES:
        reading.unknown_type("status", status)
    reason = record.get("raw_finish_reason")
    if reason is not None:
        record["status_reason"] = reason
        if reason in INCOMPLETE:
            record["finish_reason"] = INCOMPLETE[reason]
        else:
            reading.unknown_type("finish_reason", reason)
    elif status in _BY_STATUS:
        record["finish_reason"] = _BY_STATUS[status]
    elif status == "completed":
        record["finish_reason"] = _of_output(record.get("messages", []))


def _of_output(messages: list[Message]) -> str:
    """tool_calls when a call waits for its result, refusal when all that was said is one, else stop."""
    parts = [part for message in messages for part in message.get("parts", ())]
    results = {part["tool_result"].get("tool_call_id") for part in parts if part["type"] == "tool_result"}
    if any(_waits(part, results) for part in parts):
        return "tool_calls"
    said = {part["type"] for part in parts if part["type"] in ("text", "refusal", "media")}
    return "refusal" if said == {"refusal"} else "stop"


def _waits(part: Part, results: set[str | None]) -> bool:
    if part["type"] != "tool_call":
        return part.get("wire_type") == "mcp_approval_request"
    call = part["tool_call"]
    return call.get("wire_type") not in _HOSTED and call["id"] not in results
