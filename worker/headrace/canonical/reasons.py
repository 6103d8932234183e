"""Finish reasons of a record and of its choices."""

from __future__ import annotations

from typing import cast

from headrace.canonical.shape import CanonicalRecord, Message


def with_reasons(record: CanonicalRecord) -> list[Message]:
    """The messages; the record's reason is theirs where they have none of their own (as in other protocols)."""
    messages = record.get("messages", [])
    reason = record.get("finish_reason")
    if reason is None or not messages or "finish_reason" in messages[0]:
        return messages
    own: Message = {"finish_reason": reason}
    if "raw_finish_reason" in record:
        own["raw_finish_reason"] = record["raw_finish_reason"]
    return [cast(Message, {**own, **message}) for message in messages]
