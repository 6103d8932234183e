"""Promise 6 over real traffic: wire JSON -> record -> Avro -> record -> the same wire JSON; streams after folding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.reading import Reading
from headrace.protocols import PROTOCOLS, codec
from headrace.protocols.entry_points import Folded
from tests.conformance.test_pipeline_corpus import NOT_MESSAGES, exchanges_of
from tests.support import traffic


def _requests(exchange: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    if exchange["request"] is not None:
        yield "request", exchange["request"], None


def _responses(exchange: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    if not traffic.is_stream(exchange):
        yield "response", exchange["response"], None
        return
    events = exchange.get("frames") or traffic.events_of(exchange)
    folded: list[Folded] = codec(exchange["protocol"]).fold(events)
    for one in folded:
        yield one.record_type, one.body, one.layout


def _written_back(protocol: str, kind: str, body: dict[str, Any], layout: Any) -> dict[str, Any]:
    """The body after the whole way there and back."""
    entry = codec(protocol)
    reading = Reading("call", kind)
    shape = entry.read_request(body, reading) if kind == "request" else entry.read_response(body, reading, layout)
    record = decode_record(encode_record(shape))
    return entry.write_request(record) if kind == "request" else entry.write_response(record)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_body_comes_back_equal(protocol: str) -> None:
    bodies = 0
    unequal: list[str] = []
    for exchange in exchanges_of(protocol):
        if any(exchange["id"].endswith(name) for name in NOT_MESSAGES):
            continue
        for kind, body, layout in (*_requests(exchange), *_responses(exchange)):
            bodies += 1
            if _written_back(protocol, kind, body, layout) != body:
                unequal.append(f"{exchange['id']} {kind}")
    print(protocol, bodies, "bodies, not equal:", len(unequal), unequal[:5])
    assert bodies
    assert not unequal
