"""The status of an interaction is its finish reason: there is no other on this wire."""

from __future__ import annotations

from headrace.canonical.fields import Leftover, is_text
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import Json

#: Wire status -> (canonical status, canonical finish reason).
STATUSES: dict[str, tuple[str, str | None]] = {
    "completed": ("completed", "stop"),
    "requires_action": ("completed", "tool_calls"),
    "requires_continuation": ("completed", "pause"),
    "incomplete": ("incomplete", "length"),
    "budget_exceeded": ("incomplete", "length"),
    "failed": ("failed", "error"),
    "cancelled": ("cancelled", "cancelled"),
    "in_progress": ("in_progress", None),
    "queued": ("queued", None),
    "idle": ("idle", None),
}
_OPEN = frozenset({"in_progress", "queued", "idle"})

#: Finish reasons of any protocol -> wire status, for records without a status of this wire.
_STATUS_OF_REASON = {
    "stop": "completed",
    "tool_calls": "requires_action",
    "pause": "requires_continuation",
    "length": "incomplete",
    "content_filter": "incomplete",
    "refusal": "completed",
    "error": "failed",
    "cancelled": "cancelled",
}


def goes_on(status: Json) -> bool:
    """Whether this is the wire status of an interaction that has not ended."""
    return type(status) is str and status in _OPEN


def read_status(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    """Fill status and finish reasons. A failure that the status does not know yet makes the record failed."""
    wire = body.get("status")
    if wire is None:
        if "status" in body:
            left.note("null", "status")
        else:
            left.wire["unstated"] = True
    elif not is_text(wire) or not wire:
        left.extras["status"] = wire
    elif wire not in STATUSES:
        reading.unknown_type("status", wire)
        record["status"] = record["raw_finish_reason"] = wire
    else:
        status, reason = STATUSES[wire]
        record["status"] = status
        if reason is None:
            left.wire["status"] = wire
        else:
            record["finish_reason"], record["raw_finish_reason"] = reason, wire
            if status == "incomplete":
                record["status_reason"] = wire
    if "error" in record and record.get("status", "in_progress") in _OPEN:
        record["status"], record["finish_reason"] = "failed", "error"


def write_status(record: CanonicalRecord, spelled: dict[str, Json]) -> str | None:
    """The wire status, or None where there was none. A raw reason counts where it means what ``finish_reason`` says."""
    raw, finish = record.get("raw_finish_reason"), record.get("finish_reason")
    if raw is not None and (finish is None or STATUSES.get(raw, ("", None))[1] == finish):
        return raw
    if "status" in spelled or "unstated" in spelled:
        stated: str | None = spelled.get("status")
        return stated
    status = record.get("status")
    return _STATUS_OF_REASON.get(finish or "") or (status if status in STATUSES else "completed")
