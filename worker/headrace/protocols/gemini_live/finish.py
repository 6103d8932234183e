"""How a turn ended: its flags and turnCompleteReason -> canonical reason and status. Live has no finishReason."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import Json

_FILTERED = (
    "RESPONSE_REJECTED PROHIBITED_INPUT_CONTENT IMAGE_PROHIBITED_INPUT_CONTENT "
    "INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED INPUT_IMAGE_CELEBRITY INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED "
    "INPUT_TEXT_NCII_PROHIBITED INPUT_OTHER INPUT_IP_PROHIBITED BLOCKLIST UNSAFE_PROMPT_FOR_IMAGE_GENERATION "
    "GENERATED_IMAGE_SAFETY GENERATED_CONTENT_SAFETY GENERATED_AUDIO_SAFETY GENERATED_VIDEO_SAFETY "
    "GENERATED_CONTENT_PROHIBITED GENERATED_CONTENT_BLOCKLIST GENERATED_IMAGE_PROHIBITED GENERATED_IMAGE_CELEBRITY "
    "GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER GENERATED_IMAGE_IDENTIFIABLE_PEOPLE GENERATED_IMAGE_MINORS "
    "OUTPUT_IMAGE_IP_PROHIBITED GENERATED_OTHER"
)
#: turnCompleteReason -> canonical reason. "": the wire names no reason.
REASONS = {
    **dict.fromkeys(_FILTERED.split(), "content_filter"),
    "MALFORMED_FUNCTION_CALL": "error",
    "MAX_REGENERATION_REACHED": "error",
    "NEED_MORE_INPUT": "pause",
    "TURN_COMPLETE_REASON_UNSPECIFIED": "",
    "UNSPECIFIED": "",
}
_STATUS = {"content_filter": "incomplete", "error": "failed", "cancelled": "incomplete"}


def read_end(body: Mapping[str, Json], record: CanonicalRecord, reading: Reading) -> None:
    """Fill status and reasons of a turn. An interrupted one was cut by its user: incomplete, ``cancelled``."""
    raw, reason = _reason(body, reading)
    record["status"] = "completed" if raw is not None else "incomplete"
    if raw is not None:
        record["raw_finish_reason"] = raw
    if reason:
        record["finish_reason"] = reason
        if reason in _STATUS:
            record["status"] = _STATUS[reason]
            record["status_reason"] = raw or reason


def _reason(body: Mapping[str, Json], reading: Reading) -> tuple[str | None, str | None]:
    wire = body.get("turnCompleteReason")
    if type(wire) is str and wire.isascii():
        reason = REASONS.get(wire.upper())
        if reason is None:
            reading.unknown_type("finish_reason", wire)
        if reason != "":
            return wire, reason
    if body.get("interrupted") is True:
        return "interrupted", "cancelled"
    return ("turnComplete", "stop") if body.get("turnComplete") is True else (None, None)
