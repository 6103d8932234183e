"""Records of other protocols, and records made by hand, written as generateContent bodies."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import dumps
from headrace.protocols.gemini_generate import CODEC
from tests.support.natural_records import ANSWER, FAILURE, REQUEST, RESPONSE, SYSTEM, ended, result, text

CALLED = [
    {"text": "Let me look."},
    {"functionCall": {"id": "call_0", "name": "weather", "args": {"city": "Oslo"}}},
    {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Rome"}}},
]


def test_a_request_is_written_whole() -> None:
    body = CODEC.write_request(REQUEST)
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    question, calls, first, second, answer, _ = body["contents"]
    picture = {"inlineData": {"mimeType": "image/png", "data": "aVZCT1I="}}
    assert question == {"role": "user", "parts": [{"text": "Where is it warmer?"}, picture]}
    assert calls == {"role": "model", "parts": CALLED}
    answered = {"id": "call_0", "name": "weather", "response": {"result": "7 degrees"}}
    assert first == {"role": "user", "parts": [{"functionResponse": answered}]}
    assert second["parts"][0]["functionResponse"]["response"] == {"error": "no such city"}
    assert answer == {"role": "model", "parts": [{"text": "In Oslo, as far as I know."}]}
    choice = {"mode": "ANY", "allowedFunctionNames": ["weather"]}
    assert body["toolConfig"]["functionCallingConfig"] == choice


def test_a_response_is_written_whole() -> None:
    assert CODEC.write_response(RESPONSE) == {
        "responseId": "response-1",
        "modelVersion": "model-1",
        "createTime": "2026-09-21T14:13:20Z",
        # The wire has no reason for a turn that ends in calls.
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": CALLED}}],
        "usageMetadata": {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            # The wire's candidates leave thoughts out.
            "candidatesTokenCount": 30,
            "thoughtsTokenCount": 20,
            "totalTokenCount": 150,
        },
    }


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ended("stop"), "STOP"),
        (ended("tool_calls"), "STOP"),
        (ended("length"), "MAX_TOKENS"),
        (ended("content_filter"), "SAFETY"),
        (ended("refusal"), "SAFETY"),
        (ended("content_filter", raw_finish_reason="RECITATION"), "RECITATION"),
        (ended("length", raw_finish_reason="STOP"), "MAX_TOKENS"),
        (ended("tool_calls", raw_finish_reason="tool_use"), "STOP"),
    ],
)
def test_reasons_have_the_words_of_the_wire(record: Any, reason: str) -> None:
    assert CODEC.write_response(record)["candidates"][0]["finishReason"] == reason


def test_every_candidate_has_its_place_and_its_own_reason() -> None:
    stopped, cut = {**ANSWER, "finish_reason": "stop"}, {**ANSWER, "finish_reason": "length"}
    first, second = CODEC.write_response({**RESPONSE, "messages": [stopped, cut]})["candidates"]
    assert (first["index"], first["finishReason"]) == (0, "STOP")
    assert (second["index"], second["finishReason"]) == (1, "MAX_TOKENS")


def test_what_the_wire_left_out_stays_out_of_its_own_bodies() -> None:
    body = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}
    record = CODEC.read_response(body, Reading("call", "response"), None)
    assert record["messages"][0]["parts"][0]["tool_call"]["id"]
    assert CODEC.write_response(record) == body


def test_all_system_messages_are_the_instruction() -> None:
    developer = {"role": "developer", "parts": [text("Answer in English.")]}
    body = CODEC.write_request({"messages": [SYSTEM, developer]})
    assert body == {"systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Answer in English."}]}}


@pytest.mark.parametrize(
    ("value", "is_error", "response"),
    [
        ({"degrees": 7}, False, {"degrees": 7}),
        ({"reason": "gone"}, True, {"error": {"reason": "gone"}}),
        ({"error": "gone"}, True, {"error": "gone"}),
        ([7, 8], False, {"result": [7, 8]}),
    ],
)
def test_a_failed_result_says_so(value: Any, is_error: bool, response: Any) -> None:
    part = result(0, {"type": "json", "json": dumps(value)}, **({"is_error": True} if is_error else {}))
    (content,) = CODEC.write_request({"messages": [{"role": "tool", "parts": [part]}]})["contents"]
    assert content["parts"][0]["functionResponse"]["response"] == response


def test_figures_by_modality_are_written_without_the_raw_object() -> None:
    usage = {
        "promptTokenCount": 9,
        "candidatesTokenCount": 2,
        "totalTokenCount": 11,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
        "trafficType": "ON_DEMAND",
        "serviceTier": "standard",
    }
    record: Any = CODEC.read_response({"usageMetadata": usage}, Reading("call", "response"), None)
    del record["usage"]["raw"]
    assert CODEC.write_response(record)["usageMetadata"] == usage


def test_an_error_is_an_error_body() -> None:
    assert CODEC.write_response(FAILURE) == {"error": {"status": "rate_limit_error", "message": "Too many requests."}}
