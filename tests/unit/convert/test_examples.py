"""Tool calling with two parallel calls, from every protocol into every other, in the shapes that each documents."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.convert import convert
from headrace.json_text import loads
from headrace.protocols import codec

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK, OSLO, ROME = "Warm in Oslo and Rome?", {"city": "Oslo"}, {"city": "Rome"}

CHAT = {
    "model": "m",
    "max_completion_tokens": 100,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "temp", "arguments": '{"city":"Oslo"}'}},
                {"id": "c2", "type": "function", "function": {"name": "temp", "arguments": '{"city":"Rome"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "20"},
    ],
    "tools": [{"type": "function", "function": {"name": "temp", "description": "d", "parameters": SCHEMA}}],
    "tool_choice": "required",
}
RESPONSES = {
    "model": "m",
    "max_output_tokens": 100,
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASK}]},
        {"type": "message", "role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "c1", "name": "temp", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call", "call_id": "c2", "name": "temp", "arguments": '{"city":"Rome"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "function_call_output", "call_id": "c2", "output": "20"},
    ],
    "tools": [{"type": "function", "name": "temp", "description": "d", "parameters": SCHEMA, "strict": False}],
    "tool_choice": "required",
}
ANTHROPIC = {
    "model": "m",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": ASK}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "temp", "input": OSLO},
                {"type": "tool_use", "id": "c2", "name": "temp", "input": ROME},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "20"}]},
            ],
        },
    ],
    "tools": [{"name": "temp", "description": "d", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any"},
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": ASK}]},
        {
            "role": "model",
            "parts": [
                {"text": "Looking."},
                {"functionCall": {"id": "c1", "name": "temp", "args": OSLO}},
                {"functionCall": {"id": "c2", "name": "temp", "args": ROME}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "temp", "response": {"result": "3"}}},
                {"functionResponse": {"id": "c2", "name": "temp", "response": {"result": "20"}}},
            ],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "temp", "description": "d", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "generationConfig": {"maxOutputTokens": 100},
}
INTERACTIONS = {
    "model": "m",
    "system_instruction": "Be brief.",
    "input": [
        {"type": "user_input", "content": [{"type": "text", "text": ASK}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Looking."}]},
        {"type": "function_call", "id": "c1", "name": "temp", "arguments": OSLO},
        {"type": "function_call", "id": "c2", "name": "temp", "arguments": ROME},
        {"type": "function_result", "call_id": "c1", "name": "temp", "result": [{"type": "text", "text": "3"}]},
        {"type": "function_result", "call_id": "c2", "name": "temp", "result": [{"type": "text", "text": "20"}]},
    ],
    "tools": [{"type": "function", "name": "temp", "description": "d", "parameters": SCHEMA}],
    "generation_config": {"max_output_tokens": 100, "tool_choice": "any"},
}
REQUESTS: dict[str, dict[str, Any]] = {
    "openai.chat": CHAT,
    "openai.responses": RESPONSES,
    "anthropic.messages": ANTHROPIC,
    "gemini.generate_content": GEMINI,
    "gemini.interactions": INTERACTIONS,
}


def request(protocol: str, body: dict[str, Any]) -> Any:
    record: Any = codec(protocol).read_request(body, Reading("c", "request"))
    return {"model": "m", **record, "record_type": "request", "protocol": protocol, "call_id": "c"}


@pytest.mark.parametrize("source", list(REQUESTS))
@pytest.mark.parametrize("target", list(REQUESTS))
def test_two_parallel_calls_in_every_shape(source: str, target: str) -> None:
    made = convert(request(source, REQUESTS[source]), target, policy="strict")
    assert made.refused is None, made.losses
    assert normal(made.body) == normal(REQUESTS[target])


def normal(body: Any) -> Any:
    """Chat and Responses write arguments as text: their value is what counts. ``strict`` false is Chat's default."""
    if isinstance(body, dict):
        out = {
            key: loads(value) if key == "arguments" and isinstance(value, str) else normal(value)
            for key, value in body.items()
        }
        return {key: value for key, value in out.items() if not (key == "strict" and value is False)}
    return [normal(item) for item in body] if isinstance(body, list) else body


def test_live_gets_setup_and_client_content() -> None:
    made = convert(request("openai.chat", CHAT), "gemini.live", policy="lossy")
    setup, content = (event["frame"] for event in made.events or ())
    assert setup["setup"]["model"] == "m"
    assert setup["setup"]["systemInstruction"] == GEMINI["systemInstruction"]
    assert setup["setup"]["tools"] == GEMINI["tools"]
    assert content == {"clientContent": {"turns": GEMINI["contents"], "turnComplete": True}}
