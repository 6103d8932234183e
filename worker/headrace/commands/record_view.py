"""A canonical record, a dead letter and coverage as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from headrace.canonical.shape import (
    CanonicalRecord,
    Citation,
    DeadLetter,
    Media,
    Message,
    Part,
    Source,
    ToolResultContent,
    Usage,
)
from headrace.commands.page import Page, shortened, visible
from headrace.coverage import Coverage
from headrace.errors import FramingError
from headrace.json_text import loads

_SHORT = 300
_SHORT_LINES = 12
_LABEL = "cyan"
_ROLES = {"user": "green", "assistant": "blue", "system": "magenta", "developer": "magenta", "tool": "yellow"}
_STATUSES = {"completed": "green", "failed": "bold red", "incomplete": "yellow", "cancelled": "yellow"}


class RecordView:
    """Prints records on a page. full: nothing is shortened."""

    def __init__(self, page: Page, *, full: bool = False) -> None:
        self._page = page
        self._limit = None if full else _SHORT
        self._lines = None if full else _SHORT_LINES

    def record(self, record: CanonicalRecord) -> None:
        """One record: a header, what came of it, and its messages in order."""
        self._page.line(
            (record.get("record_type", "record"), "bold"),
            ("  " + visible(record.get("call_id", "")), "bold cyan"),
            "  " + _joined(record.get("protocol"), record.get("provider"), _model(record)),
        )
        for facts in (self._outcome(record), self._setup(record), _origin(record)):
            if facts:
                self._page.line(*facts, indent=2)
        self._error(record)
        for message in record.get("messages", ()):
            self._message(message)
        self._extras(record, indent=2)
        for unknown in record.get("unknown_types", ()):
            kind, name = unknown.get("kind", "type"), unknown.get("type", "")
            self._page.line(
                ("unknown ", "yellow"), visible(f"{kind} {name}, {unknown.get('count', 1)} carried raw"), indent=2
            )
        self._page.blank()

    def dead_letter(self, letter: DeadLetter) -> None:
        """One dead letter: why, where it lies, what to change, and its bytes."""
        place = f" (at {letter['place']})" if letter.get("place") else ""
        self._page.line(("dead letter  ", "bold"), (letter.get("code", ""), "bold red"))
        self._page.line(visible(letter.get("message", "") + place), indent=2)
        if letter.get("fix"):
            self._page.line(("fix ", _LABEL), visible(letter["fix"]), indent=2)
        facts = _joined(letter.get("call_id"), letter.get("protocol"), _sources(letter.get("sources", [])))
        if facts:
            self._page.line((facts, "dim"), indent=2)
        value = letter.get("value")
        if value is not None:
            self._page.line(("bytes ", _LABEL), f"{len(value):,}", indent=2)
            self._long(value.decode("utf-8", "backslashreplace"), indent=4)
        self._page.blank()

    # What came of it

    def _outcome(self, record: CanonicalRecord) -> list[str | tuple[str, str]]:
        status = record.get("status")
        facts: list[str | tuple[str, str]] = []
        if status:
            reason = f" ({record['status_reason']})" if record.get("status_reason") else ""
            facts.append((visible(status + reason), _STATUSES.get(status, "")))
        finish, raw = record.get("finish_reason"), record.get("raw_finish_reason")
        if finish or raw:
            spelled = f" (wire: {raw})" if raw and raw != finish else ""
            facts.append(visible(f"finish {finish or 'unknown'}{spelled}"))
        if "usage" in record:
            facts.append(_usage(record["usage"]))
        if "chunk_count" in record:
            facts.append(f"{record['chunk_count']:,} stream events")
        return _dotted(facts)

    def _setup(self, record: CanonicalRecord) -> list[str | tuple[str, str]]:
        facts: list[str | tuple[str, str]] = []
        tools = [tool.get("name") or tool.get("wire_type") or tool.get("kind", "?") for tool in record.get("tools", ())]
        if tools and record.get("record_type") == "request":
            facts.append(visible(shortened(f"tools {', '.join(tools)}", self._limit)))
        if "mode" in record.get("tool_choice", {}) and record.get("record_type") == "request":
            choice = record["tool_choice"]
            facts.append(visible(f"tool choice {choice['mode']} {choice.get('name', '')}".rstrip()))
        if record.get("record_type") == "request":
            facts += [
                visible(f"{name} {value}")
                for name, value in record.get("parameters", {}).items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            ]
        return _dotted(facts)

    def _error(self, record: CanonicalRecord) -> None:
        error = record.get("error")
        if error is None:
            return
        named = [str(error[name]) for name in ("http_status", "type", "code") if name in error]
        self._page.line(
            ("error ", "bold red"),
            visible(" ".join(dict.fromkeys(named))),
            visible(f": {error['message']}") if error.get("message") else "",
            indent=2,
        )

    # Messages

    def _message(self, message: Message) -> None:
        role = message.get("role", "")
        facts = [message.get("name"), message.get("phase"), message.get("status")]
        if message.get("choice_index", 0):
            facts.append(f"choice {message['choice_index']}")
        extra = _joined(*facts)
        style = f"bold {_ROLES.get(role, '')}".rstrip()
        self._page.line((visible(role or "(no role)"), style), f"  {extra}" if extra else "", indent=2)
        for part in message.get("parts", ()):
            self._part(part)
        self._extras(message, indent=4)

    def _part(self, part: Part) -> None:
        kind = part.get("type", "unknown")
        _SHOW.get(kind, RecordView._show_other)(self, part)
        for citation in part.get("citations", ()):
            self._citation(citation)
        self._extras(part, indent=6)

    def _show_text(self, part: Part) -> None:
        self._label("text")
        self._long(part.get("text", ""), indent=6)

    def _show_refusal(self, part: Part) -> None:
        self._label("refusal")
        self._long(part.get("text", ""), indent=6)

    def _show_reasoning(self, part: Part) -> None:
        reasoning = part.get("reasoning", {})
        marks = [
            "signed" if reasoning.get("signature") or part.get("signature") else None,
            "encrypted" if reasoning.get("encrypted") else None,
            "redacted" if reasoning.get("redacted") else None,
        ]
        self._label("reasoning", *(mark for mark in marks if mark))
        for text in (reasoning.get("text"), *reasoning.get("summary", ())):
            if text:
                self._long(text, indent=6, style="italic")

    def _show_tool_call(self, part: Part) -> None:
        call = part.get("tool_call", {})
        kind = call.get("kind")
        self._label(
            "tool call",
            (visible(_qualified(call)), "bold"),
            call.get("id"),
            kind if kind != "function" else None,
            call.get("status"),
            "signed" if part.get("signature") else None,
        )
        if "arguments_error" in call:
            self._page.line(("not JSON: ", "red"), visible(call["arguments_error"]), indent=6)
        text = call.get("arguments") or call.get("raw_arguments")
        if text:
            self._json(text, indent=6)

    def _show_tool_result(self, part: Part) -> None:
        result = part.get("tool_result", {})
        failed = result.get("is_error") or result.get("error_code")
        self._label(
            "tool result",
            (visible(_qualified(result)), "bold"),
            f"for {result['tool_call_id']}" if result.get("tool_call_id") else None,
            result.get("status"),
            (f"error {result.get('error_code', '')}".rstrip(), "bold red") if failed else None,
        )
        for piece in result.get("content", ()):
            self._result_piece(piece)

    def _result_piece(self, piece: ToolResultContent) -> None:
        if "text" in piece:
            self._long(piece["text"], indent=6)
        elif "media" in piece:
            self._media(piece["media"])
        elif "json" in piece:
            self._json(piece["json"], indent=6)

    def _show_code(self, part: Part) -> None:
        code = part.get("code", {})
        self._label("code", code.get("language"), code.get("outcome"))
        for name in ("code", "output", "stdout", "stderr"):
            if code.get(name):
                self._long(str(code[name]), indent=6)

    def _show_citation(self, part: Part) -> None:
        self._label("citation")

    def _show_unknown(self, part: Part) -> None:
        self._label("unknown", (visible(part.get("wire_type", "")), "yellow"), "carried raw")
        if part.get("raw"):
            self._json(part["raw"], indent=6)

    def _show_other(self, part: Part) -> None:
        self._label(part.get("type", "(no type)"), part.get("wire_type"))
        if "media" in part:
            self._media(part["media"])
        if part.get("text"):
            self._long(part["text"], indent=6)
        if part.get("data"):
            self._json(part["data"], indent=6)

    def _media(self, media: Media) -> None:
        where = media.get("uri") or media.get("file_id") or media.get("filename")
        size = f"{len(media['data']):,} base64 characters" if media.get("data") else None
        facts = _joined(media.get("kind"), media.get("mime_type"), where, size, media.get("transcript"))
        self._page.line(visible(shortened(facts, self._limit)), indent=6)

    def _citation(self, citation: Citation) -> None:
        source = citation.get("url") or citation.get("file_id") or citation.get("source")
        quoted = f"“{shortened(citation['cited_text'], 80)}”" if citation.get("cited_text") else None
        span = f"{citation['start_index']}-{citation.get('end_index', '')}" if "start_index" in citation else None
        self._page.line(("cites ", _LABEL), _joined(citation.get("title"), source, span, quoted), indent=6)

    # Pieces of lines

    def _label(self, kind: str, *facts: str | tuple[str, str] | None) -> None:
        pieces: list[str | tuple[str, str]] = [(visible(kind), _LABEL)]
        for fact in facts:
            if fact and fact != ("", "bold"):
                pieces += ["  ", fact if isinstance(fact, tuple) else visible(fact)]
        self._page.line(*pieces, indent=4)

    def _long(self, text: str, *, indent: int, style: str = "") -> None:
        if text:
            self._page.text(shortened(text, self._limit), indent=indent, style=style)

    def _extras(self, shape: Mapping[str, Any], *, indent: int) -> None:
        """What the wire said beyond the model's fields."""
        if "extras" in shape:
            self._page.line(("extras", "yellow"), indent=indent)
            self._json(shape["extras"], indent=indent + 2)

    def _json(self, text: str, *, indent: int) -> None:
        """JSON text over several lines where it is more than a short value; as it stands where it is none."""
        try:
            value = loads(text)
        except FramingError:
            self._long(text, indent=indent)
            return
        short = json.dumps(value, ensure_ascii=False)
        lines = [short] if len(short) <= 80 else json.dumps(value, ensure_ascii=False, indent=2).split("\n")
        shown = lines if self._lines is None else lines[: self._lines]
        for line in shown:
            self._page.line(visible(shortened(line, self._limit)), indent=indent)
        if len(shown) < len(lines):
            self._page.line((f"… ({len(lines) - len(shown):,} more lines)", "dim"), indent=indent)


_SHOW: dict[str, Callable[[RecordView, Part], None]] = {
    "text": RecordView._show_text,
    "refusal": RecordView._show_refusal,
    "reasoning": RecordView._show_reasoning,
    "tool_call": RecordView._show_tool_call,
    "tool_result": RecordView._show_tool_result,
    "code": RecordView._show_code,
    "citation": RecordView._show_citation,
    "unknown": RecordView._show_unknown,
}


def print_coverage(page: Page, found: Mapping[str, Coverage]) -> None:
    """A table: who carries the leaf values of the input, by protocol."""
    rows = [
        [protocol, *(f"{count:,}" for count in _counts(one)), f"{one.share * 100:.2f}"]
        for protocol, one in sorted(found.items())
    ]
    headings = ["protocol", "leaves", "named", "named JSON", "nulls", "extras", "raw", "share %"]
    page.table(headings, rows, numbers=7)


def _counts(one: Coverage) -> tuple[int, ...]:
    return one.leaves, one.named, one.json, one.nulls, one.extras, one.raw


def _joined(*facts: str | None) -> str:
    return visible(" · ".join(fact for fact in facts if fact))


def _dotted(facts: list[str | tuple[str, str]]) -> list[str | tuple[str, str]]:
    pieces: list[str | tuple[str, str]] = []
    for fact in facts:
        pieces += [" · ", fact] if pieces else [fact]
    return pieces


def _model(record: CanonicalRecord) -> str | None:
    asked, served = record.get("model"), record.get("served_model")
    return f"{asked} → {served}" if asked and served and asked != served else served or asked


def _qualified(named: Mapping[str, Any]) -> str:
    server, name = named.get("server_name"), named.get("name", "")
    return f"{server}/{name}" if server else name


def _usage(usage: Usage) -> str:
    """``88 in (64 cached) → 42 out (20 reasoning) tokens``."""
    sides = []
    for total, part, word, side in (
        ("input_tokens", "cache_read_tokens", "cached", "in"),
        ("output_tokens", "reasoning_tokens", "reasoning", "out"),
    ):
        if total in usage:
            inner = f" ({usage[part]:,} {word})" if usage.get(part) else ""  # type: ignore[literal-required]
            sides.append(f"{usage[total]:,} {side}{inner}")  # type: ignore[literal-required]
    return f"{' → '.join(sides)} tokens" if sides else "usage without totals"


def _origin(record: CanonicalRecord) -> list[str | tuple[str, str]]:
    timing = record.get("timing", {})
    first, last = timing.get("first_captured_at"), timing.get("last_captured_at")
    facts = [_time(first) if first is not None else None]
    if first is not None and last is not None and last > first:
        facts.append(f"took {(last - first) / 1e6:.3f} s")
    facts += [record.get("tenant"), _sources(record.get("sources", []))]
    text = _joined(*facts)
    return [(text, "dim")] if text else []


def _time(micros: int) -> str:
    """UTC, to the millisecond; the bare number when no calendar holds it."""
    try:
        return datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    except (ValueError, OverflowError, OSError):
        return f"{micros} µs"


def _sources(sources: list[Source]) -> str:
    """``topic/partition@first-last`` of each range; of a file ``file:line``."""
    shown = []
    for source in sources:
        first, last = source.get("first_offset", 0), source.get("last_offset", 0)
        span = f"{first}" if first == last else f"{first}-{last}"
        shown.append(f"{source.get('topic', '')}/{source.get('partition', 0)}@{span}")
    return ", ".join(shown)
