"""Bodies and streams of Anthropic Messages with random faults: nothing is lost, nothing raises, twice is the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps
from headrace.protocols.anthropic_messages import CODEC
from tests.unit.anthropic_messages.samples import BLOCKS, CITATIONS, ERROR, REQUEST, RESPONSE, TOOLS

REQUESTS: list[Any] = [
    REQUEST,
    {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": list(BLOCKS.values())}]},
    {"model": "m", "max_tokens": 1, "messages": [], "tools": list(TOOLS.values()), "system": "x"},
    {"custom_id": "a", "params": REQUEST},
]
RESPONSES: list[Any] = [
    RESPONSE,
    {**RESPONSE, "content": list(BLOCKS.values())},
    {**RESPONSE, "content": [{"type": "text", "text": "x", "citations": list(CITATIONS.values())}]},
    {**RESPONSE, "stop_reason": None, "error": ERROR["error"], "request_id": "req_1"},
    ERROR,
    {"input_tokens": 5},
    {"custom_id": "a", "result": {"type": "succeeded", "message": RESPONSE}},
    {"custom_id": "a", "result": {"type": "errored", "error": ERROR}},
]
STREAMS: list[list[Any]] = [
    CODEC.unfold(RESPONSES[0]),
    CODEC.unfold(RESPONSES[3]),
    CODEC.unfold({**RESPONSE, "content": [BLOCKS[name] for name in ("compaction", "server_tool_use", "fallback")]}),
    [*CODEC.unfold(RESPONSE), *CODEC.unfold(RESPONSE)],
]

scalars = st.sampled_from([None, True, False, 0, 1, -7, 2**70, 1.5, "", "x", "text", "\ud83d", "Grüße"])
junk = st.one_of(
    scalars,
    st.sampled_from([[], {}, [None], [[]], {"type": "new"}, {"a": {"b": []}}, {"type": "text", "text": "q"}]),
    st.sampled_from(list(BLOCKS.values())),
)
names = st.sampled_from(
    ["new", "type", "content", "input", "error", "text", "source", "citations", "id", "wire", "data"]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path below a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def fault(draw: Any, value: Any) -> None:
    """Drop, replace, repeat or insert something, somewhere."""
    paths = list(places(value))
    if not paths:
        return
    *parents, leaf = draw(st.sampled_from(paths))
    target = value
    for key in parents:
        target = target[key]
    action = draw(st.sampled_from(["drop", "replace", "repeat", "insert"]))
    if action == "drop":
        del target[leaf]
    elif action == "replace":
        target[leaf] = copy.deepcopy(draw(junk))
    elif action == "repeat":
        again = copy.deepcopy(target[leaf])
        if isinstance(target, list):
            target.insert(leaf, again)
        else:
            target[draw(names)] = again
    elif isinstance(target, list):
        target.insert(leaf, copy.deepcopy(draw(junk)))
    else:
        target[draw(names)] = copy.deepcopy(draw(junk))


@st.composite
def faulty(draw: Any, bodies: list[Any]) -> Any:
    """One of the bodies, with up to three faults."""
    value = copy.deepcopy(draw(st.sampled_from(bodies)))
    for _ in range(draw(st.integers(0, 3))):
        fault(draw, value)
    return value


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true are different."""
    return _sorted(left) == _sorted(right)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return dumps([[key, _sorted(value[key])] for key in sorted(value)])
    return dumps([_sorted(inner) for inner in value]) if isinstance(value, list) else dumps(value)


def leaves(value: Any) -> Iterator[str]:
    """Every string in a JSON value that is long enough to be told apart."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from leaves(inner)


@settings(max_examples=150, deadline=None)
@given(faulty(REQUESTS))
def test_requests_round_trip_or_are_no_request(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call-1", "request"))
    except WireError:
        is_line = "custom_id" in body and isinstance(body.get("params"), dict)
        assert "messages" not in (body["params"] if is_line else body)
        return
    assert same(CODEC.write_request(record), before)
    assert same(body, before)
    assert CODEC.write_request(decode_record(encode_record(record))) == before


@settings(max_examples=150, deadline=None)
@given(faulty(RESPONSES))
def test_responses_round_trip_or_are_no_response(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_response(body, Reading("call-1", "response"), None)
    except WireError:
        return
    assert same(CODEC.write_response(record), before)
    assert same(body, before)
    assert CODEC.write_response(decode_record(encode_record(record))) == before
    assert record["status"]


@settings(max_examples=150, deadline=None)
@given(faulty(STREAMS))
def test_streams_fold_to_bodies_that_round_trip(events: Any) -> None:
    before = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert same(events, before)
    assert sum(one.events for one in folded) == len(events)
    for one in folded:
        record = CODEC.read_response(one.body, Reading("call-1", "response"), one.layout)
        assert same(CODEC.write_response(record), one.body)


@settings(max_examples=100, deadline=None)
@given(faulty([{**RESPONSE, "content": list(BLOCKS.values())}, RESPONSES[3]]))
def test_messages_unfold_and_fold_back(body: Any) -> None:
    if body.get("type") != "message":
        return
    (folded,) = CODEC.fold(CODEC.unfold(body))
    assert folded.complete
    assert same(folded.body, body)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=5), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_text_is_the_same_however_it_is_cut_and_interleaved(pieces: list[str], lanes: list[int]) -> None:
    expected = dict.fromkeys(range(4), "")
    events: list[Any] = [{"type": "message_start", "message": {"type": "message", "content": []}}]
    for lane in expected:
        block = {"type": "text", "text": ""}
        events.append({"type": "content_block_start", "index": lane, "content_block": block})
    for piece, lane in zip(pieces, lanes, strict=False):
        expected[lane] += piece
        delta = {"type": "text_delta", "text": piece}
        events.append({"type": "content_block_delta", "index": lane, "delta": delta})
    (folded,) = CODEC.fold(events)
    assert [block["text"] for block in folded.body["content"]] == list(expected.values())


@settings(max_examples=100, deadline=None)
@given(st.recursive(scalars, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.lists(inner)))
def test_arguments_survive_streaming(value: Any) -> None:
    block = {"type": "tool_use", "id": "t", "name": "n", "input": {"value": value}}
    (folded,) = CODEC.fold(CODEC.unfold({**RESPONSE, "content": [block]}))
    record = CODEC.read_response(folded.body, Reading("call-1", "response"), folded.layout)
    call = record["messages"][0]["parts"][0]["tool_call"]
    assert same(folded.body["content"], [block])
    assert call["raw_arguments"] == call["arguments"] == dumps(block["input"])


@settings(max_examples=60, deadline=None)
@given(faulty(STREAMS), st.integers(0, 40))
def test_no_text_of_a_cut_stream_is_lost(events: Any, cut: int) -> None:
    kept = events[:cut]
    found = "".join(
        leaves(
            [[one.body, one.stray, list((one.layout or {}).get("streamed", {}).values())] for one in CODEC.fold(kept)]
        )
    )
    for event in kept:
        delta = event.get("delta") if isinstance(event, dict) else None
        if isinstance(delta, dict) and event.get("type") == "content_block_delta":
            for key in ("text", "thinking", "partial_json", "signature"):
                text = delta.get(key)
                assert not isinstance(text, str) or text in found or dumps(text)[1:-1] in found
