"""Interactions with random faults: nothing is lost, nothing raises, streams fold in any company."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.model import CanonicalRecord
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from tests.support.json_faults import faulty
from tests.unit.gemini_interactions.wire import (
    ANNOTATIONS,
    CODEC,
    CONTENTS,
    INTERACTION,
    LEGACY,
    REQUEST,
    STEPS,
    TEXT,
    TOOLS,
)

REQUESTS: list[Any] = [
    REQUEST,
    {"model": "m", "input": "Hi"},
    {"model": "m", "input": TEXT},
    {"agent": "a", "input": [TEXT, CONTENTS["image"]], "agent_config": {"type": "dynamic"}},
    {"model": "m", "input": [{"role": "user", "content": "x"}, {"role": "model", "content": list(STEPS.values())}]},
    *({"input": [step]} for step in STEPS.values()),
]
RESPONSES: list[Any] = [
    INTERACTION,
    LEGACY,
    {**INTERACTION, "input": list(STEPS.values()), "tools": list(TOOLS.values()), "system_instruction": "x"},
    {"id": "a", "status": "failed", "errors": [{"code": "x", "message": "y"}], "steps": []},
    {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": [{}]}},
    {"detail": [{"msg": "bad"}]},
    *({"steps": [step]} for step in STEPS.values()),
]
STREAMS: list[Any] = [CODEC.unfold(INTERACTION), CODEC.unfold(LEGACY), [*CODEC.unfold(INTERACTION), "[DONE]"] * 2]
ODD_VALUES = [*STEPS.values(), *CONTENTS.values(), *ANNOTATIONS, *TOOLS.values(), [TEXT, TEXT], {"role": "user"}]
ODD_KEYS = ["content", "error", "arguments", "result", "status", "signature", "summary", "steps", "outputs", "input"]


@settings(max_examples=250, deadline=None)
@given(faulty(REQUESTS, ODD_VALUES, ODD_KEYS))
def test_any_request_comes_back(body: Any) -> None:
    given_body = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call", "request"))
    except WireError:
        assert not isinstance(body, dict) or not body.keys() & REQUEST.keys()
        return
    assert body == given_body
    assert CODEC.write_request(record) == body
    CanonicalRecord.from_shape(record)
    assert CODEC.write_request(decode_record(encode_record(record))) == body


@settings(max_examples=250, deadline=None)
@given(faulty(RESPONSES, ODD_VALUES, ODD_KEYS))
def test_any_response_comes_back(body: Any) -> None:
    given_body = copy.deepcopy(body)
    try:
        record = CODEC.read_response(body, Reading("call", "response"), None)
    except WireError:
        assert not isinstance(body, dict) or not body.keys() & INTERACTION.keys()
        return
    assert body == given_body
    assert CODEC.write_response(record) == body
    CanonicalRecord.from_shape(record)
    assert CODEC.write_response(decode_record(encode_record(record))) == body


@settings(max_examples=250, deadline=None)
@given(faulty(RESPONSES, ODD_VALUES, ODD_KEYS))
def test_any_interaction_folds_back_from_its_events(body: Any) -> None:
    if isinstance(body, dict) and body:
        given_body = copy.deepcopy(body)
        (folded,) = CODEC.fold(CODEC.unfold(body))
        assert folded.body == body == given_body
        assert folded.stray == []


@settings(max_examples=250, deadline=None)
@given(faulty(STREAMS, ODD_VALUES, [*ODD_KEYS, "event_type", "index", "delta", "step", "interaction"], most=4))
def test_any_events_fold_without_raising_and_read(events: list[Any]) -> None:
    given_events = copy.deepcopy(events)
    for folded in CODEC.fold(events):
        try:
            record = CODEC.read_response(folded.body, Reading("call", "response"), folded.layout)
        except WireError:
            assert folded.body.keys().isdisjoint(INTERACTION)
        else:
            assert CODEC.write_response(decode_record(encode_record(record))) == folded.body
    assert events == given_events


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=20))
def test_text_is_the_sum_of_its_deltas(pieces: list[str]) -> None:
    deltas = [{"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": piece}} for piece in pieces]
    (folded,) = CODEC.fold(deltas)
    assert folded.body["steps"] == [{"type": "model_output", "content": [{"type": "text", "text": "".join(pieces)}]}]
