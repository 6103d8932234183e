"""Exchanges as capture lines, the way gateways write them: whole bodies, events, SSE text, or bytes cut anywhere."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from typing import Any, Literal

from headrace.capture.sse import parse_events
from headrace.protocols import codec

Cut = Literal["events", "text", "bytes"]
CUTS: tuple[Cut, ...] = ("events", "text", "bytes")

_START = 1_790_000_000_000_000


def request_line(exchange: dict[str, Any], call_id: str) -> dict[str, Any]:
    """The request capture of an exchange."""
    return {
        **_head(exchange, call_id, "request"),
        "http": {"method": "POST", "url": exchange["url"]},
        "body": exchange["request"],
    }


def response_line(exchange: dict[str, Any], call_id: str) -> dict[str, Any]:
    """The whole-body response capture of an exchange that was no stream."""
    return {**_head(exchange, call_id, "response"), "http": _http(exchange), "body": exchange["response"]}


def stream_lines(exchange: dict[str, Any], call_id: str, cut: Cut, rng: random.Random) -> list[dict[str, Any]]:
    """The numbered stream captures of an exchange, cut as asked."""
    head = {**_head(exchange, call_id, "stream"), "http": _http(exchange)}
    if exchange.get("frames") is not None:
        pieces = [{"direction": frame["from"], "body": frame["frame"]} for frame in exchange["frames"]]
    elif cut == "events":
        pieces = [{"body": event} for event in events_of(exchange)]
    elif cut == "text":
        pieces = [{"body_text": text} for text in _texts(body_text(exchange), rng)]
    else:
        pieces = [{"body_base64": base64.b64encode(part).decode()} for part in _slices(body_text(exchange), rng)]
    return [{**head, "seq": seq, **piece} for seq, piece in enumerate(pieces)]


def is_stream(exchange: dict[str, Any]) -> bool:
    """Whether the exchange's response came as a stream."""
    return any(exchange.get(form) is not None for form in ("sse", "ndjson_chunks", "frames"))


def lines_of(
    exchange: dict[str, Any], call_id: str, cut: Cut = "events", rng: random.Random | None = None
) -> list[dict[str, Any]]:
    """All captures of an exchange, in order."""
    lines = [request_line(exchange, call_id)] if exchange["request"] is not None else []
    if is_stream(exchange):
        return lines + stream_lines(exchange, call_id, cut, rng or random.Random(0))
    return [*lines, response_line(exchange, call_id)]


def events_of(exchange: dict[str, Any]) -> list[Any]:
    """The stream's events as JSON values; text for what is no JSON."""
    if exchange.get("ndjson_chunks") is not None:
        return list(exchange["ndjson_chunks"])
    return [_value(event.data) for event in parse_events(exchange["sse"].encode()) if event.data]


def body_text(exchange: dict[str, Any]) -> str:
    """The stream as the provider's SSE text."""
    if exchange.get("sse") is not None:
        return str(exchange["sse"])
    return codec(exchange["protocol"]).sse(exchange["ndjson_chunks"])


def encode(lines: Sequence[dict[str, Any]]) -> list[bytes]:
    """Capture lines as bytes."""
    return [json.dumps(line).encode() for line in lines]


def _head(exchange: dict[str, Any], call_id: str, kind: str) -> dict[str, Any]:
    return {"call_id": call_id, "kind": kind, "protocol": exchange["protocol"], "captured_at": _START}


def _http(exchange: dict[str, Any]) -> dict[str, Any]:
    return {"url": exchange["url"], "status": exchange["status"]}


def _value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()


def _texts(text: str, rng: random.Random) -> list[str]:
    """SSE text cut between lines: a few lines a piece."""
    lines = text.splitlines(keepends=True)
    pieces = []
    while lines:
        size = rng.randint(1, 6)
        pieces.append("".join(lines[:size]))
        lines = lines[size:]
    return pieces


def _slices(text: str, rng: random.Random) -> list[bytes]:
    """The body's bytes cut anywhere."""
    body = text.encode()
    largest = max(2, len(body) // 12)
    slices = []
    while body:
        size = rng.randint(1, largest)
        slices.append(body[:size])
        body = body[size:]
    return slices
