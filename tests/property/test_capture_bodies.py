"""However a body is cut, compressed or damaged: the same events, or a typed error."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.body import read_body
from headrace.capture.compression import decompress
from headrace.capture.framing import Framed, frame, frame_pieces
from headrace.capture.json_split import JsonSplitter
from headrace.capture.sse import Event, EventStream, parse_events
from headrace.errors import FramingError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['}, {"', "data: [DONE]\n\n", "\\", '\\"', "]", "\u2028", "🐎", "\r\n", "event: x", "\x00", '{"a": [']
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
events = st.dictionaries(texts, values, min_size=1, max_size=4)
event_lists = st.lists(events, min_size=1, max_size=6)


def _sse(chunks: list[dict[str, Any]], line_end: str, named: bool, ascii_only: bool) -> str:
    name = f"event: e{line_end}" if named else ""
    lines = (json.dumps(chunk, ensure_ascii=ascii_only) for chunk in chunks)
    return "".join(f"{name}data: {line}{line_end}{line_end}" for line in lines)


def _pretty(chunks: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(chunk, indent=1) for chunk in chunks)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, list[dict[str, Any]]]:
    """A body in one of the forms, with the events it holds."""
    chunks = draw(event_lists)
    ascii_only = draw(st.booleans())
    lines = [json.dumps(chunk, ensure_ascii=ascii_only) for chunk in chunks]
    body = draw(
        st.sampled_from(
            [
                _sse(chunks, "\n", named=False, ascii_only=ascii_only),
                _sse(chunks, "\r\n", named=False, ascii_only=ascii_only),
                _sse(chunks, "\r", named=True, ascii_only=ascii_only),
                _sse(chunks, "\n", named=True, ascii_only=ascii_only),
                ": ping\n\n" + _sse(chunks, "\n", named=False, ascii_only=ascii_only),
                "[" + ",\r\n".join(lines) + "]",
                "\n".join(lines),
                "".join(lines),
                _pretty(chunks),
            ]
        )
    )
    return body.encode(), chunks


@st.composite
def cuts(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """The body in slices."""
    places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=12)))
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_cut_of_any_form_gives_the_same_events(data: st.DataObject) -> None:
    body, chunks = data.draw(bodies())
    framed = frame(body)
    assert framed.values == chunks and not framed.bad and not framed.remainder
    assert frame_pieces(data.draw(cuts(body))) == framed


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_an_event_stream_does_not_care_how_it_is_read(data: st.DataObject) -> None:
    lines = st.sampled_from(
        [b"data: a", b"data:b", b"data", b"event: e", b": c", b"id: 1", b"", b"", b"x: y", b"\xef\xbb\xbfdata: d", b"{"]
    )
    ends = st.sampled_from([b"\n", b"\r", b"\r\n"])
    body = b"".join(part for pair in data.draw(st.lists(st.tuples(lines, ends), max_size=14)) for part in pair)
    for keep_stray in (False, True):
        whole = _streamed([body], keep_stray)
        assert _streamed(data.draw(cuts(body)), keep_stray) == whole
        plain = [(event.data, event.event, event.unterminated, event.stray) for event in whole]
        quick = parse_events(body, keep_stray=keep_stray)
        assert [(event.data, event.event, event.unterminated, event.stray) for event in quick] == plain


def _streamed(reads: list[bytes], keep_stray: bool) -> list[Event]:
    stream = EventStream(keep_stray=keep_stray)
    return [event for read in reads for event in stream.feed(read)] + stream.close()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_json_splitter_does_not_care_how_it_is_fed(data: st.DataObject) -> None:
    chunks = data.draw(event_lists)
    lines = [json.dumps(chunk) for chunk in chunks]
    body = data.draw(st.sampled_from(["[" + ",".join(lines) + "]", "\n".join(lines), _pretty(chunks)])).encode()
    splitter = JsonSplitter()
    split = [value for piece in data.draw(cuts(body)) for value in splitter.feed(piece)] + splitter.close()
    assert [json.loads(value) for value in split] == chunks
    assert not splitter.broken and not splitter.remainder


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_cut_off_body_keeps_a_prefix_of_its_events(data: st.DataObject) -> None:
    body, chunks = data.draw(bodies())
    end = data.draw(st.integers(0, len(body)))
    framed = _framed_or_none(body[:end])
    if framed is not None:
        whole = [value for value in framed.values if isinstance(value, dict)]
        assert whole == chunks[: len(whole)]


fragments = [b"data: ", b"\n", b"{", b"}", b'"', b"[", b"]", b"[DONE]", b"event: ", b"\r", b"1"]


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(st.sampled_from('{}[]",:\\ \n\r\tdatevn0a1-etrufls'), max_size=60).map(str.encode)
    | st.lists(st.sampled_from(fragments)).map(b"".join)
)
def test_no_bytes_crash_it(body: bytes) -> None:
    framed = _framed_or_none(body)
    if framed is not None:
        assert sum(len(event.data) for event in framed.events) + len(framed.remainder) <= len(body)
    plain = decompress(body, "br")
    assert plain.data == body or plain.encodings
    _framed_or_none(gzip.compress(body)[:-3] + body)


def _framed_or_none(body: bytes) -> Framed | None:
    try:
        return read_body(body)
    except FramingError as error:
        assert error.code and error.message
        return None


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, brotli.compress, zstandard.compress])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_compressed_bodies_give_the_same_events_and_cut_ones_a_prefix(
    compress: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    body, _ = data.draw(bodies())
    body *= 3 if body.startswith((b"data", b"event", b":")) else 1
    compressed = compress(body)
    expected = frame(body).values
    assert read_body(b"".join(data.draw(cuts(compressed)))).values == expected
    plain = decompress(compressed[: data.draw(st.integers(0, len(compressed)))], "br")
    assert body.startswith(plain.data) or not plain.encodings
