"""However a stream's pieces are cut, ordered, repeated, interleaved and batched, the records are the same bytes."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.running import run

_STREAMS = [exchange for exchange in OWN_EXCHANGES if exchange["protocol"] != "gemini.live"]


def _content(lines: list[bytes], batch: int) -> dict[str, bytes]:
    return asyncio.run(run(MemoryStore(), lines, batch=batch)).content()


_WHOLE = _content(
    [
        line
        for number, exchange in enumerate(_STREAMS)
        for line in traffic.encode(traffic.lines_of(exchange, f"call-{number}"))
    ],
    batch=1_000,
)


def _cut_bytes(body: bytes, points: list[float]) -> list[bytes]:
    at = sorted({round(point * len(body)) for point in points} - {0, len(body)})
    return [body[start:end] for start, end in zip([0, *at], [*at, len(body)], strict=True)]


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[bytes], int]:
    """All calls, each cut at any bytes or into events, then all messages in any order, some twice."""
    lines: list[dict[str, Any]] = []
    for number, exchange in enumerate(_STREAMS):
        call = f"call-{number}"
        lines.append(traffic.request_line(exchange, call))
        pieces = traffic.stream_lines(exchange, call, "events", random.Random(0))
        if draw(st.booleans()):
            points = draw(st.lists(st.floats(0, 1), max_size=6))
            head = {key: value for key, value in pieces[0].items() if key != "body"}
            slices = _cut_bytes(traffic.body_text(exchange).encode(), points)
            pieces = [{**head, "seq": seq, **_bytes(part)} for seq, part in enumerate(slices)]
        lines += pieces
    repeats = draw(st.lists(st.sampled_from(range(len(lines))), max_size=8))
    order = draw(st.permutations([*range(len(lines)), *repeats]))
    return [json.dumps(lines[place]).encode() for place in order], draw(st.integers(1, 60))


def _bytes(part: bytes) -> dict[str, str]:
    return {"body_base64": base64.b64encode(part).decode()}


@settings(max_examples=60, deadline=None)
@given(arrivals())
def test_any_arrival_gives_the_same_records(arrival: tuple[list[bytes], int]) -> None:
    lines, batch = arrival
    assert _content(lines, batch) == _WHOLE


def test_there_is_a_record_for_every_request_and_response() -> None:
    assert len(_WHOLE) == 2 * len(_STREAMS)
    assert all(json.loads(line).get("status", "completed") != "incomplete" for line in _WHOLE.values())
