"""Unfolding a message to events, and writing events as server-sent events."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.json_text import loads
from headrace.protocols.anthropic_messages import CODEC
from tests.unit.anthropic_messages.samples import BLOCKS, ERROR, RESPONSE, USAGE


def fold(events: list[Any]) -> Any:
    (folded,) = CODEC.fold(events)
    assert folded.complete
    assert folded.stray == []
    return folded.body


def test_events_are_those_of_the_provider_in_order() -> None:
    body = {**RESPONSE, "content": [BLOCKS["text"], BLOCKS["tool_use"]]}
    events = CODEC.unfold(body)
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    message = events[0]["message"]
    assert (message["content"], message["stop_reason"]) == ([], None)
    assert "container" not in message
    assert message["usage"]["output_tokens"] == 1
    assert "server_tool_use" not in message["usage"]
    assert events[4]["content_block"]["input"] == {}
    assert events[5]["delta"] == {"type": "input_json_delta", "partial_json": ""}
    closing = events[-2]
    assert closing["delta"]["stop_reason"] == "tool_use"
    assert closing["usage"]["output_tokens"] == USAGE["output_tokens"]
    assert "service_tier" not in closing["usage"]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_folds_back(name: str) -> None:
    body = {**RESPONSE, "content": [BLOCKS[name]]}
    if name == "fallback":
        body["model"] = "b"
    assert fold(CODEC.unfold(body)) == body


@pytest.mark.parametrize(
    "body",
    [
        RESPONSE,
        ERROR,
        {**RESPONSE, "content": []},
        {**RESPONSE, "content": [BLOCKS["fallback"], BLOCKS["text"]]},
        {**RESPONSE, "stop_reason": None, "error": ERROR["error"], "request_id": "req_1"},
        {**RESPONSE, "error": ERROR["error"]},
        {**RESPONSE, "container": None, "context_management": None},
        {**RESPONSE, "usage": None},
        {**RESPONSE, "content": [{"type": "text", "text": 5, "citations": 5}, 7, {"type": "tool_use", "input": [1]}]},
        {**RESPONSE, "content": [{"type": "text", "text": "\U0001f600" * 40, "citations": []}]},
        {"type": "message"},
        {"error": {"message": "no"}},
    ],
)
def test_bodies_fold_back(body: dict[str, Any]) -> None:
    assert fold(CODEC.unfold(body)) == body


def test_sse_names_each_event_by_its_type_and_adds_no_terminator() -> None:
    events = CODEC.unfold({**RESPONSE, "content": [{"type": "text", "text": "line\nbreak"}]})
    frames = CODEC.sse(events).split("\n\n")
    assert frames.pop() == ""
    assert frames[-1] == 'event: message_stop\ndata: {"type":"message_stop"}'
    for frame, event in zip(frames, events, strict=True):
        name, data = frame.split("\n")
        assert name == f"event: {event['type']}"
        assert loads(data.removeprefix("data: ")) == event


def test_sse_of_odd_events() -> None:
    assert CODEC.sse(["[DONE]", {"error": {}}]) == 'data: [DONE]\n\ndata: {"error":{}}\n\n'
