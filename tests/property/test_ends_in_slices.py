"""Wherever a stream's bytes are cut, and however its slices arrive, its end is seen as soon as all of them are there.

Batches whose commit fails are read again, in other sizes.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.inbound import Inbound, Source
from headrace.pipeline import Pipeline
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.running import Ran

_CALL = "call-1"


def _lines(exchange: dict[str, Any], points: list[float], *, numbered: bool) -> list[bytes]:
    body = traffic.body_text(exchange)
    at = sorted({round(point * len(body)) for point in points} - {0, len(body)})
    head = traffic.stream_lines(exchange, _CALL, "events", random.Random(0))[0]
    head = {key: value for key, value in head.items() if key not in ("body", "seq")}
    slices = [body[start:end] for start, end in zip([0, *at], [*at, len(body)], strict=True)]
    return [
        json.dumps({**head, **({"seq": seq} if numbered else {}), "body_text": text}).encode()
        for seq, text in enumerate(slices)
    ]


async def _run(lines: list[bytes], sizes: list[tuple[int, bool]]) -> Ran:
    """sizes: of the batches, over and over, and whether the commit of one fails."""
    pipeline, ran, start, turn = Pipeline(MemoryStore()), Ran(), 0, 0
    while start < len(lines):
        size, fails = sizes[turn % len(sizes)]
        batch = lines[start : start + size]
        made = await pipeline.process(
            [Inbound.at(Source("raw", 0, start + place, 1_000_000), line) for place, line in enumerate(batch)]
        )
        turn += 1
        if fails:
            continue
        await pipeline.close(made)
        ran.take(made)
        start += size
    return ran


def _response(lines: list[bytes], sizes: list[tuple[int, bool]]) -> bytes:
    ran = asyncio.run(_run(lines, sizes))
    assert ran.dead_letters == []
    (line,) = ran.content().values()
    return line


def _ends(exchange: dict[str, Any]) -> bool:
    """Whether an event says for certain that the stream has ended; other protocols only make it likely."""
    return bool(asyncio.run(_run(_lines(exchange, [], numbered=True), [(1, False)])).records)


_STREAMS = {
    exchange["id"]: exchange
    for exchange in OWN_EXCHANGES
    if exchange["protocol"] != "gemini.live" and traffic.is_stream(exchange) and _ends(exchange)
}

#: Most cuts near the end: what is to be seen is there.
_POINTS = st.lists(st.one_of(st.floats(0, 1), st.floats(0.9, 1)), max_size=12)
_SIZES = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=6).map(
    lambda sizes: [*sizes, (2, False)]
)


@pytest.mark.parametrize("name", _STREAMS)
@settings(max_examples=40, deadline=None)
@given(points=_POINTS, sizes=_SIZES, data=st.data())
def test_numbered_slices_end_a_stream_in_any_order(
    name: str, points: list[float], sizes: list[tuple[int, bool]], data: st.DataObject
) -> None:
    lines = _lines(_STREAMS[name], points, numbered=True)
    order = data.draw(st.permutations(range(len(lines))))
    assert _response([lines[place] for place in order], sizes) == _response(lines, [(len(lines), False)])


@pytest.mark.parametrize("name", _STREAMS)
@settings(max_examples=40, deadline=None)
@given(points=_POINTS, sizes=_SIZES)
def test_slices_without_numbers_end_a_stream(name: str, points: list[float], sizes: list[tuple[int, bool]]) -> None:
    lines = _lines(_STREAMS[name], points, numbered=False)
    assert _response(lines, sizes) == _response(lines, [(len(lines), False)])


def test_the_protocols_that_say_their_end_are_here() -> None:
    assert {exchange["protocol"] for exchange in _STREAMS.values()} == {
        "openai.chat",
        "openai.responses",
        "anthropic.messages",
        "gemini.interactions",
    }
