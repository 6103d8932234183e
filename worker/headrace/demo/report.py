"""What the demo shows at its end."""

from __future__ import annotations

from headrace.canonical.shape import CanonicalRecord, ToolResult
from headrace.commands.page import Page, shortened
from headrace.commands.record_view import RecordView
from headrace.demo.outcome import Outcome, checks
from headrace.demo.tool_calls import tool_calls
from headrace.demo.traffic import Traffic

#: Responses that are shown whole: interleaved calls, and thinking with a signature and a citation.
_SHOWN = ("weather-1", "research-1")

_METRICS = (
    "headrace_consumed_total",
    "headrace_produced_total",
    "headrace_dead_letters_total",
    "headrace_unknown_types_total",
    "headrace_duplicates_total",
    "headrace_batch_seconds_count",
)


def report(page: Page, sent: Traffic, outcome: Outcome) -> bool:
    """Show records, tool calls, dead letters, metrics and counts; whether every count is what it has to be."""
    records = sorted(outcome.records, key=lambda one: (one["timing"]["first_captured_at"], one["record_type"]))
    _heading(page, "Records")
    page.table(["call", "record", "protocol", "outcome", "parts", "tokens"], list(map(_row, records)))
    _heading(page, "Two of the responses (headrace inspect shows any)")
    view = RecordView(page)
    for record in records:
        if record["call_id"] in _SHOWN and record["record_type"] == "response":
            view.record(record)
    _heading(page, "Tool calls")
    _show_tool_calls(page, records)
    _heading(page, "Dead letters")
    for letter in outcome.dead_letters:
        view.dead_letter(letter)
    _heading(page, "Metrics (the worker serves them at /metrics)")
    _show_metrics(page, outcome.metrics)
    _heading(page, "Counts")
    return _show_checks(page, sent, outcome)


def _heading(page: Page, text: str) -> None:
    page.blank()
    page.line((text, "bold underline"))


def _row(record: CanonicalRecord) -> list[str]:
    usage = record.get("usage", {})
    tokens = f"{usage['input_tokens']} → {usage['output_tokens']}" if "output_tokens" in usage else ""
    return [
        record["call_id"],
        record["record_type"],
        record["protocol"],
        _outcome(record),
        _parts(record),
        tokens,
    ]


def _outcome(record: CanonicalRecord) -> str:
    if "error" in record:
        return f"failed: {record['error'].get('http_status', '')}".rstrip(": ")
    if record.get("status") == "incomplete":
        return "incomplete"
    return record.get("finish_reason", "")


def _parts(record: CanonicalRecord) -> str:
    """``reasoning, text, 2 tool_call``: what the last message holds, in order."""
    shown: list[str] = []
    parts = [part.get("type", "?") for message in record.get("messages", ())[-1:] for part in message.get("parts", ())]
    while parts:
        run = next((place for place, kind in enumerate(parts) if kind != parts[0]), len(parts))
        shown.append(parts[0] if run == 1 else f"{run} {parts[0]}")
        del parts[:run]
    return ", ".join(shown)


def _show_tool_calls(page: Page, records: list[CanonicalRecord]) -> None:
    rows = [
        [
            one.record["call_id"],
            one.call.get("name", ""),
            one.call.get("provider_id", "(none on the wire)"),
            shortened(one.call.get("arguments", ""), 60),
            _result(one.result),
        ]
        for one in tool_calls(records)
    ]
    page.table(["call", "tool", "provider's id", "arguments", "result"], rows)


def _result(result: ToolResult | None) -> str:
    if result is None:
        return "not seen"
    text = " ".join(piece.get("text", "") for piece in result.get("content", ()))
    return f"{'error' if result.get('is_error') else 'ok'}: {shortened(text, 40)}"


def _show_metrics(page: Page, text: str) -> None:
    sums: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("headrace_") and "_created" not in name and "_bucket" not in name:
            sums[name] = float(value)
    rows = [[name, f"{value:g}"] for name, value in sums.items() if value and name.startswith(_METRICS)]
    page.table(["metric", "value"], rows, numbers=1)


def _show_checks(page: Page, sent: Traffic, outcome: Outcome) -> bool:
    found = list(checks(sent, outcome))
    page.table(
        ["", "what", "expected", "found"],
        [["ok" if one.holds else "WRONG", one.what, f"{one.expected:,}", f"{one.found:,}"] for one in found],
        numbers=2,
    )
    return all(one.holds for one in found)
