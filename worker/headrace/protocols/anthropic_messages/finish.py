"""Stop reasons: what they mean in the canonical shape, and how they leave the response."""

from __future__ import annotations

from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord

#: Wire reason -> (finish_reason, status). Cut output is incomplete; a turn that ended by itself is completed.
REASONS = {
    "end_turn": ("stop", "completed"),
    "stop_sequence": ("stop", "completed"),
    "tool_use": ("tool_calls", "completed"),
    "pause_turn": ("pause", "completed"),
    "compaction": ("pause", "completed"),
    "refusal": ("refusal", "completed"),
    "max_tokens": ("length", "incomplete"),
    "model_context_window_exceeded": ("length", "incomplete"),
}

#: finish_reason -> the wire's word, for records without one of this wire; the first of several is the common one.
_WIRE = {finish: raw for raw, (finish, _) in reversed(REASONS.items())}
#: Reasons that this wire has no word for -> the nearest one.
_NEAREST = {"content_filter": "refusal"}


def set_finish(record: CanonicalRecord, reading: Reading) -> None:
    """Derive finish_reason, status and status_reason from ``raw_finish_reason``.

    A message without a stop reason did not end: it is incomplete. An unknown reason is no reason to say `stop`.
    """
    raw = record.get("raw_finish_reason")
    if raw is None:
        record["status"], record["status_reason"] = "incomplete", "no_stop_reason"
    elif raw not in REASONS:
        reading.unknown_type("finish_reason", raw)
        record["status"] = "completed"
    else:
        record["finish_reason"], record["status"] = REASONS[raw]
        if record["status"] == "incomplete":
            record["status_reason"] = raw


def write_reason(record: CanonicalRecord) -> str | None:
    """The wire's stop reason: the raw one where it means what ``finish_reason`` says, else its word for that."""
    raw, finish = record.get("raw_finish_reason"), record.get("finish_reason")
    if finish is None or (raw in REASONS and REASONS[raw][0] == finish):
        return raw
    if finish == "stop" and "stop_sequence" in record:
        return "stop_sequence"
    return _WIRE.get(finish) or _NEAREST.get(finish)
