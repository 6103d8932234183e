"""No credential reaches a record or a dead letter, however its body was brought or whoever quotes it."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.capture.redaction import redact_text
from headrace.offline.inputs import Reader, open_inputs
from headrace.offline.outputs import open_output
from headrace.offline.run import run

SECRET = "s3cr3tvalue0123"
KEY = f"sk-{SECRET}"
REQUEST = {
    "model": "m",
    "max_tokens": 1,
    "messages": [],
    "mcp_servers": [{"type": "url", "name": "n", "url": "https://example.org", "authorization_token": SECRET}],
}
TEXT = json.dumps(REQUEST)
TOOLS = [{"type": "mcp", "server_label": "s", "authorization": SECRET}]
LAST = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [], "tools": TOOLS}}
STREAM = f"data: {json.dumps(LAST)}\n\n"


def asked(**body: Any) -> Any:
    return [{"kind": "request", "protocol": "anthropic.messages", **body}]


def answered(*, kind: str = "response", protocol: str = "openai.responses", **body: Any) -> Any:
    return [{"kind": kind, "protocol": protocol, **body}]


def failed(error: Any, protocol: str = "openai.chat") -> Any:
    return answered(protocol=protocol, body=error, http={"status": 401})


def chat(**fields: Any) -> Any:
    return [{"kind": "request", "protocol": "openai.chat", "body": {"model": "m", "messages": [], **fields}}]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


CAPTURES: dict[str, Any] = {
    "a compressed request": asked(body_base64=encoded(gzip.compress(TEXT.encode()))),
    "a request as an escaped string": asked(body=TEXT),
    "a request escaped twice": asked(body=json.dumps(TEXT)),
    "a request behind a byte order mark": asked(body_text="\ufeff" + TEXT),
    "a compressed event stream": answered(body_base64=encoded(gzip.compress(STREAM.encode()))),
    "an event on several lines": answered(body_text=STREAM.replace(', "response"', '\ndata: , "response"')),
    "JSON lines": answered(body_text=f"{json.dumps(LAST)}\n" * 2),
    "slices of a stream": [
        *answered(kind="stream", seq=0, body_text=STREAM[:60]),
        *answered(kind="stream", seq=1, body_text=STREAM[60:]),
    ],
    "a key that an error quotes": failed({"error": {"message": f"Received={KEY}, expected", "code": "401"}}),
    "a key in an error's details": failed({"error": {"message": "no", "inner": {"raw": f"x {KEY}"}}}),
    "a key in an error event": answered(kind="stream", protocol="openai.chat", seq=0, body={"error": {"message": KEY}}),
    "a key in Gemini's error": failed(
        [{"error": {"code": 400, "message": f"bad AIza{SECRET}"}}], "gemini.generate_content"
    ),
    "a key in an error page": answered(protocol="openai.chat", body_text=f"<p>{KEY}</p>", http={"status": 401}),
    "a token in an error page": answered(
        protocol="openai.chat", body_text=f"not Bearer {SECRET}", http={"status": 500}
    ),
    "what a client says of its request": answered(
        kind="error", protocol="openai.chat", message=f"POST https://example.org/v1?key={SECRET} x-api-key: {SECRET}"
    ),
    "a gateway's body within the body": chat(extra_body={"api_key": SECRET}),
    "a gateway's parameters": chat(litellm_params={"aws_session_token": SECRET, "vertex_credentials": SECRET}),
    "a gateway's own request": chat(proxy_server_request={"headers": {"authorization": SECRET}}),
    "headers in the metadata": chat(metadata={"headers": {"authorization": SECRET}}),
    "a webhook": [
        {
            "kind": "request",
            "protocol": "gemini.interactions",
            "body": {"model": "m", "input": "hi", "webhook_config": {"url": f"https://example.org/?token={SECRET}"}},
        }
    ],
}


@pytest.mark.parametrize("name", CAPTURES)
def test_no_secret_gets_out(name: str, tmp_path: Path) -> None:
    lines = [json.dumps({"call_id": "c", **capture}) for capture in CAPTURES[name]]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    records, letters = tmp_path / "out.jsonl", tmp_path / "letters.jsonl"
    with (
        open_output(str(records), "jsonl", "canonical_record") as out,
        open_output(str(letters), "jsonl", "dead_letter") as dead,
    ):
        reader = Reader(open_inputs([str(tmp_path / "in.jsonl")]))
        run(
            reader, out, dead, format_name="jsonl", mapping=None, workers=1, memory_bytes=1 << 20, progress=lambda: None
        )
    made = records.read_text()
    assert made and SECRET not in made and "[redacted]" in made
    assert not letters.exists() or not letters.read_text()


def test_an_error_that_quotes_no_secret_keeps_its_words() -> None:
    message = "max_token: 10 is too large; see https://example.org/errors?code=invalid&x=1 (api_key is required)"
    assert redact_text(message) == message
