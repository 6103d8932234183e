"""The last event, told on raw bytes."""

from __future__ import annotations

import pytest

from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE
from tests.unit.gemini_interactions.wire import CODEC


@pytest.mark.parametrize(
    "payload",
    [
        b'{"event_type":"interaction.completed","interaction":{}}',
        b'{"interaction":{"id":"x"},"event_type" : "interaction.completed"}\n',
        b' {"event_type": "interaction.complete"}',
        b'{"event_type":"interaction.cancelled"}',
        b'{"event_type":"error","error":{"code":"gateway_timeout"}}',
        b'event: interaction.completed\ndata: {"event_type":"interaction.completed"}\n\n',
        b'event:error\r\ndata: {"error":{}}\r\n\r\n',
        b'data: {"interaction":{},"event_type":"interaction.completed"}\n\n',
        b'n":{"id":"x"},"event_type":"interaction.completed"}\n\n',
        b'{"event_type":"step.stop"}\n\ndata: {"event_type":"interaction.completed"}',
        b'{"event_type":"step.stop"}\n\nevent: done\ndata: [DONE]\n\n',
        b'{\n  "event_type": "error",\n  "error": {}\n}',
        b"event: done\ndata: [DONE]\n\n",
        b"data: [DONE]",
        b"data:[DONE]\r\n\r\n",
        b"[DONE]",
        b'"[DONE]"',
        b'data: {"a":1}\n\ndata: [DONE]\n\n',
    ],
)
def test_last_events(payload: bytes) -> None:
    assert CODEC.sign(payload) == SIGN_HARD


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b'{"event_type":"step.stop","index":0}',
        b'{"event_type":"interaction.created","interaction":{"status":"completed"}}',
        b'{"event_type":"interaction.status_update","status":"completed"}',
        # The user's own objects and texts.
        b'{"event_type":"step.start","step":{"type":"function_call","arguments":{"event_type":"error"}}}',
        b'data: {"step":{"arguments":{"event_type":"interaction.completed"}},"event_type":"step.start"}\n\n',
        b'{"delta":{"type":"text","text":"\\"event_type\\":\\"error\\""},"event_type":"step.delta"}',
        b'{"delta":{"type":"text","text":"\\nevent: error\\ndata: [DONE]"},"event_type":"step.delta"}',
        b'event: step.delta\ndata: {"delta":{"text":"data: [DONE]"}}\n\n',
        b'ments":{"event_type":"error"},"event_type":"step.start"}\n\n',
        b'"arguments":{"event_type":"error"}}',
        b'{"event_type":"error"',
        b"event: interaction.created\n",
        b'{\n  "step": {"arguments": {\n    "event_type": "error"\n  }},\n  "event_type": "step.start"\n}',
    ],
)
def test_other_events(payload: bytes) -> None:
    assert CODEC.sign(payload) == SIGN_NONE
