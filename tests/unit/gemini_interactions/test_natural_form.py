"""Records of other protocols, and records made by hand, written as interactions."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import dumps
from headrace.protocols import codec
from tests.support.natural_records import FAILURE, REQUEST, RESPONSE, SYSTEM, WEATHER, ended, result, text

CODEC = codec("gemini.interactions")
CALLED = [
    {"type": "model_output", "content": [{"type": "text", "text": "Let me look."}]},
    {"type": "function_call", "id": "call_0", "name": "weather", "arguments": {"city": "Oslo"}},
    {"type": "function_call", "id": "call_1", "name": "weather", "arguments": {"city": "Rome"}},
]


def test_a_request_is_written_whole() -> None:
    body = CODEC.write_request(REQUEST)
    assert body["system_instruction"] == "Be brief."
    assert [step["type"] for step in body["input"]] == [
        "user_input",
        "model_output",
        "function_call",
        "function_call",
        "function_result",
        "function_result",
        "model_output",
        "user_input",
    ]
    picture = {"type": "image", "mime_type": "image/png", "data": "aVZCT1I="}
    assert body["input"][0]["content"][1] == picture
    assert body["input"][1:4] == CALLED
    assert body["input"][5] == {
        "type": "function_result",
        "call_id": "call_1",
        "name": "weather",
        "is_error": True,
        "result": [{"type": "text", "text": "no such city"}],
    }
    choice = {"allowed_tools": {"mode": "any", "tools": ["weather"]}}
    assert body["generation_config"]["tool_choice"] == choice
    assert body["tools"][0]["type"] == "function"


def test_a_response_is_written_whole() -> None:
    assert CODEC.write_response(RESPONSE) == {
        "object": "interaction",
        "id": "response-1",
        "model": "model-1",
        "created": "2026-09-21T14:13:20Z",
        "status": "requires_action",
        "steps": CALLED,
        "usage": {
            "total_input_tokens": 100,
            "total_cached_tokens": 60,
            # The wire's output leaves thoughts out.
            "total_output_tokens": 30,
            "total_thought_tokens": 20,
            "total_tokens": 150,
        },
    }


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (ended("stop"), "completed"),
        (ended("tool_calls"), "requires_action"),
        (ended("length"), "incomplete"),
        (ended("content_filter"), "incomplete"),
        (ended("refusal"), "completed"),
        (ended("length", raw_finish_reason="budget_exceeded"), "budget_exceeded"),
        (ended("length", raw_finish_reason="max_tokens"), "incomplete"),
        ({"response_id": "r", "status": "in_progress"}, "in_progress"),
        ({"response_id": "r"}, "completed"),
    ],
)
def test_the_status_is_a_word_of_the_wire(record: Any, status: str) -> None:
    assert CODEC.write_response(record)["status"] == status


def test_all_system_messages_that_open_the_record_are_the_instruction() -> None:
    developer = {"role": "developer", "parts": [text("Answer in English.")]}
    body = CODEC.write_request({"messages": [SYSTEM, developer]})
    assert body == {"system_instruction": "Be brief.\n\nAnswer in English."}


def test_visible_reasoning_is_a_thought() -> None:
    part = {"type": "reasoning", "reasoning": {"text": "hm"}}
    body = CODEC.write_response({**RESPONSE, "messages": [{"role": "assistant", "parts": [part]}]})
    assert body["steps"] == [{"type": "thought", "summary": [{"type": "text", "text": "hm"}]}]


def test_a_call_without_arguments_and_a_result_without_content_have_empty_ones() -> None:
    called = {"type": "tool_call", "tool_call": {"id": "call_0", "name": "weather", "kind": "function"}}
    record: Any = {"messages": [{"role": "assistant", "parts": [called]}, {"role": "tool", "parts": [result(0)]}]}
    call, answer = CODEC.write_request(record)["input"]
    assert (call["arguments"], answer["result"]) == ({}, [])
    bare = {"input": [{"type": "function_call", "id": "c", "name": "f"}, {"type": "function_result", "call_id": "c"}]}
    assert CODEC.write_request(CODEC.read_request(bare, Reading("call", "request"))) == bare


def test_an_object_that_a_function_gave_is_the_result_itself() -> None:
    piece = {"type": "json", "json": dumps({"degrees": 7})}
    (step,) = CODEC.write_request({"messages": [{"role": "tool", "parts": [result(0, piece)]}]})["input"]
    assert step["result"] == {"degrees": 7}
    listed = {"input": [{**step, "result": [{"degrees": 7}]}]}
    assert CODEC.write_request(CODEC.read_request(listed, Reading("call", "request"))) == listed


def test_a_function_of_another_protocol_is_a_function() -> None:
    (tool,) = CODEC.write_request({"messages": [], "tools": [{**WEATHER, "wire_type": "custom"}]})["tools"]
    assert (tool["type"], tool["name"]) == ("function", "weather")


def test_an_error_is_an_error_body() -> None:
    assert CODEC.write_response(FAILURE) == {"error": {"status": "rate_limit_error", "message": "Too many requests."}}
    failed = CODEC.write_response({**RESPONSE, **FAILURE})
    assert (failed["id"], failed["error"]["message"]) == ("response-1", "Too many requests.")
