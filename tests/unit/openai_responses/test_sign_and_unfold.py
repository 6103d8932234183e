"""The sign of a stream's end in raw bytes; whole bodies as streams; SSE text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.protocols.openai_responses import CODEC
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE
from tests.unit.openai_responses.samples import ITEMS, PARTS, RESPONSE

ENDS: list[Any] = [
    {"type": f"response.{name}", "sequence_number": 9, "response": RESPONSE}
    for name in ("completed", "failed", "incomplete", "cancelled")
] + [
    {"type": "error", "code": "x", "message": "y"},
    {"type": "error", "error": {"message": "y"}},
    {"error": {"message": "y"}},
]
HIDDEN = '{"type":"response.completed"} data: {"type":"error"}\nevent: error\n'
OTHERS: list[Any] = [
    {"type": "response.created", "response": {**RESPONSE, "moderation": {"input": {"type": "error", "code": "x"}}}},
    {"type": "response.created", "response": {"error": None, "metadata": {"type": "response.completed"}}},
    {"type": "response.output_text.delta", "delta": HIDDEN},
    {"type": "response.output_item.done", "item": {"type": "tool_search_call", "arguments": {"type": "error"}}},
    {"item": {"error": {"type": "http_error"}}, "type": "response.output_item.done"},
    {"response": {"tools": [{"type": "error"}]}, "sequence_number": 0, "type": "response.in_progress"},
    {"type": "response.queued", "response": {"error": {"code": "x"}}},
]
DUMPS: dict[str, Any] = {
    "compact": lambda event: json.dumps(event, separators=(",", ":")),
    "spaced": json.dumps,
    "sorted": lambda event: json.dumps(event, sort_keys=True),
    "reversed": lambda event: json.dumps(dict(reversed(event.items()))),
}


@pytest.mark.parametrize("form", DUMPS)
def test_the_end_is_seen_whatever_the_order_of_keys(form: str) -> None:
    for event in ENDS:
        text = DUMPS[form](event)
        assert CODEC.sign(text.encode()) == SIGN_HARD
        assert CODEC.sign(f"data: {text}\n\n".encode()) == SIGN_HARD
        assert CODEC.sign(f": ping\n\nevent: x\ndata:{text}\r\n\r\n".encode()) == SIGN_HARD


@pytest.mark.parametrize("form", DUMPS)
def test_content_and_nested_objects_are_no_end(form: str) -> None:
    for event in OTHERS:
        text = DUMPS[form](event)
        assert CODEC.sign(text.encode()) == SIGN_NONE, text
        assert CODEC.sign(f"data: {text}\n\n".encode()) == SIGN_NONE, text


def test_a_printed_event_is_one_event() -> None:
    for event in ENDS:
        assert CODEC.sign(json.dumps(event, indent=2).encode()) == SIGN_HARD
    for event in OTHERS:
        assert CODEC.sign(json.dumps(event, indent=0).encode()) == SIGN_NONE


def test_an_event_name_is_enough_and_a_cut_slice_is_told_by_what_it_has() -> None:
    assert CODEC.sign(b"event: response.completed\nda") == SIGN_HARD
    assert CODEC.sign(b"event: response.complet") == SIGN_NONE
    assert CODEC.sign(b'data: {"type":"response.completed","response":{"id":') == SIGN_HARD
    assert CODEC.sign(b'..."output":[]},"sequence_number":9,"type":"response.completed"}\n\n') == SIGN_HARD
    assert CODEC.sign(b'..."moderation":{"type":"error"') == SIGN_NONE
    assert CODEC.sign(b"") == SIGN_NONE
    assert CODEC.sign(b"data: [DONE]\n\n") == SIGN_NONE
    assert CODEC.sign(b"\xff\xfe error") == SIGN_NONE


BODIES: dict[str, Any] = {
    "every item": RESPONSE,
    "every part": {**RESPONSE, "output": [{**ITEMS["message"], "content": list(PARTS.values())}]},
    "incomplete": {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "failed": {**RESPONSE, "status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []},
    "cancelled": {**RESPONSE, "status": "cancelled"},
    "open": {**RESPONSE, "status": "in_progress"},
    "queued": {**RESPONSE, "status": "queued", "output": []},
    "broken": {**RESPONSE, "status": "in_progress", "error": {"message": "m"}},
    "no output": {"id": "r", "status": "completed"},
    "odd output": {"id": "r", "status": "completed", "output": [None, 5, {}]},
    "unknown events": {**RESPONSE, "unknown_events": [{"type": "response.new", "sequence_number": 3}]},
    "audio": {**RESPONSE, "audio": {"data": "AA", "transcript": "hi"}},
    "error": {"error": {"message": "m"}},
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_unfolds_into_a_stream_that_folds_back(name: str) -> None:
    body = BODIES[name]
    events = CODEC.unfold(body)
    (folded,) = CODEC.fold(events)
    assert folded.body == body
    assert folded.complete is (name not in ("open", "queued"))
    assert CODEC.sign(CODEC.sse(events).encode()) == (SIGN_HARD if folded.complete else SIGN_NONE)


def test_an_unfolded_stream_is_what_the_provider_sends() -> None:
    item = {**ITEMS["message"], "content": [{"type": "output_text", "text": "Paris is big.", "annotations": []}]}
    events = CODEC.unfold({**RESPONSE, "output": [ITEMS["function_call"], item]})
    assert [event["type"].removeprefix("response.") for event in events] == [
        *("created", "in_progress"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done"),
        *("output_item.done", "completed"),
    ]
    assert [event["sequence_number"] for event in events] == list(range(13))
    assert events[0]["response"]["status"] == "in_progress"
    assert events[0]["response"]["output"] == []
    assert events[0]["response"]["usage"] is None
    assert events[2]["item"] == {**ITEMS["function_call"], "arguments": "", "status": "in_progress"}
    assert events[8] | {"delta": ""} == {
        "type": "response.output_text.delta",
        "sequence_number": 8,
        "item_id": "msg_1",
        "output_index": 1,
        "content_index": 0,
        "delta": "",
        "logprobs": [],
    }


def test_long_texts_come_in_pieces() -> None:
    text = "word " * 100
    item = {**ITEMS["message"], "content": [{"type": "output_text", "text": text, "annotations": []}]}
    deltas = [event["delta"] for event in CODEC.unfold({**RESPONSE, "output": [item]}) if "delta" in event]
    assert len(deltas) > 10
    assert "".join(deltas) == text


def test_sse_repeats_the_type_as_event_name_and_needs_no_last_line() -> None:
    assert CODEC.sse([{"type": "response.created", "n": 1}, "[DONE]"]) == (
        'event: response.created\ndata: {"type":"response.created","n":1}\n\ndata: [DONE]\n\n'
    )
