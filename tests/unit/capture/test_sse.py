"""The event-stream grammar, and the two things a capture needs beyond it."""

from __future__ import annotations

import pytest

from headrace.capture.sse import Event, EventStream, parse_events
from tests.support.shared import traps


def read(*reads: bytes, keep_stray: bool = False) -> list[Event]:
    stream = EventStream(keep_stray=keep_stray)
    events = [event for data in reads for event in stream.feed(data)]
    return events + stream.close()


def data_of(events: list[Event]) -> list[bytes]:
    return [event.data for event in events]


def test_a_crlf_cut_between_two_reads_is_one_line_end() -> None:
    reads = [b"data: A\r\n", b"data: B\r", b"\ndata: C\r\n", b"\n"]
    assert data_of(read(*reads)) == [b"A\nB\nC"]
    assert data_of(read(*reads[:2], b"data: C\r\n", b"\n")) == [b"A\nB\nC"]


def test_an_empty_read_after_a_cr_does_not_make_two_line_ends() -> None:
    assert data_of(read(b"data: A\r", b"", b"\ndata: B\n\n")) == [b"A\nB"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_ends_a_line(line_end: bytes) -> None:
    body = line_end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert [(event.event, event.data) for event in parse_events(body)] == [("a", b"1"), (None, b"2")]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b"data:x", b"x"),
        (b"data: x", b"x"),
        (b"data:  x", b" x"),
        (b"data:", b""),
        (b"data", b""),
        (b"data: a:b", b"a:b"),
    ],
)
def test_at_most_one_leading_space_is_removed(line: bytes, data: bytes) -> None:
    assert data_of(parse_events(line + b"\n\n")) == [data]
    assert data_of(read(line + b"\n\n")) == [data]


def test_comments_unknown_fields_and_events_without_data_are_no_events() -> None:
    body = b": keepalive\n\nnonsense: 1\nevent: ping\n\ndata: x\n\n"
    assert [(event.event, event.data) for event in parse_events(body)] == [(None, b"x")]


def test_id_persists_and_retry_is_kept() -> None:
    stream = EventStream()
    events = stream.feed(b"id: 7\nretry: 250\ndata: a\n\ndata: b\n\nid: x\0y\ndata: c\n\n")
    assert [event.id for event in events] == ["7", "7", "7"]
    assert stream.retry == 250


def test_a_byte_order_mark_is_removed_once() -> None:
    assert data_of(parse_events(b"\xef\xbb\xbfdata: x\n\n")) == [b"x"]
    assert data_of(read(b"\xef", b"\xbb\xbfda", b"ta: x\n\n")) == [b"x"]


@pytest.mark.parametrize("tail", [b"data: b", b"data: b\n", b"event: e\ndata: b\r\n"])
def test_a_last_event_without_its_blank_line_is_kept_and_marked(tail: bytes) -> None:
    events = parse_events(b"data: a\n\n" + tail)
    assert [(event.data, event.unterminated) for event in events] == [(b"a", False), (b"b", True)]


def test_a_utf8_character_may_be_cut() -> None:
    text = "data: žluťoučký 🐎\n\n".encode()
    assert data_of(read(*(text[i : i + 1] for i in range(len(text))))) == ["žluťoučký 🐎".encode()]


def test_lines_outside_of_the_grammar_are_given_when_asked_for() -> None:
    body = b'data: 1\n\n{\n  "error": {}\n\n}\ndata: 2\n\n'
    assert data_of(parse_events(body)) == [b"1", b"2"]
    kept = parse_events(body, keep_stray=True)
    assert [(event.data, event.stray) for event in kept] == [
        (b"1", False),
        (b'{\n  "error": {}\n\n}', True),
        (b"2", False),
    ]


def test_a_long_line_in_many_reads_is_looked_at_once() -> None:
    stream = EventStream()
    events = stream.feed(b"data: ")
    for _ in range(20_000):
        events += stream.feed(b"x" * 50)
    events += stream.feed(b"\n\n")
    assert len(events) == 1 and len(events[0].data) == 1_000_000


def test_recorded_traps() -> None:
    """Cases with raw reads of an event stream and the events they must give."""
    for trap in traps():
        expected = trap["expected"].get("result", {}).get("events")
        if trap["protocol"] == "sse" and expected:
            reads = [text.encode() for text in trap["input"]["reads"]]
            assert data_of(read(*reads)) == [event["data"].encode() for event in expected], trap["id"]
    assert data_of(read(b"data:[DONE]\n\n")) == [b"[DONE]"]
