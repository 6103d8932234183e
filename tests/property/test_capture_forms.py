"""Captures survive every form, and no message crashes a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.detection import PROTOCOLS, detect, provider_of
from headrace.capture.envelope import (
    read_avro,
    read_captures,
    read_headers,
    read_json,
    write_avro,
    write_headers,
    write_json,
)
from headrace.capture.inbound import Inbound, Source
from headrace.capture.mapping import load_mapping
from headrace.capture.model import LARGEST_SEQ, Capture, Http
from headrace.capture.redaction import redact_body, redact_bytes, redact_headers, redact_payload, redact_url
from headrace.errors import DetectionError
from headrace.json_text import dumps, loads

SOURCE = Source("t", 0, 1, 2)
MAPPINGS = [
    load_mapping(file.read_text()) for file in (Path(__file__).parents[2] / "topics" / "mappings").glob("*.yaml")
]

STARTS = [b"", b"\x00\x00\x00\x00\x01", b"\xc3\x01", b'{"call_id":"c","kind":"stream",', b"["]
FIELDS = ["call_id", "kind", "body", "body_text", "body_base64", "seq", "http", "captured_at", "x"]

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
optional_words = st.none() | words
counts = st.none() | st.integers(0, 2**63 - 1)
json_values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=10) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
https = st.none() | st.builds(
    Http,
    method=st.sampled_from(["GET", "POST"]),
    url=optional_words.map(lambda word: redact_url(word) if word else word),
    status=st.none() | st.integers(100, 599),
    headers=st.dictionaries(st.from_regex(r"x-[a-z]{1,6}", fullmatch=True), words, max_size=3).map(redact_headers),
)
#: Times that the calendar has: the years 1 to 9999.
times = st.none() | st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)


@st.composite
def captures(draw: st.DrawFn) -> Capture:
    kind = draw(st.sampled_from(["request", "response", "stream", "end", "error"]))
    json_form = draw(st.booleans()) and kind != "end"
    payload = dumps(draw(json_values)).encode() if json_form else draw(st.binary(max_size=40))
    return Capture(
        call_id=draw(words),
        kind=kind,  # type: ignore[arg-type]
        source=SOURCE,
        payload=payload,
        form="json" if json_form else "bytes",
        protocol=draw(st.none() | st.sampled_from(sorted(PROTOCOLS))),
        seq=draw(st.none() | st.integers(0, LARGEST_SEQ)),
        count=draw(counts),
        captured_at=draw(times),
        http=draw(https),
        attempt=draw(st.none() | st.integers(0, 2**31)),
        truncated=draw(st.none() | st.booleans()),
        **{name: draw(optional_words) for name in ("provider", "task_id", "request_version", "tenant", "direction")},
        **{name: draw(optional_words) for name in ("outcome", "message", "origin", "side", "fidelity")},
    )


@settings(max_examples=150, deadline=None)
@given(captures())
def test_every_form_gives_the_same_capture_back(capture: Capture) -> None:
    capture.payload = redact_payload(capture.payload)
    assert read_json(write_json(capture), SOURCE) == capture
    assert read_avro(Inbound.at(SOURCE, write_avro(capture))) == capture
    headers, value = write_headers(capture)
    back = read_headers(Inbound.at(SOURCE, value, None, headers))
    back.form = capture.form  # not carried by this form
    if capture.http is not None and back.http is None:
        back.http = capture.http  # nothing in it, so no header says it was there
    assert back == capture


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=120),
    st.sampled_from([b"", b"\x00\x00\x00\x00\x01", b"\xc3\x01", b'{"call_id":"c","kind":"stream",', b"["]),
)
def test_no_bytes_crash_a_reader(raw: bytes, start: bytes) -> None:
    message = Inbound.at(SOURCE, start + raw, b"k", (("x-event", b"req"),))
    own = read_captures(message)
    assert own.captures or own.rejects or loads(start + raw) == []
    for mapping in MAPPINGS:
        read_captures(message, mapping)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["call_id", "kind", "body", "body_text", "body_base64", "seq", "http", "captured_at", "x"]),
        json_values,
    )
)
def test_no_json_object_crashes_a_reader(fields: dict[str, Any]) -> None:
    read = read_captures(Inbound.at(SOURCE, json.dumps(fields).encode()))
    assert len(read.captures) + len(read.rejects) == 1
    for reject in read.rejects:
        assert reject.error.code and reject.error.place


_NAMES = st.sampled_from(
    [
        "tools",
        "type",
        "headers",
        "authorization",
        "env",
        "environment",
        "mcp_servers",
        "input",
        "response",
        "setup",
        "value",
        "url",
    ]
)
_bodies = st.recursive(
    st.sampled_from(["mcp", "function", "https://u:p@h.test/?key=k", "x", ""]) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=14,
)


@settings(max_examples=200, deadline=None)
@given(_bodies)
def test_redaction_of_any_body_is_stable_and_agrees_with_the_quick_look(body: Any) -> None:
    redacted = redact_body(body)
    assert redact_body(redacted) == redacted
    text = dumps(body).encode()
    assert loads(redact_payload(text)) == redacted
    assert redact_bytes(redact_bytes(text)) == redact_bytes(text)


_SHAPE_NAMES = st.sampled_from(
    [
        "type",
        "object",
        "messages",
        "content",
        "role",
        "tools",
        "input",
        "model",
        "choices",
        "error",
        "usageMetadata",
        "tool_choice",
        "event_type",
        "contents",
        "status",
        "steps",
        "max_tokens",
    ]
)
_shapes = st.recursive(
    st.sampled_from(["user", "error", "message", "response", "tool_use", "gemini-x", 1, None, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_SHAPE_NAMES, inner, max_size=5),
    max_leaves=16,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["request", "response", "stream", "error", "end"]), st.none() | st.text(max_size=20), _shapes)
def test_no_body_crashes_detection(kind: str, url: str | None, body: Any) -> None:
    try:
        assert detect(kind, url, body) in PROTOCOLS
    except DetectionError as error:
        assert error.code in ("unknown_protocol", "ambiguous_protocol")
    assert url is None or provider_of(url) != ""
    assert url is None or redact_url(redact_url(url)) == redact_url(url)


_LOG_NAMES = st.sampled_from(
    [
        "batch",
        "type",
        "body",
        "id",
        "input",
        "output",
        "request",
        "response",
        "headers",
        "call_type",
        "status",
        "ai",
        "messages",
        "startTime",
        "start_time",
        "key",
        "value",
        "http_buffered_trace",
        "as_bytes",
        "proxy",
        "payload",
        "providerRequest",
        "json",
        "meta",
        "error_information",
        "error_code",
    ]
)
_logs = st.recursive(
    st.sampled_from(
        ["generation-create", "acompletion", "success", "failure", "x", "eyJhIjoxfQ==", '{"a": 1}', 5, None]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_LOG_NAMES, inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(_logs)
def test_no_log_entry_crashes_a_mapping(entry: Any) -> None:
    for mapping in MAPPINGS:
        read = read_captures(Inbound.at(SOURCE, json.dumps(entry).encode()), mapping)
        assert all(capture.origin == mapping.name for capture in read.captures)
        assert all(reject.error.code for reject in read.rejects)
        assert read.captures or read.rejects or read.ignored or entry == []
