"""However a server writes its event stream and however reads cut it, the records are those of the bare events."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import records
from headrace.canonical.avro import to_json_line
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.running import Ran, run

_STREAMS = [exchange for exchange in OWN_EXCHANGES if exchange.get("frames") is None]
_NAMED = ("anthropic.messages", "openai.responses", "gemini.interactions")
_BESIDE = (": keep-alive", ": OPENROUTER PROCESSING", ":", "id: 7", "retry: 3000", "id", "event: ")


def _run(exchange: dict[str, Any], payloads: list[dict[str, Any]]) -> Ran:
    head = {"call_id": "c", "protocol": exchange["protocol"], "kind": "stream", "captured_at": 1}
    lines = [{**head, "seq": seq, **payload} for seq, payload in enumerate(payloads)]
    return asyncio.run(run(MemoryStore(), traffic.encode(lines), batch=3))


def _content(ran: Ran) -> list[bytes]:
    return [to_json_line(records.content(record)) for record in ran.records]


_EXPECTED = {
    exchange["id"]: _content(_run(exchange, [{"body": event} for event in traffic.events_of(exchange)]))
    for exchange in _STREAMS
}


@st.composite
def bodies(draw: st.DrawFn) -> tuple[dict[str, Any], list[bytes]]:
    """(exchange, its stream in slices)"""
    exchange = draw(st.sampled_from(_STREAMS))
    ends = st.sampled_from(draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])))
    space = draw(st.sampled_from(["", " "]))
    indent = draw(st.sampled_from([None, None, None, 1]))
    lines: list[str] = []
    for event in traffic.events_of(exchange):
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(_BESIDE)))
            if draw(st.booleans()):
                lines.append("")
        kind = event.get("type", event.get("event_type")) if isinstance(event, dict) else None
        if kind and exchange["protocol"] in _NAMED and draw(st.booleans()):
            lines.append(f"event:{space}{kind}")
        text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False, indent=indent)
        lines += [f"data:{space}{line}" for line in text.split("\n")]
        lines.append("")
    if lines[-1] == "" and draw(st.booleans()):
        del lines[-1]
    text = "".join(line + draw(ends) for line in lines)
    body = (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()
    cuts = sorted(draw(st.sets(st.integers(1, len(body) - 1), max_size=7)))
    return exchange, [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


@settings(max_examples=150, deadline=None)
@given(bodies())
def test_every_spelling_of_an_event_stream_gives_the_same_records(body: tuple[dict[str, Any], list[bytes]]) -> None:
    exchange, slices = body
    ran = _run(exchange, [{"body_base64": base64.b64encode(part).decode()} for part in slices])
    assert not ran.dead_letters
    assert _content(ran) == _EXPECTED[exchange["id"]]


def test_the_bare_events_give_one_complete_record_each() -> None:
    statuses = {json.loads(line)["status"] for lines in _EXPECTED.values() for line in lines}
    assert statuses <= {"completed", "failed"}
    assert all(len(lines) == 1 for lines in _EXPECTED.values())
