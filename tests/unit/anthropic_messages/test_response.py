"""Responses: messages, reasons, usage, errors, token counts, batch results."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.added import add_error
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps, loads
from headrace.protocols.anthropic_messages import CODEC
from tests.unit.anthropic_messages.samples import ERROR, RESPONSE, USAGE


def read(body: Any) -> Any:
    return CODEC.read_response(body, Reading("call-1", "response"), None)


def test_full_response_is_carried_without_extras_and_written_back() -> None:
    record = read(RESPONSE)
    assert CODEC.write_response(record) == RESPONSE
    assert "extras" not in record
    assert record["response_id"] == "msg_1"
    assert record["served_model"] == "claude-test"
    assert record["service_tier"] == "standard"
    assert record["continuation"] == ["container.id"]
    assert loads(record["parameters"]["other"]).keys() == {"context_management", "diagnostics", "input_transformations"}
    message = record["messages"][0]
    assert message["role"] == "assistant"
    assert [part["type"] for part in message["parts"]] == ["reasoning", "text", "tool_call"]


@pytest.mark.parametrize(
    ("raw", "reason", "status"),
    [
        ("end_turn", "stop", "completed"),
        ("stop_sequence", "stop", "completed"),
        ("tool_use", "tool_calls", "completed"),
        ("pause_turn", "pause", "completed"),
        ("compaction", "pause", "completed"),
        ("refusal", "refusal", "completed"),
        ("max_tokens", "length", "incomplete"),
        ("model_context_window_exceeded", "length", "incomplete"),
        ("brand_new", None, "completed"),
        (None, None, "incomplete"),
    ],
)
def test_stop_reasons(raw: str | None, reason: str | None, status: str) -> None:
    known = Reading("call-1", "response")
    body = {**RESPONSE, "stop_reason": raw}
    record = CODEC.read_response(body, known, None)
    assert record.get("finish_reason") == reason
    assert record.get("raw_finish_reason") == raw
    assert record["status"] == status
    assert ("status_reason" in record) == (status == "incomplete")
    assert known.unknown == ({("finish_reason", raw): 1} if raw == "brand_new" else {})
    assert CODEC.write_response(record) == body


def test_refusal_keeps_its_details_and_credit_token() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None, "fallback_credit_token": "tok"}
    body = {**RESPONSE, "stop_reason": "refusal", "stop_details": details}
    record = read(body)
    assert loads(record["safety"]) == details
    assert "stop_details.fallback_credit_token" in record["continuation"]
    assert CODEC.write_response(record) == body


def test_usage_is_one_arithmetic() -> None:
    usage = dict(read(RESPONSE)["usage"])
    assert loads(usage.pop("raw")) == USAGE
    detail = loads(usage.pop("detail"))
    assert usage == {
        "input_tokens": 10007,
        "cache_read_tokens": 9500,
        "cache_write_tokens": 500,
        "output_tokens": 20,
        "reasoning_tokens": 12,
        "total_tokens": 10027,
        "server_tool_calls": 3,
        "service_tier": "standard",
    }
    assert detail["iterations"] == USAGE["iterations"]


def test_usage_of_another_protocol_is_written_with_cache_apart() -> None:
    record: Any = {
        "messages": [],
        "usage": {"input_tokens": 30, "cache_read_tokens": 10, "output_tokens": 2, "total_tokens": 32},
    }
    assert CODEC.write_response(record)["usage"] == {
        "input_tokens": 20,
        "cache_read_input_tokens": 10,
        "output_tokens": 2,
    }


@pytest.mark.parametrize("usage", [{}, None, [], "many", {"input_tokens": None}, {"input_tokens": 2**70, "x": 1}])
def test_odd_usage_comes_back(usage: Any) -> None:
    body = {**RESPONSE, "usage": usage}
    assert CODEC.write_response(read(body)) == body


def test_api_error_is_read_with_code_and_request_id() -> None:
    record = read(ERROR)
    assert record["status"] == "failed"
    error = record["error"]
    assert (error["type"], error["message"], error["code"], error["request_id"]) == (
        "invalid_request_error",
        "no",
        "thread_not_found",
        "req_1",
    )
    assert CODEC.write_response(record) == ERROR


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "no", "code": 400, "status": "INVALID_ARGUMENT"}}, "no", "400"),
        ({"error": {"message": "no", "code": "bad"}, "extra": [1]}, "no", "bad"),
        ({"error": "no"}, "no", None),
        ({"error": "no", "message": "also", "code": 7}, "no", "7"),
        ({"message": "no"}, "no", None),
        ({"Message": "no"}, "no", None),
        ({"type": "error", "message": "no"}, "no", None),
        ({"detail": "no"}, "no", None),
        ({"detail": [{"loc": ["body"], "msg": "no"}]}, None, None),
        ({"type": "error", "error": None}, None, None),
        ({"type": "error", "error": {"type": 5, "message": None, "details": None}}, None, None),
        ({"error": ["no"]}, None, None),
    ],
)
def test_other_error_bodies(body: dict[str, Any], message: str | None, code: str | None) -> None:
    record = read(body)
    assert record["status"] == "failed"
    assert record["error"].get("message") == message
    assert record["error"].get("code") == code
    assert CODEC.write_response(record) == body


@pytest.mark.parametrize("error", [{"type": "overloaded_error", "message": "Overloaded"}, "Overloaded"])
def test_error_beside_content_fails_the_message(error: Any) -> None:
    body = {**RESPONSE, "stop_reason": None, "error": error, "request_id": "req_1"}
    record = read(body)
    assert record["status"] == "failed"
    assert record["error"]["message"] == "Overloaded"
    assert record["error"]["request_id"] == "req_1"
    assert len(record["messages"][0]["parts"]) == 3
    assert CODEC.write_response(record) == body


def test_error_that_was_not_on_the_wire_is_not_written_into_a_message() -> None:
    record = read(RESPONSE)
    add_error(record, type="transport_error", message="broken off")
    assert record["error"]["message"] == "broken off"
    assert CODEC.write_response(record) == RESPONSE


def test_token_count_is_a_record_with_usage() -> None:
    body = {"input_tokens": 2095, "context_management": {"original_input_tokens": 3000}}
    record = read(body)
    assert record["usage"]["input_tokens"] == 2095
    assert record["status"] == "completed"
    assert "extras" not in record
    assert CODEC.write_response(record) == body


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"type": "succeeded", "message": RESPONSE}, "completed"),
        ({"type": "errored", "error": ERROR}, "failed"),
        ({"type": "canceled"}, "cancelled"),
        ({"type": "expired"}, "failed"),
        ({}, "incomplete"),
    ],
)
def test_batch_result_is_the_response_inside(result: dict[str, Any], status: str) -> None:
    line = {"custom_id": "a", "result": result}
    record = read(line)
    assert record["status"] == status
    assert loads(record["metadata"])["custom_id"] == "a"
    assert CODEC.write_response(record) == line


@pytest.mark.parametrize(
    "change",
    [
        {"role": None},
        {"content": "just text"},
        {"content": []},
        {"content": None},
        {"content": {"a": 1}},
        {"content": [5, None]},
        {"type": None},
        {"type": "completion"},
        {"stop_reason": 5},
        {"container": None},
        {"container": {}},
        {"error": None},
        {"new": {"deep": [None]}},
    ],
)
def test_odd_responses_come_back(change: dict[str, Any]) -> None:
    body = {**RESPONSE, **change}
    assert CODEC.write_response(read(body)) == body


@pytest.mark.parametrize("body", [{}, {"id": "x"}, {"choices": []}, {"candidates": []}, {"type": "ping"}])
def test_other_bodies_are_no_response(body: dict[str, Any]) -> None:
    with pytest.raises(WireError) as refused:
        read(body)
    assert refused.value.fix


def test_records_are_sparse() -> None:
    assert "null" not in dumps(read(RESPONSE)["usage"])
    assert None not in read(RESPONSE).values()
