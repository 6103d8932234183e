"""Nothing is silent: a marked value at every place of a record is in the output or in the list of losses.

The records are made from the schema: every field of every object is filled, each with a value that stands nowhere
else. The search is independent of the converter's own audit: it looks for the mark in the text of what was written.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.canonical import shape
from headrace.convert import CODES, convert
from headrace.convert.targets import TARGETS
from headrace.json_text import dumps

PROTOCOLS = tuple(TARGETS)
#: Fields of JSON text. ``detail`` and ``format`` are plain text in media and reasoning.
JSON_FIELDS = frozenset(
    {
        *(
            "container",
            "metadata",
            "safety",
            "detail",
            "extras",
            "grounding",
            "logprobs",
            "data",
            "cache_control",
            "raw",
        ),
        *("arguments", "caller", "json", "outputs", "parameters", "output_schema", "format", "config", "other"),
        *("response_format", "safety_settings", "stream_options"),
    }
)
PLAIN = {"Media": {"detail", "format"}, "Reasoning": {"format"}}
#: Fields that hold no content: spelling, envelope, and what a codec derives from other fields.
UNMARKED = frozenset(
    {
        *(
            "wire",
            "wire_type",
            "continuation",
            "type",
            "kind",
            "role",
            "mode",
            "allowed_mode",
            "status",
            "raw_arguments",
        ),
        *("arguments_error", "index", "choice_index", "unit", "finish_reason", "raw_finish_reason", "status_reason"),
        *("record_id", "record_type", "call_id", "task_id", "tenant", "request_version", "protocol", "provider"),
        *("capture", "sources", "missing_events", "unknown_types", "schema_version", "normalizer", "chunk_count"),
        *("revision", "ordinal", "first_captured_at", "last_captured_at", "model", "provider_id"),
        # Times are written in other forms; the audit reads them back.
        *("created_at", "completed_at"),
    }
)
PART_FIELDS = {
    "text": {"text", "citations", "logprobs", "signature"},
    "refusal": {"text", "logprobs"},
    "media": {"media"},
    "tool_call": {"tool_call", "signature"},
    "tool_result": {"tool_result", "signature"},
    "reasoning": {"reasoning"},
    "code": {"code"},
    "citation": {"citations"},
    "data": {"data"},
    "unknown": {"raw"},
}
COMMON = {"provider_item_id", "cache_control", "detail", "extras"}


@dataclass
class Marker:
    """Makes values that stand nowhere else, and remembers where they stand. drop: fields to leave out."""

    drop: frozenset[str] = frozenset()
    marks: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(70001))

    def text(self, path: str) -> str:
        mark = f"m{next(self.numbers)}"
        self.marks[path] = mark
        return mark

    def number(self, path: str) -> int:
        value = next(self.numbers)
        self.marks[path] = str(value)
        return value

    def fill(self, kind: Any, path: str, only: set[str] | None = None) -> dict[str, Any]:
        """An object of the shape with all of its fields."""
        filled: dict[str, Any] = {}
        for name, hint in typing.get_type_hints(kind).items():
            inner = f"{path}.{name}" if path else name
            if name in UNMARKED or name in self.drop or (only is not None and name not in only):
                continue
            if hint is str and name in JSON_FIELDS - PLAIN.get(kind.__name__, set()):
                filled[name] = dumps({"k": self.text(f"{inner}.k")})
            elif hint is str:
                filled[name] = self.text(inner)
            elif hint is int:
                filled[name] = self.number(inner)
            elif hint is float:
                filled[name] = float(self.number(inner))
            elif hint == list[str]:
                filled[name] = [self.text(inner)]
            elif hint is bool:
                filled[name] = name in ("is_error", "strict", "stream")
            elif typing.is_typeddict(hint):
                filled[name] = self.fill(hint, inner)
            elif typing.get_origin(hint) is list and name == "citations":
                filled[name] = [self.fill(typing.get_args(hint)[0], f"{inner}[0]")]
        return filled

    def part(self, kind: str, path: str) -> dict[str, Any]:
        part: dict[str, Any] = {"type": kind, **self.fill(shape.Part, path, PART_FIELDS[kind] | COMMON)}
        if kind == "tool_call":
            part["tool_call"]["kind"] = "function"
        if kind == "tool_result":
            result = part["tool_result"]
            result["kind"] = "function"
            result["content"] = [
                {
                    "type": "text",
                    **self.fill(shape.ToolResultContent, f"{path}.tool_result.content[0]", {"text", "extras"}),
                },
                {
                    "type": "json",
                    **self.fill(shape.ToolResultContent, f"{path}.tool_result.content[1]", {"json", "cache_control"}),
                },
                {"type": "media", **self.fill(shape.ToolResultContent, f"{path}.tool_result.content[2]", {"media"})},
            ]
            result["content"][2]["media"]["kind"] = "image"
        return part


def record(
    protocol: str, record_type: str, drop: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], dict[str, str]]:
    """A record with a mark at every place, and path -> mark."""
    maker = Marker(drop)
    made = maker.fill(shape.CanonicalRecord, "")
    made |= {"record_type": record_type, "protocol": protocol, "call_id": "c", "record_id": "r", "model": "m"}
    if record_type == "request":
        for name in ("usage", "error", "timing", "served_model", "response_id", "stop_sequence", "service_tier"):
            made.pop(name, None)
    else:
        made |= {"status": "completed", "finish_reason": "tool_calls", "raw_finish_reason": "tool_use"}
        made.pop("error", None)
    made["messages"] = messages(maker, record_type)
    made["tools"] = [
        {**maker.fill(shape.Tool, "tools[0]"), "kind": "function"},
        {**maker.fill(shape.Tool, "tools[1]"), "kind": "custom"},
        {**maker.fill(shape.Tool, "tools[2]"), "kind": "search", "wire_type": "web_search"},
    ]
    made["tool_choice"] = {"mode": "tool", "name": made["tools"][0].get("name", "")}
    made["parameters"]["response_format"] = dumps(
        {"type": "json_schema", "name": maker.text("parameters.response_format.name"), "schema": {"type": "object"}}
    )
    kept = {path: mark for path, mark in maker.marks.items() if found(mark, dumps(made))}
    return made, kept


def messages(maker: Marker, record_type: str) -> list[dict[str, Any]]:
    kinds = ["reasoning", "text", "refusal", "tool_call", "code", "citation", "data", "unknown", "media"]
    if record_type == "response":
        parts = [maker.part(kind, f"messages[0].parts[{at}]") for at, kind in enumerate(kinds)]
        return [{**maker.fill(shape.Message, "messages[0]"), "role": "assistant", "parts": parts}]
    system = {"role": "system", "parts": [maker.part("text", "messages[0].parts[0]")]}
    user = {
        **maker.fill(shape.Message, "messages[1]"),
        "role": "user",
        "parts": [maker.part("text", "messages[1].parts[0]"), maker.part("media", "messages[1].parts[1]")],
    }
    user["parts"][1]["media"]["kind"] = "image"
    parts = [maker.part(kind, f"messages[2].parts[{at}]") for at, kind in enumerate(kinds)]
    assistant = {**maker.fill(shape.Message, "messages[2]"), "role": "assistant", "parts": parts}
    result = maker.part("tool_result", "messages[3].parts[0]")
    result["tool_result"]["tool_call_id"] = parts[3]["tool_call"].get("id", "")
    maker.marks.pop("messages[3].parts[0].tool_result.tool_call_id", None)
    last = {"role": "developer", "parts": [maker.part("text", "messages[4].parts[0]")]}
    return [system, user, assistant, {"role": "tool", "parts": [result]}, last]


def found(mark: str, text: str) -> bool:
    """Whether the mark stands in a text as a value of its own."""
    return re.search(rf"(?<![0-9]){re.escape(mark)}(?![0-9])", text, re.IGNORECASE) is not None


def is_listed(path: str, losses: Any) -> bool:
    """Whether a loss speaks of the place, or of the object that holds it."""
    for loss in losses:
        if loss.path == path or loss.path.startswith(f"{path}."):
            return True
        whole = CODES[loss.code].severity != "form"
        if whole and path.startswith(loss.path) and path[len(loss.path) :][:1] in (".", "["):
            return True
    return False


def silent(made: dict[str, Any], marks: dict[str, str], target: str) -> list[str]:
    """Places whose mark is in neither the output nor the list."""
    result = convert(made, target, policy="lossy")  # type: ignore[arg-type]
    text = dumps(result.body if result.body is not None else list(result.events or ()))
    return [path for path, mark in marks.items() if not (found(mark, text) or is_listed(path, result.losses))]


PAIRS = [(source, target) for source in PROTOCOLS for target in PROTOCOLS if source != target]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("record_type", ["request", "response"])
def test_every_place_of_a_record_is_in_the_output_or_in_the_list(source: str, target: str, record_type: str) -> None:
    made, marks = record(source, record_type)
    assert len(marks) > 100
    assert silent(made, marks, target) == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_no_value_is_left_to_the_audit(source: str, target: str) -> None:
    for record_type in ("request", "response"):
        made, _ = record(source, record_type)
        losses = convert(made, target, policy="lossy").losses  # type: ignore[arg-type]
        assert [loss.path for loss in losses if loss.code == "not_carried"] == []


_NAMES = sorted(
    {name for kind in vars(shape).values() if typing.is_typeddict(kind) for name in typing.get_type_hints(kind)}
    - {"messages", "parts", "type", "tools", "parameters", "tool_call", "tool_result", "media"}
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pair=st.sampled_from(PAIRS),
    record_type=st.sampled_from(["request", "response"]),
    drop=st.frozensets(st.sampled_from(_NAMES), max_size=40),
)
def test_whatever_is_absent_the_rest_is_in_the_output_or_in_the_list(
    pair: tuple[str, str], record_type: str, drop: frozenset[str]
) -> None:
    source, target = pair
    made, marks = record(source, record_type, drop)
    assert silent(made, marks, target) == []
