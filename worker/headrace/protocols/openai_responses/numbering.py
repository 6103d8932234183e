"""Sequence numbers of one response's events: repeats and gaps."""

from __future__ import annotations

from itertools import pairwise
from typing import final

from headrace.json_text import Json
from headrace.protocols.stretches import Path, Stretch

#: No stream has more events; a larger number is no sequence number.
_LARGEST = 2**53 - 1
_NUMBER: Path = ("sequence_number",)
#: What `Numbers` expects before the first event, and where events have no numbers.
_ANY, _NONE = -2, -1
Events = list[dict[str, Json] | Stretch]


@final
class Numbers:
    """The numbers of one response as its events come.

    missing: gaps, as inclusive ranges. is_odd: some event has no number of its own that is larger than all before it,
    though others have numbers; what repeats then, only all events together tell (`without_repeats`).
    """

    __slots__ = ("_next", "is_odd", "missing")

    def __init__(self) -> None:
        self.missing: list[tuple[int, int]] = []
        self.is_odd = False
        self._next = _ANY

    def follow(self, number: Json) -> bool:
        """Whether an event with this number is new, and all before it were."""
        known = self._next
        if type(number) is int and not self.is_odd and 0 <= number <= _LARGEST:
            if number == known or known == _ANY:
                self._next = number + 1
                return True
            if number > known >= 0:
                self.missing.append((known, number - 1))
                self._next = number + 1
                return True
        elif number is None and known < 0 and not self.is_odd:
            self._next = _NONE
            return True
        self.is_odd = True
        return False

    def follow_stretch(self, stretch: Stretch) -> bool:
        """`follow` of each event of a stretch."""
        if "sequence_number" not in stretch.event:
            return self.follow(None)
        numbers = stretch.values(_NUMBER)
        start, last = self._next, self._next + len(numbers) - 1
        if start >= 0 and last <= _LARGEST and numbers == list(range(start, last + 1)):
            self._next = last + 1
            return not self.is_odd
        return all(map(self.follow, numbers))


def without_repeats(events: Events) -> tuple[list[dict[str, Json]], list[tuple[int, int]]]:
    """(events without repeats, missing numbers as inclusive ranges).

    A repeat has the number of an earlier event and is equal to it. If one number stands for different events, the
    producer does not number (some write 0 throughout): nothing is dropped and nothing is missing.
    """
    single = _one_by_one(events)
    seen: dict[int, dict[str, Json]] = {}
    kept: list[dict[str, Json]] = []
    for event in single:
        number = event.get("sequence_number")
        if type(number) is int and 0 <= number <= _LARGEST:
            if number in seen:
                if seen[number] != event:
                    return single, []
                continue
            seen[number] = event
        kept.append(event)
    return kept, _gaps(sorted(seen))


def _one_by_one(events: Events) -> list[dict[str, Json]]:
    single: list[dict[str, Json]] = []
    for event in events:
        if type(event) is Stretch:
            single += event.events()
        else:
            single.append(event)
    return single


def _gaps(numbers: list[int]) -> list[tuple[int, int]]:
    return [(before + 1, after - 1) for before, after in pairwise(numbers) if after - before > 1]
