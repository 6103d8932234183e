"""The output of a response: which copy of each item stands, and where."""

from __future__ import annotations

from collections import OrderedDict, deque
from operator import attrgetter

from headrace.json_text import Json, dumps
from headrace.protocols.openai_responses.filling import filled, lacks
from headrace.protocols.openai_responses.slots import Slot


def merge_output(snapshot: Json, slots: list[Slot], final: bool) -> Json:
    """The output list; None where neither the snapshot nor the stream has one.

    final: the snapshot is the terminal one, so its copy of an item stands, but for what it leaves blank; else the
    slot's does. Items that only one of them has are kept, streamed items in their order.
    """
    streamed = [slot for slot in slots if slot.touched]
    if not streamed:
        return snapshot
    streamed.sort(key=attrgetter("key"))
    if type(snapshot) is not list or not snapshot:
        return [slot.build() for slot in streamed]
    if final and _is_streamed(snapshot, streamed):
        return [_final(item, slot) for item, slot in zip(snapshot, streamed, strict=True)]
    partner = _pair(snapshot, streamed)
    output = list(snapshot)
    for slot, position in zip(streamed, partner, strict=True):
        if position is not None:
            output[position] = _final(output[position], slot) if final else slot.build()
    return _insert_missing(output, streamed, partner)


def _final(item: dict[str, Json], slot: Slot) -> dict[str, Json]:
    """The terminal copy of a streamed item. What streamed is put together only where that is needed."""
    return filled(item, slot.build()) if item != slot.item and lacks(item) else item


def _is_streamed(snapshot: list[Json], streamed: list[Slot]) -> bool:
    """Whether a snapshot has the streamed items and no others, in their order, each with its id: the rule."""
    if len(snapshot) != len(streamed):
        return False
    ids: set[str] = set()
    for item, slot in zip(snapshot, streamed, strict=True):
        item_id = item.get("id") if type(item) is dict else None
        if type(item_id) is not str or not item_id or item_id != slot.item.get("id"):
            return False
        if _type(item) is None or _type(item) != _type(slot.item):
            return False
        ids.add(item_id)
    return len(ids) == len(snapshot)


def _pair(snapshot: list[Json], streamed: list[Slot]) -> list[int | None]:
    """For each slot the position of its item in the snapshot: by id, by call id, else by type and order."""
    ids: dict[tuple[str, str, str], int] = {}
    for position, item in enumerate(snapshot):
        for name in _identities(item):
            ids.setdefault(name, position)
    partner: list[int | None] = []
    taken: set[int] = set()
    for slot in streamed:
        found = next((ids[name] for name in _identities(slot.item) if name in ids), None)
        if found in taken:
            found = None
        if found is not None:
            taken.add(found)
        partner.append(found)
    free: dict[Json, _Free] = {}
    for position, item in enumerate(snapshot):
        if position not in taken and type(item) is dict:
            free.setdefault(_type(item), _Free()).add(position, item)
    for number, slot in enumerate(streamed):
        if partner[number] is None and (alike := free.get(_type(slot.item))) is not None:
            partner[number] = alike.take(slot.item)
    return partner


class _Free:
    """Positions of one type's items that no slot has yet."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[int, None] = OrderedDict()
        #: Call id, None for none -> positions, some of which may be taken by now.
        self._called: dict[str | None, deque[int]] = {}

    def add(self, position: int, item: dict[str, Json]) -> None:
        """Add a position behind all others."""
        self._waiting[position] = None
        self._called.setdefault(_call_id(item), deque()).append(position)

    def take(self, item: dict[str, Json]) -> int | None:
        """The first that may be this item under another id: call ids that differ are different calls."""
        call_id = _call_id(item)
        if call_id is None:
            found = next(iter(self._waiting), None)
        else:
            found = min((queue[0] for queue in map(self._queue, (None, call_id)) if queue), default=None)
        if found is not None:
            del self._waiting[found]
        return found

    def _queue(self, call_id: str | None) -> deque[int]:
        queue = self._called.get(call_id, deque())
        while queue and queue[0] not in self._waiting:
            queue.popleft()
        return queue


def _call_id(item: dict[str, Json]) -> str | None:
    call_id = item.get("call_id")
    return None if call_id is None else dumps(call_id)


def _type(item: Json) -> str | None:
    found = item.get("type") if type(item) is dict else None
    return found if type(found) is str else None


def _identities(item: Json) -> list[tuple[str, str, str]]:
    """Names of an item, with its type: a call and its output share the call id."""
    if type(item) is not dict:
        return []
    kind = str(item.get("type"))
    return [(kind, key, item[key]) for key in ("id", "call_id") if type(item.get(key)) is str and item[key]]


def _insert_missing(output: list[Json], streamed: list[Slot], partner: list[int | None]) -> list[Json]:
    """Put streamed items that the snapshot lacks behind the item that they followed, or where their index says."""
    behind: dict[int, list[Json]] = {}
    place: int | None = None
    for slot, position in zip(streamed, partner, strict=True):
        if position is not None:
            place = position
            continue
        here = place if place is not None else min(max(slot.key, 0), len(output)) - 1
        behind.setdefault(here, []).append(slot.build())
    if not behind:
        return output
    merged = list(behind.get(-1, ()))
    for position, item in enumerate(output):
        merged.append(item)
        merged += behind.get(position, ())
    return merged
