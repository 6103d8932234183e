"""What is read by the shape of another message is what reading the message in full gives."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.event_shape import EventShape, start_of
from headrace.capture.json_form import read_event

_HEAD: dict[str, Any] = {
    "call_id": "call-1",
    "seq": 7,
    "kind": "stream",
    "protocol": "openai.chat",
    "captured_at": "2026-11-30T10:00:00.123456Z",
    "http": {"url": "https://api.openai.com/v1/chat/completions", "status": 200, "headers": {"x-seq": '"seq":5'}},
    "direction": "server",
}
_BODIES: list[Any] = [
    {},
    {"a": [1, {"b": None}]},
    {"seq": 9, "captured_at": "2026-01-01T00:00:00Z", "body": {"seq": 1}},
    {"text": 'ends with "}'},
    {"tools": [{"type": "mcp", "authorization": "secret"}]},
    [1],
    "[DONE]",
    None,
    {"text": "ä\u2028"},
]
_TIMES: list[Any] = [
    "2026-11-30T10:00:01.000001Z",
    "2026-11-30T10:00:01Z",
    "2026-11-30T10:00:01.00001+00",
    '2026-11-30T10:00:00.123456"',
    "2026-11-30T10:00:0\u00e9.123456Z",
    "",
    1790000000000000,
    None,
]

_spaced = st.sampled_from([(",", ":"), (", ", ": ")])
_order = st.permutations([*_HEAD, "body"])


def _written(fields: dict[str, Any], separators: tuple[str, str]) -> bytes:
    return json.dumps(fields, separators=separators, ensure_ascii=False).encode()


@st.composite
def _messages(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A message, and others that are more or less like it."""
    separators = draw(_spaced)
    # Most gateways write the body last.
    order = [*_HEAD, "body"] if draw(st.booleans()) else draw(_order)
    left_out = draw(st.sets(st.sampled_from(["captured_at", "direction", "http", "protocol"]), max_size=1))
    first = {**_HEAD, "body": draw(st.sampled_from(_BODIES))}
    first = {key: first[key] for key in order if key not in left_out}
    others = []
    for _ in range(draw(st.integers(1, 6))):
        other = dict(first)
        other["seq"] = draw(st.sampled_from([0, 3, 8, 10**9, 2**60, -1, 1.5, None, "4"]))
        other["body"] = draw(st.sampled_from(_BODIES))
        if "captured_at" in other:
            other["captured_at"] = draw(st.sampled_from(_TIMES))
        if draw(st.booleans()):
            other[draw(st.sampled_from(["tenant", "call_id", "direction", "later"]))] = "x"
        text = _written(other, draw(st.sampled_from([separators, (", ", ": ")])))
        if draw(st.booleans()):
            at, byte = draw(st.integers(0, len(text) - 1)), draw(st.sampled_from(b'0 7"{}[],:\\a\xff'))
            text = text[:at] + bytes([byte]) + text[at + draw(st.integers(0, 1)) :]
        others.append(text)
    return _written(first, separators), others


@settings(max_examples=400, deadline=None)
@given(_messages())
def test_a_shape_reads_what_the_reader_reads(drawn: tuple[bytes, list[bytes]]) -> None:
    first, others = drawn
    event = read_event(first)
    shape = None if event is None else EventShape.of(first, event)
    if event is None or shape is None:
        return
    for value in [first, *others]:
        if start_of(value) != shape.start:
            continue
        read = shape.read(value)
        if read is not None:
            full = read_event(value)
            assert full is not None
            assert read == (full.seq, full.captured_at, full.payload)
            assert (full.direction, full.said) == (event.direction, event.said)


def test_the_usual_message_has_a_shape_and_others_like_it_are_read_by_it() -> None:
    for separators in ((",", ":"), (", ", ": ")):
        first = _written({**_HEAD, "body": {"a": 1}}, separators)
        event = read_event(first)
        assert event is not None
        shape = EventShape.of(first, event)
        assert shape is not None
        changed = {**_HEAD, "seq": 12, "captured_at": "2026-11-30T10:00:01.123456Z", "body": {"b": [2]}}
        read = shape.read(_written(changed, separators))
        assert read is not None and (read[0], json.loads(read[2])) == (12, {"b": [2]})


def test_what_follows_the_body_is_never_overlooked() -> None:
    first = _written({**_HEAD, "body": {"a": 1}}, (",", ":"))
    event = read_event(first)
    assert event is not None
    shape = EventShape.of(first, event)
    assert shape is not None
    assert shape.read(first) is not None
    for more in (b',"tenant":"x"}', b',"seq":9}', b',"body":{"b":2}}', b" }", b"", b',"x":{"y":{}}}'):
        assert shape.read(first[:-1] + more) is None
