"""Interactions and error bodies: status, usage, times, echoes, the older `outputs`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from tests.unit.gemini_interactions.wire import (
    CODEC,
    INTERACTION,
    LEGACY,
    REQUEST,
    STEPS,
    TEXT,
    USAGE,
    read_response,
    unknown_in,
)


def test_a_whole_interaction_is_in_named_fields() -> None:
    record = read_response(INTERACTION)
    assert "extras" not in record
    assert "wire" not in record
    assert (record["response_id"], record["served_model"]) == ("v1_1", "gemini-test")
    assert record["timing"] == {"created_at": 1_778_871_137_000_000, "completed_at": 1_778_871_139_250_000}
    assert (record["service_tier"], record["previous_response_id"]) == ("standard", "v1_0")
    assert record["container"] == '"e1"'
    assert record["continuation"] == ["previous_interaction_id", "environment_id"]
    assert [message["role"] for message in record["messages"]] == ["assistant"]


@pytest.mark.parametrize(
    ("wire", "status", "reason"),
    [
        ("completed", "completed", "stop"),
        ("requires_action", "completed", "tool_calls"),
        ("requires_continuation", "completed", "pause"),
        ("incomplete", "incomplete", "length"),
        ("budget_exceeded", "incomplete", "length"),
        ("failed", "failed", "error"),
        ("cancelled", "cancelled", "cancelled"),
        ("in_progress", "in_progress", None),
        ("queued", "queued", None),
        ("idle", "idle", None),
    ],
)
def test_every_status(wire: str, status: str, reason: str | None) -> None:
    record = read_response({"id": "a", "object": "interaction", "status": wire})
    assert (record["status"], record.get("finish_reason")) == (status, reason)
    assert record.get("raw_finish_reason") == (wire if reason else None)
    assert record.get("status_reason") == (wire if status == "incomplete" else None)


def test_an_unknown_status_is_kept_and_counted() -> None:
    record = read_response({"id": "a", "status": "dreaming"})
    assert (record["status"], record["raw_finish_reason"], record.get("finish_reason")) == (
        "dreaming",
        "dreaming",
        None,
    )
    assert unknown_in({"status": "dreaming"}) == {("status", "dreaming"): 1}


@pytest.mark.parametrize("status", [None, "", 3, {}, ["completed"]])
def test_a_status_of_an_odd_type_comes_back(status: Any) -> None:
    assert "status" not in read_response({"id": "a", "status": status})


def test_the_status_of_other_protocols_records() -> None:
    assert CODEC.write_response({"finish_reason": "tool_calls", "status": "completed"})["status"] == "requires_action"
    assert CODEC.write_response({"status": "incomplete"})["status"] == "incomplete"


def test_usage_in_one_arithmetic() -> None:
    usage = read_response(INTERACTION)["usage"]
    assert {key: value for key, value in usage.items() if key not in ("raw", "detail")} == {
        "input_tokens": 105,
        "cache_read_tokens": 40,
        "output_tokens": 50,
        "reasoning_tokens": 30,
        "tool_use_tokens": 5,
        "total_tokens": 155,
        "input_audio_tokens": 20,
        "output_image_tokens": 20,
        "server_tool_calls": 3,
    }
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]
    assert json.loads(usage["raw"]) == USAGE
    assert json.loads(usage["detail"]).keys() == {key for key in USAGE if not key.startswith("total_")}
    assert set(USAGE) <= CODEC.usage_paths


def test_the_total_is_computed_where_the_wire_has_none() -> None:
    usage = read_response({"usage": {"total_input_tokens": 3, "total_output_tokens": 4, "total_reasoning_tokens": 5}})[
        "usage"
    ]
    assert (usage["output_tokens"], usage["reasoning_tokens"], usage["total_tokens"]) == (9, 5, 12)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "x",
        {"total_tokens": "many"},
        {"total_tokens": -1, "new": 1},
        {"input_tokens_by_modality": [None, {"modality": 3}, {"modality": "audio", "tokens": "x"}]},
        {"grounding_tool_count": {"type": "x"}},
    ],
)
def test_usage_of_odd_forms_comes_back(usage: Any) -> None:
    read_response({"id": "a", "usage": usage})


def test_usage_of_another_protocol_s_record() -> None:
    written = CODEC.write_response({"usage": {"input_tokens": 10, "output_tokens": 9, "reasoning_tokens": 4}})["usage"]
    assert written == {"total_input_tokens": 10, "total_output_tokens": 5, "total_thought_tokens": 4}


def test_the_last_change_of_an_open_interaction_is_not_its_end() -> None:
    body = {"id": "a", "status": "in_progress", "updated": "2026-05-15T18:52:19Z"}
    record = read_response(body)
    assert "timing" not in record
    assert json.loads(record["detail"]) == {"updated": "2026-05-15T18:52:19Z"}


@pytest.mark.parametrize(
    "time", ["2026-05-15T18:52:19.123456789Z", "yesterday", "", None, 5, "2026-05-15T18:52:19+00:00"]
)
def test_times_that_are_not_exact_come_back(time: Any) -> None:
    read_response({"id": "a", "created": time, "updated": time, "status": "completed"})


def test_the_older_outputs() -> None:
    record = read_response(LEGACY)
    (message,) = record["messages"]
    assert [part["type"] for part in message["parts"]] == [
        "reasoning",
        "text",
        "media",
        "media",
        "media",
        "media",
        "tool_call",
        "tool_call",
    ]
    assert record["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    "body",
    [
        {"steps": [], "outputs": [TEXT]},
        {"steps": None, "outputs": [TEXT, {"type": "model_output", "content": [TEXT]}, TEXT]},
        {"steps": [{"type": "model_output", "content": [TEXT]}], "outputs": [TEXT]},
        {"steps": [TEXT, {"type": "model_output", "content": [TEXT]}, TEXT, STEPS["user_input"], TEXT]},
        {"steps": "x", "outputs": {"type": "text"}},
        {"outputs": []},
        {"steps": [STEPS["user_input"], STEPS["function_result"], STEPS["model_output"]]},
    ],
)
def test_lists_of_steps_and_outputs_in_odd_company_come_back(body: dict[str, Any]) -> None:
    read_response({"id": "a", **body})


def test_an_echo_of_the_request_stays_apart_from_the_steps() -> None:
    body = {**REQUEST, **INTERACTION, "input": "Weather?"}
    record = read_response(body)
    assert [message["role"] for message in record["messages"]] == ["system", "user", "assistant"]
    assert record["parameters"]["temperature"] == 0.5
    assert len(record["tools"]) == 10


def test_what_the_sdk_adds_is_known() -> None:
    record = read_response({**INTERACTION, "output_text": "Grüße", "continuation_ids": ["v1_1"]})
    assert json.loads(record["detail"]) == {"output_text": "Grüße", "continuation_ids": ["v1_1"]}


def test_a_pause_gives_the_token_to_go_on_with() -> None:
    record = read_response({"id": "a", "status": "requires_continuation", "continuation_token": "tok"})
    assert (record["continuation_token"], record["continuation"]) == ("tok", ["continuation_token"])


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": {"code": "invalid_request", "message": "no"}}, {"code": "invalid_request", "message": "no"}),
        (
            {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": [{"a": 1}]}},
            {"code": "400", "message": "no", "type": "INVALID_ARGUMENT", "detail": '{"details":[{"a":1}]}'},
        ),
        ({"error": {}}, {}),
        ({"error": {"code": None, "new": 1}}, {"extras": '{"new":1}'}),
        ({"error": "plain text"}, {"message": "plain text"}),
        ({"message": "no route", "code": 5}, {"message": "no route"}),
        ({"detail": "Not Found"}, {"message": "Not Found"}),
        ({"detail": [{"loc": ["body"], "msg": "bad"}]}, {"detail": '[{"loc":["body"],"msg":"bad"}]'}),
        ({"errors": [{"code": "quota", "message": "out"}]}, {"code": "quota", "message": "out"}),
        ({"errors": [{"code": "a"}, {"code": "b"}]}, {"code": "a", "detail": '[{"code":"a"},{"code":"b"}]'}),
        ({"errors": [None, {"message": "m", "new": 1}]}, {"message": "m", "detail": '[null,{"message":"m","new":1}]'}),
        ({"errors": [{}]}, {}),
    ],
)
def test_error_bodies(body: dict[str, Any], error: dict[str, Any]) -> None:
    record = read_response(body)
    assert {key: value for key, value in record["error"].items() if key != "wire"} == error
    assert (record["status"], record["finish_reason"]) == ("failed", "error")


def test_a_fault_on_an_interaction_that_ended_well() -> None:
    record = read_response({**INTERACTION, "errors": [{"code": "x", "message": "recovered"}]})
    assert (record["status"], record["error"]["message"]) == ("completed", "recovered")


@pytest.mark.parametrize(
    "body",
    [
        {"id": "a", "error": None},
        {"id": "a", "error": [1]},
        {"id": "a", "errors": []},
        {"id": "a", "errors": None},
        {"id": "a", "errors": [1]},
        {"id": "a", "error": {"code": "x"}, "errors": [{"code": "y"}]},
        {"id": "a", "error": "text", "message": "m", "detail": 5},
        {"error": None, "message": "m"},
    ],
)
def test_errors_in_odd_company_come_back(body: dict[str, Any]) -> None:
    read_response(body)


@pytest.mark.parametrize("body", [{}, {"unrelated": 1}, {"error": None}, {"error": 5}, {"message": None}, [], "x"])
def test_what_is_neither_interaction_nor_error_is_refused(body: Any) -> None:
    with pytest.raises(WireError):
        CODEC.read_response(body, Reading("call", "response"), None)
