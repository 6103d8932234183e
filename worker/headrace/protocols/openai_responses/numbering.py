"""Sequence numbers of one response's events: repeats and gaps."""

from __future__ import annotations

from itertools import pairwise

from headrace.json_text import Json

#: No stream has more events; a larger number is no sequence number.
_LARGEST = 2**53 - 1
Events = list[dict[str, Json]]


def without_repeats(events: Events) -> tuple[Events, list[tuple[int, int]]]:
    """(events without repeats, missing numbers as inclusive ranges).

    A repeat has the number of an earlier event and is equal to it. If one number stands for different events, the
    producer does not number (some write 0 throughout): nothing is dropped and nothing is missing.
    """
    numbers = [event.get("sequence_number") for event in events]
    start = numbers[0] if numbers else None
    if type(start) is int and numbers == list(range(start, start + len(numbers))):
        return events, []
    seen: dict[int, dict[str, Json]] = {}
    kept: Events = []
    for number, event in zip(numbers, events, strict=True):
        if type(number) is int and 0 <= number <= _LARGEST:
            if number in seen:
                if seen[number] != event:
                    return events, []
                continue
            seen[number] = event
        kept.append(event)
    return kept, _gaps(sorted(seen))


def _gaps(numbers: list[int]) -> list[tuple[int, int]]:
    return [(before + 1, after - 1) for before, after in pairwise(numbers) if after - before > 1]
