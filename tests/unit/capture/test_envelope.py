"""The three forms of a capture on a topic, told apart by content."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from typing import Any

import fastavro
import pytest

from headrace.canonical.avro import load_schema
from headrace.canonical.schema_tree import parse
from headrace.capture.avro_form import AvroCaptures
from headrace.capture.envelope import (
    read_avro,
    read_captures,
    read_headers,
    read_json,
    write_avro,
    write_headers,
    write_json,
)
from headrace.capture.fields import iso, micros
from headrace.capture.inbound import Inbound, Source
from headrace.capture.model import Capture, Http
from headrace.errors import CaptureError, HeadraceError, SchemaError

SOURCE = Source("llm.raw.chunks", 2, 17, 1_796_032_800_000_000)
AT = 1_796_032_800_123_456


def inbound(
    value: bytes | None, headers: tuple[tuple[str, bytes | None], ...] = (), key: bytes | None = None
) -> Inbound:
    return Inbound.at(SOURCE, value, key, headers)


def envelope(**fields: Any) -> bytes:
    return json.dumps({"call_id": "c1", "kind": "request", **fields}).encode()


def one(value: bytes) -> Capture:
    read = read_captures(inbound(value))
    assert not read.rejects, read.rejects[0].error
    (capture,) = read.captures
    return capture


def refused(value: bytes | None, headers: tuple[tuple[str, bytes | None], ...] = ()) -> HeadraceError:
    read = read_captures(inbound(value, headers))
    assert not read.captures
    (reject,) = read.rejects
    assert reject.error.place and reject.error.fix
    return reject.error


# --- JSON ------------------------------------------------------------------------------------------------------


def test_a_whole_capture_in_json() -> None:
    capture = one(
        envelope(
            kind="stream",
            protocol="openai.chat",
            provider="azure",
            tenant="t",
            task_id="k",
            request_version="2",
            direction="server",
            seq=4,
            captured_at="2026-11-30T10:00:00.123456Z",
            body={"a": [1, 2]},
            origin="gw",
            side="client",
            attempt=2,
            truncated=False,
            fidelity="wire",
            unknown_field={"is": "allowed"},
            http={
                "method": "POST",
                "url": "https://h.test/v1?key=abc",
                "status": 200,
                "headers": {"X-A": "b", "Cookie": "c"},
            },
        )
    )
    assert capture == Capture(
        call_id="c1",
        kind="stream",
        source=SOURCE,
        payload=b'{"a": [1, 2]}',
        form="json",
        protocol="openai.chat",
        provider="azure",
        tenant="t",
        task_id="k",
        request_version="2",
        direction="server",
        seq=4,
        captured_at=AT,
        origin="gw",
        side="client",
        attempt=2,
        truncated=False,
        fidelity="wire",
        http=Http(
            method="POST",
            url="https://h.test/v1?key=[redacted]",
            status=200,
            headers={"x-a": "b", "cookie": "[redacted]"},
        ),
    )


def test_the_three_bodies() -> None:
    assert one(envelope(body={"n": 12345678901234567890123})).payload == b'{"n": 12345678901234567890123}'
    text = one(envelope(kind="response", body_text="data: ž\n\n"))
    assert text.payload == "data: ž\n\n".encode() and text.form == "bytes"
    data = gzip.compress(b"\x00\xff")
    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data).rstrip(b"="), base64.encodebytes(data)):
        assert one(envelope(kind="response", body_base64=encoded.decode())).payload == data
    assert one(envelope(body=None, body_text="", body_base64=None)).payload == b""


def test_ends_and_errors_need_no_body() -> None:
    end = one(envelope(kind="end", count=3, outcome="aborted"))
    assert (end.payload, end.count, end.outcome) == (b"", 3, "aborted")
    error = one(envelope(kind="error", message="connection reset", body={"error": 1}))
    assert (error.payload, error.message) == (b'{"error": 1}', "connection reset")


def test_half_a_surrogate_pair_in_a_delta_is_kept() -> None:
    capture = one(b'{"call_id":"c1","kind":"stream","seq":0,"body":{"delta":"\\ud83d"}}')
    assert json.loads(capture.payload) == {"delta": "\ud83d"} and capture.form == "json"
    assert one(b'{"call_id":"c1","kind":"stream","body_text":"\\ud83d"}').payload == "\ud83d".encode(
        "utf-8", "surrogatepass"
    )


def test_numbers_and_lists_where_text_is_usual() -> None:
    http = {"status": "429", "headers": {"retry-after": 3, "x-a": ["1", "2"], "x-none": None}}
    capture = one(envelope(call_id=77, body={}, http=http))
    assert capture.call_id == "77"
    assert capture.http == Http(status=429, headers={"retry-after": "3", "x-a": "1, 2"})
    pairs = one(
        envelope(body={}, http={"headers": [["A", "1"], {"name": "B", "value": "2"}, {"key": "a", "value": "3"}]})
    )
    assert pairs.http is not None and pairs.http.headers == {"a": "1, 3", "b": "2"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-11-30T10:00:00.123456Z", AT),
        ("2026-11-30T11:00:00.123456+01:00", AT),
        ("2026-11-30 10:00:00.123456", AT),
        ("2026-11-30T10:00:00.123456789Z", AT),
        (1796032800, AT - 123_456),
        (1796032800.123456, AT),
        (1796032800123, AT - 456),
        (AT, AT),
        (AT * 1000 + 7, AT),
        ("1796032800.123456", AT),
        ("1796032800123456", AT),
        (0, 0),
        ({"seconds": 1796032800, "milliseconds": 123}, AT - 456),
        ({"seconds": "1796032800", "nanos": 123456789}, AT),
        ("1969-12-31T23:59:59Z", -1_000_000),
        (-1, -1_000_000),
        (None, None),
        ("", None),
    ],
)
def test_times(written: Any, expected: int | None) -> None:
    assert micros(written) == expected
    if expected is not None:
        assert micros(iso(expected)) == expected


@pytest.mark.parametrize(
    "written", ["yesterday", "nan", "inf", "1e400", True, [], {}, {"seconds": "x"}, "2026-13-01", 10**30]
)
def test_what_is_no_time(written: Any) -> None:
    with pytest.raises(CaptureError) as caught:
        micros(written)
    assert caught.value.place == "$.captured_at"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (b'{"kind": "request", "body": {}}', "$.call_id"),
        (envelope(call_id="", body={}), "$.call_id"),
        (envelope(call_id=[1], body={}), "$.call_id"),
        (b'{"call_id": "c", "body": {}}', "$.kind"),
        (envelope(kind="chunk", body={}), "$.kind"),
        (envelope(), "$.body"),
        (envelope(kind="response", body=None), "$.body"),
        (envelope(body={}, body_text=""), "$.body"),
        (envelope(body_text="", body_base64=""), "$.body"),
        (envelope(body_base64="not base64!"), "$.body_base64"),
        (envelope(body_base64="A"), "$.body_base64"),
        (envelope(body={}, seq=-1), "$.seq"),
        (envelope(body={}, seq="4"), "$.seq"),
        (envelope(body={}, seq=2**63), "$.seq"),
        (envelope(body={}, captured_at="soon"), "$.captured_at"),
        (envelope(body={}, protocol="smtp"), "$.protocol"),
        (envelope(body={}, http={"status": "ok"}), "$.http.status"),
        (envelope(body={}, http={"url": 5}), "$.http.url"),
        (envelope(body={}, http=[]), "$.http"),
        (b"{", "$"),
        (b"", "$"),
        (b"nonsense", "$"),
        (b'"text"', "$"),
        (b"\xff\xfe", "$"),
        (b"\x00", "$"),
        (b"[1", "$"),
        (b'{"call_id":"c","kind":"request","body":' + b"[" * 100_000, "$"),
    ],
)
def test_what_is_no_capture(value: bytes, place: str) -> None:
    assert refused(value).place == place


def test_a_tombstone_is_no_capture() -> None:
    assert refused(None).place == "value"


def test_rejects_carry_their_bytes_without_credentials() -> None:
    read = read_captures(
        inbound(b'{"kind":"request","http":{"headers":{"authorization":"Bearer abc12345"}},"body":{}}')
    )
    (reject,) = read.rejects
    assert reject.value == b'{"kind":"request","http":{"headers":{"authorization":"[redacted]"}},"body":{}}'


def test_protocol_aliases() -> None:
    assert one(envelope(protocol="gemini.generateContent", body={})).protocol == "gemini.generate_content"
    assert one(envelope(protocol="openai.chat_completions", body={})).protocol == "openai.chat"


def test_secret_fields_of_request_bodies_are_out() -> None:
    body = {"tools": [{"type": "mcp", "authorization": "hunter2"}], "n": 1.5}
    text = json.dumps(body)
    for value in (
        envelope(body=body),
        envelope(body_text=text),
        envelope(body_base64=base64.b64encode(gzip.compress(text.encode())).decode()),
    ):
        assert json.loads(one(value).payload) == {"tools": [{"type": "mcp", "authorization": "[redacted]"}], "n": 1.5}
    compressed = gzip.compress(b'{"input": "x"}')
    assert one(envelope(body_base64=base64.b64encode(compressed).decode())).payload == compressed


def test_a_batch_of_captures_in_an_array() -> None:
    batch = [
        {"call_id": "a", "kind": "request", "body": {"n": 1}},
        {"call_id": "a", "kind": "nonsense"},
        5,
        {"call_id": "b", "kind": "end"},
    ]
    read = read_captures(inbound(b"  " + json.dumps(batch).encode()))
    assert [capture.call_id for capture in read.captures] == ["a", "b"]
    assert [reject.error.place for reject in read.rejects] == ["$[1].kind", "$[2]"]
    assert json.loads(read.rejects[0].value) == batch[1]


def test_unnumbered_pieces_in_one_message_become_one_piece() -> None:
    def piece(call: str, **fields: Any) -> dict[str, Any]:
        return {"call_id": call, "kind": "stream", **fields}

    batch = [
        piece("a", body={"n": 1}),
        piece("b", body_text="data: {"),
        piece("a", body={"n": 2}),
        piece("b", body_text='"n": 1}\n\n'),
        piece("c", seq=0, body={}),
        piece("c", seq=1, body={}),
        piece("d", body={"n": 1}),
    ]
    read = read_captures(inbound(json.dumps(batch).encode()))
    assert [(capture.call_id, capture.form, capture.payload) for capture in read.captures] == [
        ("a", "bytes", b'{"n": 1}\n{"n": 2}'),
        ("b", "bytes", b'data: {"n": 1}\n\n'),
        ("c", "json", b"{}"),
        ("c", "json", b"{}"),
        ("d", "json", b'{"n": 1}'),
    ]


# --- Avro ------------------------------------------------------------------------------------------------------

WHOLE = Capture(
    call_id="c1",
    kind="stream",
    source=SOURCE,
    payload=b'{"a":1}',
    form="json",
    protocol="openai.chat",
    provider="azure",
    tenant="t",
    task_id="k",
    request_version="2",
    direction="server",
    seq=2**40,
    captured_at=AT,
    count=1,
    outcome="completed",
    message="m",
    origin="gw",
    side="client",
    attempt=3,
    truncated=True,
    fidelity="wire",
    http=Http(method="POST", url="/v1/chat/completions", status=200, headers={"content-type": "text/event-stream"}),
)
BARE = Capture(call_id="c2", kind="end", source=SOURCE)
EMPTY = Capture(call_id="c3", kind="response", source=SOURCE)


@pytest.mark.parametrize("capture", [WHOLE, BARE, EMPTY], ids=["whole", "bare", "empty"])
def test_every_form_round_trips(capture: Capture) -> None:
    assert read_json(write_json(capture), SOURCE) == capture
    assert read_avro(inbound(write_avro(capture))) == capture
    avro = AvroCaptures(by_id=lambda _: load_schema("raw_capture"))
    assert avro.read(inbound(avro.write_confluent(capture, 41))) == capture
    headers, value = write_headers(capture)
    back = read_headers(inbound(value or None, headers) if capture.kind == "end" else inbound(value, headers))
    back.form = capture.form  # headers leave the value untouched, and say nothing of it
    assert back == capture


def test_a_reader_tells_the_forms_apart() -> None:
    headers, value = write_headers(WHOLE)
    for message in (inbound(write_json(WHOLE)), inbound(write_avro(WHOLE)), inbound(value, headers)):
        (capture,) = read_captures(message).captures
        assert (capture.call_id, capture.payload, capture.seq) == ("c1", b'{"a":1}', 2**40)


def test_json_lines_hold_no_line_end() -> None:
    pretty = Capture(
        call_id="c", kind="request", source=SOURCE, form="json", payload=b'{\n "a": "\\n",\r\n "t": "\\ud83d"}'
    )
    line = write_json(pretty)
    assert b"\n" not in line and b"\r" not in line
    assert json.loads(read_json(line, SOURCE).payload) == {"a": "\n", "t": "\ud83d"}


def test_records_of_an_older_writer_are_resolved() -> None:
    old: Any = {
        "type": "record",
        "name": "RawCapture",
        "namespace": "headrace",
        "fields": [
            {"name": "kind", "type": "string"},
            {"name": "call_id", "type": "string"},
            {"name": "gone", "type": "long"},
            {"name": "payload", "type": "bytes"},
        ],
    }
    import io

    out = io.BytesIO()
    fastavro.schemaless_writer(
        out, fastavro.parse_schema(old), {"kind": "request", "call_id": "c", "gone": 1, "payload": b"{}"}
    )
    asked: list[int] = []

    def by_id(number: int) -> Any:
        asked.append(number)
        return old

    avro = AvroCaptures(by_id=by_id)
    message = inbound(b"\x00" + struct.pack(">I", 9) + out.getvalue())
    for _ in range(2):
        (capture,) = read_captures(message, avro=avro).captures
        assert (capture.call_id, capture.kind, capture.payload, capture.seq) == ("c", "request", b"{}", None)
    assert asked == [9], "a schema is asked for once"


def test_avro_faults_are_typed() -> None:
    good = write_avro(WHOLE)
    assert refused(good[:-3]).code == "bad_avro"
    assert refused(good + b"x").code == "bad_avro"
    assert refused(b"\xc3\x01" + b"\x00" * 8 + good[10:]).code == "bad_schema"
    assert refused(write_avro(Capture(call_id="", kind="end", source=SOURCE))).place == "$.call_id"

    def unknown(number: int) -> Any:
        raise SchemaError("no such schema", place=f"id {number}", fix="register it")

    read = read_captures(inbound(b"\x00\x00\x00\x00\x07" + good[10:]), avro=AvroCaptures(by_id=unknown))
    assert read.rejects[0].error.place == "id 7"
    read = read_captures(
        inbound(b"\x00\x00\x00\x00\x07" + good[10:]), avro=AvroCaptures(by_id=lambda _: {"type": "nope"})
    )
    assert read.rejects[0].error.code == "bad_schema"


def test_the_schema_keeps_to_the_house_shape() -> None:
    record = parse(load_schema("raw_capture"))
    assert record.name == "headrace.RawCapture"
    documented = [(field.name, field.doc) for field in record.fields]
    assert all(doc for _, doc in documented)
    names = {name for name, _ in documented}
    assert names == {*Capture.__struct_fields__} - {"source"}


def test_credentials_in_avro_are_out() -> None:
    leaky = Capture(
        call_id="c",
        kind="request",
        source=SOURCE,
        payload=b'{"mcp_servers":[{"authorization_token":"hunter2"}]}',
        http=Http(url="https://a.test?key=hunter2", headers={"x-api-key": "hunter2"}),
    )
    (capture,) = read_captures(inbound(write_avro(leaky))).captures
    assert "hunter2" not in repr(capture)


# --- headers ---------------------------------------------------------------------------------------------------


def test_headers_form() -> None:
    headers: tuple[tuple[str, bytes | None], ...] = (
        ("traceparent", b"x"),
        ("Headrace-Call-Id", b"c9"),
        ("headrace-kind", b"stream"),
        ("headrace-seq", b"3"),
        ("headrace-captured-at", b"1796032800123"),
        ("headrace-http-url", b"/v1/messages?key=hunter2"),
        ("headrace-http-status", b"200"),
        ("headrace-http-headers", b'{"Authorization": "hunter2"}'),
        ("headrace-truncated", b"true"),
        ("headrace-origin", None),
    )
    (capture,) = read_captures(inbound(b"data: {\xc5", headers)).captures
    assert (capture.call_id, capture.seq, capture.captured_at, capture.truncated) == ("c9", 3, AT - 456, True)
    assert capture.payload == b"data: {\xc5" and capture.form == "bytes"
    assert capture.http == Http(url="/v1/messages?key=[redacted]", status=200, headers={"authorization": "[redacted]"})


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("kind", b"chunk", "header headrace-kind"),
        ("seq", b"x", "header headrace-seq"),
        ("seq", b"-1", "header headrace-seq"),
        ("captured-at", b"soon", "header headrace-captured-at"),
        ("truncated", b"perhaps", "header headrace-truncated"),
        ("protocol", b"smtp", "header headrace-protocol"),
        ("http-status", b"ok", "header headrace-http.status"),
        ("http-headers", b"{", "$"),
        ("call-id", b"", "header headrace-call-id"),
    ],
)
def test_faults_in_headers_name_the_header(name: str, value: bytes, place: str) -> None:
    fields = {"call-id": b"c", "kind": b"request", name: value}
    headers = tuple((f"headrace-{field}", content) for field, content in fields.items())
    assert refused(b"{}", headers).place == place


def test_a_body_that_is_missing_in_headers_form() -> None:
    assert refused(None, (("headrace-call-id", b"c"), ("headrace-kind", b"request"))).place == "value"
    end = read_captures(
        inbound(None, (("headrace-call-id", b"c"), ("headrace-kind", b"end"), ("headrace-count", b"2")))
    )
    assert end.captures[0].count == 2
