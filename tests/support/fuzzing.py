"""One fuzz case: hostile captures of one call, run through the whole pipeline, and what must hold of its outcome."""

from __future__ import annotations

import base64
import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import zstandard

from headrace.canonical.avro import decode_record, encode_dead_letter, encode_record, to_json_line
from headrace.canonical.shape import CanonicalRecord
from headrace.capture.inbound import Source
from headrace.capture.json_form import read_json
from headrace.errors import HeadraceError
from headrace.json_text import loads
from headrace.protocols import codec
from headrace.reassembly.memory import MemoryStore
from tests.support.everything import Seed
from tests.support.mutations import mutate_bytes, mutate_events, mutate_value, slices_of, text_of
from tests.support.running import Ran, run

_HOSTS = {
    "openai.chat": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic.messages": "https://api.anthropic.com/v1/messages",
    "gemini.generate_content": "https://h.example/v1beta/models/m:generateContent",
    "gemini.interactions": "https://h.example/v1beta/interactions",
    "gemini.live": "wss://h.example/ws/BidiGenerateContent",
}


@dataclass(slots=True)
class Case:
    """Messages of one call, and what they were made of.

    is_whole: one body as JSON, not cut: it must come back as it was.
    """

    what: str
    protocol: str
    messages: list[bytes]
    kind: str = ""
    is_whole: bool = False


@dataclass(slots=True)
class Outcome:
    """How a case ended. faults: what must not be; empty is good."""

    label: str
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Fuzzer:
    """Makes cases by number: case n of one seed is always the same."""

    def __init__(self, seeds: Sequence[Seed], seed: int) -> None:
        self._seeds = seeds
        self._seed = seed
        self._streams: dict[str, list[Seed]] = {}
        for each in seeds:
            if each.kind == "stream":
                self._streams.setdefault(each.protocol, []).append(each)
        self._protocols = sorted(self._streams)
        self._donors = [each.value for each in seeds if len(str(each.value)) < 20_000]

    def case(self, number: int) -> Case:
        """The case with this number."""
        rng = random.Random(f"{self._seed}/{number}")
        seed = rng.choice(self._seeds if rng.random() < 0.5 else self._streams[rng.choice(self._protocols)])
        donors = rng.sample(self._donors, min(3, len(self._donors)))
        made = self._stream(rng, seed, donors) if seed.kind == "stream" else self._body(rng, seed, donors)
        if rng.random() < 0.1:
            at = rng.randrange(len(made.messages))
            made.messages[at] = self._broken_envelope(rng, made.messages[at])
            made.what, made.is_whole = f"{made.what}, envelope", False
        return made

    def _body(self, rng: random.Random, seed: Seed, donors: Sequence[Any]) -> Case:
        head = _head(rng, seed, seed.kind)
        text = text_of(mutate_value(rng, seed.value, donors))
        if rng.random() < 0.6:
            return Case("body", seed.protocol, [_line(head, f'"body":{text}')], seed.kind, True)
        broken = mutate_bytes(rng, text.encode("utf-8", "surrogatepass"))
        return Case("body bytes", seed.protocol, [_line(head, _bytes(rng, broken))], seed.kind)

    def _stream(self, rng: random.Random, seed: Seed, donors: Sequence[Any]) -> Case:
        head = _head(rng, seed, "stream")
        events = mutate_events(rng, seed.value, donors) if rng.random() < 0.85 else list(seed.value)
        if seed.protocol == "gemini.live" or rng.random() < 0.5:
            pieces = [self._event(event, live=seed.protocol == "gemini.live") for event in events]
            what = "events"
        else:
            body = self._sse(rng, seed.protocol, events)
            pieces = [_bytes(rng, part) for part in slices_of(rng, body)]
            what = "stream bytes"
        messages = [
            _line({**head, "seq": seq}, piece) if rng.random() < 0.98 else _line(head, piece)
            for seq, piece in enumerate(pieces)
        ]
        ending = rng.choice((None, {"kind": "end", "count": len(messages)}, {"kind": "end", "outcome": "aborted"},
                             {"kind": "error", "message": "reset"}))  # fmt: skip
        if ending:
            messages.append(json.dumps({**head, **ending}).encode())
        if rng.random() < 0.3:
            rng.shuffle(messages)
        if rng.random() < 0.2:
            messages.insert(rng.randint(0, len(messages)), rng.choice(messages)) if messages else None
        return Case(what, seed.protocol, messages or [json.dumps({**head, "kind": "end"}).encode()], "stream")

    @staticmethod
    def _event(event: Any, *, live: bool) -> str:
        if live and isinstance(event, dict) and "frame" in event:
            return f'"direction":{json.dumps(str(event.get("from")))},"body":{text_of(event["frame"])}'
        return f'"body":{text_of(event)}'

    @staticmethod
    def _sse(rng: random.Random, protocol: str, events: Sequence[Any]) -> bytes:
        form = rng.choice(("sse", "sse", "sse", "array", "ndjson"))
        if form == "array":
            body = "[" + ",\r\n".join(text_of(event) for event in events) + "]"
        elif form == "ndjson":
            body = "\n".join(text_of(event) for event in events)
        else:
            named = protocol in ("anthropic.messages", "openai.responses", "gemini.interactions")
            line_end = rng.choice(("\n", "\n", "\r\n", "\r"))
            body = "".join(_sse_event(rng, event, named=named, line_end=line_end) for event in events)
        raw = body.encode("utf-8", "surrogatepass")
        raw = mutate_bytes(rng, raw) if rng.random() < 0.5 else raw
        packed = rng.random()
        if packed < 0.05:
            return mutate_bytes(rng, gzip.compress(raw))
        return zstandard.compress(raw) if packed < 0.08 else raw

    @staticmethod
    def _broken_envelope(rng: random.Random, message: bytes) -> bytes:
        if rng.random() < 0.5:
            return mutate_bytes(rng, message)
        try:
            value = json.loads(message)
        except (ValueError, RecursionError):
            return mutate_bytes(rng, message)
        body = {name: value.pop(name) for name in ("body", "body_text", "body_base64") if name in value}
        changed = mutate_value(rng, value)
        return text_of({**changed, **body} if isinstance(changed, dict) else changed).encode("utf-8", "surrogatepass")


def _head(rng: random.Random, seed: Seed, kind: str) -> dict[str, Any]:
    head: dict[str, Any] = {"call_id": "c", "kind": kind}
    if rng.random() < 0.8:
        head["protocol"] = seed.protocol
    if rng.random() < 0.3:
        status = rng.choice((200, 200, 200, 204, 400, 404, 429, 500, 529))
        head["http"] = {"url": _HOSTS[seed.protocol], "status": status}
    if rng.random() < 0.5:
        head["captured_at"] = "2026-11-30T10:00:00Z"
    return head


def _line(head: dict[str, Any], rest: str) -> bytes:
    return (json.dumps(head)[:-1] + "," + rest + "}").encode("utf-8", "surrogatepass")


def _bytes(rng: random.Random, part: bytes) -> str:
    if rng.random() < 0.3:
        return f'"body_text":{json.dumps(part.decode("utf-8", "replace"))}'
    return f'"body_base64":"{base64.b64encode(part).decode()}"'


def _sse_event(rng: random.Random, event: Any, *, named: bool, line_end: str) -> str:
    if event == "[DONE]":
        return f"data: [DONE]{line_end}{line_end}"
    kind = (event.get("type") or event.get("event_type")) if isinstance(event, dict) else None
    name = f"event: {kind}{line_end}" if named and isinstance(kind, str) and len(kind) < 99 else ""
    comment = f": keep-alive{line_end}" if rng.random() < 0.05 else ""
    return f"{comment}{name}data: {text_of(event)}{line_end}{line_end}"


async def judge(case: Case, batch: int = 500) -> Outcome:
    """Run a case and say how it ended."""
    start = time.perf_counter()
    try:
        ran = await run(MemoryStore(), case.messages, batch=batch)
        faults = _faults(case, ran)
        label = _label(ran)
    except Exception as fault:
        faults, label = [f"crash: {type(fault).__name__}: {str(fault)[:200]}"], "crash"
    return Outcome(label, time.perf_counter() - start, faults)


def _label(ran: Ran) -> str:
    codes = sorted({letter["code"] for letter in ran.dead_letters})
    if ran.records:
        return "record and dead letter" if codes else "record"
    return f"dead letter: {codes[0]}" if codes else "duplicate" if ran.duplicates else "nothing"


def _faults(case: Case, ran: Ran) -> list[str]:
    faults = []
    for letter in ran.dead_letters:
        encode_dead_letter(letter)
        if letter["code"] == "internal_error":
            faults.append(f"internal_error: {letter['message']} ({letter.get('cause')})")
    for record in ran.records:
        faults += _record_faults(record)
    if not ran.records and not ran.dead_letters and not ran.duplicates:
        faults.append("vanished: no record, no dead letter, no duplicate")
    if case.is_whole and len(ran.records) == 1 and not ran.dead_letters:
        faults += _round_trip_faults(case, ran.records[0])
    return faults


def _record_faults(record: CanonicalRecord) -> list[str]:
    try:
        body = encode_record(record)
        to_json_line(record)
        again = encode_record(decode_record(body))
    except HeadraceError as error:
        return [f"not Avro: {error}"[:300]]
    return [] if again == body else ["Avro gives another record back"]


def _round_trip_faults(case: Case, record: CanonicalRecord) -> list[str]:
    """A whole body comes back as it was, less credentials; http errors and their like are no messages."""
    if record.get("error", {}).get("type") == "http_error":
        return []
    body = loads(read_json(case.messages[0], Source("raw", 0, 0, 0)).payload)
    if type(body) is not dict:
        return []
    entry = codec(record["protocol"])
    write = entry.write_request if case.kind == "request" else entry.write_response
    written = write(decode_record(encode_record(record)))
    return [] if same(written, body) else [f"not the body that came: {_difference(written, body, '$')}"[:400]]


def same(left: Any, right: Any) -> bool:
    """Equal as JSON values: true is not 1."""
    if type(left) is not type(right):
        return not isinstance(left, bool | str) and not isinstance(right, bool | str) and left == right
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _difference(left: Any, right: Any, path: str) -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            if key not in left or key not in right or not same(left[key], right[key]):
                return _difference(left.get(key, "(absent)"), right.get(key, "(absent)"), f"{path}.{key}")
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for at, (one, other) in enumerate(zip(left, right, strict=True)):
            if not same(one, other):
                return _difference(one, other, f"{path}[{at}]")
    return f"{path}: wrote {str(left)[:80]!r}, came {str(right)[:80]!r}"


def tally(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Cases by how they ended."""
    return Counter(outcome.label for outcome in outcomes)
