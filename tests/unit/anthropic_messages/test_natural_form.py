"""Records of other protocols, and records made by hand, written as Messages."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols.anthropic_messages import CODEC
from tests.support.natural_records import ANSWER, CALLS, FAILURE, REQUEST, RESPONSE, SYSTEM, ended, text

TEXT = {"type": "text", "text": "In Oslo, as far as I know."}
CALLED = [
    {"type": "text", "text": "Let me look."},
    {"type": "tool_use", "id": "call_0", "name": "weather", "input": {"city": "Oslo"}},
    {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}},
]


def test_a_request_is_written_whole() -> None:
    body = CODEC.write_request(REQUEST)
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    question, calls, first, second, answer, thanks = body["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": "aVZCT1I="}
    assert question["content"] == [{"type": "text", "text": "Where is it warmer?"}, {"type": "image", "source": source}]
    assert calls == {"role": "assistant", "content": CALLED}
    piece = {"type": "text", "text": "7 degrees"}
    assert first == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": [piece]}],
    }
    assert second["content"][0]["is_error"] is True
    assert answer == {"role": "assistant", "content": [TEXT]}
    assert thanks["role"] == "user"
    assert body["tool_choice"] == {"type": "tool", "name": "weather"}
    assert body["tools"][0].keys() == {"name", "description", "input_schema"}


def test_a_response_is_written_whole() -> None:
    assert CODEC.write_response(RESPONSE) == {
        "id": "response-1",
        "type": "message",
        "role": "assistant",
        "model": "model-1",
        "content": CALLED,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            # The wire's input leaves cache reads and writes out.
            "input_tokens": 30,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 10,
            "output_tokens": 50,
            "output_tokens_details": {"thinking_tokens": 20},
        },
    }


def test_a_response_that_says_nothing_has_what_a_message_must_have() -> None:
    body = CODEC.write_response({"response_id": "r", "served_model": "m"})
    assert (body["role"], body["content"], body["stop_reason"]) == ("assistant", [], None)
    assert body["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_what_the_wire_left_out_stays_out_of_its_own_bodies() -> None:
    body = {"type": "message", "content": [{"type": "thinking"}, {"type": "tool_use", "name": "f"}]}
    record = CODEC.read_response(body, Reading("call", "response"), None)
    assert CODEC.write_response(record) == body


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ended("stop"), "end_turn"),
        (ended("stop", stop_sequence="END"), "stop_sequence"),
        (ended("tool_calls"), "tool_use"),
        (ended("length"), "max_tokens"),
        (ended("refusal"), "refusal"),
        (ended("content_filter"), "refusal"),
        (ended("length", raw_finish_reason="model_context_window_exceeded"), "model_context_window_exceeded"),
        (ended("length", raw_finish_reason="MAX_TOKENS"), "max_tokens"),
    ],
)
def test_reasons_have_the_words_of_the_wire(record: Any, reason: str) -> None:
    assert CODEC.write_response(record)["stop_reason"] == reason


def test_system_messages_that_open_the_record_are_one_system_prompt() -> None:
    developer = {"role": "developer", "parts": [text("Answer in English.")]}
    body = CODEC.write_request({"messages": [SYSTEM, developer, ANSWER, developer]})
    assert body["system"] == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Answer in English."}]
    assert [message["role"] for message in body["messages"]] == ["assistant", "system"]


def test_a_system_message_that_opens_the_wire_s_own_list_stays_there() -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "system", "content": "s"}]}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert CODEC.write_request(record) == body


def test_reasoning_has_the_signature_that_its_type_demands() -> None:
    part = {"type": "reasoning", "reasoning": {"text": "hm"}}
    body = CODEC.write_response({**RESPONSE, "messages": [{"role": "assistant", "parts": [part]}]})
    assert body["content"] == [{"type": "thinking", "thinking": "hm", "signature": ""}]


def test_results_of_server_tools_have_the_form_of_their_type() -> None:
    ran = {"type": "bash_code_execution_result", "stdout": "", "stderr": "", "return_code": 0, "content": []}
    hit = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "x"}
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    blocks: list[Any] = [
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": ran},
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": [hit]},
        {"type": "web_search_tool_result", "tool_use_id": "s3", "content": failed},
    ]
    record = CODEC.read_response({"content": blocks}, Reading("call", "response"), None)
    for part in record["messages"][0]["parts"]:
        assert "wire" not in part
    assert CODEC.write_response(record)["content"] == blocks


def test_settings_that_need_a_type_get_it() -> None:
    record: Any = {"messages": [], "parameters": {"parallel_tool_calls": False, "reasoning_budget": 2000}}
    body = CODEC.write_request(record)
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}


def test_a_function_of_another_protocol_has_a_schema_and_no_type() -> None:
    tool: Any = {"name": "f", "kind": "function", "wire_type": "function"}
    body = CODEC.write_request({"messages": [], "tools": [tool]})
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]


def test_an_error_is_an_error_body_or_stands_beside_what_came_before_it() -> None:
    error = {"type": "rate_limit_error", "message": "Too many requests."}
    assert CODEC.write_response(FAILURE) == {"type": "error", "error": error}
    broken: Any = {**RESPONSE, **FAILURE}
    body = CODEC.write_response(broken)
    assert (body["type"], body["error"], body["content"]) == ("message", error, CALLED)
    assert CODEC.unfold(body)[-1] == {"type": "error", "error": error}
    assert CODEC.read_response(body, Reading("call", "response"), None)["error"]["message"] == "Too many requests."


def test_a_stream_tells_one_block_after_the_other() -> None:
    events = CODEC.unfold(CODEC.write_response({**RESPONSE, "messages": [CALLS]}))
    assert [event.get("index") for event in events if event["type"] == "content_block_start"] == [0, 1, 2]
    places = [event["index"] for event in events if "index" in event]
    assert places == sorted(places)
    assert [event["type"] for event in events][-2:] == ["message_delta", "message_stop"]
