"""Odd bodies: whatever is missing or of a wrong type, a conversion is made, and what it cannot carry is listed."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.reading import Reading
from headrace.convert import convert
from headrace.convert.targets import TARGETS
from headrace.errors import HeadraceError
from headrace.protocols import codec
from tests.unit.convert.test_examples import REQUESTS

VALUES: tuple[Any, ...] = (None, "", [], {}, 0, True, "x", {"a": 1}, ["y"], -5, 1.5)


def objects(value: Any) -> list[Any]:
    """Every object of a JSON value that has keys."""
    found = []
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += objects(inner)
    return [value, *found] if isinstance(value, dict) and value else found


@st.composite
def odd_bodies(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A request of some protocol with a few values gone or replaced."""
    protocol = draw(st.sampled_from(sorted(REQUESTS)))
    body = deepcopy(REQUESTS[protocol])
    for _ in range(draw(st.integers(1, 4))):
        places = objects(body)
        if not places:
            break
        holder = draw(st.sampled_from(places))
        key = draw(st.sampled_from(sorted(holder)))
        if draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = deepcopy(draw(st.sampled_from(VALUES)))
    return protocol, body


@settings(max_examples=150, deadline=None)
@given(odd=odd_bodies(), target=st.sampled_from(sorted(TARGETS)))
def test_an_odd_request_is_converted_and_its_result_is_json(odd: tuple[str, dict[str, Any]], target: str) -> None:
    protocol, body = odd
    try:
        record: Any = codec(protocol).read_request(body, Reading("c", "request"))
    except HeadraceError:
        return
    record |= {"record_type": "request", "protocol": protocol, "call_id": "c"}
    made = convert(record, target, policy="lossy")
    assert made.refused is None
    assert json.loads(json.dumps(made.to_json()))["losses"] == made.to_json()["losses"]
    assert convert(record, target).losses == made.losses
