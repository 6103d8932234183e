"""Responses: status and finish reason, echoes, usage, errors in all forms, compaction, token counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.protocols.openai_responses import CODEC
from tests.unit.openai_responses.samples import ERRORS, ITEMS, RESPONSE, TOOLS, USAGE

SAID = {**ITEMS["message"], "content": [{"type": "output_text", "text": "x", "annotations": []}]}
REFUSED = {**ITEMS["message"], "content": [{"type": "refusal", "refusal": "No."}]}
CALL, RESULT = ITEMS["function_call"], ITEMS["function_call_output"]


def read(body: Any, reading: Reading | None = None) -> Any:
    return CODEC.read_response(body, reading or Reading("call-1", "response"), None)


#: (status, reason, output) -> (finish reason, status reason).
FINISHES = [
    ("completed", None, [SAID], "stop", None),
    ("completed", None, [], "stop", None),
    ("completed", None, [SAID, CALL], "tool_calls", None),
    ("completed", None, [CALL, RESULT, SAID], "stop", None),
    ("completed", None, [ITEMS["custom_tool_call"]], "tool_calls", None),
    ("completed", None, [ITEMS["computer_call"]], "tool_calls", None),
    ("completed", None, [ITEMS["shell_call"], ITEMS["shell_call_output"]], "stop", None),
    ("completed", None, [ITEMS["mcp_approval_request"]], "tool_calls", None),
    ("completed", None, [ITEMS["mcp_call"], ITEMS["web_search_call"], SAID], "stop", None),
    ("completed", None, [REFUSED], "refusal", None),
    ("incomplete", "max_output_tokens", [SAID], "length", "max_output_tokens"),
    ("incomplete", "max_messages", [SAID], "length", "max_messages"),
    ("incomplete", "content_filter", [SAID], "content_filter", "content_filter"),
    ("incomplete", "steered", [SAID], "pause", "steered"),
    ("failed", None, [], "error", None),
    ("cancelled", None, [SAID], "cancelled", None),
    ("in_progress", None, [], None, None),
    ("queued", None, [], None, None),
]


@pytest.mark.parametrize(("status", "reason", "output", "finish", "status_reason"), FINISHES)
def test_the_finish_reason_follows_from_status_reason_and_output(
    status: str, reason: str | None, output: list[Any], finish: str | None, status_reason: str | None
) -> None:
    body = {**RESPONSE, "status": status, "incomplete_details": reason and {"reason": reason}, "output": output}
    reading = Reading("call-1", "response")
    record = read(body, reading)
    assert (record["status"], record.get("finish_reason"), record.get("status_reason")) == (
        status,
        finish,
        status_reason,
    )
    assert record.get("raw_finish_reason") == reason
    assert reading.unknown == {}
    assert CODEC.write_response(record) == body


def test_an_unknown_reason_and_status_are_counted_and_come_back() -> None:
    body = {**RESPONSE, "status": "paused", "incomplete_details": {"reason": "moonlight"}, "output": []}
    reading = Reading("call-1", "response")
    record = read(body, reading)
    assert "finish_reason" not in record
    assert record["raw_finish_reason"] == "moonlight"
    assert reading.unknown == {("status", "paused"): 1, ("finish_reason", "moonlight"): 1}
    assert CODEC.write_response(record) == body


def test_a_response_with_every_field_is_carried_in_named_fields() -> None:
    record = read(RESPONSE)
    assert CODEC.write_response(record) == RESPONSE
    assert "extras" not in record
    assert (record["response_id"], record["served_model"]) == ("resp_1", "gpt-test-2026")
    assert record["timing"] == {"created_at": 1767225600_000000, "completed_at": 1767225601_500000}
    assert record["previous_response_id"] == "resp_0"
    assert record["conversation_id"] == "conv_1"
    assert [tool["name"] for tool in record["tools"]] == ["get_weather", "geo", "near", "map", "mcp"]
    assert json.loads(record["safety"])["moderation"]["input"] == {"flagged": False}


def test_usage_has_its_parts_beside_the_totals() -> None:
    usage = read(RESPONSE)["usage"]
    assert (usage["input_tokens"], usage["cache_read_tokens"], usage["cache_write_tokens"]) == (20, 8, 4)
    assert (usage["output_tokens"], usage["reasoning_tokens"], usage["total_tokens"]) == (10, 6, 30)
    assert usage["server_tool_calls"] == 2
    assert json.loads(usage["raw"]) == USAGE


def test_usage_of_another_protocol_is_written_with_its_details() -> None:
    body = CODEC.write_response(
        {"response_id": "r", "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}}
    )
    assert body["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    }


def test_a_reason_of_another_protocol_is_written_as_this_one_s() -> None:
    record: Any = {
        "response_id": "r",
        "status": "incomplete",
        "raw_finish_reason": "max_tokens",
        "finish_reason": "length",
    }
    assert CODEC.write_response(record)["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize(
    "key", ["output", "usage", "error", "tools", "instructions", "incomplete_details", "created_at"]
)
@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], 1.25, 2.0, -3])
def test_odd_values_of_known_keys_come_back(key: str, value: Any) -> None:
    body = {**RESPONSE, key: value}
    assert json.dumps(CODEC.write_response(read(body)), sort_keys=True) == json.dumps(body, sort_keys=True)


def test_a_compaction_result_is_a_response() -> None:
    body = {
        "id": "c",
        "object": "response.compaction",
        "created_at": 1,
        "output": [ITEMS["compaction"]],
        "usage": USAGE,
    }
    record = read(body)
    assert record["messages"][0]["parts"][0]["continuation"] == ["encrypted_content"]
    assert CODEC.write_response(record) == body


def test_a_token_count_is_usage() -> None:
    body = {"object": "response.input_tokens", "input_tokens": 16}
    record = read(body)
    assert record["usage"] == {"input_tokens": 16}
    assert CODEC.write_response(record) == body


#: Error body -> what must be in the record's error.
EXPECTED = {
    "nested": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found", "param": "m"},
    "misalignment": {"code": "misalignment_policy_violation"},
    "number": {"message": "busy", "code": "503", "request_id": "req_1"},
    "code": {"code": "invalid_grant", "message": "expired"},
    "text": {"message": "upstream failed"},
    "fastapi text": {"message": "Not Found"},
    "fastapi list": {"message": '[{"loc":["body","input"],"msg":"field required","type":"missing"}]'},
    "message": {"message": "Unauthorized"},
    "flat": {"code": "server_error", "message": "boom"},
    "errors": {"detail": '{"errors":[{"message":"a"}]}'},
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_body_is_a_failed_record_and_comes_back(name: str) -> None:
    record = read(ERRORS[name])
    assert (record["status"], record["finish_reason"]) == ("failed", "error")
    assert EXPECTED[name].items() <= record["error"].items()
    assert CODEC.write_response(record) == ERRORS[name]


def test_a_proxy_s_text_is_an_error() -> None:
    record = read("Bad Gateway")
    assert record["error"]["message"] == "Bad Gateway"
    assert CODEC.write_response(record) == "Bad Gateway"


def test_what_stands_beside_an_error_comes_back() -> None:
    body = {"error": {"message": "m", "code": None, "status": 1}, "status": 429, "request_id": "r", "new": [1]}
    record = read(body)
    assert (record["error"]["http_status"], record["error"]["request_id"]) == (429, "r")
    assert CODEC.write_response(record) == body


@pytest.mark.parametrize("status", ["in_progress", "queued", None, "absent", "failed", "completed", 5])
def test_an_open_response_with_an_error_has_failed(status: Any) -> None:
    body = {**RESPONSE, "status": status, "error": {"code": "server_error", "message": "boom"}}
    if status == "absent":
        del body["status"]
    record = read(body)
    assert record["status"] == ("completed" if status == "completed" else "failed")
    assert record["error"]["code"] == "server_error"
    assert CODEC.write_response(record) == body


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"object": "list", "data": []}, [], 5, None, {"id": "x"}])
def test_a_body_that_is_neither_response_nor_error_is_refused(body: Any) -> None:
    with pytest.raises(WireError, match="neither output nor error"):
        read(body)


def test_an_error_of_another_protocol_is_written_as_an_error_body() -> None:
    assert CODEC.write_response({"status": "failed", "error": {"message": "no", "code": "x"}}) == {
        "error": {"message": "no", "code": "x"}
    }


@pytest.mark.parametrize("body", [*ERRORS.values(), {**RESPONSE, "status": "in_progress"}, {"id": "r", "output": []}])
def test_what_the_pipeline_adds_is_not_written(body: Any) -> None:
    record = read(body)
    record.setdefault("error", {}).update({"http_status": 503, "request_id": "from a header"})
    if record.get("status") != "failed":
        record.update({"status": "incomplete", "status_reason": "no_terminal_event"})
    assert CODEC.write_response(record) == body


def test_declared_tools_that_are_no_list_stay_json() -> None:
    body = {**RESPONSE, "tools": {"a": TOOLS["function"]}}
    assert CODEC.write_response(read(body)) == body
