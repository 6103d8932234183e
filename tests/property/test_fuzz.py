"""A share of `bench.fuzz`: hostile traffic ends as records or dead letters with codes, and costs what it weighs."""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import json
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import brotli
import pytest
import zstandard

from headrace.capture.compression import DEFAULT_MAX_RATIO
from headrace.reassembly.memory import MemoryStore
from tests.support.everything import own_seeds
from tests.support.fuzzing import Fuzzer, judge
from tests.support.mutations import RAW_VALUES, text_of
from tests.support.running import Ran, run
from tests.support.work import is_linear

_CASES = 1_500


async def test_hostile_traffic_ends_as_records_or_dead_letters() -> None:
    fuzzer = Fuzzer(own_seeds(), seed=20_261_130)
    totals: Counter[str] = Counter()
    for number in range(_CASES):
        case = fuzzer.case(number)
        outcome = await judge(case, batch=1 + number % 7 * 50)
        assert not outcome.faults, (number, case.what, outcome.faults)
        totals[outcome.label] += 1
    print(dict(totals.most_common()))
    # The cases are hostile, and still most of them hold something to read.
    assert totals["record"] > _CASES // 3
    assert len(totals) > 5


async def test_memory_does_not_grow_with_cases() -> None:
    fuzzer = Fuzzer(own_seeds(), seed=2)

    async def some() -> None:
        for number in range(60):
            await judge(fuzzer.case(number))

    await some()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await some()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000


def _capture(kind: str, **payload: Any) -> bytes:
    return json.dumps({"call_id": "bomb", "kind": kind, "protocol": "openai.chat", **payload}).encode()


def _raw(kind: str, body: str) -> bytes:
    return b'{"call_id":"bomb","kind":"' + kind.encode() + b'","protocol":"openai.chat","body":' + body.encode() + b"}"


def _packed(data: bytes) -> dict[str, str]:
    return {"body_base64": base64.b64encode(data).decode()}


def _nested(depth: int) -> str:
    return '{"messages":' + "[" * depth + "]" * depth + "}"


#: What one step of zstd input may unpack to, whatever the limit is.
_FREE = 32 << 20
_ZEROS = b"\0" * (64 << 20)
_BOMBS: dict[str, tuple[bytes, set[str]]] = {
    "lists in lists": (_raw("request", _nested(100_000)), {"nesting_too_deep", "bad_capture"}),
    "objects in objects": (
        _raw("request", '{"a":' * 100_000 + "1" + "}" * 100_000),
        {"nesting_too_deep", "bad_capture"},
    ),
    "open lists": (_raw("request", "[" * 200_000), {"nesting_too_deep", "bad_capture"}),
    "deep event": (_raw("stream", _nested(5_000)), {"nesting_too_deep", "bad_capture", "bad_event"}),
    "deep text": (_capture("response", body_text="[" * 100_000), {"bad_body", "nesting_too_deep"}),
    "deep event of a body": (
        _capture("response", body_text="data: " + "[" * 50_000 + "]" * 50_000 + "\n\n"),
        {"bad_event", "bad_body", "nesting_too_deep"},
    ),
    "gzip bomb": (_capture("response", **_packed(gzip.compress(_ZEROS, 9))), {"body_too_large", "bad_body"}),
    "deflate bomb": (_capture("response", **_packed(zlib.compress(_ZEROS, 9))), {"body_too_large", "bad_body"}),
    "zstd bomb": (_capture("response", **_packed(zstandard.compress(_ZEROS))), {"body_too_large", "bad_body"}),
    "brotli bomb": (
        _capture(
            "response", http={"headers": {"content-encoding": "br"}}, **_packed(brotli.compress(_ZEROS, quality=1))
        ),
        {"body_too_large", "bad_body"},
    ),
    "gzip in gzip": (
        _capture("response", **_packed(gzip.compress(gzip.compress(_ZEROS, 9), 9))),
        {"body_too_large", "bad_body"},
    ),
}


def _run(message: bytes) -> Ran:
    return asyncio.run(run(MemoryStore(), [message]))


@pytest.mark.parametrize("name", _BOMBS)
def test_bombs_are_refused_with_a_code(name: str) -> None:
    message, codes = _BOMBS[name]
    tracemalloc.start()
    ran = _run(message)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not ran.records
    assert {letter["code"] for letter in ran.dead_letters} <= codes
    assert ran.dead_letters
    # Unpacked as far as any body may be, once; never whole.
    assert peak < 1.3 * max(_FREE, DEFAULT_MAX_RATIO * len(message) * 3 // 4) + len(message) * 20


def test_a_huge_text_is_content() -> None:
    text = "x\u00e9" * 1_600_000
    ran = _run(_raw("request", json.dumps({"messages": [{"role": "user", "content": text}]})))
    assert [record["messages"][0]["parts"][0]["text"] for record in ran.records] == [text]


@pytest.mark.parametrize("raw", RAW_VALUES, ids=lambda raw: raw[:12])
def test_values_that_parsers_stumble_over_are_kept_or_refused_with_a_code(raw: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": "~raw~" + raw}
    ran = _run(_raw("request", text_of(body)))
    codes = [letter["code"] for letter in ran.dead_letters]
    assert len(ran.records) + len(codes) == 1
    assert set(codes) <= {"bad_json", "bad_capture", "nesting_too_deep"}


def test_many_tiny_events_and_many_calls_are_linear() -> None:
    def work(count: int) -> Callable[[], object]:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]}
        lines = [_capture("stream", seq=seq, body=chunk) for seq in range(count)]

        def fold() -> None:
            ran = asyncio.run(run(MemoryStore(), lines))
            assert ran.records[0]["messages"][0]["parts"][0]["text"] == "x" * count

        return fold

    assert is_linear(work)
