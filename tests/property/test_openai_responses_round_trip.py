"""Bodies and streams of Responses with random faults: nothing is lost, nothing raises, twice is the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import record_format
from headrace.canonical.model import CanonicalRecord
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps
from headrace.protocols.openai_responses import CODEC
from tests.unit.openai_responses.samples import ERRORS, ITEMS, PARTS, REQUEST, RESPONSE, TOOL_CHOICES, TOOLS

REQUESTS: list[Any] = [
    REQUEST,
    {"model": "m", "input": "hi", "instructions": ""},
    {"model": "m", "input": list(ITEMS.values()), "tools": list(TOOLS.values())},
    {"model": "m", "input": [{"role": "user", "content": list(PARTS.values())}], "tools": []},
    {"type": "response.create", "stream_id": "s", "model": "m", "input": [], "generate": False},
]
RESPONSES: list[Any] = [
    RESPONSE,
    {**RESPONSE, "output": list(ITEMS.values())},
    {**RESPONSE, "output": [{**ITEMS["message"], "content": list(PARTS.values())}], "status": "incomplete"},
    {**RESPONSE, "incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"},
    {"id": "resp_1", "object": "response", "status": "failed", "error": {"code": "server_error", "message": "boom"}},
    {"id": "cmp_1", "object": "response.compaction", "created_at": 1, "output": [ITEMS["compaction"]]},
    {"object": "response.input_tokens", "input_tokens": 5},
    *({**RESPONSE, "output": [], "tool_choice": choice} for choice in TOOL_CHOICES.values()),
    *ERRORS.values(),
]
STREAMS: list[list[Any]] = [
    CODEC.unfold(RESPONSE),
    CODEC.unfold({**RESPONSE, "output": list(ITEMS.values())[:6]}),
    CODEC.unfold({**RESPONSE, "status": "in_progress", "error": {"code": "server_error", "message": "boom"}}),
    [*CODEC.unfold(RESPONSE), *CODEC.unfold({**RESPONSE, "id": "resp_2"}), "[DONE]"],
]

scalars = st.sampled_from([None, True, False, 0, 1, -7, 2**70, 1.5, 3.0, "", "x", "text", "\ud83d", "Grüße"])
junk = st.one_of(
    scalars,
    st.sampled_from([[], {}, [None], [[]], {"type": "new"}, {"a": {"b": []}}, {"type": "input_text", "text": "q"}]),
    st.sampled_from(list(ITEMS.values())),
)
names = st.sampled_from(
    [*("new", "type", "content", "output", "error", "text", "name", "id", "call_id", "arguments", "role", "summary")]
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
    elif action == "repeat" and isinstance(target, list):
        target.insert(leaf, copy.deepcopy(target[leaf]))
    elif action == "repeat":
        target[draw(names)] = copy.deepcopy(target[leaf])
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


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


def through_avro(record: Any) -> Any:
    """The record as a consumer of the topic gets it."""
    form = record_format("canonical_record")
    assert CanonicalRecord.from_shape(record).to_shape() == record
    return form.decode(form.encode({**record, "protocol": "openai.responses", "call_id": "call-1"}))


@settings(max_examples=150, deadline=None)
@given(faulty(REQUESTS))
def test_requests_round_trip_or_are_no_request(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call-1", "request"))
    except WireError:
        assert "input" not in body
        return
    assert same(CODEC.write_request(record), before)
    assert same(body, before)
    assert CODEC.write_request(through_avro(record)) == before


@settings(max_examples=150, deadline=None)
@given(faulty(RESPONSES))
def test_responses_round_trip_or_are_no_response(body: Any) -> None:
    before = copy.deepcopy(body)
    try:
        record = CODEC.read_response(body, Reading("call-1", "response"), None)
    except WireError:
        assert "output" not in body
        return
    assert same(CODEC.write_response(record), before)
    assert same(body, before)
    assert CODEC.write_response(through_avro(record)) == before


@settings(max_examples=150, deadline=None)
@given(faulty(STREAMS))
def test_streams_fold_to_bodies_that_round_trip(events: Any) -> None:
    before = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert same(events, before)
    for one in folded:
        try:
            record = CODEC.read_response(one.body, Reading("call-1", "response"), one.layout)
        except WireError:
            assert "output" not in one.body
            continue
        assert same(CODEC.write_response(record), one.body)


@settings(max_examples=100, deadline=None)
@given(faulty([RESPONSE, *RESPONSES[1:6]]))
def test_bodies_unfold_and_fold_back(body: Any) -> None:
    if "output" not in body or body.get("audio"):
        return
    (folded,) = CODEC.fold(CODEC.unfold(body))
    assert same(folded.body, body)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(STREAMS[:3]), st.booleans(), st.data())
def test_repeats_change_nothing(events: list[Any], whole: bool, data: st.DataObject) -> None:
    kept = events if whole else [event for event in events if not event["type"].endswith((".done", ".completed"))]
    repeated = list(kept)
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(kept))
        after = repeated.index(event) + 1
        repeated.insert(data.draw(st.integers(after, min(after + 5, len(repeated)))), dict(event))
    assert [one.body for one in CODEC.fold(repeated)] == [one.body for one in CODEC.fold(kept)]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(STREAMS), st.integers(0, 200))
def test_no_text_of_a_cut_stream_is_lost(events: list[Any], cut: int) -> None:
    kept = [event for event in events[:cut] if isinstance(event, dict) and not event["type"].endswith(".done")]
    found = "\n".join(strings([[one.body, one.stray] for one in CODEC.fold(kept)]))
    for event in kept:
        if isinstance(event.get("delta"), str):
            assert event["delta"] in found
