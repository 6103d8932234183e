"""generateContent with random faults: nothing is lost, nothing raises, streams fold however they are cut."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.model import CanonicalRecord
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps
from headrace.protocols.gemini_generate import CODEC
from headrace.protocols.google.grammar import REQUEST as REQUEST_GRAMMAR
from headrace.protocols.google.grammar import RESPONSE as RESPONSE_GRAMMAR
from tests.support.json_faults import faulty
from tests.unit.gemini_generate.samples import (
    ERRORS,
    PARTS,
    REQUEST,
    RESPONSE,
    SIGNATURE,
    TOOLS,
    chunk,
    in_snake_case,
)

ALL_PARTS = list(PARTS.values())
#: Fragments of a call mean something only to its stream: whole responses have none.
WHOLE_PARTS = [part for part in ALL_PARTS if "willContinue" not in part.get("functionCall", {})]
REQUESTS: list[Any] = [
    REQUEST,
    in_snake_case(REQUEST, REQUEST_GRAMMAR),
    {"contents": "Hi"},
    {"contents": [{"role": "model", "parts": ALL_PARTS}], "tools": list(TOOLS.values())},
    *({"contents": [{"parts": [part, part]}, {"role": "user", "parts": [part]}]} for part in ALL_PARTS),
]
RESPONSES: list[Any] = [
    RESPONSE,
    in_snake_case(RESPONSE, RESPONSE_GRAMMAR),
    chunk(*WHOLE_PARTS, finishReason="STOP"),
    {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}},
    *ERRORS.values(),
]
OPEN = chunk({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": SIGNATURE})
FRAGMENT = {"partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "x", "willContinue": True}], "willContinue": True}
STREAMS: list[Any] = [
    CODEC.unfold(RESPONSE),
    [in_snake_case(event, RESPONSE_GRAMMAR) for event in CODEC.unfold(RESPONSE)],
    [OPEN, chunk({"functionCall": FRAGMENT}), chunk({"functionCall": {}}), chunk(finishReason="STOP")],
    [chunk(part) for part in ALL_PARTS],
    [[chunk({"text": "a"}), {**chunk({"text": "b"}), "responseId": "r2"}], ERRORS["google"], "[DONE]"],
]
ODD_VALUES = [
    *ALL_PARTS,
    *TOOLS.values(),
    [{"text": "a"}],
    {"role": "user"},
    "STOP",
    "2026-03-05T22:50:14.249951Z",
    "-5",
]
ODD_KEYS = [
    "parts", "role", "text", "thought", "thoughtSignature", "thought_signature", "functionCall", "function_call",
    "functionResponse", "inline_data", "args", "name", "response", "index", "content", "candidates", "finish_reason",
    "finishReason", "error", "code", "message", "contents", "system_instruction", "tools", "mode", "partial_args",
]  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(faulty(REQUESTS, ODD_VALUES, ODD_KEYS))
def test_any_request_comes_back(body: Any) -> None:
    given_body = copy.deepcopy(body)
    try:
        record = CODEC.read_request(body, Reading("call", "request"))
    except WireError:
        assert not isinstance(body, dict) or not body.keys() & {"contents", "systemInstruction", "tools"}
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
        assert not isinstance(body, dict) or not body.keys() & {"candidates", "usageMetadata", "promptFeedback"}
        return
    assert body == given_body
    assert CODEC.write_response(record) == body
    CanonicalRecord.from_shape(record)
    assert CODEC.write_response(decode_record(encode_record(record))) == body


@settings(max_examples=250, deadline=None)
@given(faulty(RESPONSES, ODD_VALUES, [key for key in ODD_KEYS if key != "partial_args"]))
def test_any_response_unfolds_and_folds_back(body: Any) -> None:
    if not isinstance(body, dict):
        return
    events = CODEC.unfold(body)
    folded = CODEC.fold(events)
    if folded and folded[0].events:
        assert [one.body for one in folded] == [body]
        assert folded[0].stray == []


@settings(max_examples=250, deadline=None)
@given(faulty(STREAMS, ODD_VALUES, ODD_KEYS))
def test_streams_fold_to_bodies_that_round_trip(events: Any) -> None:
    given_events = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert events == given_events
    for one in folded:
        if not one.events:
            assert one.stray
            continue
        record = CODEC.read_response(one.body, Reading("call", "response"), None)
        assert CODEC.write_response(record) == one.body
        CanonicalRecord.from_shape(record)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1), st.booleans())
def test_text_is_the_same_however_it_is_cut(pieces: list[str], thought: bool) -> None:
    flag = {"thought": True} if thought else {}
    (folded,) = CODEC.fold([chunk({"text": piece, **flag}) for piece in pieces])
    (part,) = folded.body["candidates"][0]["content"]["parts"]
    assert part == {"text": "".join(pieces), **flag}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(WHOLE_PARTS[:12]), max_size=8), st.data())
def test_no_signature_and_no_call_is_lost_however_parts_are_chunked(parts: list[Any], data: st.DataObject) -> None:
    chunks, rest = [], parts
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        chunks.append(chunk(*rest[:size]))
        rest = rest[size:]
    (folded,) = CODEC.fold([*chunks, chunk(finishReason="STOP")])
    whole = folded.body["candidates"][0]["content"]["parts"]
    kept = [part for part in whole if set(part) - {"text", "thought"}]
    assert kept == [part for part in parts if set(part) - {"text", "thought"}]
    assert "".join(p["text"] for p in whole if isinstance(p.get("text"), str)) == "".join(
        p["text"] for p in parts if isinstance(p.get("text"), str)
    )


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, Any]:
    scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
    names = st.text("abcdef", min_size=1, max_size=3)
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3),
        max_leaves=6,
    )
    return draw(st.dictionaries(names, values, min_size=1, max_size=3))


def fragments(value: Any, path: str) -> list[dict[str, Any]]:
    """The partialArgs by which a value would stream."""
    if isinstance(value, dict):
        return [one for key, item in value.items() for one in fragments(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [one for at, item in enumerate(value) for one in fragments(item, f"{path}[{at}]")]
    if isinstance(value, str):
        pieces = [{"jsonPath": path, "stringValue": char, "willContinue": True} for char in value]
        return [*pieces, {"jsonPath": path, "stringValue": ""}]
    kind = {type(None): "nullValue", bool: "boolValue"}.get(type(value), "numberValue")
    return [{"jsonPath": path, kind: "NULL_VALUE" if value is None else value}]


@settings(max_examples=100, deadline=None)
@given(arguments(), st.integers(1, 4))
def test_arguments_survive_streaming(args: dict[str, Any], size: int) -> None:
    pieces = fragments(args, "$")
    events = [chunk({"functionCall": {"name": "f", "willContinue": True}})]
    for at in range(0, len(pieces), size):
        events.append(chunk({"functionCall": {"partialArgs": pieces[at : at + size], "willContinue": True}}))
    events.append(chunk({"functionCall": {}}, finishReason="STOP"))
    (folded,) = CODEC.fold(events)
    assert folded.body["candidates"][0]["content"]["parts"] == [{"functionCall": {"name": "f", "args": args}}]


@settings(max_examples=100, deadline=None)
@given(faulty([RESPONSE, chunk({"functionCall": {"name": "f", "args": {"finishReason": "STOP"}}})]))
def test_a_sign_is_never_weaker_or_stronger_than_the_fold(event: Any) -> None:
    if isinstance(event, dict):
        folded = CODEC.fold([event])
        if folded and folded[0].complete:
            assert CODEC.sign(dumps(event).encode()) > 0
