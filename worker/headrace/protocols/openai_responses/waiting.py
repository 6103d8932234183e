"""Which item a whole copy is of that names neither an id nor an index: the first of its call that waits for one."""

from __future__ import annotations

from bisect import insort
from operator import itemgetter

from headrace.json_text import Json
from headrace.protocols.openai_responses.slots import Slot, is_same


class Waiting:
    """Slots by call id, in the order of their coming.

    A slot that has stopped to wait never waits again, so those at the head of a line are passed once and not looked at
    again: a stream of many such copies stays linear.
    """

    def __init__(self, slots: list[Slot]) -> None:
        """slots: those there are, in the order of their coming."""
        #: What was added and is in no line yet.
        self._added = [(slot, _line_of(slot.item)) for slot in slots]
        self._places: dict[int, int] = {}
        self._lines: dict[str, list[tuple[int, Slot]]] = {}
        self._standing: set[tuple[str, int]] = set()
        self._passed: dict[tuple[str, bool], int] = {}

    def add(self, slot: Slot) -> None:
        """A slot that was opened, or whose item has come."""
        self._added.append((slot, _line_of(slot.item)))

    def _line_up(self, slot: Slot, name: str) -> None:
        place = self._places.setdefault(id(slot), len(self._places))
        if (name, place) in self._standing:
            return
        self._standing.add((name, place))
        line = self._lines.setdefault(name, [])
        if not line or line[-1][0] < place:
            line.append((place, slot))
            return
        insort(line, (place, slot), key=itemgetter(0))
        self._passed.pop((name, False), None)
        self._passed.pop((name, True), None)

    def first(self, item: dict[str, Json], done: bool) -> Slot | None:
        """The slot that an item completes (``done``) or opens."""
        for slot, line_name in self._added:
            self._line_up(slot, line_name)
        self._added.clear()
        name = _line_of(item)
        line = self._lines.get(name, [])
        start = self._passed.get((name, done), 0)
        while start < len(line) and not line[start][1].waits(done):
            start += 1
        self._passed[name, done] = start
        for at in range(start, len(line)):
            slot = line[at][1]
            if slot.waits(done) and slot.item.get("call_id") == item.get("call_id") and is_same(slot, item):
                return slot
        return None


def _line_of(item: dict[str, Json]) -> str:
    """A call id; "" for items without one, and for what is none."""
    call_id = item.get("call_id")
    return call_id if type(call_id) is str else ""
