"""Bodies of every form become the same events, and nothing that arrived is lost."""

from __future__ import annotations

import json

import pytest

from headrace.capture.framing import Framed, frame, frame_pieces, join_pieces
from headrace.capture.json_split import JsonSplitter
from headrace.errors import FramingError
from tests.support.shared import PROTOCOLS, corpus, traps

CHUNKS = [{"n": 1, "text": 'a } ] " ,'}, {"n": 2, "text": "data: x\n\n"}, {"n": 3, "deep": [[{}], "\\"]}]
TEXTS = [json.dumps(chunk) for chunk in CHUNKS]

FORMS = {
    "sse": "".join(f"data: {text}\n\n" for text in TEXTS),
    "sse named": "".join(f"event: chunk\ndata: {text}\n\n" for text in TEXTS),
    "sse crlf": "".join(f"data: {text}\r\n\r\n" for text in TEXTS),
    "sse with comments": ": hello\n\n" + "".join(f"data:{text}\n\n: ping\n\n" for text in TEXTS),
    "sse pretty": "".join(
        "".join(f"data: {line}\n" for line in json.dumps(chunk, indent=1).split("\n")) + "\n" for chunk in CHUNKS
    ),
    "sse unterminated": "\n\n".join(f"data: {text}" for text in TEXTS),
    "array": "[" + ",\r\n".join(TEXTS) + "]",
    "ndjson": "\n".join(TEXTS) + "\n",
    "values": "".join(TEXTS),
    "pretty values": "\n".join(json.dumps(chunk, indent=2) for chunk in CHUNKS),
    "google prefix": ")]}'\n[" + ",".join(TEXTS) + "]",
    "byte order mark": "\ufeff" + "".join(f"data: {text}\n\n" for text in TEXTS),
    "escaped": json.dumps("".join(f"data: {text}\n\n" for text in TEXTS)),
    "escaped twice": json.dumps(json.dumps("[" + ",".join(TEXTS) + "]")),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_events(name: str) -> None:
    framed = frame(FORMS[name].encode())
    assert framed.values == CHUNKS
    assert not framed.bad and not framed.remainder and not framed.truncated


@pytest.mark.parametrize("name", FORMS)
def test_a_body_cut_anywhere_keeps_what_is_complete(name: str) -> None:
    body = FORMS[name].encode()
    for end in range(len(body)):
        try:
            framed = frame(body[:end])
        except FramingError:
            continue
        whole = [value for value in framed.values if isinstance(value, dict)]
        assert whole == CHUNKS[: len(whole)], end
        if "escaped" not in name and "pretty" not in name:
            # An event counts as soon as its last byte is there.
            complete = sum(body[:end].count(text.encode()) for text in TEXTS)
            assert len(whole) == complete, end


def test_forms_are_named() -> None:
    forms = {name: frame(body.encode()).form for name, body in FORMS.items()}
    assert forms["sse"] == "sse" and forms["array"] == "array" and forms["ndjson"] == "ndjson"
    assert forms["values"] == "values" and forms["google prefix"] == "array" and forms["escaped"] == "sse"
    assert frame(b'{"a": 1}').form == "json" and frame(b" \n").form == "empty"


@pytest.mark.parametrize("body", [b"[]", b" [ ] ", b": ping\n\n", b"retry: 5\n\n", b"", b"\xef\xbb\xbf"])
def test_empty_bodies_have_no_events(body: bytes) -> None:
    framed = frame(body)
    assert framed.events == [] and not framed.remainder and not framed.truncated


def test_the_end_marker_is_text_and_no_error() -> None:
    for body in (
        b'data: {"a":1}\n\ndata: [DONE]\n\n',
        b'{"a":1}\n[DONE]\n',
        b'{"a":1}[DONE]',
        b'data:{"a":1}\n\ndata:[DONE]',
    ):
        framed = frame(body)
        assert framed.values == [{"a": 1}, "[DONE]"] and not framed.bad, body


def test_event_names_are_kept() -> None:
    framed = frame(b'event: error\ndata: {"x": 1}\n\ndata: {}\n\n')
    assert [event.name for event in framed.events] == ["error", None]


@pytest.mark.parametrize("between", [b"", b"\n", b"\r\n"])
def test_a_bare_error_after_an_event_stream_is_an_event(between: bytes) -> None:
    error = b'{\n  "error": {\n    "code": 503,\n\n    "message": "data: gone",\n    "status": "UNAVAILABLE"\n  }\n}\n'
    framed = frame(b'data: {"candidates": []}\r\n\r\n' + between + error + between)
    assert framed.values[1]["error"]["code"] == 503
    assert len(framed.events) == 2 and not framed.bad


def test_a_data_value_that_goes_on_in_bare_lines_is_read_whole() -> None:
    framed = frame(b'data: {"error": {\n  "code": 429\n}}\n\ndata: {"a": 1}\n\n')
    assert framed.values == [{"error": {"code": 429}}, {"a": 1}] and not framed.bad


def test_an_event_stream_after_json_and_after_half_an_event() -> None:
    mixed = frame(b'{"error": {"code": 1}}\n\ndata: {"a": 1}\n\n')
    assert mixed.values == [{"error": {"code": 1}}, {"a": 1}] and mixed.form == "mixed"
    late = frame(b'tent":"x"}}]}\n\ndata: {"a": 1}\n\n')
    assert late.values[-1] == {"a": 1} and late.form == "sse"
    assert [event.data for event in late.bad] == [b'tent":"x"}}]}']


@pytest.mark.parametrize("bad", [b'{"a": tru}', b'{"a": "x', b"oops", b'{"a": [1, 2', b'{"a": "\xff"}'])
def test_a_bad_event_costs_only_itself(bad: bytes) -> None:
    for body in (
        b'data: {"n": 1}\n\ndata: ' + bad + b'\n\ndata: {"n": 2}\n\n',
        b'{"n": 1}\n' + bad + b'\n{"n": 2}\n',
    ):
        framed = frame(body)
        assert [value for value in framed.values if isinstance(value, dict)] == [{"n": 1}, {"n": 2}], body
        assert [event.data for event in framed.bad] == [bad], body


def test_what_the_end_cut_off_is_the_remainder() -> None:
    for body in (b'data: {"n": 1}\n\ndata: {"n": ', b'{"n": 1}\n{"n": ', b'[{"n": 1}, {"n": ', b'{"n": 1}{"n": '):
        framed = frame(body)
        assert framed.values == [{"n": 1}] and framed.remainder.strip() == b'{"n":', body
        assert framed.truncated, body
    open_array = frame(b'[{"n": 1}')
    assert open_array.values == [{"n": 1}] and open_array.truncated


@pytest.mark.parametrize(
    "body", [b"<html>502 Bad Gateway</html>", b"upstream timed out", b'{"cut": ', b"\x00\x01", b"{"]
)
def test_a_body_with_nothing_to_read_is_a_typed_error(body: bytes) -> None:
    with pytest.raises(FramingError) as caught:
        frame(body)
    assert caught.value.code == "bad_body" and caught.value.fix


def test_too_deep_nesting_is_a_typed_error() -> None:
    with pytest.raises(FramingError):
        frame(b"[" * 200_000)
    with pytest.raises(FramingError):
        frame(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


def test_big_integers_and_half_surrogates_survive() -> None:
    framed = frame(b'data: {"n": 123456789012345678901234567890}\n\ndata: {"t": "\\ud83d"}\n\n')
    assert framed.values == [{"n": 123456789012345678901234567890}, {"t": "\ud83d"}]
    assert frame(b'[{"t": "\\ud83d"}, {"n": 1}]').values == [{"t": "\ud83d"}, {"n": 1}]


def test_json_strings_with_line_separators_are_one_event() -> None:
    text = '{"t": "a\u2028b\x85c\x0bd"}'.replace("\x0b", "\\u000b")
    assert len(frame(f"data: {text}\n\n".encode()).events) == 1


# --- pieces ----------------------------------------------------------------------------------------------------


def test_pieces_are_joined_as_they_were_cut() -> None:
    body = FORMS["sse named"].encode()
    for size in (1, 2, 3, 7, 64):
        pieces = [body[i : i + size] for i in range(0, len(body), size)]
        assert join_pieces(pieces) == body
        assert frame_pieces(pieces) == frame(body)


@pytest.mark.parametrize(
    "pieces",
    [
        [b'data: {"n": 1}', b'data: {"n": 2}', b"data: [DONE]"],
        [b"event: a", b'data: {"n": 1}', b"event: b", b'data: {"n": 2}', b"data: [DONE]"],
        [b"id: 1", b'data:{"n": 1}', b": ping", b'data: {"n": 2}', b"", b"data: [DONE]"],
        [b'{"n": 1}', b'{"n": 2}', b"[DONE]"],
    ],
)
def test_events_logged_one_by_one_without_line_ends_stay_apart(pieces: list[bytes]) -> None:
    assert frame_pieces(pieces).values == [{"n": 1}, {"n": 2}, "[DONE]"]


def test_text_that_looks_like_a_field_is_not_cut_off() -> None:
    body = b'data: {"t": "say data: {\\"n\\": 1}data: x"}\n\n'
    for cut in range(len(body)):
        assert join_pieces([body[:cut], body[cut:]]) == body


# --- the splitter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["array", "ndjson", "values", "pretty values"])
def test_the_splitter_gives_values_as_they_close(name: str) -> None:
    body = FORMS[name].encode()
    splitter = JsonSplitter()
    values = [value for index in range(len(body)) for value in splitter.feed(body[index : index + 1])]
    values += splitter.close()
    assert [json.loads(value) for value in values] == CHUNKS
    assert not splitter.broken and not splitter.remainder


def test_the_splitter_reads_scalars_and_the_end_marker() -> None:
    splitter = JsonSplitter()
    assert splitter.feed(b'1 -2.5e3 true null "a\\"b" [DO') == [b"1", b"-2.5e3", b"true", b"null", b'"a\\"b"']
    assert splitter.feed(b"NE] 12") == [b"[DONE]"]
    assert splitter.close() == [b"12"]


@pytest.mark.parametrize("text", [b"}", b'{"a": [}', b'"a\nb"', b"nul", b"{'a': 1]", b'"\\\n"'])
def test_the_splitter_stops_at_what_is_no_json(text: bytes) -> None:
    splitter = JsonSplitter()
    assert splitter.feed(b'{"ok": 1} ' + text) + splitter.close() == [b'{"ok": 1}']
    assert splitter.broken and splitter.remainder == text


def test_recorded_traps() -> None:
    """Raw reads of Gemini arrays and of OpenAI streams without a space after the colon."""
    for trap in traps():
        if trap["input"].get("type") in ("raw_http", "raw_sse") and trap["input"].get("wire") != "plain":
            framed = frame_pieces([text.encode() for text in trap["input"]["reads"]])
            assert framed.events and not framed.bad, trap["id"]
            assert _text_of(framed) == trap["expected"]["result"].get("text", ""), trap["id"]
    assert _text_of(frame(b'[{"candidates": [{"content": {"parts": [{"text": "] , }"}]}}]}]')) == "] , }"


def _text_of(framed: Framed) -> str:
    text = ""
    for value in framed.values:
        for choice in value.get("choices") or [] if isinstance(value, dict) else []:
            text += choice["delta"].get("content") or ""
        for candidate in value.get("candidates") or [] if isinstance(value, dict) else []:
            text += "".join(part.get("text", "") for part in candidate["content"]["parts"])
    return text


def test_real_bodies_are_read_whole() -> None:
    streams = 0
    for protocol in PROTOCOLS:
        for exchange in corpus(protocol):
            if exchange.get("sse"):
                framed = frame(exchange["sse"].encode())
                streams += 1
                assert framed.form == "sse" and not framed.bad and not framed.remainder, exchange["id"]
            elif exchange.get("response") is not None:
                framed = frame(json.dumps(exchange["response"], indent=1).encode())
                assert framed.form in ("json", "array") and not framed.bad, exchange["id"]
    assert streams or not list(corpus("openai.chat"))
