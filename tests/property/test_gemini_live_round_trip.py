"""Live sessions with random faults: every frame ends in a turn or among the strays, and turns come back."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.model import CanonicalRecord
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.protocols.gemini_live import CODEC
from tests.support.json_faults import faulty
from tests.unit.gemini_live.samples import DONE, SETUP, USAGE, audio, client, content, heard, said, server, spoke

SESSION: list[Any] = [
    client(**SETUP),
    server(setupComplete={"sessionId": "s1"}),
    client(client_content={"turns": [{"parts": [{"text": "a"}]}], "turn_complete": False}),
    said("b"),
    heard(b"abc"),
    client(realtimeInput={"activityEnd": {}}),
    content(inputTranscription={"text": "Hel"}),
    content(inputTranscription={"text": "lo", "finished": True}),
    spoke({"text": "Hm", "thought": True}, audio(b"1")),
    spoke(audio(b"2")),
    content(outputTranscription={"text": "Hi"}),
    server(toolCall={"functionCalls": [{"name": "f", "args": {"a": 1}, "id": "c1"}, {"name": "f"}]}),
    client(toolResponse={"functionResponses": [{"name": "f", "id": "c1", "response": {}}]}),
    server(toolCallCancellation={"ids": ["c1"]}),
    server(sessionResumptionUpdate={"newHandle": "h", "resumable": True}),
    *DONE,
    server(usageMetadata=USAGE),
    heard(b"d"),
    spoke({"text": "B"}),
    content(interrupted=True, groundingMetadata={"webSearchQueries": ["q"]}),
    server(serverContent={"turnComplete": True}, usageMetadata=USAGE, goAway={"timeLeft": "1s"}),
    server(error={"code": 1, "message": "x"}),
]
FOLDED = CODEC.fold(SESSION)
SETUPS = [SETUP, {"setup": {"generation_config": {"top_p": 1}, "tools": [{}]}}]
TURNS = [one.body for one in FOLDED if one.record_type == "response"]
ODD_VALUES = [event["frame"] for event in SESSION] + [audio(b"1"), {"functionCall": {"name": "f"}}]
ODD_KEYS = [
    "from", "frame", "turn", "parts", "role", "text", "data", "audio", "ids", "turns", "functionCalls", "modelTurn",
    "toolCall", "serverContent", "turnComplete", "interrupted", "usageMetadata", "error", "setup", "clientContent",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(faulty(SETUPS, ODD_VALUES, ODD_KEYS))
def test_any_setup_comes_back(body: Any) -> None:
    given_body = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call", "request"))
    except WireError:
        assert not isinstance(body, dict) or not isinstance(body.get("setup"), dict)
        return
    assert body == given_body
    assert CODEC.write_request(record) == body
    CanonicalRecord.from_shape(record)
    assert CODEC.write_request(decode_record(encode_record(record))) == body


@settings(max_examples=250, deadline=None)
@given(faulty(TURNS, ODD_VALUES, ODD_KEYS))
def test_any_turn_comes_back(body: Any) -> None:
    given_body = copy.deepcopy(body)
    try:
        record = CODEC.read_response(body, Reading("call", "response"), None)
    except WireError:
        assert not isinstance(body, dict) or not body.keys() & {"turn", "turnComplete", "usageMetadata"}
        return
    assert body == given_body
    assert CODEC.write_response(record) == body
    CanonicalRecord.from_shape(record)
    assert CODEC.write_response(decode_record(encode_record(record))) == body


@settings(max_examples=250, deadline=None)
@given(faulty([SESSION], ODD_VALUES, ODD_KEYS, most=5))
def test_any_session_folds_to_records_that_unfold_and_fold_back(events: Any) -> None:
    given_events = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert events == given_events
    for one in folded:
        if not one.events:
            assert one.stray
            continue
        reading = Reading("call", one.record_type)
        if one.record_type == "request":
            assert CODEC.write_request(CODEC.read_request(one.body, reading)) == one.body
        else:
            assert CODEC.write_response(CODEC.read_response(one.body, reading, None)) == one.body
        (again,) = CODEC.fold(CODEC.unfold(one.body))
        assert again.body == one.body


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=150, deadline=None)
@given(st.permutations(SESSION), st.integers(0, len(SESSION)))
def test_no_text_is_lost_in_any_order_of_frames(events: list[Any], cut: int) -> None:
    events = events[:cut]
    text = "\n".join(leaves([[one.body, one.stray] for one in CODEC.fold(events)]))
    for event in events:
        for leaf in leaves(event["frame"]):
            assert leaf in text or "inlineData" in str(event) or "realtimeInput" in str(event)
