"""Records made by hand, written as a Live session's setup and turn."""

from __future__ import annotations

import pytest

from headrace.errors import WireError
from headrace.protocols.gemini_live import CODEC
from tests.support.natural_records import QUESTION, REQUEST, RESPONSE, SYSTEM

SETUP = {**REQUEST, "messages": [SYSTEM]}


def test_a_setup_is_written_whole() -> None:
    setup = CODEC.write_request(SETUP)["setup"]
    assert setup["model"] == "model-1"
    assert setup["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert setup["tools"][0]["functionDeclarations"][0]["name"] == "weather"
    assert setup["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 100, "stopSequences": ["END"]}


def test_history_is_refused_never_dropped() -> None:
    with pytest.raises(WireError, match="no history"):
        CODEC.write_request({**SETUP, "messages": [SYSTEM, QUESTION]})


def test_a_turn_is_written_whole() -> None:
    body = CODEC.write_response(RESPONSE)
    assert body["turnComplete"] is True
    assert body["usageMetadata"]["responseTokenCount"] == 30
    calls = [call for entry in body["turn"] for call in entry.get("toolCall", {}).get("functionCalls", ())]
    assert [(call["id"], call["name"], call["args"]) for call in calls] == [
        ("call_0", "weather", {"city": "Oslo"}),
        ("call_1", "weather", {"city": "Rome"}),
    ]
    (folded,) = CODEC.fold(CODEC.unfold(body))
    assert folded.body == body
