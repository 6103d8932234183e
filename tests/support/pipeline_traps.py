"""Faults of pipelines, by id: small ones of our own, always, and the real ones where they lie beside the checkout.

Both have one layout (`input` and `expected`), so that a test that holds for ours holds for others of the same kind.
"""

from __future__ import annotations

from typing import Any

from tests.support.shared import traps

Trap = dict[str, Any]


def _record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _twins(*names: str) -> list[dict[str, Any]]:
    return [_record({"name": "n", "type": "long"}, name=name) for name in names]


OWN: dict[str, Trap] = {
    "c01": {
        "input": {"committed": 3, "in_flight": [3], "acked": [4, 5]},
        "expected": {"result": {"committed_after": 3, "redelivered_from": 3}},
    },
    "c02": {
        "input": {"committed": 2, "log_offsets": [2, 5, 6, 8], "acked": [2, 5, 6, 8]},
        "expected": {"result": {"committed_after": 9}},
    },
    "c03": {
        "input": {
            "events": [
                {"deliver": 40},
                {"prefetch": [41, 42, 60]},
                {"rebalance": "revoke+assign same partition"},
                {"seek": 41},
                {"deliver": 60},
                {"deliver": 41},
                {"deliver": 42},
            ]
        },
        "expected": {"result": {"allowed_orders": [[40, 41, 42]]}},
    },
    "c06": {
        "input": {
            "value_schema": "call: str, tries: int",
            "agent": "stream.take(3, within=1)",
            "values": ['{"call": "x", "tries": 1}', '{"call": "y", "tries": []}', '{"call": "z", "tries": 2}'],
        },
        "expected": {"result": {"dead_letter": [1], "processed": [0, 2]}},
    },
    "c07": {
        "input": {"values": [{"id": 1}, {"id": 2}, {"id": 3}], "agent": "raise on id 2 (first time only)"},
        "expected": {"result": {"sink_ids": [1, 2, 3]}},
    },
    "c08": {"input": {"rate_per_s": 200}, "expected": {}},
    "c11": {
        "input": {
            "schema": _record({"name": "f", "type": _twins("Left", "Right", "Middle")}),
            "records": [{"f": ["Middle", {"n": 5}]}],
        },
        "expected": {"result": {"bytes_hex": ["040a", "040a"]}},
    },
    "c12": {
        "input": {"schema": _record({"name": "note", "type": ["long", "null"]}), "records": [{"not": 1}]},
        "expected": {"result": {"error": True}},
    },
    "c13": {
        "input": {"schema": _record({"name": "v", "type": ["float", "double"]}), "records": [{"v": 16777217.3}]},
        "expected": {"result": {"read_back": 16777217.3}},
    },
    "c15": {
        "input": {
            "schemas": [
                _record({"name": "f", "type": ["long", "null"], "default": None}),
                _record({"name": "f", "type": ["null", "string"], "default": "none"}),
                _record({"name": "f", "type": {"type": "array", "items": "long"}, "default": ["1"]}),
            ]
        },
        "expected": {"result": {"portable": [False, False, False]}},
    },
    "c16": {
        "input": {
            "schemas": [
                _record({"name": "r", "type": [_record({"name": "i", "type": "int"}, name="In"), "null"]}),
                _record({"name": "i", "type": "int"}),
                _record({"name": "l", "type": "long"}),
            ],
            "records": [{"r": {"i": -(1 << 31) - 1}}, {"i": -(1 << 31) - 1}, {"l": 1 << 63}],
        },
        "expected": {"result": {"error": [True, True, True]}},
    },
    "c20": {
        "input": {
            "commands": [
                {"conn": 1, "cmd": "GET call:1", "cancel_after_ms": 5},
                {"conn": 1, "cmd": "GET call:2"},
            ],
            "values": {"call:1": "one", "call:2": "two"},
        },
        "expected": {"result": {"second_reply": "two"}},
    },
    "c21": {
        "input": {
            "events": [
                {"worker": "old", "acquire": "k", "epoch": 4},
                {"worker": "old", "append": "p"},
                {"worker": "old", "pause": True},
                {"worker": "new", "acquire": "k", "epoch": 5},
                {"worker": "new", "append": "q"},
                {"worker": "old", "append": "stale"},
                {"worker": "new", "append": "r"},
            ]
        },
        "expected": {"result": {"k": ["p", "q", "r"]}},
    },
    "c22": {
        "input": {
            "events": [
                {"deliver": 7},
                {"fail": 7},
                {"rebalance": True},
                {"deliver": 7},
                {"deliver": 8},
                {"deliver": 9},
                {"ack": 9},
            ]
        },
        "expected": {"result": {"processed": [7, 8, 9], "committed_after": 10}},
    },
    "c23": {
        "input": {"events": [{"deliver": [0, 1]}, {"open_state": ["half built"]}, {"revoke": True}]},
        "expected": {},
    },
}


def pipeline_traps(name: str) -> list[Trap]:
    """The fault's forms: our own first."""
    return [OWN[name], *(trap for trap in traps() if trap["id"] == name)]


def told(trap: Trap, name: str) -> list[Any]:
    """What the events of a time line say under a name, in order; lists are taken apart."""
    found = [event[name] for event in trap["input"]["events"] if name in event]
    return [each for value in found for each in (value if isinstance(value, list) else [value])]
