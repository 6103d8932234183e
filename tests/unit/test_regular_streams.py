"""Regular event streams give the values that framing gives; of others nothing is told."""

from __future__ import annotations

import pytest

from headrace.capture.framing import frame
from headrace.json_text import Json, dumps
from headrace.protocols.stretches import Stretch
from headrace.regular_streams import values_of

_EVENTS = [{"type": "delta", "text": f"{at} "} for at in range(200)]


def body(*payloads: str, head: str = "") -> bytes:
    return "".join(f"{head}data: {payload}\n\n" for payload in payloads).encode()


def one_by_one(values: list[Json | Stretch]) -> list[Json]:
    return [one for value in values for one in (value.events() if type(value) is Stretch else [value])]


@pytest.mark.parametrize("head", ["", "event: delta\n", ": ping\n\n"])
@pytest.mark.parametrize("end", [[], ["[DONE]"]])
def test_the_values_are_those_of_framing(head: str, end: list[str]) -> None:
    text = body(*map(dumps, _EVENTS), *end, head=head)
    values = values_of(text)
    assert (values is None) == head.startswith(":")
    if values is not None:
        assert any(type(value) is Stretch for value in values)
        assert one_by_one(values) == frame(text).values == [*_EVENTS, *end]


@pytest.mark.parametrize(
    "odd",
    [
        body("{}", "{", "{}"),
        body("{}", "[DONE]", "{}"),
        body("{}", " ", "{}"),
        body("{}")[:-1],
        b'{"a": 1}',
        b"data: ",
        b"",
    ],
)
def test_of_a_body_that_is_not_regular_nothing_is_told(odd: bytes) -> None:
    assert values_of(odd) is None
