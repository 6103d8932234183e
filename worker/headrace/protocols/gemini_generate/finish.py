"""Why the model stopped: ``finishReason`` and ``blockReason`` -> canonical reason and status.

The wire has no reason for a turn that ends in function calls: it says STOP.
"""

from __future__ import annotations

from headrace.canonical.reading import Reading

#: finishReason -> canonical reason. "" : the wire names no reason.
REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "FINISH_REASON_UNSPECIFIED": "",
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "LANGUAGE",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "ESCALATION",
            "PUP_LIMITED_DISABLED",
            "MODEL_ARMOR",
        ),
        "content_filter",
    ),
    **dict.fromkeys(
        (
            "OTHER",
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MISSING_THOUGHT_SIGNATURE",
            "MALFORMED_RESPONSE",
            "IMAGE_OTHER",
            "NO_IMAGE",
        ),
        "error",
    ),
}
#: Canonical reason -> what another protocol's answer says here.
_WRITTEN = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "pause": "CONTINUATION",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
    "error": "OTHER",
    "cancelled": "OTHER",
}
#: Canonical reason -> status of the record, where it is not "completed".
STATUS = {"length": "incomplete", "content_filter": "incomplete", "error": "failed"}


def canonical(wire: str, *, has_calls: bool, reading: Reading) -> str | None:
    """The canonical reason of a finishReason; unknown reasons are counted and give None."""
    reason = REASONS.get(wire.upper())
    if reason is None:
        reading.unknown_type("finish_reason", wire)
    return "tool_calls" if reason == "stop" and has_calls else reason or None


def written(raw: str | None, reason: str | None) -> str | None:
    """The finishReason to write: the wire's own where it means the canonical one, else the nearest to that."""
    meant = REASONS.get(raw or "")
    if reason is None or meant == reason or (meant == "stop" and reason == "tool_calls"):
        return raw
    return _WRITTEN.get(reason, raw)
