"""Each tool call of a run with the result that a later request brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.canonical.shape import CanonicalRecord, Part, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Joined:
    """A call as the model made it, and its result, if a later request of the same task holds one."""

    record: CanonicalRecord
    call: ToolCall
    result: ToolResult | None


def tool_calls(records: Iterable[CanonicalRecord]) -> Iterator[Joined]:
    """The calls in the responses, in order. Results are matched by the wire's id, within the task."""
    held = list(records)
    results = {
        (_task(record), part["tool_result"].get("tool_call_id")): part["tool_result"]
        for record in held
        for part in _parts(record)
        if "tool_result" in part
    }
    for record in held:
        if record["record_type"] == "response":
            for part in _parts(record):
                if "tool_call" in part:
                    call = part["tool_call"]
                    yield Joined(record, call, results.get((_task(record), call.get("id"))))


def _task(record: CanonicalRecord) -> str:
    return record.get("task_id") or record["call_id"]


def _parts(record: CanonicalRecord) -> Iterator[Part]:
    for message in record.get("messages", ()):
        yield from message.get("parts", ())
