"""Records of other protocols, and records made by hand, written as chat completions."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols.openai_chat import CODEC
from tests.support.natural_records import ANSWER, FAILURE, QUESTION, REQUEST, RESPONSE, ended, result, text

CALLED = [
    {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
    {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}},
]


def test_a_request_is_written_whole() -> None:
    body = CODEC.write_request(REQUEST)
    system, question, calls, first, _, answer, _ = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aVZCT1I="}}
    assert question["content"] == [{"type": "text", "text": "Where is it warmer?"}, picture]
    assert calls == {"role": "assistant", "content": "Let me look.", "tool_calls": CALLED}
    assert first == {"role": "tool", "tool_call_id": "call_0", "name": "weather", "content": "7 degrees"}
    assert answer == {"role": "assistant", "content": "In Oslo, as far as I know."}
    assert body["max_completion_tokens"] == 100
    assert body["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert body["tools"][0]["type"] == "function"


def test_a_response_is_written_whole() -> None:
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": CALLED}
    assert CODEC.write_response(RESPONSE) == {
        "id": "response-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "model-1",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
    }


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ended("stop"), "stop"),
        (ended("length"), "length"),
        (ended("tool_calls"), "tool_calls"),
        (ended("content_filter"), "content_filter"),
        (ended("refusal"), "content_filter"),
        (ended("tool_calls", raw_finish_reason="function_call"), "function_call"),
        (ended("stop", raw_finish_reason="completed"), "stop"),
        ({**RESPONSE, "finish_reason": None}, None),
    ],
)
def test_reasons_have_the_words_of_the_wire(record: Any, reason: str | None) -> None:
    (choice,) = CODEC.write_response(record)["choices"]
    assert choice["finish_reason"] == reason


def test_every_choice_has_its_place_and_its_own_reason() -> None:
    cut = {**ANSWER, "finish_reason": "length"}
    first, second = CODEC.write_response({**RESPONSE, "messages": [{**ANSWER, "finish_reason": "stop"}, cut]})[
        "choices"
    ]
    assert (first["index"], first["finish_reason"]) == (0, "stop")
    assert (second["index"], second["finish_reason"]) == (1, "length")


def test_what_the_wire_left_out_stays_out_of_its_own_bodies() -> None:
    body = {"id": "c", "choices": [{"message": {"content": "a"}}, {"index": 1, "finish_reason": "stop", "message": {}}]}
    record = CODEC.read_response(body, Reading("call", "response"), None)
    assert CODEC.write_response(record) == body


def test_figures_that_usage_must_have_are_there() -> None:
    body = CODEC.write_response({**RESPONSE, "usage": {"output_tokens": 3}})
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 3, "total_tokens": 3}


def test_a_cache_breakpoint_needs_a_list_of_parts() -> None:
    cached = {**text("a"), "cache_control": '{"type":"ephemeral"}'}
    record: Any = {"messages": [{"role": "user", "parts": [cached]}, {"role": "tool", "parts": [result(0, cached)]}]}
    part = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    assert [message["content"] for message in CODEC.write_request(record)["messages"]] == [[part], [part]]


def test_results_in_one_message_are_one_message_each() -> None:
    record: Any = {"messages": [{"role": "user", "parts": [result(0, text("a")), result(1, text("b"))]}]}
    ids = [message["tool_call_id"] for message in CODEC.write_request(record)["messages"]]
    assert ids == ["call_0", "call_1"]


def test_an_error_is_an_error_body_and_its_event_ends_a_stream() -> None:
    error = {"message": "Too many requests.", "type": "rate_limit_error"}
    assert CODEC.write_response(FAILURE) == {"error": error}
    broken = CODEC.write_response({**RESPONSE, **FAILURE})
    assert CODEC.unfold(broken)[-1] == {"error": error}


def test_a_stream_has_a_chunk_for_role_reason_and_usage() -> None:
    *chunks, done = CODEC.unfold(CODEC.write_response(RESPONSE))
    assert done == "[DONE]"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + [
        "tool_calls"
    ]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 150
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_a_user_s_message_of_two_kinds_keeps_their_order() -> None:
    turned = {**QUESTION, "parts": QUESTION["parts"][::-1]}
    (message,) = CODEC.write_request({"messages": [turned]})["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]


def test_audio_is_bare_base64_with_the_name_of_its_format() -> None:
    audio = {"type": "media", "media": {"kind": "audio", "mime_type": "audio/mpeg", "data": "SUQz"}}
    (message,) = CODEC.write_request({"messages": [{"role": "user", "parts": [audio]}]})["messages"]
    assert message["content"] == [{"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}]


def test_audio_that_came_as_a_data_url_goes_back_as_one() -> None:
    part = {"type": "input_audio", "input_audio": {"data": "data:audio/mpeg;base64,SUQz"}}
    messages = [{"role": "user", "content": [part]}, {"role": "tool", "tool_call_id": "c", "content": [part]}]
    record = CODEC.read_request({"messages": messages}, Reading("call", "request"))
    assert CODEC.write_request(record) == {"messages": messages}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "a", "signature": "c2ln"},
        {"type": "reasoning", "wire_type": "thought_signature", "reasoning": {"signature": "c2ln"}},
    ],
)
def test_a_signature_stands_beside_the_content(part: Any) -> None:
    (choice,) = CODEC.write_response({**RESPONSE, "messages": [{"role": "assistant", "parts": [part]}]})["choices"]
    assert choice["message"]["extra_content"] == {"google": {"thought_signature": "c2ln"}}
