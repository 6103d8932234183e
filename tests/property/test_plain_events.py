"""Events that are like the ones before them are redacted as each would be alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture import plain_events
from headrace.capture.plain_events import PlainEvents
from headrace.capture.redaction import redact_event

_TEXTS = ["", "a", "b ", "ä", "\u2028", 'q"', "\\", "\n", ":", '":"', "tools", "x:", "{}", "9"]
_text = st.sampled_from(_TEXTS)
_SECRET: dict[str, Any] = {"tools": [{"type": "mcp", "authorization": "secret"}], "api_key": "secret"}


@st.composite
def _event(draw: st.DrawFn) -> bytes:
    """One of a few shapes, with texts in it; now and then a byte of it is another."""
    shapes: list[dict[str, Any]] = [
        {"type": "delta", "delta": draw(_text)},
        {"type": draw(_text), "number": draw(st.integers(0, 2))},
        {"choices": [{"delta": {"content": draw(_text)}}], "obfuscation": draw(_text)},
        {draw(st.sampled_from(["a", "k:", *_SECRET])): draw(_text)},
        {"list": [draw(_text), draw(_text)]},
        {"item": {"type": "mcp_call", "text": draw(_text)}},
        {**_SECRET, "text": draw(_text)},
        {"k:": draw(st.sampled_from([1, "1", [""], {}])), "l": ""},
    ]
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    event = draw(st.sampled_from(shapes))
    text = json.dumps(event, separators=separators, ensure_ascii=draw(st.booleans())).encode()
    if draw(st.integers(0, 4)) == 0:
        at, byte = draw(st.integers(0, len(text) - 1)), draw(st.sampled_from(b'0 7"{}[],:\\a\x01\xff'))
        text = text[:at] + bytes([byte]) + text[at + draw(st.integers(0, 1)) :]
    return text


def _alone(event: bytes) -> bytes | None:
    try:
        return redact_event(event)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _among(events: PlainEvents, event: bytes) -> bytes | None:
    try:
        return events.redacted(event)
    except (msgspec.MsgspecError, RecursionError):
        return None


@settings(max_examples=600, deadline=None)
@given(st.lists(_event(), min_size=2, max_size=30))
def test_redacted_among_others_is_redacted_alone(drawn: list[bytes]) -> None:
    events = PlainEvents()
    for event in drawn:
        assert _among(events, event) == _alone(event)


def test_an_event_that_differs_in_one_text_is_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bytes] = []
    for before, after in ((b'{"type":"delta","delta":"', b'","index":0}'), (b'{"choices": [{"text": "', b'"}]}')):
        events = PlainEvents()
        for text in (b"one", b"", b"three"):
            assert events.redacted(before + text + after) == before + text + after
        looked.clear()
        with monkeypatch.context() as patched:
            patched.setattr(plain_events, "settings_in", lambda event: looked.append(event))
            event = before + "größer, and on".encode() + after
            assert events.redacted(event) is event
        assert looked == []


@pytest.mark.parametrize("text", [b'","api_key":"secret', b"\\", b"\x00", b"\xff", b'"'])
def test_what_is_more_than_a_text_is_looked_through(text: bytes) -> None:
    before, after = b'{"delta":"', b'","index":0}'
    events = PlainEvents()
    for plain in (b"one", b"two"):
        events.redacted(before + plain + after)
    event = before + text + after
    assert _among(events, event) == _alone(event)
    assert b"secret" not in (_among(events, event) or b"")


def test_events_that_are_all_different_are_compared_a_few_times_only() -> None:
    events = PlainEvents()
    for number in range(100):
        event = b'{"n%d":%d}' % (number, number)
        assert events.redacted(event) == event
    assert events.redacted(b'{"a":"' + b"x" * 10_000 + b'"}') is not None
