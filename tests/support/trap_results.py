"""Our record in the result vocabulary of the shared traps, so that one comparison serves every protocol.

A result: status (complete | truncated | incomplete | failed), stop, text, tool_calls, reasoning, usage, error,
citations, block_order and the like. A trap names only what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.canonical.shape import CanonicalRecord, Part, ToolCall
from headrace.json_text import loads

#: A provider's stop reason -> the canonical one; reasons that are the same word are not listed.
STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "STOP": "stop"}


def expected_of(result: dict[str, Any]) -> dict[str, Any]:
    """A trap's expected result with its stop reason in our words."""
    return {name: STOPS.get(value, value) if name == "stop" else value for name, value in result.items()}


def result_of(record: CanonicalRecord, wanted: dict[str, Any]) -> dict[str, Any]:
    """What the record says of everything that ``wanted`` asks for, as deep as it asks."""
    return {name: _as_asked(_FIELDS[name](record), value) for name, value in wanted.items()}


def parts_of(record: CanonicalRecord) -> Iterator[Part]:
    """All parts, in order."""
    for message in record.get("messages", ()):
        yield from message.get("parts", ())


def calls_of(record: CanonicalRecord) -> list[ToolCall]:
    """All tool calls, server tools included, in order."""
    return [part["tool_call"] for part in parts_of(record) if part["type"] == "tool_call"]


def _as_asked(have: Any, wanted: Any) -> Any:
    """``have`` reduced to the keys that ``wanted`` names; lists element by element."""
    if isinstance(wanted, dict) and isinstance(have, dict):
        return {name: _as_asked(have.get(name), value) for name, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(have, list) and len(have) == len(wanted):
        return [_as_asked(one, other) for one, other in zip(have, wanted, strict=True)]
    return have


def _status(record: CanonicalRecord) -> str:
    status = record["status"]
    if status == "incomplete" and record.get("status_reason") == "no_terminal_event":
        return "truncated"
    return {"completed": "complete"}.get(status, status)


def _text(record: CanonicalRecord) -> str:
    return "".join(part["text"] for part in parts_of(record) if part["type"] == "text")


def _call(call: ToolCall) -> dict[str, Any]:
    whole = "arguments_error" not in call
    return {
        "id": call.get("provider_id"),
        "name": call.get("name"),
        "type": call.get("kind"),
        "index": call.get("index"),
        "arguments": loads(call["arguments"]) if "arguments" in call else None,
        "arguments_raw": call.get("raw_arguments"),
        "complete": whole,
    }


def _calls(record: CanonicalRecord) -> list[dict[str, Any]]:
    return [_call(call) for call in calls_of(record)]


def _client_calls(record: CanonicalRecord) -> list[dict[str, Any]]:
    return [_call(call) for call in calls_of(record) if call.get("kind") != "server"]


def _reasoning(record: CanonicalRecord) -> list[dict[str, Any]]:
    found = []
    for index, part in enumerate(part for part in parts_of(record) if part["type"] == "reasoning"):
        reasoning = part["reasoning"]
        if reasoning.get("redacted"):
            kind = "redacted"
        elif "encrypted" in reasoning:
            kind = "encrypted"
        else:
            kind = "summary" if "summary" in reasoning else "thinking"
        found.append(
            {
                "kind": kind,
                "text": "".join(reasoning.get("summary", ())) or reasoning.get("text", ""),
                "signature": reasoning.get("signature"),
                "data": reasoning.get("encrypted"),
                "id": part.get("provider_item_id"),
                "index": index,
            }
        )
    return found


def _usage(record: CanonicalRecord) -> dict[str, Any]:
    """The counts under the names of every wire; input without cache is Anthropic's input_tokens."""
    usage = record["usage"]
    raw = loads(usage.get("raw", "{}"))
    cache = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
    own_input = usage["input_tokens"] - (cache if record["protocol"] == "anthropic.messages" else 0)
    return {
        "input_tokens": own_input,
        "output_tokens": usage["output_tokens"],
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage.get("total_tokens"),
        "prompt": usage["input_tokens"],
        "completion": usage["output_tokens"],
        "total": usage.get("total_tokens"),
        "cache_read_input_tokens": usage.get("cache_read_tokens"),
        "cache_creation_input_tokens": usage.get("cache_write_tokens"),
        "server_tool_use": raw.get("server_tool_use"),
    }


def _error(record: CanonicalRecord) -> dict[str, Any]:
    error = record["error"]
    code = error.get("code")
    return {
        "type": error.get("type"),
        "message": error.get("message"),
        "code": int(code) if code is not None and code.isdigit() else code,
    }


def _citations(record: CanonicalRecord) -> list[dict[str, Any]]:
    return [
        {
            "type": citation.get("type"),
            "document_index": citation.get("document_index"),
            "start": citation.get("start_index"),
            "end": citation.get("end_index"),
            "cited_text": citation.get("cited_text"),
        }
        for part in parts_of(record)
        for citation in part.get("citations", ())
    ]


def _block_order(record: CanonicalRecord) -> list[str]:
    kinds = []
    for part in parts_of(record):
        inner = part.get("tool_call") or part.get("tool_result") or {}
        names = {"reasoning": "redacted_thinking" if part.get("reasoning", {}).get("redacted") else "thinking"}
        kinds.append(str(inner.get("wire_type") or names.get(part["type"], part["type"])))
    return kinds


def _server_input(record: CanonicalRecord) -> Any:
    return next(loads(call["arguments"]) for call in calls_of(record) if call.get("kind") == "server")


_FIELDS: dict[str, Callable[[CanonicalRecord], Any]] = {
    "status": _status,
    "stop": lambda record: record.get("finish_reason"),
    "text": _text,
    "tool_calls": _calls,
    "client_tool_calls": _client_calls,
    "reasoning": _reasoning,
    "usage": _usage,
    "error": _error,
    "citations": _citations,
    "block_order": _block_order,
    "server_tool_use.input": _server_input,
    "part_signature": lambda record: next(
        (part["signature"] for part in parts_of(record) if "signature" in part), None
    ),
}
