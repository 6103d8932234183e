"""Real traffic through the whole pipeline: everything ends somewhere, and how a stream was cut does not matter."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from headrace.protocols import PROTOCOLS, codec
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.running import run
from tests.support.shared import corpus

#: Exchanges whose 200 body is no message of the protocol, by the end of their id: (what it is).
NOT_MESSAGES = {
    "test_openai/test_invalid_response#0": "an echo of a test server",
    "reranking/togetherai-reranking.1.json": "a reranking answer",
}


def exchanges_of(protocol: str) -> list[dict[str, Any]]:
    """Our own exchanges, and the real ones where they lie beside the checkout."""
    own = [exchange for exchange in OWN_EXCHANGES if exchange["protocol"] == protocol]
    return own + list(corpus(protocol))


def lines_of_all(exchanges: list[dict[str, Any]], cut: traffic.Cut, rng: random.Random) -> list[bytes]:
    """Captures of all exchanges, one exchange after another."""
    lines: list[bytes] = []
    for number, exchange in enumerate(exchanges):
        lines += traffic.encode(traffic.lines_of(exchange, f"call-{number}", cut, rng))
    return lines


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_exchange_becomes_records_or_a_dead_letter_with_a_code(protocol: str) -> None:
    exchanges = exchanges_of(protocol)
    ran = await run(MemoryStore(), lines_of_all(exchanges, "events", random.Random(1)))
    ended = {record["call_id"] for record in ran.records if record["record_type"] == "response"}
    ended |= {letter["call_id"] for letter in ran.dead_letters if "call_id" in letter}
    assert ended == {f"call-{number}" for number in range(len(exchanges))}
    for number, exchange in enumerate(exchanges):
        letters = [letter for letter in ran.dead_letters if letter.get("call_id") == f"call-{number}"]
        explained = any(exchange["id"].endswith(name) for name in NOT_MESSAGES)
        assert not letters or explained, (exchange["id"], letters)
    errors = {f"call-{number}" for number, exchange in enumerate(exchanges) if exchange["status"] >= 400}
    failed = {record["call_id"] for record in ran.records if "error" in record}
    assert errors <= failed
    print(protocol, len(exchanges), "exchanges:", dict(Counter(record["record_type"] for record in ran.records)))
    print("  dead letters:", dict(Counter(letter["code"] for letter in ran.dead_letters)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_cuts_order_duplicates_and_interleaving_do_not_matter(protocol: str) -> None:
    exchanges = exchanges_of(protocol)
    whole = (await run(MemoryStore(), lines_of_all(exchanges, "events", random.Random(1)))).content()
    for seed, cut in enumerate(traffic.CUTS if protocol != "gemini.live" else ("events",)):
        rng = random.Random(seed)
        lines = lines_of_all(exchanges, cut, rng)
        lines += rng.sample(lines, len(lines) // 5)
        rng.shuffle(lines)
        mixed = (await run(MemoryStore(), lines, batch=97)).content()
        assert mixed == whole, cut


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_the_pipeline_adds_is_not_written(protocol: str) -> None:
    exchanges = exchanges_of(protocol)
    entry = codec(protocol)
    ran = await run(MemoryStore(), lines_of_all(exchanges, "events", random.Random(1)))
    found = {(record["call_id"], record["record_type"], record["ordinal"]): record for record in ran.records}
    compared = 0
    for number, exchange in enumerate(exchanges):
        call = f"call-{number}"
        bodies = [("request", exchange["request"])] if exchange["request"] is not None else []
        if traffic.is_stream(exchange):
            folded = entry.fold(exchange.get("frames") or traffic.events_of(exchange))
            bodies += [(one.record_type, one.body) for one in folded]
        else:
            bodies.append(("response", exchange["response"]))
        ordinals: Counter[str] = Counter()
        for kind, body in bodies:
            record = found.get((call, kind, ordinals[kind]))
            ordinals[kind] += 1
            if record is not None:
                write = entry.write_request if kind == "request" else entry.write_response
                assert write(record) == body, (exchange["id"], kind)
                compared += 1
    assert compared == len(ran.records)
