"""The demo's captures: exchanges written for it (``exchanges/*.yaml``), cut and damaged the way traffic is."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pybase64
import yaml

from headrace.json_text import dumps
from headrace.protocols import codec

#: 2026-11-30T10:00:00Z. A fixed time, so that the demo's records are the same on every run.
_START = 1_796_032_800_000_000
_MILLISECOND = 1_000
#: Between the pieces of one stream.
_PACE = 60 * _MILLISECOND

#: What no worker can read: a gateway wrote half a line.
POISON = b'{"call_id": "poison-1", "kind": "request", "body": {"model": "gpt-5.6", "messa'


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the demo sends, and what has to come of it.

    lines: captures as JSON, in the order they are sent, `POISON` among them. stories: (call id, what is odd about
    it). secrets: credentials in the captures, none of which may come out. calls: each gives a request record
    and a response record. poison: messages that are no capture.
    """

    lines: tuple[bytes, ...]
    stories: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]
    calls: int
    poison: int = 1


def traffic() -> Traffic:
    """All of it; the same on every run."""
    exchanges = [yaml.safe_load(text) for text in _texts()]
    captures = sorted(
        (capture for exchange in exchanges for capture in _captures(exchange)), key=lambda one: one["captured_at"]
    )
    lines = [dumps(capture).encode() for capture in captures]
    lines.insert(len(lines) // 2, POISON)
    return Traffic(
        lines=tuple(lines),
        stories=tuple((exchange["call"], exchange["about"]) for exchange in exchanges),
        secrets=tuple(secret for exchange in exchanges for secret in _secrets(exchange)),
        calls=len(exchanges),
    )


def _texts() -> Iterator[str]:
    folder = files(__package__) / "exchanges"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            yield file.read_text(encoding="utf-8")


def _secrets(exchange: dict[str, Any]) -> Iterator[str]:
    for name, value in exchange.get("request_headers", {}).items():
        if name in ("authorization", "x-api-key"):
            yield value.removeprefix("Bearer ")
    if "key=" in exchange["url"]:
        yield exchange["url"].partition("key=")[2]


def _captures(exchange: dict[str, Any]) -> Iterator[dict[str, Any]]:
    start = _START + exchange["start"] * _MILLISECOND
    head = {"call_id": exchange["call"], "protocol": exchange["protocol"]}
    if "task" in exchange:
        head["task_id"] = exchange["task"]
    if "request" in exchange:
        yield {
            **head,
            "kind": "request",
            "captured_at": start,
            "http": {"method": "POST", "url": exchange["url"], "headers": exchange.get("request_headers", {})},
            "body": exchange["request"],
        }
    for place, capture in enumerate(_damaged(_answers(exchange), exchange.get("faults", []))):
        yield {**head, "captured_at": start + (5 + place) * _PACE, **capture}


def _answers(exchange: dict[str, Any]) -> list[dict[str, Any]]:
    """The captures of a call's answer, in order and whole."""
    http = {"url": exchange["url"], "status": exchange.get("status", 101)}
    if "response_headers" in exchange:
        http["headers"] = exchange["response_headers"]
    if "response" in exchange:
        return [{"kind": "response", "http": http, "body": exchange["response"]}]
    if "frames" in exchange:
        pieces = [{"direction": one["from"], "body": one["frame"]} for one in exchange["frames"]]
        return [{"kind": "stream", "seq": seq, **piece} for seq, piece in enumerate(pieces)]
    events, cut = exchange["events"], exchange["cut"]
    text = codec(exchange["protocol"]).sse(events)
    if cut == "gzip":
        packed = gzip.compress(text.encode(), mtime=0)
        return [{"kind": "response", "http": http, "body_base64": pybase64.b64encode_as_string(packed)}]
    if cut == "events":
        pieces = [{"body": event} for event in events]
    elif cut == "text":
        pieces = [{"body_text": f"{event}\n\n"} for event in text.split("\n\n") if event]
    else:
        pieces = [{"body_base64": pybase64.b64encode_as_string(part)} for part in _slices(text.encode())]
    return [{"kind": "stream", "http": http, "seq": seq, **piece} for seq, piece in enumerate(pieces)]


def _slices(body: bytes) -> list[bytes]:
    """The bytes cut every 190, and once in the middle of a character of two bytes."""
    in_character = body.index("ü".encode()) + 1
    cuts = sorted({0, in_character, *range(190, len(body), 190), len(body)})
    return [body[begin:end] for begin, end in pairwise(cuts)]


def _damaged(captures: list[dict[str, Any]], faults: list[str]) -> list[dict[str, Any]]:
    """The captures as they reach the topic."""
    if "repeated_piece" in faults:
        captures = [*captures, captures[len(captures) // 2]]
    if "duplicate" in faults:
        captures = [*captures, captures[-1]]
    if "shuffled" in faults:
        random.Random(7).shuffle(captures)
    return captures
