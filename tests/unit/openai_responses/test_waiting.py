"""Whole copies of items that name neither id nor index find the item they are of."""

from __future__ import annotations

import pytest

from headrace.json_text import Json
from headrace.protocols import codec
from headrace.protocols.openai_responses.slots import Slot
from headrace.protocols.openai_responses.waiting import Waiting


def call(call_id: str, arguments: str) -> dict[str, Json]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments}


def added(item: dict[str, Json]) -> dict[str, Json]:
    return {"type": "response.output_item.added", "item": item}


def done(item: dict[str, Json]) -> dict[str, Json]:
    return {"type": "response.output_item.done", "item": item}


def output(events: list[Json]) -> list[Json]:
    (folded,) = codec("openai.responses").fold(events)
    return list(folded.body["output"])


def test_calls_that_end_in_another_order_than_they_began_stay_where_they_began() -> None:
    began = [added(call(f"c{number}", "")) for number in range(200)]
    ended = [done(call(f"c{number}", f"{{{number}}}")) for number in reversed(range(200))]
    assert output([*began, *ended]) == [call(f"c{number}", f"{{{number}}}") for number in range(200)]


def test_two_calls_with_one_id_stay_two_and_end_in_their_order() -> None:
    events = [added(call("c", "")), added(call("c", "")), done(call("c", "{1}")), done(call("c", "{2}"))]
    assert output(events) == [call("c", "{1}"), call("c", "{2}")]


def test_each_slot_that_waits_no_more_is_passed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    waits = Slot.waits

    def counted(self: Slot, done: bool) -> bool:
        nonlocal asked
        asked += 1
        return waits(self, done)

    monkeypatch.setattr(Slot, "waits", counted)
    waiting = Waiting([])
    for number in range(1_000):
        assert waiting.first({"type": "message"}, done=False) is None
        slot = Slot(number, {})
        waiting.add(slot)
        slot.replace({"type": "message"}, done=False)
        waiting.add(slot)
    assert asked < 5_000
