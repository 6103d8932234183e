"""Credentials go, content stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.capture.redaction import (
    REDACTED,
    redact_body,
    redact_bytes,
    redact_headers,
    redact_payload,
    redact_url,
)
from headrace.capture.secret_fields import _ROOTS, may_hold_secrets
from headrace.capture.secret_members import MEMBERS
from tests.support.shared import PROTOCOLS, corpus

SECRET = "hunter2-s3cr3t-value"


# --- headers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "authorization",
        "Authorization",
        "proxy-authorization",
        "x-api-key",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "set-cookie",
        "x-amz-security-token",
        "x-goog-iam-authorization-token",
        "x-auth-token",
        "helicone-auth",
        "x-portkey-virtual-key",
        "ocp-apim-subscription-key",
        "x-functions-key",
        "x-client-secret",
        "x-litellm-api-key",
        "cf-aig-authorization",
        "x-csrf-token",
        "x_api_key",
        "x-api-key-id",
    ],
)
def test_secret_headers(name: str) -> None:
    assert redact_headers({name: SECRET}) == {name.lower(): REDACTED}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("x-request-id", "req_011Ca7jT9AHpgXgdv8igm4z9"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("anthropic-ratelimit-input-tokens-limit", "400000"),
        ("openai-organization", "acme"),
        ("anthropic-version", "2026-10-21"),
        ("idempotency-key", "retry-77"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("mcp-session-id", "1868a90c"),
        ("x-token-count", "12"),
        ("user-agent", "OpenAI/Python 3.57.0"),
        ("anthropic-beta", "token-efficient-tools-2025-02-19"),
    ],
)
def test_harmless_headers(name: str, value: str) -> None:
    assert redact_headers({name: value}) == {name: value}


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abcdef123456",
        "Basic dXNlcjpwYXNz",
        "realtime, openai-insecure-api-key.sk-proj-abcdefghijkl",
        "https://x.test/v1/models/m:generateContent?key=abcdefghijkl",
        "/v1/x?alt=sse&api-key=abcdefghijkl",
    ],
)
def test_secrets_in_harmless_headers(value: str) -> None:
    redacted = redact_headers({"x-forwarded-thing": value})["x-forwarded-thing"]
    assert REDACTED in redacted and "abcdef" not in redacted and "dXNlcjpwYXNz" not in redacted


# --- URLs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://g.test/m:generateContent?key=SECRET", "https://g.test/m:generateContent?key=[redacted]"),
        ("https://g.test/m?alt=sse&key=SECRET&x=1", "https://g.test/m?alt=sse&key=[redacted]&x=1"),
        ("/m?KEY=SECRET#frag", "/m?KEY=[redacted]#frag"),
        ("https://a.test/?%6Bey=SECRET", "https://a.test/?%6Bey=[redacted]"),
        ("wss://a.test/ws?access_token=SECRET", "wss://a.test/ws?access_token=[redacted]"),
        (
            "https://s.test/o?X-Amz-Signature=SECRET&X-Amz-Date=1",
            "https://s.test/o?X-Amz-Signature=[redacted]&X-Amz-Date=1",
        ),
        ("https://b.test/c?sv=1&sig=SECRET%3D", "https://b.test/c?sv=1&sig=[redacted]"),
        ("https://user:SECRET@h.test/p", "https://h.test/p"),
        ("https://a.test/cb#access_token=SECRET&state=1", "https://a.test/cb#access_token=[redacted]&state=1"),
    ],
)
def test_secrets_in_urls(url: str, redacted: str) -> None:
    assert redact_url(url) == redacted


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/chat/completions",
        "/v1/messages?beta=true",
        "https://a.test/x?monkey=1&keyboard=2",
        "https://a.test/x?page_token=abc&keys=1&key=",
        "https://a.test/@user/x",
        "",
    ],
)
def test_harmless_urls_stay(url: str) -> None:
    assert redact_url(url) == url


# --- bodies ----------------------------------------------------------------------------------------------------

SECRET_BODIES: list[dict[str, Any]] = [
    {"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://m.test/sse", "authorization": SECRET}]},
    {"tools": [{"type": "mcp", "server_label": "x", "headers": {"X-Custom": SECRET, "Authorization": SECRET}}]},
    {"tools": [{"type": "mcp", "server_url": f"https://m.test/sse?api_key={SECRET}"}]},
    {"mcp_servers": [{"type": "url", "name": "x", "url": "https://m.test", "authorization_token": SECRET}]},
    {
        "tools": [
            {
                "type": "code_interpreter",
                "container": {
                    "type": "auto",
                    "network_policy": {"domain_secrets": [{"domain": "a.test", "name": "K", "value": SECRET}]},
                },
            }
        ]
    },
    {
        "tools": [
            {"type": "shell", "environment": {"network_policy": {"domain_secrets": [{"name": "K", "value": SECRET}]}}}
        ]
    },
    {"tools": [{"type": "mcp_server", "name": "x", "headers": {"Authorization": SECRET}}]},
    {"tools": [{"mcpServers": [{"name": "x", "streamableHttpTransport": {"url": "u", "headers": {"A": SECRET}}}]}]},
    {"tools": [{"mcp_servers": [{"streamable_http_transport": {"headers": {"A": SECRET}}}]}]},
    {"tools": [{"googleMaps": {"authConfig": {"apiKeyConfig": {"apiKeyString": SECRET}}}}]},
    {"tools": [{"exaAiSearch": {"apiKey": SECRET}}]},
    {"environment": {"type": "remote", "env": {"TOKEN": {"value": SECRET}, "OTHER": SECRET}}},
    {"environment": {"network": {"allowlist": [{"domain": "a.test", "transform": {"Authorization": SECRET}}]}}},
    {"environment": {"network": {"allowlist": [{"domain": "a.test", "transform": [{"X-Key": SECRET}]}]}}},
    {"input": [{"type": "additional_tools", "role": "developer", "tools": [{"type": "mcp", "authorization": SECRET}]}]},
    {"data_sources": [{"type": "azure_search", "parameters": {"authentication": {"type": "api_key", "key": SECRET}}}]},
    {"api_key": SECRET, "messages": []},
    {"extra_headers": {"Authorization": SECRET}},
    {"type": "response.created", "response": {"tools": [{"type": "mcp", "authorization": SECRET}]}},
    {"type": "response.create", "tools": [{"type": "mcp", "headers": {"a": SECRET}}]},
    {"setup": {"tools": [{"mcpServers": [{"streamableHttpTransport": {"headers": {"a": SECRET}}}]}]}},
    {"event_type": "interaction.created", "interaction": {"tools": [{"type": "mcp_server", "headers": {"a": SECRET}}]}},
]


@pytest.mark.parametrize("body", SECRET_BODIES, ids=lambda body: json.dumps(body)[:60])
def test_secret_fields_of_bodies(body: dict[str, Any]) -> None:
    before = json.dumps(body)
    redacted = json.dumps(redact_body(body))
    assert SECRET not in redacted and REDACTED in redacted
    assert json.dumps(body) == before, "the input is not changed"
    assert redact_body(json.loads(redacted)) == json.loads(redacted), "redacting twice changes nothing more"
    for payload in (before.encode(), b"  " + before.encode(), f"[{before}]".encode()):
        assert SECRET.encode() not in redact_payload(payload)


def test_secret_fields_that_an_event_stream_repeats() -> None:
    event = {"type": "response.created", "response": {"tools": [{"type": "mcp", "authorization": SECRET}]}}
    stream = f'event: x\ndata: {json.dumps(event)}\n\ndata: {{"a": "b c"}}\n\ndata: [DONE]\n\n'
    redacted = redact_payload(stream.encode()).decode()
    assert SECRET not in redacted and '"[redacted]"' in redacted
    assert redacted.startswith("event: x\ndata: {") and redacted.endswith('\n\ndata: {"a": "b c"}\n\ndata: [DONE]\n\n')


def test_names_and_everything_else_of_a_secret_setting_stay() -> None:
    tool = {"type": "mcp", "server_label": "x", "server_url": "https://m.test", "headers": {"A": SECRET}, "n": 1}
    assert redact_body({"tools": [tool], "model": "m"}) == {
        "tools": [{**tool, "headers": {"A": REDACTED}}],
        "model": "m",
    }
    environment = {"env": {"A": {"credential": "cred-1"}, "B": {"value": SECRET}}}
    assert redact_body({"environment": environment}) == {
        "environment": {"env": {"A": {"credential": "cred-1"}, "B": {"value": REDACTED}}}
    }


_SCHEMA = {
    "type": "object",
    "properties": {"authorization": {"type": "string", "default": "Bearer x"}, "headers": {"a": "b"}},
}
CONTENT_BODIES: list[dict[str, Any]] = [
    {"tools": [{"type": "function", "function": {"name": "mcp", "parameters": _SCHEMA}}]},
    {"tools": [{"type": "function", "name": "f", "parameters": _SCHEMA, "authorization": "a user's own field"}]},
    {"tools": [{"name": "f", "input_schema": _SCHEMA, "input_examples": [{"headers": {"authorization": "x"}}]}]},
    {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": _SCHEMA}]}]},
    {
        "messages": [
            {"role": "user", "content": '{"authorization": "Bearer x", "mcp_servers": [{"authorization_token": 1}]}'}
        ]
    },
    {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"api_key": "x"}'}}]}]},
    {
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "input": {"headers": {"authorization": "x"}}}]}
        ]
    },
    {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"authorization": "x", "api_key": "y"}}}]}]},
    {"input": [{"type": "function_call", "arguments": '{"authorization": "x"}', "authorization": "not a tool"}]},
    {"input": "tell me about additional_tools and authorization headers"},
    {"environment": "env_123", "input": "x"},
    {"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://m.test/sse", "allowed_tools": ["headers"]}]},
    {"id": "msg_1", "type": "message", "content": [{"type": "text", "text": "sk-ant-api03-not-a-secret-here"}]},
]


@pytest.mark.parametrize("body", CONTENT_BODIES, ids=lambda body: json.dumps(body)[:60])
def test_content_is_left_alone(body: dict[str, Any]) -> None:
    assert redact_body(body) is body
    payload = json.dumps(body).encode()
    assert redact_payload(payload) is payload


def test_real_bodies_are_left_alone() -> None:
    looked_at = 0
    for protocol in PROTOCOLS:
        for exchange in corpus(protocol):
            request = exchange.get("request")
            if request and "mcp" not in json.dumps(request.get("tools", request.get("mcp_servers", ""))):
                looked_at += 1
                assert redact_body(request) is request, exchange["id"]
            if exchange.get("sse"):
                payload = exchange["sse"].encode()
                assert redact_payload(payload) is payload, exchange["id"]
    assert looked_at > 500 or not looked_at


def test_the_quick_look_reads_every_place_the_rules_know() -> None:
    assert set(MEMBERS) == set(_ROOTS)
    assert not may_hold_secrets(b'{"id": "x", "choices": [{"delta": {"content": "authorization"}}]}')
    assert may_hold_secrets(b'{"tools": [{"type": "mcp", "authorization": "x"}]}')


def test_bodies_that_cannot_be_parsed_stay_as_they_are() -> None:
    for payload in (
        b'{"tools": [{"type": "mcp", "auth',
        b'{"tools": nope}',
        b'data: {"tools": [\n\n',
        b"\xff\xfe",
        b"",
    ):
        assert redact_payload(payload) is payload


# --- bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        '{"headers": {"Authorization": "Bearer SECRET", "x-api-key": "SECRET"}',
        '{"headers": {"x-anything-own": "SECRET", "content-type": "application/json"}, "body": {"a": ',
        '{"authorization":"SECRET',
        "{'api_key': 'SECRET', 'x': ",
        '"{\\"authorization_token\\": \\"SECRET\\", \\"url\\": \\"u\\"}"',
        '{"set-cookie": ["SECRET"]',
        '{"domain_secrets": [{"domain": "a.test", "name": "K", "value": "SECRET"}]',
        '{"env": {"TOKEN": {"value": "SECRET"}}',
        "POST /v1/messages HTTP/1.1\r\nHost: a.test\r\nAuthorization: Basic SECRET\r\nX-Api-Key: SECRET\r\n\r\n{",
        "cookie: session=SECRET; other=SECRET\n",
        "curl -H 'Authorization: Bearer SECRET123456' https://a.test",
        "GET https://g.test/m:generateContent?alt=sse&key=SECRET HTTP/1.1",
        '{"url":"https://g.test/m?key=SECRET","x":',
        '{"url":"https://g.test/m?a=1\\u0026key=SECRET","x":',
        '{"password": "SECRET", "client_secret" : "SECRET"',
    ],
)
def test_secrets_in_bytes(raw: str) -> None:
    redacted = redact_bytes(raw.replace("SECRET", SECRET).encode()).decode()
    assert SECRET not in redacted and REDACTED in redacted
    assert redact_bytes(redacted.encode()).decode() == redacted


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF123456_7890-abcdef",
        "sk-ant-api03-AbC_d-efGhIjKlMnOpQrSt",
        "sk-or-v1-0123456789abcdef0123",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "xai-abcdefghijklmnopqrst",
        "gsk_abcdefghijklmnopqrst1234",
        "ya29.a0AfH6SMBxyzxyzxyz",
        "hf_abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_shapes_of_keys_in_bytes(key: str) -> None:
    for around in ('{"x": "%s"', "%s", "key=%s end", "\x00\x01%s\xff"):
        assert key.encode() not in redact_bytes((around % key).encode("latin-1"))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"call_id": "c1", "kind": "stream", "body": {"choices": [{"delta": {"content": "task-based risk-averse"}}]',
        b'{"headers": {"content-type": "application/json", "x-request-id": "req_1"}, "method": "POST"',
        b'{"usage": {"prompt_tokens": 12, "total_tokens": 24}, "max_tokens": 5, "signature": "EqQBCkYIBxgCIkBz"}',
        b"the bearer of this letter; basic understanding; token count: 5; my secret garden",
        b'{"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}}',
    ],
)
def test_harmless_bytes_stay(raw: bytes) -> None:
    assert redact_bytes(raw) == raw


def test_scrubbing_is_linear() -> None:
    for raw in (
        b'"authorization": ' * 20_000,
        b'"a-' * 50_000,
        b'{"headers": {' * 20_000,
        b"sk-" * 100_000,
        b"x" * 500_000,
    ):
        redact_bytes(raw)
