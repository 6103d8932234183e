"""Every name of the catalogue's section 2 and of the dialects: how it is carried, and that it comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols.openai_chat import CODEC
from headrace.protocols.openai_chat.finish import REASONS
from headrace.protocols.openai_chat.usage import USAGE
from tests.unit.openai_chat.samples import (
    ANNOTATIONS,
    ASSISTANTS,
    CALLS,
    DETAILS,
    DIALECT_SETTINGS,
    ERRORS,
    EXECUTED,
    PARTS,
    REQUESTS,
    RESPONSES,
    SETTINGS,
    TOOL_CHOICES,
    TOOL_MESSAGES,
    TOOLS,
    response,
)


def request_record(message: Any, reading: Reading | None = None) -> Any:
    body = {"model": "m", "messages": [message]}
    record = CODEC.read_request(body, reading or Reading("call", "request"))
    assert CODEC.write_request(record) == body
    return record


def only_part(message: Any) -> Any:
    reading = Reading("call", "request")
    record = request_record(message, reading)
    (part,) = record["messages"][0]["parts"]
    assert not reading.unknown and "extras" not in part
    return part


def response_record(body: Any, reading: Reading | None = None) -> Any:
    record = CODEC.read_response(body, reading or Reading("call", "response"), None)
    assert CODEC.write_response(record) == body
    return record


#: Wire part -> what its canonical part holds.
PART_FIELDS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "hello"},
    "text, cached by Anthropic's word": {"type": "text", "cache_control": '{"type":"ephemeral","ttl":"5m"}'},
    "text, cached by OpenAI's word": {"type": "text", "cache_control": '{"mode":"explicit"}'},
    "image_url": {
        "type": "media",
        "media": {"kind": "image", "uri": "https://example.org/a.png", "detail": "low"},
    },
    "image_url with data": {"type": "media", "media": {"kind": "image", "mime_type": "image/png", "data": "AAAA"}},
    "image_url as a string": {"type": "media", "media": {"kind": "image", "mime_type": "image/jpeg", "data": "BBBB"}},
    "input_audio": {"type": "media", "media": {"kind": "audio", "data": "UklGRg==", "format": "wav"}},
    "input_audio as a string": {"type": "media", "media": {"kind": "audio", "uri": "https://example.org/a.mp3"}},
    "file with data": {
        "type": "media",
        "media": {"kind": "file", "filename": "a.pdf", "mime_type": "application/pdf", "data": "JVBE"},
    },
    "file with bare data": {"type": "media", "media": {"kind": "file", "filename": "a.txt", "data": "aGk="}},
    "file by id": {"type": "media", "media": {"kind": "file", "file_id": "file-1"}},
    "refusal": {"type": "refusal", "text": "No."},
    "video_url": {"type": "media", "media": {"kind": "video", "uri": "https://example.org/a.mp4"}},
    "audio_url": {"type": "media", "media": {"kind": "audio", "uri": "https://example.org/a.ogg"}},
    "file_url": {"type": "media", "media": {"kind": "file", "uri": "https://example.org/a.doc"}},
    "document_url": {
        "type": "media",
        "media": {"kind": "document", "uri": "https://example.org/a.pdf", "filename": "a.pdf"},
    },
    "thinking": {"type": "reasoning", "reasoning": {"text": "Hm."}, "detail": '{"closed":true}'},
    "thinking in two": {"type": "reasoning", "reasoning": {"text": "Hm"}},
    "thinking as a string": {"type": "reasoning", "reasoning": {"text": "Hm.", "signature": "c2ln"}},
    "redacted_thinking": {"type": "reasoning", "reasoning": {"encrypted": "b3BhcXVl", "redacted": True}},
    "reference": {"type": "citation", "citations": [{"type": "reference", "detail": "[0,2]"}]},
}


@pytest.mark.parametrize("name", PARTS)
def test_each_content_part_has_its_fields(name: str) -> None:
    part = only_part({"role": "user", "content": [PARTS[name]]})
    assert {key: part[key] for key in PART_FIELDS[name]} == PART_FIELDS[name]


#: Wire call -> what its canonical call holds (``None``: absent).
CALL_FIELDS: dict[str, dict[str, Any]] = {
    "function": {"id": "call_1", "provider_id": "call_1", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
    "custom": {"kind": "custom", "name": "shell", "raw_arguments": "ls -l", "arguments": None, "arguments_error": None},
    "without type": {"kind": "function", "name": "f", "id": "call_3"},
    "without id": {"provider_id": None, "name": "f"},
    "blank id": {"provider_id": "", "name": "f"},
    "blank arguments": {"raw_arguments": "", "arguments": "{}"},
    "null arguments": {"raw_arguments": None, "arguments": "{}"},
    "no arguments": {"raw_arguments": None, "arguments": "{}"},
    "arguments as an object": {"raw_arguments": None, "arguments": '{"a":[1]}'},
    "arguments as an empty object": {"raw_arguments": None, "arguments": "{}"},
    "broken arguments": {"raw_arguments": '{"a"', "arguments": None},
    "builtin_function": {"kind": "function", "wire_type": "builtin_function", "name": "$search"},
    "signed by Gemini": {"name": "get_weather"},
    "signed by Gemini, behind LiteLLM": {"name": "get_weather"},
    "signed by Gemini, in the function": {"name": "get_weather"},
    "both objects": {"kind": "function", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
}


@pytest.mark.parametrize("name", CALLS)
def test_each_form_of_a_call_has_its_fields(name: str) -> None:
    (part,) = request_record({"role": "assistant", "tool_calls": [CALLS[name]]})["messages"][0]["parts"]
    call = part["tool_call"]
    assert {key: call.get(key) for key in CALL_FIELDS[name]} == CALL_FIELDS[name]
    assert call["index"] == 0 and call["id"]


@pytest.mark.parametrize("name", DETAILS)
def test_each_reasoning_detail_has_its_fields(name: str) -> None:
    part = only_part({"role": "assistant", "reasoning_details": [DETAILS[name]]})
    expected = {
        "reasoning.summary": {"summary": ["Plan"], "format": "openai-responses-v1"},
        "reasoning.text": {"text": "Plan", "signature": "c2ln"},
        "reasoning.encrypted": {"encrypted": "ZW5j"},
    }[name]
    assert (part["type"], part["wire_type"], part["reasoning"]) == ("reasoning", name, expected)
    needed = {"reasoning.text": ["signature"], "reasoning.encrypted": ["data"]}.get(name)
    assert part.get("continuation") == needed


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_each_annotation_is_a_citation_of_the_text(name: str) -> None:
    part = only_part({"role": "assistant", "content": "Hello", "annotations": [ANNOTATIONS[name]]})
    (citation,) = part["citations"]
    assert citation["type"] == ANNOTATIONS[name]["type"]
    assert citation.get("url", citation.get("filename")) in ("https://example.org", "a.pdf")


#: Wire tool -> what its canonical tool holds.
TOOL_FIELDS: dict[str, dict[str, Any]] = {
    "function": {"name": "f", "kind": "function", "parameters": '{"type":"object"}', "strict": True},
    "function, cached": {"name": "g", "cache_control": '{"type":"ephemeral","ttl":"5m"}'},
    "function, flat": {"name": "i", "kind": "function", "parameters": '{"type":"object"}', "description": "d"},
    "function without type": {"name": "h", "kind": "function", "parameters": "{}", "description": ""},
    "custom": {"name": "shell", "kind": "custom", "format": '{"type":"text"}'},
    "custom with a grammar": {"name": "calc", "kind": "custom"},
    "openrouter:web_search": {"kind": "server", "wire_type": "openrouter:web_search"},
    "browser_search": {"name": "browser_search", "kind": "server"},
    "web_search": {"kind": "server", "config": '{"web_search":{"enable":true}}'},
    "mcp": {"kind": "mcp", "wire_type": "mcp"},
}


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_has_its_fields(name: str) -> None:
    body = {"messages": [], "tools": [TOOLS[name]]}
    reading = Reading("call", "request")
    record = CODEC.read_request(body, reading)
    (tool,) = record["tools"]
    assert {key: tool.get(key) for key in TOOL_FIELDS[name]} == TOOL_FIELDS[name]
    assert CODEC.write_request(record) == body and not reading.unknown and "extras" not in tool


CHOICE_FIELDS: dict[str, Any] = {
    "none": {"mode": "none"},
    "auto": {"mode": "auto"},
    "required": {"mode": "required"},
    "any": {"mode": "required"},
    "function": {"mode": "tool", "kind": "function", "name": "f"},
    "custom": {"mode": "tool", "kind": "custom", "name": "shell"},
    "allowed_tools": {"mode": "allowed", "allowed_mode": "required", "allowed": ["f"]},
    "unknown word": None,
    "unknown form": None,
}


@pytest.mark.parametrize("name", TOOL_CHOICES)
def test_each_tool_choice_has_its_fields(name: str) -> None:
    body = {"messages": [], "tool_choice": TOOL_CHOICES[name]}
    record: Any = CODEC.read_request(body, Reading("call", "request"))
    expected = CHOICE_FIELDS[name]
    if expected is None:
        assert json.loads(record["extras"]) == {"tool_choice": TOOL_CHOICES[name]}
    else:
        assert {key: record["tool_choice"].get(key) for key in expected} == expected
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("name", [*SETTINGS, *DIALECT_SETTINGS])
def test_each_setting_has_a_field(name: str) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], name: {**SETTINGS, **DIALECT_SETTINGS}[name]}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert CODEC.write_request(record) == body
    # Aliases that say the same beside another stay in extras; alone, none does.
    alone = name not in ("reasoning", "thinking")
    assert ("extras" not in record) or not alone


def test_minor_settings_are_known_ones() -> None:
    record = CODEC.read_request({"messages": [], "logit_bias": {"1": 1}, "new": 2}, Reading("call", "request"))
    assert json.loads(record["parameters"]["other"]) == {"logit_bias": {"1": 1}}
    assert json.loads(record["extras"]) == {"new": 2}


@pytest.mark.parametrize("raw", ["stop", "length", "tool_calls", "content_filter", "function_call", *REASONS])
def test_each_finish_reason_has_a_canonical_one(raw: str) -> None:
    reading = Reading("call", "response")
    record = response_record(response({"role": "assistant", "content": "x"}, raw), reading)
    assert record["finish_reason"] == REASONS[raw] and record["raw_finish_reason"] == raw
    assert not reading.unknown


def test_a_new_finish_reason_is_kept_and_counted() -> None:
    reading = Reading("call", "response")
    record = response_record(response({"role": "assistant", "content": "x"}, "brand_new"), reading)
    assert "finish_reason" not in record and record["raw_finish_reason"] == "brand_new"
    assert dict(reading.unknown) == {("finish_reason", "brand_new"): 1}


@pytest.mark.parametrize(
    ("raw", "status", "reason"),
    [
        ("stop", "completed", None),
        ("tool_calls", "completed", None),
        ("length", "incomplete", "length"),
        ("content_filter", "incomplete", "content_filter"),
        ("error", "failed", "error"),
        ("abort", "cancelled", "abort"),
        (None, "incomplete", "no_finish_reason"),
        ("", "completed", None),
    ],
)
def test_the_finish_reason_decides_the_status(raw: Any, status: str, reason: str | None) -> None:
    record = response_record(response({"role": "assistant", "content": "x"}, raw))
    assert (record["status"], record.get("status_reason")) == (status, reason)


def test_the_gravest_choice_decides() -> None:
    body = response({"role": "assistant", "content": "x"}, "stop")
    body["choices"].append({"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": "y"}})
    record = response_record(body)
    assert record["status"] == "incomplete" and record["finish_reason"] == "stop"
    assert [message["choice_index"] for message in record["messages"]] == [0, 1]
    assert [message["finish_reason"] for message in record["messages"]] == ["stop", "length"]


def test_usage_paths_cover_the_catalogue() -> None:
    documented = {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        *(f"prompt_tokens_details.{name}_tokens" for name in ("cached", "cache_write", "audio", "image", "text")),
        *(f"completion_tokens_details.{name}_tokens" for name in ("reasoning", "audio", "text")),
        *(f"completion_tokens_details.{name}_prediction_tokens" for name in ("accepted", "rejected")),
    }
    assert documented <= CODEC.usage_paths == USAGE.paths


#: Error body -> (type, code, message).
ERROR_FIELDS: dict[str, tuple[Any, Any, Any]] = {
    "OpenAI": ("invalid_request_error", None, "bad"),
    "code as a number": (None, "429", "slow down"),
    "Groq": (None, "tool_use_failed", "bad"),
    "text": (None, None, "bad"),
    "value": (None, None, None),
    "FastAPI, text": (None, None, "Not Found"),
    "FastAPI, list": (None, None, None),
    "message": ("invalid", "1", "bad"),
    "Mistral": ("invalid_request_error", None, "bad"),
    "Alibaba": (None, "InvalidApiKey", "bad"),
    "empty": (None, None, None),
}


@pytest.mark.parametrize("name", ERRORS)
def test_each_error_body_is_an_error(name: str) -> None:
    record = response_record(ERRORS[name])
    error = record["error"]
    assert record["status"] == "failed"
    assert tuple(error.get(key) for key in ("type", "code", "message")) == ERROR_FIELDS[name]


@pytest.mark.parametrize("body", [*REQUESTS, *({"messages": [one]} for one in TOOL_MESSAGES.values())])
def test_own_requests_come_back(body: Any) -> None:
    assert CODEC.write_request(CODEC.read_request(body, Reading("call", "request"))) == body


@pytest.mark.parametrize("body", RESPONSES)
def test_own_responses_come_back(body: Any) -> None:
    response_record(body)


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_message_reads_alike_in_history_and_answer(name: str) -> None:
    """The same message gives the same parts, whichever way it came."""
    (asked,) = request_record(ASSISTANTS[name])["messages"]
    (answered,) = response_record(response(ASSISTANTS[name]))["messages"]
    for message in (asked, answered):
        for part in message.get("parts", []):
            for derived in ("tool_call", "tool_result"):
                part.get(derived, {}).pop("tool_call_id" if derived == "tool_result" else "id", None)
    assert asked.get("parts") == answered.get("parts")


def test_executed_tools_are_calls_with_their_results() -> None:
    record = request_record({"role": "assistant", "content": "Sunny", "executed_tools": [EXECUTED]})
    call, result, text = record["messages"][0]["parts"]
    assert (call["tool_call"]["kind"], call["tool_call"]["name"]) == ("server", "search")
    assert result["tool_result"]["tool_call_id"] == call["tool_call"]["id"]
    assert [piece["type"] for piece in result["tool_result"]["content"]] == ["text", "json"]
    assert text["text"] == "Sunny"
