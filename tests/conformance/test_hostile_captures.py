"""Captures as careless or hostile producers write them: each ends visible, and says what was wrong."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from headrace.canonical.avro import encode_dead_letter, encode_record
from headrace.reassembly.memory import MemoryStore
from tests.support.running import Ran, run

_CHAT = "https://api.openai.com/v1/chat/completions"
_ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}],
}
_REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


#: A request of two protocols at once.
_BOTH = {"messages": [{"role": "system", "content": "x"}], "contents": [{"parts": [{"text": "x"}]}]}


def _chunk(text: str, finish: str | None = None) -> dict[str, Any]:
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": choices}


def capture(kind: str, **fields: Any) -> dict[str, Any]:
    return {"call_id": "a", "kind": kind, "protocol": "openai.chat", **fields}


def piece(seq: int | None, event: Any, **fields: Any) -> dict[str, Any]:
    numbered = {} if seq is None else {"seq": seq}
    return capture("stream", **numbered, body=event, **fields)


def sliced(seq: int | None, data: bytes) -> dict[str, Any]:
    numbered = {} if seq is None else {"seq": seq}
    return capture("stream", **numbered, body_base64=base64.b64encode(data).decode())


async def ran(*captures: dict[str, Any] | bytes, batch: int = 500) -> Ran:
    """All captures as one partition's messages; everything that comes out can be written."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in captures]
    out = await run(MemoryStore(), lines, batch=batch)
    for record in out.records:
        encode_record(record)
    for letter in out.dead_letters:
        encode_dead_letter(letter)
    return out


def codes(out: Ran) -> list[str]:
    return [letter["code"] for letter in out.dead_letters]


def text_of(out: Ran, place: int = 0) -> str:
    return "".join(part.get("text", "") for part in out.records[place]["messages"][0]["parts"])


# --- protocols ----------------------------------------------------------------------------------------------------


async def test_a_missing_protocol_is_told_by_url_or_shape() -> None:
    bare = {"call_id": "a", "kind": "response", "body": _ANSWER}
    assert [record["protocol"] for record in (await ran(bare)).records] == ["openai.chat"]
    told = {"call_id": "a", "kind": "request", "body": _REQUEST, "http": {"url": _CHAT}}
    assert [record["protocol"] for record in (await ran(told)).records] == ["openai.chat"]


@pytest.mark.parametrize(
    "body",
    [{}, {"model": "m"}, {"id": "x"}, {"usage": {}}, _BOTH],
)
async def test_a_shape_that_tells_nothing_or_too_much_is_no_guess(body: dict[str, Any]) -> None:
    out = await ran({"call_id": "a", "kind": "request", "body": body})
    assert not out.records
    assert set(codes(out)) <= {"unknown_protocol", "ambiguous_protocol"}
    assert len(codes(out)) == 1


async def test_a_body_of_another_protocol_than_named_is_a_bad_message() -> None:
    out = await ran(capture("request", body={"contents": [{"parts": [{"text": "hi"}]}]}))
    assert codes(out) == ["bad_message"]


# --- bodies of HTTP answers ---------------------------------------------------------------------------------------

_ODD_BODIES: list[dict[str, Any]] = [
    {"body": "upstream connect error"},
    {"body": []},
    {"body": [{"error": {"message": "m"}}]},
    {"body": {"detail": "Not Found"}},
    {"body": {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}},
    {"body": {"message": "no route"}},
    {"body": {"error": None}},
    {"body": {}},
    {"body": 17},
    {"body": False},
    {"body_text": ""},
    {"body_text": "<html><body>502 Bad Gateway</body></html>"},
    {"body_text": "upstream request timeout"},
    {"body_text": "data: \n\n"},
    {"body_base64": ""},
    {"body_base64": base64.b64encode(b"\xff\xfe\x00\x01").decode()},
    {"body_base64": base64.b64encode(gzip.compress(b"<html>busy</html>")).decode()},
]


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503, 529])
@pytest.mark.parametrize("protocol", ["openai.chat", "anthropic.messages", "gemini.interactions"])
async def test_an_http_error_is_a_failed_record_whatever_its_body(status: int, protocol: str) -> None:
    for body in _ODD_BODIES:
        answer = {"call_id": "a", "kind": "response", "protocol": protocol, "http": {"status": status}, **body}
        out = await ran(answer)
        assert [record["status"] for record in out.records] == ["failed"], body
        assert out.records[0]["error"]["http_status"] == status


@pytest.mark.parametrize("body", _ODD_BODIES)
async def test_a_success_without_a_message_is_a_dead_letter_or_an_error(body: dict[str, Any]) -> None:
    out = await ran(capture("response", http={"status": 200}, **body))
    assert len(out.records) + len(out.dead_letters) >= 1
    assert all(record["status"] in ("failed", "incomplete") for record in out.records)
    assert "internal_error" not in codes(out)


@pytest.mark.parametrize("payload", [{"body_text": ""}, {"body_text": "\n"}, {"body": []}])
async def test_no_content_is_a_dead_letter(payload: dict[str, Any]) -> None:
    out = await ran(capture("response", http={"status": 204}, **payload))
    assert codes(out) == ["empty_body"]


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "application/octet-stream", "application/gzip", ""])
async def test_a_wrong_content_type_changes_nothing(kind: str) -> None:
    http = {"status": 200, "headers": {"content-type": kind, "content-encoding": "gzip"}}
    out = await ran(capture("response", http=http, body_text=json.dumps(_ANSWER)))
    assert text_of(out) == "hi"


# --- ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({}, "no_terminal_event"),
        ({"count": 0}, "no_terminal_event"),
        ({"outcome": "aborted"}, "aborted"),
        ({"outcome": "timeout"}, "timeout"),
    ],
)
async def test_an_end_alone_is_a_call_without_an_answer(end: dict[str, Any], reason: str) -> None:
    out = await ran(capture("end", **end))
    assert [(record["status"], record["status_reason"]) for record in out.records] == [("incomplete", reason)]
    assert out.records[0]["sources"]


@pytest.mark.parametrize("batch", [1, 2, 500])
async def test_an_end_may_come_before_the_pieces(batch: int) -> None:
    out = await ran(capture("end", count=2), piece(0, _chunk("a")), piece(1, _chunk("b", "stop")), batch=batch)
    assert (text_of(out), len(out.records), codes(out)) == ("ab", 1, [])


@pytest.mark.parametrize("batch", [1, 500])
async def test_ends_that_repeat_are_used_or_counted(batch: int) -> None:
    end = capture("end", count=1)
    out = await ran(piece(0, _chunk("a", "stop")), end, end, end, batch=batch)
    assert (len(out.records), codes(out)) == (1, [])
    used = out.records[0]["sources"][0]["last_offset"]
    assert used + out.duplicates >= 3


@pytest.mark.parametrize("batch", [1, 500])
async def test_an_error_after_a_completed_stream_takes_nothing_back(batch: int) -> None:
    pieces = [piece(0, _chunk("a", "stop")), piece(1, "[DONE]")]
    out = await ran(*pieces, capture("error", message="reset"), batch=batch)
    assert (out.records[0]["status"], text_of(out)) == ("completed", "a")
    assert "error" not in out.records[0]
    # What came after the end is visible somewhere.
    assert len(out.records) + len(out.dead_letters) + out.duplicates >= 1


async def test_an_error_before_the_end_fails_the_call_and_keeps_its_text() -> None:
    out = await ran(piece(0, _chunk("a")), capture("error", message="reset by peer"))
    assert (out.records[0]["status"], text_of(out)) == ("failed", "a")
    assert out.records[0]["error"]["message"] == "reset by peer"


# --- calls and numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 500])
async def test_one_call_id_in_two_tenants_is_two_calls(batch: int) -> None:
    pieces = []
    for seq, (ours, theirs) in enumerate([("our", "the"), (" own", "irs")]):
        finish = "stop" if seq else None
        pieces += [piece(seq, _chunk(ours, finish), tenant="a"), piece(seq, _chunk(theirs, finish), tenant="b")]
    out = await ran(*pieces, batch=batch)
    assert {record["tenant"]: text_of(out, at) for at, record in enumerate(out.records)} == {
        "a": "our own",
        "b": "theirs",
    }
    assert len({record["record_id"] for record in out.records}) == 2


async def test_a_huge_gap_is_told_and_costs_nothing() -> None:
    out = await ran(piece(0, _chunk("a")), piece(2**53 - 1, _chunk("z", "stop")))
    assert (text_of(out), out.records[0]["status_reason"]) == ("az", "missing_pieces")
    refused = await ran(piece(2**53, _chunk("a")), piece(-1, _chunk("a")))
    assert codes(refused) == ["bad_capture", "bad_capture"]


@pytest.mark.parametrize("batch", [1, 2, 500])
async def test_numbered_and_unnumbered_pieces_of_one_call_are_all_said(batch: int) -> None:
    out = await ran(
        piece(0, _chunk("a")),
        piece(None, _chunk("b")),
        piece(1, _chunk("c")),
        piece(None, _chunk("d", "stop")),
        batch=batch,
    )
    said = json.dumps(out.records) + "".join(letter["value"].decode() for letter in out.dead_letters)
    assert all(f'"{letter}' in said or letter in said for letter in "abcd")


@pytest.mark.parametrize("batch", [1, 500])
async def test_events_and_slices_of_one_call_are_one_answer(batch: int) -> None:
    second = f"data: {json.dumps(_chunk('b'))}\n\ndata: {json.dumps(_chunk('c'))}\n\n".encode()
    cut = len(second) // 3
    out = await ran(
        piece(0, _chunk("a")),
        sliced(1, second[:cut]),
        sliced(2, second[cut:]),
        piece(3, _chunk("d", "stop")),
        piece(4, "[DONE]"),
        batch=batch,
    )
    assert (text_of(out), out.records[0]["status"], codes(out)) == ("abcd", "completed", [])


async def test_times_may_be_missing_on_some_or_all() -> None:
    some = await ran(piece(0, _chunk("a"), captured_at="2026-11-30T10:00:00Z"), piece(1, _chunk("b", "stop")))
    assert some.records[0]["timing"]["first_captured_at"] == some.records[0]["timing"]["last_captured_at"]
    none = await ran(piece(0, _chunk("a", "stop")))
    assert "first_captured_at" not in none.records[0].get("timing", {})


@pytest.mark.parametrize(
    "value", [b"", b"null", b"{}", b"[]", b"[[]]", b"[1]", b'"x"', b"\x00\x01", b"\xc3\x01", b"{" * 9]
)
async def test_a_message_that_is_no_capture_is_kept(value: bytes) -> None:
    out = await ran(value)
    assert not out.records
    assert [letter.get("value") for letter in out.dead_letters] or value == b"[]"
    assert "internal_error" not in codes(out)


async def test_a_bad_capture_in_a_batch_costs_only_itself() -> None:
    good = capture("request", body=_REQUEST)
    out = await ran(json.dumps([good, {"kind": "request"}, 5, {**good, "call_id": "b"}]).encode())
    assert [record["call_id"] for record in out.records] == ["a", "b"]
    assert codes(out) == ["bad_capture", "bad_capture"]
