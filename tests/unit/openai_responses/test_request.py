"""Requests: input and instructions in all forms, settings, envelopes, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.protocols.openai_responses import CODEC
from tests.unit.openai_responses.samples import REQUEST


def read(body: Any) -> Any:
    return CODEC.read_request(body, Reading("call-1", "request"))


def test_a_request_with_every_setting_is_carried_in_named_fields() -> None:
    record = read(REQUEST)
    assert CODEC.write_request(record) == REQUEST
    assert "extras" not in record
    assert record["model"] == "gpt-test"
    assert record["parameters"]["reasoning_effort"] == "high"
    assert record["parameters"]["reasoning_summary"] == "auto"
    assert record["parameters"]["reasoning_mode"] == "pro"
    assert record["parameters"]["verbosity"] == "low"
    assert json.loads(record["parameters"]["response_format"])["type"] == "json_schema"
    assert json.loads(record["parameters"]["other"])["reasoning"] == {"context": "auto", "generate_summary": None}
    assert record["conversation_id"] == "conv_1"
    assert record["continuation"] == ["conversation"]


@pytest.mark.parametrize("text", ["", "hi", "Grüße 👋"])
def test_input_as_a_string_is_one_user_message(text: str) -> None:
    record = read({"model": "m", "input": text})
    assert [(message["role"], message["parts"]) for message in record["messages"]] == [
        ("user", [{"type": "text", "text": text}])
    ]
    assert CODEC.write_request(record) == {"model": "m", "input": text}


def test_instructions_are_the_first_message() -> None:
    record = read({"model": "m", "instructions": "Be brief.", "input": [{"role": "system", "content": "And kind."}]})
    assert [message["role"] for message in record["messages"]] == ["system", "system"]
    assert record["messages"][0]["parts"][0]["text"] == "Be brief."


@pytest.mark.parametrize("value", [None, [], [{"role": "user", "content": "x"}], 5, {}, "\ud83d"])
@pytest.mark.parametrize("key", ["input", "instructions", "tools", "tool_choice", "conversation", "metadata", "text"])
def test_odd_values_of_known_keys_come_back(key: str, value: Any) -> None:
    body = {"model": "m", "input": "hi", key: value}
    assert CODEC.write_request(read(body)) == body


@pytest.mark.parametrize("conversation", ["conv_1", {"id": "conv_1"}, {"id": "conv_1", "new": 1}, {}, None, ""])
def test_a_conversation_in_any_form_comes_back(conversation: Any) -> None:
    body = {"input": [], "conversation": conversation}
    record = read(body)
    assert CODEC.write_request(record) == body
    if conversation and len(conversation) > 0:
        assert record["conversation_id"] == "conv_1"


def test_the_websocket_envelope_is_a_request() -> None:
    body = {"type": "response.create", "stream_id": "s1", "model": "m", "input": "hi", "generate": False}
    record = read(body)
    assert record["model"] == "m"
    assert "extras" not in record
    assert CODEC.write_request(record) == body


def test_a_stored_prompt_alone_is_a_request() -> None:
    body = {"prompt": {"id": "pmpt_1", "variables": {"city": "Oslo"}}}
    assert CODEC.write_request(read(body)) == body


@pytest.mark.parametrize(
    "body", [{}, {"messages": []}, {"model": "m", "messages": []}, {"contents": []}, [], "x", {"new": 1}]
)
def test_a_body_of_another_protocol_is_refused(body: Any) -> None:
    with pytest.raises(WireError, match="it has no input"):
        read(body)


def test_a_number_that_no_field_can_hold_stays_json() -> None:
    body = {"input": "x", "max_output_tokens": 2**80, "temperature": 2**60 + 1, "top_p": True}
    record = read(body)
    assert json.loads(record["extras"]) == {key: body[key] for key in ("max_output_tokens", "temperature", "top_p")}
    assert CODEC.write_request(record) == body
