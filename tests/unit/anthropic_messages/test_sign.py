"""The sign of a stream's end in raw bytes."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.json_text import dumps
from headrace.protocols.anthropic_messages import CODEC
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE
from tests.unit.anthropic_messages.samples import BLOCKS, RESPONSE, delta, opened, start

LAST: list[Any] = [
    {"type": "message_stop"},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    {"error": {"message": "upstream gone"}, "type": "error"},
    {"error": {"message": "upstream gone"}},
]
GOES_ON: list[Any] = [
    {"type": "ping"},
    start(),
    delta(0, "text_delta", text='{"type":"message_stop"}'),
    delta(0, "text_delta", text='data: {"type": "error"}\n\n'),
    delta(0, "input_json_delta", partial_json='{"type":"error"}'),
    opened(0, {"type": "tool_use", "id": "t", "name": "n", "input": {"type": "message_stop", "error": 1}}),
    opened(0, BLOCKS["web_fetch_tool_result error"]),
    {"type": "message_delta", "delta": {"stop_reason": "error"}},
]


@pytest.mark.parametrize("event", LAST)
def test_last_events(event: Any) -> None:
    text = dumps(event)
    assert CODEC.sign(text.encode()) == SIGN_HARD
    assert CODEC.sign(f"{text[0]}  {text[1:]}   ".encode()) == SIGN_HARD
    assert CODEC.sign(f"event: x\ndata: {text}\n\n".encode()) == SIGN_HARD
    assert CODEC.sign(f"data:{text}\r\n\r\n".encode()) == SIGN_HARD


@pytest.mark.parametrize("event", GOES_ON)
def test_content_is_never_taken_for_an_end(event: Any) -> None:
    assert CODEC.sign(dumps(event).encode()) == SIGN_NONE
    assert CODEC.sign(CODEC.sse([event]).encode()) == SIGN_NONE


def test_slices_of_a_stream() -> None:
    text = CODEC.sse(CODEC.unfold(RESPONSE)).encode()
    before, last = text[: text.rindex(b"data:")], text[text.rindex(b"data:") :]
    assert CODEC.sign(text) == SIGN_HARD
    assert CODEC.sign(last) == SIGN_HARD
    assert CODEC.sign(before) == SIGN_NONE
    assert CODEC.sign(b"") == SIGN_NONE


def test_an_error_event_that_was_shortened_is_told_by_its_first_key() -> None:
    assert (
        CODEC.sign(b'data: {"type":"error","error":{"message":"xxxx ... xx"}}\n\n'.replace(b"...", b'"')) == SIGN_HARD
    )
    assert CODEC.sign(b'data: {"type":"content_block_start","x":{"type":"message_stop"') == SIGN_NONE
