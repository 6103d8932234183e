"""Source mappings: other producers' messages become captures, and a bad entry costs only itself."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.capture.bodies import body_bytes
from headrace.capture.detection import detect
from headrace.capture.envelope import read_captures
from headrace.capture.inbound import Inbound, Source
from headrace.capture.mapping import Mapping, load_mapping
from headrace.capture.model import Capture
from headrace.capture.paths import find, find_all, parse_path
from headrace.capture.results import Read
from headrace.capture.templates import filled
from headrace.errors import SettingsError

FOLDER = Path(__file__).parents[3] / "topics" / "mappings"
SOURCE = Source("gateway.logs", 1, 42, 7)
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
ANSWER = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "yo"}}]}
STREAM = 'data: {"choices": [{"delta": {"content": "yo"}}]}\n\ndata: [DONE]\n\n'


def mapping(name: str) -> Mapping:
    return load_mapping((FOLDER / f"{name}.yaml").read_text(), name)


def read(
    name: str | Mapping, value: Any, headers: tuple[tuple[str, bytes | None], ...] = (), key: bytes | None = None
) -> Read:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    chosen = mapping(name) if isinstance(name, str) else name
    return read_captures(Inbound.at(SOURCE, raw, key, headers), chosen)


def pair(result: Read) -> tuple[Capture, Capture]:
    assert not result.rejects, result.rejects[0].error
    request, response = result.captures
    assert (request.kind, response.kind) == ("request", "response")
    assert request.call_id == response.call_id
    assert request.source == response.source == SOURCE
    return request, response


def test_every_mapping_loads_and_is_named_after_its_file() -> None:
    files = sorted(FOLDER.glob("*.yaml"))
    assert len(files) >= 7
    assert [load_mapping(file.read_text()).name for file in files] == [file.stem for file in files]


# --- the producers ---------------------------------------------------------------------------------------------


def litellm(**fields: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "trace_id": "trace-1",
        "call_type": "acompletion",
        "status": "success",
        "custom_llm_provider": "vertex_ai",
        "startTime": 1796032800.25,
        "endTime": 1796032801.5,
        "model": "gemini-x",
        "model_parameters": {"temperature": 0.5, "tools": [{"type": "function", "function": {"name": "f"}}]},
        "api_base": "https://a.test/v1?key=hunter2",
        "messages": CHAT["messages"],
        "response": ANSWER,
        "metadata": {"user_api_key_org_id": None, "user_api_key_team_id": "team-1"},
        **fields,
    }


def test_litellm_requests_are_put_together_from_their_parts() -> None:
    request, response = pair(read("litellm", litellm()))
    assert json.loads(request.payload) == {
        "model": "gemini-x",
        "messages": CHAT["messages"],
        "temperature": 0.5,
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    assert json.loads(response.payload) == ANSWER and response.form == "json"
    assert (request.captured_at, response.captured_at) == (1796032800250000, 1796032801500000)
    for capture in (request, response):
        assert (capture.call_id, capture.task_id, capture.tenant) == ("chatcmpl-1", "trace-1", "team-1")
        assert (capture.protocol, capture.provider) == ("openai.chat", "vertex")
        assert (capture.origin, capture.side, capture.fidelity) == ("litellm", "client", "reshaped")
        assert capture.http is not None and capture.http.url == "https://a.test/v1?key=[redacted]"


def test_litellm_failures_and_other_apis() -> None:
    failure = litellm(
        status="failure", response=None, error_str="rate limited", error_information={"error_code": "429"}, id="c2"
    )
    result = read("litellm", [failure, litellm(call_type="aembedding"), litellm(call_type="aresponses", id="c3")])
    assert [(capture.call_id, capture.kind) for capture in result.captures] == [
        ("c2", "request"),
        ("c2", "error"),
        ("c3", "request"),
        ("c3", "response"),
    ]
    assert result.ignored == 1 and not result.rejects
    error, responses = result.captures[1], result.captures[2]
    assert error.message == "rate limited" and error.http is not None and error.http.status == 429
    assert responses.protocol == "openai.responses" and "input" in json.loads(responses.payload)


def test_litellm_json_lines_with_a_bad_line() -> None:
    lines = [json.dumps(litellm(id="a")), '{"id": "b", "call_type": "acomp', json.dumps(litellm(id="c"))]
    result = read("litellm", "\n".join(lines).encode())
    assert {capture.call_id for capture in result.captures} == {"a", "c"}
    assert [reject.value for reject in result.rejects] == [lines[1].encode()]


def helicone(**response: Any) -> dict[str, Any]:
    return {
        "providerRequest": {
            "url": "https://api.openai.com/v1/chat/completions",
            "json": CHAT,
            "meta": {"Helicone-Request-Id": "h-1", "Helicone-User-Id": "u-1"},
        },
        "providerResponse": {"status": 200, "headers": {"Set-Cookie": "x", "content-type": "a"}, **response},
        "timing": {
            "startTime": {"seconds": 1796032800, "milliseconds": 250},
            "endTime": {"seconds": 1796032801, "milliseconds": 500},
        },
    }


def test_helicone() -> None:
    request, response = pair(read("helicone", helicone(json=ANSWER)))
    assert (request.call_id, request.tenant, request.captured_at) == ("h-1", "u-1", 1796032800250000)
    assert json.loads(response.payload) == ANSWER
    assert response.http is not None and response.http.headers == {"set-cookie": "[redacted]", "content-type": "a"}
    _, streamed = pair(read("helicone", helicone(textBody=STREAM, json=None)))
    assert streamed.payload == STREAM.encode() and streamed.form == "bytes"
    _, chunks = pair(read("helicone", helicone(json={"streamed_data": [{"n": 1}, {"n": 2}]})))
    assert json.loads(chunks.payload) == [{"n": 1}, {"n": 2}]


def langfuse(kind: str, **body: Any) -> dict[str, Any]:
    return {
        "id": "e",
        "type": kind,
        "timestamp": "2026-11-30T10:00:00Z",
        "body": {"id": "g-1", "traceId": "t-1", **body},
    }


def test_langfuse_batches() -> None:
    batch = {
        "batch": [
            langfuse("trace-create", name="x"),
            langfuse("generation-create", model="m", input=CHAT["messages"], modelParameters={"temperature": 1}),
            langfuse(
                "generation-update",
                model="m",
                output={"role": "assistant", "content": "yo"},
                usage={"input": 3, "output": 2},
            ),
            langfuse("generation-create", id="g-2", model="m", input="just text", output="plain"),
            langfuse("generation-create", id="g-3", model="m", input=CHAT, output=ANSWER),
            langfuse("generation-update", id="g-4", endTime="2026-11-30T10:00:01Z"),
        ],
        "metadata": {},
    }
    result = read("langfuse", batch)
    assert result.ignored == 2 and not result.rejects
    bodies = [(capture.call_id, capture.kind, json.loads(capture.payload)) for capture in result.captures]
    assert bodies[0] == ("g-1", "request", {"model": "m", "messages": CHAT["messages"], "temperature": 1})
    assert bodies[1][2]["choices"] == ANSWER["choices"] and bodies[1][2]["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
    }
    assert bodies[2][2]["messages"] == [{"role": "user", "content": "just text"}]
    assert bodies[3][2]["choices"][0]["message"] == {"role": "assistant", "content": "plain"}
    assert bodies[4] == ("g-3", "request", CHAT) and bodies[5] == ("g-3", "response", ANSWER)
    assert all(capture.fidelity == "reshaped" for capture in result.captures)


def envoy(request: Any, response: Any) -> dict[str, Any]:
    def headers(**values: str) -> list[dict[str, str]]:
        return [{"key": name.replace("_", "-"), "value": value} for name, value in values.items()]

    return {
        "http_buffered_trace": {
            "request": {
                "headers": [
                    {"key": ":method", "value": "POST"},
                    {"key": ":path", "value": "/v1/messages?beta=true"},
                    *headers(x_request_id="r-1", x_api_key="hunter2"),
                ],
                "body": request,
            },
            "response": {
                "headers": [{"key": ":status", "value": "200"}, *headers(content_encoding="gzip")],
                "body": response,
            },
        }
    }


def test_envoy_taps_with_base64_and_compressed_bodies() -> None:
    body = base64.b64encode(json.dumps(CHAT).encode()).decode()
    compressed = base64.b64encode(gzip.compress(STREAM.encode())).decode()
    trace = envoy({"as_bytes": body, "truncated": False}, {"as_bytes": compressed, "truncated": True})
    request, response = pair(read("envoy-tap", trace))
    assert request.call_id == "r-1" and json.loads(request.payload) == CHAT and request.truncated is False
    assert response.payload == STREAM.encode() and response.truncated is True
    assert request.http is not None and request.http.headers["x-api-key"] == "[redacted]"
    assert detect("request", request.http.url, None) == "anthropic.messages"
    assert response.http is not None and response.http.status == 200


def test_envoy_taps_with_text_bodies_that_the_buffer_cut_off() -> None:
    events = "".join(f'data: {{"n": {n * 7919}}}\n\n' for n in range(500))
    compressed = gzip.compress(events.encode())
    cut = base64.b64encode(compressed[: len(compressed) // 2]).decode()
    _, response = pair(read("envoy-tap", envoy({"as_string": json.dumps(CHAT)}, {"as_bytes": cut})))
    assert response.truncated is True
    assert events.encode().startswith(response.payload) and len(response.payload) > len(events) // 4


def test_kong_payload_logs() -> None:
    entry = {
        "request": {"id": "k-1", "url": "http://gw.test/chat", "method": "POST", "headers": {"authorization": "x"}},
        "response": {"status": 200, "headers": {"content-type": "application/json"}},
        "started_at": 1796032800250,
        "consumer": {"username": "team-a"},
        "ai": {
            "proxy": {
                "meta": {"provider_name": "openai"},
                "payload": {"request": json.dumps(CHAT), "response": json.dumps(json.dumps(ANSWER))},
            }
        },
    }
    request, response = pair(read("kong", entry))
    assert json.loads(request.payload) == CHAT and json.loads(response.payload) == ANSWER
    assert (request.tenant, request.provider, request.captured_at) == ("team-a", "openai", 1796032800250000)
    entry["ai"] = {"ai-proxy": {"payload": {"request": json.dumps(CHAT)}}}
    assert [capture.kind for capture in read("kong", entry).captures] == ["request"]


def apisix(identity: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "request": {
            "url": "https://gw.test:443/v1/chat/completions",
            "method": "POST",
            "headers": {},
            "body": json.dumps(CHAT),
        },
        "response": {"status": 200, "headers": {"X-Request-Id": identity} if identity else {}, "body": STREAM},
        "start_time": 1796032800250,
        "consumer": {"username": "team-a"},
        **fields,
    }


def test_apisix_batches_and_single_entries() -> None:
    request, response = pair(read("apisix", apisix("a-1")))
    assert (request.call_id, request.captured_at) == ("a-1", 1796032800250000)
    assert response.payload == STREAM.encode()
    entries = [
        apisix("a-1"),
        apisix("a-2", request={}, response={"status": 502}),
        "noise",
        apisix("a-3", start_time="x"),
        apisix("a-4"),
    ]
    result = read("apisix", entries)
    assert [capture.call_id for capture in result.captures] == ["a-1", "a-1", "a-4", "a-4"]
    assert [json.loads(reject.value) for reject in result.rejects] == entries[1:4]
    assert [reject.error.code for reject in result.rejects] == ["empty_entry", "empty_entry", "bad_capture"]
    assert result.rejects[2].error.place == "$.start_time"


def test_calls_without_an_id_are_named_by_their_place() -> None:
    result = read("apisix", [apisix(None), apisix(None)])
    assert [capture.call_id for capture in result.captures] == ["gateway.logs/1@42#0"] * 2 + ["gateway.logs/1@42#2"] * 2


def test_untouched_bodies_with_headers_of_their_own() -> None:
    headers: tuple[tuple[str, bytes | None], ...] = (
        ("X-Request-Id", b"p-1"),
        ("x-event", b"chunk"),
        ("x-chunk", b"3"),
        ("x-timestamp", b"1796032800250"),
        ("x-upstream-url", b"https://api.openai.com/v1/responses"),
        ("x-http-headers", b'{"Authorization": "Bearer hunter2"}'),
    )
    (capture,) = read("plain-headers", b"data: {\xff", headers).captures
    assert (capture.call_id, capture.kind, capture.seq, capture.payload) == ("p-1", "stream", 3, b"data: {\xff")
    (keyed,) = read("plain-headers", b"{}", (("x-event", b"req"),), key=b"k-1").captures
    assert (keyed.call_id, keyed.kind) == ("k-1", "request")
    (end,) = read_captures(Inbound.at(SOURCE, None, b"k-1", (("x-event", b"done"),)), mapping("plain-headers")).captures
    assert (end.kind, end.payload) == ("end", b"")
    (reject,) = read("plain-headers", b"{}", (("x-event", b"what"),), key=b"k").rejects
    assert reject.error.place == "kind"


# --- faults ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [b"", b"<html>", b'{"cut', None, b"5", b"[]"],
    ids=["empty", "html", "cut", "tombstone", "number", "no entries"],
)
def test_values_that_hold_no_entry(value: bytes | None) -> None:
    result = read_captures(Inbound.at(SOURCE, value), mapping("apisix"))
    assert not result.captures
    if value not in (b"", b"[]"):
        assert len(result.rejects) == 1 and result.rejects[0].value == (value or b"")


def test_an_entries_path_that_leads_nowhere_is_a_reject() -> None:
    result = read("langfuse", {"events": []})
    assert result.rejects[0].error.place == "$.batch"


def test_a_missing_call_id_is_a_reject_with_its_place() -> None:
    plain = load_mapping("name: x\ncommon: {call_id: $.id}\ncaptures: [{kind: request, body: $.body}]")
    result = read(plain, [{"body": {}}, {"id": 5, "body": {}}])
    assert result.rejects[0].error.place == "$.id" and result.captures[0].call_id == "5"


def test_rejected_entries_lose_their_credentials() -> None:
    entry = apisix("a", start_time="x")
    entry["request"]["headers"] = {"authorization": "Bearer hunter2hunter2"}
    (reject,) = read("apisix", entry).rejects
    assert b"hunter2" not in reject.value and b"gw.test" in reject.value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: x", "captures"),
        ("name: x\ncaptures: []", "captures"),
        ("name: x\ncaptures: [{kind: request, nonsense: 1}]", "captures.0.nonsense"),
        ("name: x\nentries: batch\ncaptures: [{kind: request}]", "entries"),
        ("name: x\ncaptures: [{kind: request, when: [{path: 'a.b'}]}]", "captures.0.when.0.path"),
        ("name: x\ncaptures: [{kind: request, body: {path: '$.a..b'}}]", "captures.0.body"),
        ("name: x\ncaptures: [{kind: request, body: '$.a..b'}]", "captures.0.body"),
        ("name: x\ncaptures: [{kind: request, body: {template: {a: ['$.x', '$..']}}}]", "captures.0.body"),
        ("- a\n- b", ""),
        ("name: [", ""),
    ],
)
def test_mappings_that_cannot_work(text: str, place: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_mapping(text, "my.yaml")
    assert caught.value.code == "bad_mapping" and caught.value.place.startswith("my.yaml")
    assert place in caught.value.place


# --- paths, bodies, templates ----------------------------------------------------------------------------------

VALUE = {
    "a": {"b.c": [1, {"k": "X", "v": 2}, {"k": "y", "v": 3}]},
    "text": '{"inner": {"n": [7]}}',
    "X-Id": "h",
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", VALUE),
        ("$.a['b.c'][0]", 1),
        ("$.a['b.c'][-1].v", 3),
        ("$.a['b.c'][k=x].v", 2),
        ("$.a['b.c'][k=Y].v", 3),
        ("$.a['b.c'][9]", None),
        ("$.text.inner.n[0]", 7),
        ("$.x-id", "h"),
        ("$.none.more", None),
        ("$.a[0]", None),
        ("$.missing", None),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert find(VALUE, path) == found


def test_paths_to_many() -> None:
    value = {"a": [{"b": [1, 2]}, {"b": [3]}, {}]}
    assert find_all(value, "$.a[*].b[*]") == [1, 2, 3]
    assert find_all(value, "$.a") == value["a"]
    assert find_all(value, "$.nothing") == []


@pytest.mark.parametrize("path", ["", "a", ".a", "$a", "$.", "$[", "$[x]", "$.a.", "$['a]", "$..a"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_path(path)
    assert caught.value.code == "bad_path"


def escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: json.loads(text),
        lambda text: text,
        json.dumps,
        lambda text: json.dumps(json.dumps(text)),
        escaped,
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        lambda text: base64.b64encode(gzip.compress(text.encode())).decode(),
        lambda text: json.dumps(base64.b64encode(text.encode()).decode()),
    ],
    ids=["json", "text", "escaped", "twice", "unquoted", "base64", "urlsafe", "gzip", "escaped base64"],
)
def test_bodies_are_told_by_content(wrap: Callable[[str], Any]) -> None:
    body = {"model": "m", "text": 'say "hi" ? > ~ ž', "n": [1.5, None]}
    read_back = body_bytes(wrap(json.dumps(body)))
    assert read_back is not None
    payload, form, cut = read_back
    assert json.loads(payload) == body and form == "json" and not cut


def test_other_bodies() -> None:
    assert body_bytes(None) is None and body_bytes("") is None
    assert body_bytes(STREAM) == (STREAM.encode(), "bytes", False)
    assert body_bytes("overloaded") == (b"overloaded", "bytes", False)
    assert body_bytes("aGVsbG8gd29ybGQ=") == (b"aGVsbG8gd29ybGQ=", "bytes", False), "base64 of no body stays text"
    assert body_bytes('{"cut": ') == (b'{"cut": ', "bytes", False)
    assert body_bytes([]) == (b"[]", "json", False)


def test_templates_leave_out_what_is_not_there() -> None:
    entry = {"a": 1, "more": {"a": 2, "b": 3}, "empty": {}}

    def look_up(path: str) -> Any:
        return find(entry, path)

    assert filled({"x": "$.a", "y": "$.no", "z": {"w": "$.no"}, "c": "const"}, look_up) == {"x": 1, "c": "const"}
    assert filled({"a": "$.a", "...": "$.more"}, look_up) == {"a": 2, "b": 3}
    assert filled({"x": "$.no", "c": "const"}, look_up) is None
    assert filled({"x": ["$.a", {"y": "$.no"}]}, look_up) is None
    assert filled({"only": "const"}, look_up) == {"only": "const"}
