"""The measure of the escape hatch: what counts as a leaf, and who carries it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.capture.inbound import Source
from headrace.capture.json_form import read_json
from headrace.coverage import Coverage, count_leaves, measure, of_captures, of_records
from headrace.demo.traffic import POISON, traffic
from headrace.json_text import dumps
from headrace.protocols import PROTOCOLS, codec
from tests.support.shared import corpus
from tests.support.traffic import lines_of

CHAT = codec("openai.chat")


@pytest.mark.parametrize(
    ("value", "count"), [(1, 1), (None, 1), ({}, 1), ([], 1), ({"a": [1, {}, {"b": None}], "c": "x"}, 4), ([[[]]], 1)]
)
def test_leaves_are_scalars_nulls_and_empty_containers(value: Any, count: int) -> None:
    assert count_leaves(value) == count


def covered(body: dict[str, Any]) -> Coverage:
    return measure(body, CHAT.read_request(body, Reading("c", "request")), CHAT.usage_paths)


def test_every_leaf_has_one_carrier() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "seed": None,
        "response_format": {"type": "json_object"},
        "a_new_setting": {"deep": [1, 2], "flag": True},
    }
    found = covered(body)
    assert found == Coverage(leaves=8, named=3, json=1, nulls=1, extras=3, raw=0)
    assert found.share == pytest.approx(5 / 8)


def test_unknown_types_count_as_raw() -> None:
    part = {"type": "hologram", "depth": 3, "frames": []}
    found = covered({"model": "m", "messages": [{"role": "user", "content": [part]}]})
    assert (found.leaves, found.raw) == (5, 3)


def test_usage_counts_by_the_paths_that_named_fields_carry() -> None:
    record: Any = {"usage": {"raw": dumps({"in": 1, "details": {"a": 2, "b": [3, 4]}, "new": 5})}}
    body = {"usage": {"in": 1, "details": {"a": 2, "b": [3, 4]}, "new": 5}}
    found = measure(body, record, frozenset({"in", "details.b"}))
    assert (found.leaves, found.raw, found.named) == (5, 2, 3)


def test_an_echoed_body_is_no_coverage() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert measure(body, {"extras": dumps(body)}, frozenset()).share == 0


def test_captures_in_any_cut_and_order_give_what_their_records_give() -> None:
    captures = [
        read_json(line, Source("file", 0, number, 0)) for number, line in enumerate(traffic().lines) if line != POISON
    ]
    found, unread = of_captures(captures)
    assert unread == 0
    assert set(found) == set(PROTOCOLS)
    reversed_found, _ = of_captures(captures[::-1])
    assert reversed_found == found
    for protocol, one in found.items():
        assert one.leaves == one.named + one.json + one.nulls + one.extras + one.raw, protocol
        assert one.share >= 0.97, protocol


def test_records_alone_are_measured_on_the_bodies_they_write() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "a_new_setting": 1}
    reading = Reading("c", "request")
    record = CHAT.read_request(body, reading)
    record["protocol"], record["record_type"] = "openai.chat", "request"
    assert of_records([record]) == {"openai.chat": covered(body)}


def test_bodies_that_cannot_be_read_are_counted() -> None:
    lines = [b'{"call_id":"c","kind":"response","protocol":"openai.chat","body":{"neither":1}}']
    found, unread = of_captures(read_json(line, Source("file", 0, 0, 0)) for line in lines)
    assert (found, unread) == ({}, 1)


def test_real_traffic_is_nearly_all_in_named_fields() -> None:
    for protocol in PROTOCOLS:
        captures = [
            read_json(dumps(line).encode(), Source("file", 0, 0, 0))
            for number, exchange in enumerate(corpus(protocol))
            if "frames" not in exchange
            for line in lines_of(exchange, f"call-{number}")
        ]
        found, _ = of_captures(captures)
        assert all(one.share >= 0.99 for one in found.values()), found
