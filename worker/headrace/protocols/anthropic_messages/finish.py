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
