"""Signs of a stream's end in raw bytes."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.json_text import dumps
from headrace.protocols.openai_chat import CODEC
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT
from tests.unit.openai_chat.samples import USAGE, chunk


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (chunk({"content": "a"}), SIGN_NONE),
        (chunk({"content": "a"}, usage=None), SIGN_NONE),
        (chunk({"content": "a"}, usage=USAGE), SIGN_NONE),
        (chunk({}, "stop"), SIGN_SOFT),
        (chunk({}, ""), SIGN_NONE),
        (chunk({}, "stop", usage=USAGE), SIGN_SOFT),
        (chunk(usage=USAGE), SIGN_SOFT),
        (chunk(usage=None), SIGN_NONE),
        (chunk(), SIGN_NONE),
        (chunk(native_finish_reason="x"), SIGN_NONE),
        ({"error": {"message": "down"}}, SIGN_HARD),
        ({"error": "down"}, SIGN_HARD),
        (chunk({"content": "a"}, error=None), SIGN_NONE),
        ({**chunk(), "choices": None, "error_message": "down"}, SIGN_HARD),
        ("[DONE]", SIGN_HARD),
        # Content, and objects inside others, are no sign.
        (chunk({"content": '"choices":[],"usage":{'}), SIGN_NONE),
        (chunk({"content": "data: [DONE]"}), SIGN_NONE),
        (chunk({"tool_calls": [{"function": {"arguments": {"error": {}, "finish_reason": "x"}}}]}), SIGN_NONE),
    ],
)
def test_each_event_has_its_sign(event: Any, expected: int) -> None:
    assert CODEC.sign(dumps(event).encode()) == expected
    assert CODEC.sign(CODEC.sse([event]).encode()) == expected


@pytest.mark.parametrize(
    "text", [b"data: [DONE]", b"data:[DONE]\r\n\r\n", b'data: {"a":1}\n\ndata: [DONE]\n\n', b"[DONE]"]
)
def test_the_terminator_is_found_however_it_is_written(text: bytes) -> None:
    assert CODEC.sign(text) == SIGN_HARD


def test_spaces_in_the_json_do_not_matter() -> None:
    assert CODEC.sign(b'{"choices" : [ ] , "usage" : { "total_tokens" : 1 } }') == SIGN_SOFT
    assert CODEC.sign(b'{"choices": [{"finish_reason" : "stop"}]}') == SIGN_SOFT


def test_the_newest_sign_of_a_slice_counts() -> None:
    events = [chunk({}, "stop"), {"error": {"message": "down"}}]
    assert CODEC.sign(CODEC.sse(events).encode()) == SIGN_HARD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"aaa', SIGN_NONE),
        (b'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"', SIGN_SOFT),
        (b'data: {"id":"x","choices":[],"usage":{"prompt_tokens":3', SIGN_SOFT),
        (b'data: {"error":{"message":"dow', SIGN_HARD),
    ],
)
def test_an_event_that_is_cut_is_judged_by_what_is_seen(text: bytes, expected: int) -> None:
    assert CODEC.sign(text) == expected


def test_the_terminator_ends_the_sse_text() -> None:
    events = CODEC.unfold({"id": "c", "object": "chat.completion", "choices": []})
    assert CODEC.sse(events).endswith("data: [DONE]\n\n")
    assert "event:" not in CODEC.sse(events)
