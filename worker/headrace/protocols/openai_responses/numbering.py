"""Sequence numbers of one response's events: repeats and gaps."""

from __future__ import annotations

from itertools import islice, pairwise
from operator import lt

from headrace.json_text import Json
from headrace.protocols.stretches import Path, Stretch

#: No stream has more events; a larger number is no sequence number.
_LARGEST = 2**53 - 1
_NUMBER: Path = ("sequence_number",)
Events = list[dict[str, Json] | Stretch]


def without_repeats(events: Events) -> tuple[Events, list[tuple[int, int]]]:
    """(events without repeats, missing numbers as inclusive ranges).

    A repeat has the number of an earlier event and is equal to it. If one number stands for different events, the
    producer does not number (some write 0 throughout): nothing is dropped and nothing is missing.
    """
    numbers = _numbers(events)
    start = numbers[0] if numbers else None
    if type(start) is int and numbers == list(range(start, start + len(numbers))):
        return events, []
    if numbers.count(None) == len(numbers):
        return events, []
    if _is_rising(numbers):
        return events, _gaps(numbers)
    return _checked(_one_by_one(events))


def _one_by_one(events: Events) -> list[dict[str, Json]]:
    single: list[dict[str, Json]] = []
    for event in events:
        if type(event) is Stretch:
            single += event.events()
        else:
            single.append(event)
    return single


def _numbers(events: Events) -> list[Json]:
    numbers: list[Json] = []
    for event in events:
        if type(event) is not Stretch:
            numbers.append(event.get("sequence_number"))
        elif "sequence_number" in event.event:
            numbers += event.values(_NUMBER)
        else:
            numbers += [None] * len(event)
    return numbers


def _is_rising(numbers: list[Json]) -> bool:
    """Whether each event has a number of its own, larger than the one before."""
    return (
        {*map(type, numbers)} == {int}
        and numbers[0] >= 0
        and numbers[-1] <= _LARGEST
        and all(map(lt, numbers, islice(numbers, 1, None)))
    )


def _checked(events: list[dict[str, Json]]) -> tuple[Events, list[tuple[int, int]]]:
    numbers = [event.get("sequence_number") for event in events]
    seen: dict[int, dict[str, Json]] = {}
    kept: Events = []
    for number, event in zip(numbers, events, strict=True):
        if type(number) is int and 0 <= number <= _LARGEST:
            if number in seen:
                if seen[number] != event:
                    return [*events], []
                continue
            seen[number] = event
        kept.append(event)
    return kept, _gaps(sorted(seen))


def _gaps(numbers: list[int]) -> list[tuple[int, int]]:
    return [(before + 1, after - 1) for before, after in pairwise(numbers) if after - before > 1]
