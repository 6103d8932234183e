"""Records of other protocols, and records made by hand, written as Responses."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import dumps
from headrace.protocols.openai_responses import CODEC
from tests.support.natural_records import ANSWER, CALLS, FAILURE, REQUEST, RESPONSE, WEATHER, ended, text

REASONING = {"type": "reasoning", "reasoning": {"summary": ["hm"]}}


def read_response(body: Any) -> Any:
    return CODEC.read_response(body, Reading("call", "response"), None)


def test_a_request_is_written_whole() -> None:
    body = CODEC.write_request(REQUEST)
    system, question, said, oslo, rome, first, second, answer, _ = body["input"]
    assert system == {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aVZCT1I=", "detail": "auto"}
    assert question["content"] == [{"type": "input_text", "text": "Where is it warmer?"}, picture]
    # A list of the assistant's parts would need an id: a string does not.
    assert said == {"type": "message", "role": "assistant", "content": "Let me look."}
    assert oslo == {"type": "function_call", "call_id": "call_0", "name": "weather", "arguments": '{"city":"Oslo"}'}
    assert rome["call_id"] == "call_1"
    assert (first["call_id"], first["output"]) == ("call_0", "7 degrees")
    assert (second["type"], second["output"]) == ("function_call_output", "no such city")
    assert answer["content"] == "In Oslo, as far as I know."
    assert body["tool_choice"] == {"type": "function", "name": "weather"}
    assert body["tools"][0]["strict"] is None


def test_a_response_is_written_whole() -> None:
    body = CODEC.write_response(RESPONSE)
    output = body.pop("output")
    assert body == {
        "id": "response-1",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": "model-1",
        "status": "completed",
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 150,
        },
    }
    assert [item["type"] for item in output] == ["message", "function_call", "function_call"]
    assert [item["id"].partition("_")[0] for item in output] == ["msg", "fc", "fc"]
    assert (output[0]["role"], output[0]["status"]) == ("assistant", "completed")
    assert output[0]["content"] == [{"type": "output_text", "text": "Let me look.", "annotations": []}]
    assert [item["call_id"] for item in output[1:]] == ["call_0", "call_1"]


def test_ids_that_are_made_are_always_the_same_and_of_one_response_only() -> None:
    ids = [item["id"] for item in CODEC.write_response(RESPONSE)["output"]]
    assert ids == [item["id"] for item in CODEC.write_response(RESPONSE)["output"]]
    others = [item["id"] for item in CODEC.write_response({**RESPONSE, "response_id": "response-2"})["output"]]
    assert len({*ids, *others}) == 6


def test_what_the_wire_left_out_stays_out_of_its_own_bodies() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    items: list[Any] = [{"type": "reasoning", "summary": []}, message, call, {"role": "assistant", "content": "b"}]
    body = {"id": "r", "output": items}
    assert CODEC.write_response(read_response(body)) == body
    request: Any = {"input": items, "tools": [{"type": "function", "name": "f"}]}
    assert CODEC.write_request(CODEC.read_request(request, Reading("call", "request"))) == request


@pytest.mark.parametrize(
    ("record", "status", "reason"),
    [
        (ended("stop"), "completed", None),
        (ended("tool_calls"), "completed", None),
        (ended("refusal"), "completed", None),
        (ended("length"), "incomplete", "max_output_tokens"),
        (ended("content_filter"), "incomplete", "content_filter"),
        (ended("length", raw_finish_reason="max_messages"), "incomplete", "max_messages"),
        (ended("length", raw_finish_reason="MAX_TOKENS"), "incomplete", "max_output_tokens"),
    ],
)
def test_status_and_reason_have_the_words_of_the_wire(record: Any, status: str, reason: str | None) -> None:
    body = CODEC.write_response(record)
    assert (body["status"], body.get("incomplete_details", {}).get("reason")) == (status, reason)


def test_reasoning_has_an_id_in_a_history_too() -> None:
    record: Any = {"messages": [{"role": "assistant", "parts": [REASONING, *ANSWER["parts"]]}]}
    reasoning, message = CODEC.write_request(record)["input"]
    assert reasoning["id"].startswith("rs_")
    assert reasoning["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert "id" not in message


def test_several_texts_of_the_assistant_are_one_message_item() -> None:
    record: Any = {"messages": [{"role": "assistant", "parts": [text("a"), text("b")]}]}
    (item,) = CODEC.write_request(record)["input"]
    assert (item["id"].startswith("msg_"), item["status"], len(item["content"])) == (True, "completed", 2)


def test_tools_of_a_namespace_stand_in_it() -> None:
    tools: list[Any] = [
        {"kind": "namespace", "wire_type": "namespace", "name": "places"},
        {**WEATHER, "namespace": "places"},
        {**WEATHER, "name": "time"},
    ]
    namespace, alone = CODEC.write_request({"messages": [], "tools": tools})["tools"]
    assert [tool["name"] for tool in namespace["tools"]] == ["weather"]
    assert alone["name"] == "time"


def test_a_function_of_another_protocol_is_a_function() -> None:
    (tool,) = CODEC.write_request(
        {"messages": [], "tools": [{"name": "f", "kind": "function", "wire_type": "custom"}]}
    )["tools"]
    assert tool == {"type": "function", "name": "f", "parameters": None, "strict": None}


def test_results_of_hosted_tools_have_the_form_of_their_item() -> None:
    code = {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "c", "status": "completed"}
    logs = {"type": "logs", "logs": "2"}
    screen = {"type": "computer_screenshot", "image_url": "https://a.example/s.png"}
    items: list[Any] = [
        {**code, "outputs": [logs]},
        {**code, "outputs": [logs, {"type": "image", "url": "https://a.example/i.png"}]},
        {"type": "computer_call_output", "id": "co_1", "call_id": "c", "output": screen},
    ]
    record = read_response({"id": "r", "output": items})
    for part in record["messages"][0]["parts"]:
        part.pop("wire", None)
        assert all("wire" not in piece for piece in part.get("tool_result", {}).get("content", ()))
    assert CODEC.write_response(record)["output"] == items
    assert CODEC.write_response(read_response({"id": "r", "output": [code]}))["output"] == [code]


def test_times_keep_their_fractions() -> None:
    record: Any = {**RESPONSE, "timing": {"created_at": 1_790_000_000_500_000, "completed_at": 1_790_000_001_000_000}}
    body = CODEC.write_response(record)
    assert (body["created_at"], body["completed_at"]) == (1_790_000_000.5, 1_790_000_001)


def test_an_error_is_an_error_body_and_one_event() -> None:
    error = {"type": "rate_limit_error", "message": "Too many requests."}
    body = CODEC.write_response(FAILURE)
    assert body == {"error": error}
    assert [event["type"] for event in CODEC.unfold(body)] == ["error"]


def test_a_stream_opens_and_closes_every_item_and_part_under_its_id() -> None:
    body = CODEC.write_response({**RESPONSE, "messages": [{**CALLS, "parts": [REASONING, *CALLS["parts"]]}]})
    events: list[Any] = CODEC.unfold(body)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    names = [event["type"] for event in events]
    assert (names[0], names[-1]) == ("response.created", "response.completed")
    for kind in ("output_item", "content_part", "reasoning_summary_part"):
        assert names.count(f"response.{kind}.added") == names.count(f"response.{kind}.done") > 0
    open_item = None
    for event in events:
        if event["type"] == "response.output_item.added":
            assert open_item is None
            open_item = event["item"]["id"]
        elif event["type"] == "response.output_item.done":
            assert event["item"]["id"] == open_item
            open_item = None
        elif "output_index" in event:
            assert event["item_id"] == open_item == body["output"][event["output_index"]]["id"]


def test_a_custom_tool_s_free_text_is_its_input() -> None:
    call = {"id": "call_0", "name": "run", "kind": "custom", "arguments": dumps("ls -l"), "index": 0}
    record: Any = {"messages": [{"role": "assistant", "parts": [{"type": "tool_call", "tool_call": call}]}]}
    (item,) = CODEC.write_request(record)["input"]
    assert item == {"type": "custom_tool_call", "call_id": "call_0", "name": "run", "input": "ls -l"}
