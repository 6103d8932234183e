"""Chat completion bodies and streams with random faults: nothing is lost, nothing raises, twice is the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.model import CanonicalRecord
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps
from headrace.protocols.openai_chat import CODEC
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT
from tests.support.json_faults import faulty
from tests.unit.openai_chat.samples import (
    ASSISTANTS,
    CALLS,
    DETAILS,
    ERRORS,
    PARTS,
    REQUESTS,
    RESPONSES,
    TOOLS,
    call_delta,
    chunk,
    response,
    stream,
)

STREAMS: list[Any] = [
    *(CODEC.unfold(body) for body in RESPONSES),
    stream({"content": "a"}, call_delta(0, "c1", "f", "{}"), {"content": "b"}, call_delta(1, "c2", "g", "{}")),
    stream(call_delta(None, "c1", "f", "{}"), call_delta(None, None, None, ""), call_delta(0, "c2", "f", "{")),
    [chunk({"content": "a"}), chunk({"content": "b"}, "stop", index=1), chunk(), "[DONE]"],
    [chunk({"content": "a"}, index=5), chunk({"content": "b"}, "stop", index=6), "[DONE]", chunk({"role": "x"})],
    stream(*({"reasoning": "r", "reasoning_details": [detail], "content": "c"} for detail in DETAILS.values())),
    stream({"content": [PARTS["thinking"]]}, {"content": "a"}, call_delta(0, "c1", "f", "{}"), {"content": "b"}),
]
ODD: list[Any] = [*PARTS.values(), *CALLS.values(), *TOOLS.values(), *ASSISTANTS.values(), *ERRORS.values()]
KEYS = (
    *("role", "content", "tool_calls", "function_call", "reasoning", "reasoning_content", "reasoning_details", "name"),
    *("thinking_blocks", "thinking", "signature"),
    *("refusal", "audio", "images", "annotations", "executed_tools", "thought_signature", "extra_content", "choices"),
    *("function", "custom", "arguments", "index", "tool_call_id", "error", "message", "detail", "usage", "text"),
    *("delta", "finish_reason", "logprobs", "stop", "tool_choice", "functions", "citations", "token_ids", "x_groq"),
)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 and true are different, key order is not."""
    return sorted_text(left) == sorted_text(right)


def sorted_text(value: Any) -> str:
    if isinstance(value, dict):
        return dumps([[key, sorted_text(value[key])] for key in sorted(value)])
    return dumps([sorted_text(inner) for inner in value]) if isinstance(value, list) else dumps(value)


def through_avro(record: Any) -> Any:
    """The record as a consumer of the topic gets it."""
    assert CanonicalRecord.from_shape(record).to_shape() == record
    return decode_record(encode_record(record))


@settings(max_examples=200, deadline=None)
@given(faulty(REQUESTS, ODD, KEYS))
def test_requests_round_trip_or_are_no_request(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call-1", "request"))
    except WireError:
        assert "messages" not in body
        return
    assert same(body, before)
    assert same(CODEC.write_request(record), before)
    assert CODEC.write_request(through_avro(record)) == before


@settings(max_examples=200, deadline=None)
@given(faulty([*RESPONSES, *ERRORS.values()], ODD, KEYS))
def test_responses_round_trip_or_are_no_response(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_response(body, Reading("call-1", "response"), None)
    except WireError:
        assert "choices" not in body
        return
    assert same(body, before)
    assert same(CODEC.write_response(record), before)
    assert CODEC.write_response(through_avro(record)) == before


@settings(max_examples=200, deadline=None)
@given(faulty(STREAMS, ODD, KEYS, most=4))
def test_streams_fold_to_bodies_that_round_trip(events: Any) -> None:
    before = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert same(events, before)
    for one in folded:
        record = CODEC.read_response(one.body, Reading("call-1", "response"), one.layout)
        assert same(CODEC.write_response(record), one.body)
        assert CODEC.write_response(through_avro(record)) == one.body


@settings(max_examples=200, deadline=None)
@given(faulty(STREAMS, ODD, KEYS, most=4))
def test_no_event_is_forgotten(events: Any) -> None:
    """Every text piece of every event is in a body or in stray: nothing is dropped but what a rule names."""
    folded = CODEC.fold(events)
    kept = dumps([[one.body, one.stray] for one in folded])
    for event in events:
        if not isinstance(event, dict) and event != "[DONE]":
            assert event in [stray for one in folded for stray in one.stray]
        for text in texts(event):
            assert dumps(text)[1:-1] in kept


def texts(event: Any) -> Iterator[str]:
    """The pieces of content that a chunk brings."""
    choices = event.get("choices") if isinstance(event, dict) else None
    for choice in choices if isinstance(choices, list) else []:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        text = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(text, str):
            yield text


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.text(max_size=80), st.dictionaries(st.text(max_size=9), st.text(max_size=60)))
def test_unfolded_bodies_fold_to_themselves(text: str, thought: str, arguments: dict[str, str]) -> None:
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": dumps(arguments)}} for at in (0, 1)
    ]
    body = response({"role": "assistant", "content": text, "reasoning": thought, "tool_calls": calls}, "tool_calls")
    events = CODEC.unfold(body)
    assert [(one.body, one.layout) for one in CODEC.fold(events)] == [(body, None)]
    assert CODEC.sign(CODEC.sse(events).encode()) == SIGN_HARD


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a", "{", "}", "ha", " ", "\n", '"', "\\", "é"]), max_size=30), st.data())
def test_how_a_stream_is_cut_does_not_matter(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    other = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    for key in ("content", "reasoning_content", "refusal"):
        bodies = [CODEC.fold(stream(*({key: piece} for piece in way)))[0].body for way in (pieces, other)]
        assert (
            bodies[0]["choices"][0]["message"].get(key, "") == bodies[1]["choices"][0]["message"].get(key, "") == whole
        )


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_content_never_looks_like_the_end(text: str) -> None:
    for content in (
        text,
        f'"finish_reason":"stop",{text}',
        f"\ndata: [DONE]\n{text}",
        f'{{"choices":[],"usage":{{}}}}{text}',
    ):
        event = chunk({"content": content})
        assert CODEC.sign(dumps(event).encode()) == SIGN_NONE
        assert CODEC.sign(CODEC.sse([event]).encode()) == SIGN_NONE
        assert CODEC.sign(dumps(chunk({"content": content}, "stop")).encode()) == SIGN_SOFT
