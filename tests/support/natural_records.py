"""Records made by hand in natural form: what any protocol says, without anything that only its own reader knows."""

from __future__ import annotations

from typing import Any

from headrace.json_text import dumps

PICTURE = {"kind": "image", "mime_type": "image/png", "data": "aVZCT1I="}


def text(value: str) -> dict[str, Any]:
    """A text part, or a text in a tool's result."""
    return {"type": "text", "text": value}


def call(number: int, city: str) -> dict[str, Any]:
    """One of several parallel calls; its id was never on a wire (no ``provider_id``)."""
    arguments = dumps({"city": city})
    inner = {"id": f"call_{number}", "name": "weather", "kind": "function", "arguments": arguments, "index": number}
    return {"type": "tool_call", "tool_call": inner}


def result(number: int, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer to `call(number)`."""
    inner = {"tool_call_id": f"call_{number}", "name": "weather", "kind": "function", "content": list(content), **more}
    return {"type": "tool_result", "tool_result": inner}


SYSTEM = {"role": "system", "parts": [text("Be brief.")]}
QUESTION = {"role": "user", "parts": [text("Where is it warmer?"), {"type": "media", "media": PICTURE}]}
CALLS = {"role": "assistant", "parts": [text("Let me look."), call(0, "Oslo"), call(1, "Rome")]}
FAILED = result(1, text("no such city"), is_error=True)
RESULTS = [{"role": "tool", "parts": [result(0, text("7 degrees"))]}, {"role": "tool", "parts": [FAILED]}]
ANSWER = {"role": "assistant", "parts": [text("In Oslo, as far as I know.")]}
THANKS = {"role": "user", "parts": [text("Thanks. And tomorrow?")]}
WEATHER = {
    "name": "weather",
    "kind": "function",
    "description": "The weather of a city.",
    "parameters": dumps({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
}

REQUEST: dict[str, Any] = {
    "record_type": "request",
    "model": "model-1",
    "messages": [SYSTEM, QUESTION, CALLS, *RESULTS, ANSWER, THANKS],
    "tools": [WEATHER],
    "tool_choice": {"mode": "tool", "name": "weather", "kind": "function"},
    "parameters": {"temperature": 0.5, "max_output_tokens": 100, "stop": ["END"], "stream": True},
}

RESPONSE: dict[str, Any] = {
    "record_type": "response",
    "response_id": "response-1",
    "served_model": "model-1",
    "messages": [CALLS],
    "status": "completed",
    "finish_reason": "tool_calls",
    "timing": {"created_at": 1_790_000_000_000_000},
    "usage": {
        "input_tokens": 100,
        "cache_read_tokens": 60,
        "cache_write_tokens": 10,
        "output_tokens": 50,
        "reasoning_tokens": 20,
        "total_tokens": 150,
    },
}

FAILURE: dict[str, Any] = {
    "record_type": "response",
    "status": "failed",
    "error": {"type": "rate_limit_error", "message": "Too many requests."},
}

#: finish_reason -> status, as every reader sets them.
ENDINGS = {
    "stop": "completed",
    "tool_calls": "completed",
    "refusal": "completed",
    "length": "incomplete",
    "content_filter": "incomplete",
}


def ended(reason: str, **more: Any) -> dict[str, Any]:
    """A short response that ended for a reason that no wire has said yet."""
    return {**RESPONSE, "messages": [ANSWER], "finish_reason": reason, "status": ENDINGS[reason], **more}
