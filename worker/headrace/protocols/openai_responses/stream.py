"""Stream events -> responses.

Theory. Events are sorted into responses: `response.created` opens one (WebSocket peers interleave several by
`stream_id`). Within a response an item is a slot. A slot is found by the item's id, else its call id, else
`output_index`; ids of some gateways change with every event, so an id that nobody knows falls back on the index,
and an index with another call's id on it opens a new slot. Deltas append, `done` replaces; what an item finally is
comes from the most trustworthy copy there is: the terminal response, else `output_item.done`, else the deltas.

`sequence_number` tells repeats (dropped) and gaps (reported in `Folded.missing`), unless the producer numbers
so badly that one number stands for different events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_responses import events as ev
from headrace.protocols.openai_responses.boundaries import sorted_by_response
from headrace.protocols.openai_responses.merge import merge_output
from headrace.protocols.openai_responses.numbering import without_repeats
from headrace.protocols.openai_responses.open_texts import OpenText, TextsByPlace
from headrace.protocols.openai_responses.slots import Slot, is_named, is_same, names, same_type
from headrace.protocols.openai_responses.waiting import Waiting
from headrace.protocols.stretches import Path, Stretch

#: Fields that a thin terminal response may lack and its first snapshot has.
_IDENTITY = ("id", "object", "created_at", "model")
_DELTA: Path = ("delta",)
_ITEM_ID: Path = ("item_id",)
_NOTHING: Any = object()
_Handler = Callable[["_Response", str, dict[str, Json]], bool]


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """One Folded a response, in the order they were opened. Linear in the events; never raises on odd ones."""
    return [_fold_one(group, stray) for group, stray in sorted_by_response(events)]


def _fold_one(group: list[dict[str, Json] | Stretch], stray: list[Json]) -> Folded:
    events, missing = without_repeats(group)
    response = _Response()
    response.take(events)
    count = 0
    for event in events:
        count += len(event) if type(event) is Stretch else 1
    folded = response.result(count)
    folded.stray = stray
    folded.missing = missing
    return folded


class _Response:
    """One response while its events come."""

    def __init__(self) -> None:
        self.snapshot: dict[str, Json] = {}
        self.first: dict[str, Json] = {}
        self.ended_by = ""
        self.error: Json = None
        self.audio: dict[str, list[str]] = {}
        self.unknown: list[tuple[str, str]] = []
        self.kept: list[Json] = []
        self._kept_values: dict[str, Json] = {}
        self.slots: list[Slot] = []
        self._by_id: dict[str, Slot] = {}
        self._by_index: dict[int, Slot] = {}
        self._waiting = Waiting()
        #: For deltas with known keys only: keys, in order -> what tells their place, and the texts by place.
        self._open_texts: dict[tuple[str, ...], TextsByPlace] = {}
        #: What the last delta added to.
        self._last: OpenText | None = None

    def take(self, events: Iterable[dict[str, Json] | Stretch]) -> None:
        """Apply events in order; stretches are of plain deltas."""
        for event in events:
            if type(event) is Stretch:
                self._take_stretch(event)
                continue
            # The hot path: a delta with known keys only, of a text that is open already.
            last = self._last
            if last is not None and last.take(event):
                continue
            last = self._open_text_of(event)
            if last is not None and last.take(event):
                self._last = last
                continue
            self._take(event.get("type"), event)

    def _open_text_of(self, event: dict[str, Json]) -> OpenText | None:
        """The text that an event like an earlier one adds to; None where it is not known."""
        known = self._open_texts.get(tuple(event))
        if known is None:
            return None
        try:
            return known.texts.get(known.place(event))
        except TypeError:
            return None

    def _take_stretch(self, stretch: Stretch) -> None:
        """Deltas that go on where the event before them added to a text. Ids that nobody knows change nothing."""
        event = stretch.event
        text = self._open_text_of(event)
        if stretch.varies(_ITEM_ID) and not (
            type(event.get("output_index")) is int and self._by_id.keys().isdisjoint(stretch.values(_ITEM_ID))
        ):
            text = None
        if text is None:
            self.take(stretch.events())
        else:
            text.pieces += stretch.values(_DELTA)

    def _take(self, kind: Json, event: dict[str, Json]) -> None:
        handler = _HANDLERS.get(kind) if type(kind) is str else None
        if handler is None and kind is None and event.get("error"):
            kind, handler = ev.ERROR, _take_error
        if handler is None or not handler(self, kind, event):
            self.unknown.append(("event", kind if type(kind) is str and kind else "(none)"))
            self.kept.append(event)
            return
        if kind != ev.ERROR and not ev.KNOWN_KEYS[kind].issuperset(event):
            odd = event.keys() - ev.KNOWN_KEYS[kind]
            self._keep_odd(kind, event, sorted(odd))

    def _keep_odd(self, kind: str, event: dict[str, Json], odd: list[str]) -> None:
        """Unknown fields of a known event; a value that only repeats is kept once."""
        if kind in ev.LIFECYCLE and self.snapshot is event.get("response"):
            # Of a snapshot that another will replace only what is known to stand beside one moves into it.
            beside = odd if kind in ev.TERMINAL else ev.BESIDE_SNAPSHOT.intersection(odd)
            for key in [key for key in beside if key not in self.snapshot]:
                self.snapshot = {**self.snapshot, key: event[key]}
                odd.remove(key)
                if key not in ev.BESIDE_SNAPSHOT:
                    self.unknown.append(("event_field", f"{kind}.{key}"))
        new = {key: event[key] for key in odd if self._kept_values.get(key, _NOTHING) != event[key]}
        if new:
            self._kept_values.update(new)
            self.unknown += [("event_field", f"{kind}.{key}") for key in new]
            self.kept.append({"type": kind, **new})

    # --- slots --------------------------------------------------------------------------------------------

    def slot(self, event: dict[str, Json], item_type: str) -> Slot:
        """The slot an event means, opened if nobody has: by item id, else by index, else the last of its type."""
        item_id, index = event.get("item_id"), event.get("output_index")
        named = self._by_id.get(item_id) if type(item_id) is str else None
        placed = self._by_index.get(index) if type(index) is int else None
        if placed is not None and (named is None or named is placed or is_named(placed.item, item_id)):
            # An id nobody knows: some gateways change it with every event. But what is done is done.
            if named is not None or not placed.done or type(item_id) is not str:
                return placed
        elif named is not None:
            return named
        if type(index) is not int and type(item_id) is not str:
            for slot in reversed(self.slots):
                if slot.item.get("type") == item_type:
                    return slot
        return self._open(Slot.opened_by(self._key(index), item_type, item_id), index)

    def item_slot(self, event: dict[str, Json], item: dict[str, Json], done: bool) -> Slot:
        """The slot of a whole item: by id, by index, by call id; a new one if no item waits for this copy."""
        index, item_id = event.get("output_index"), item.get("id")
        placed = self._by_index.get(index) if type(index) is int else None
        named = self._by_id.get(item_id) if type(item_id) is str else None
        if named is not None and same_type(named, item) and (named is placed or type(index) is not int):
            return named
        if placed is not None and placed.waits(done) and is_same(placed, item):
            return placed
        if named is not None and named.waits(done) and is_same(named, item):
            # Some gateways count differently in the two events of one item.
            return named
        if type(index) is not int:
            # Two calls may have one call id: the first that waits takes it.
            first = self._waiting.first(item, done)
            if first is not None:
                return first
        return self._open(Slot(self._key(index), {}), index)

    def _key(self, index: Json) -> int:
        return index if type(index) is int else len(self.slots)

    def _open(self, slot: Slot, index: Json) -> Slot:
        self.slots.append(slot)
        self._waiting.add(slot)
        if type(index) is int:
            self._by_index[index] = slot
        for name in names(slot.item):
            self._by_id[name] = slot
        return slot

    def put(self, event: dict[str, Json], item: dict[str, Json], done: bool) -> None:
        """A whole copy of an item."""
        slot = self.item_slot(event, item, done)
        if slot.done and not done:
            return
        slot.replace(item, done)
        self._waiting.add(slot)
        for name in names(item):
            self._by_id[name] = slot
        self.forget_open_texts()

    def open_text(self, kind: str, event: dict[str, Json]) -> list[str]:
        """The list of a text's deltas, remembered for the hot path."""
        text = ev.DELTAS[kind]
        slot = self.slot(event, text.item)
        given = event.get(text.index) if text.index else None
        buffer = slot.text(text, slot.index(text.list, given, opening=False))
        if "delta" in event and ev.KNOWN_KEYS[kind].issuperset(event):
            keys = tuple(event)
            known = self._open_texts.get(keys)
            if known is None:
                known = self._open_texts[keys] = TextsByPlace(event)
            with suppress(TypeError):
                known.texts[known.place(event)] = OpenText(event, buffer)
        return buffer

    def forget_open_texts(self) -> None:
        """After a whole text or element came: deltas that follow are looked up anew."""
        self._last = None
        for known in self._open_texts.values():
            known.texts.clear()

    # --- the result ---------------------------------------------------------------------------------------

    def result(self, count: int) -> Folded:
        """The response as far as it came."""
        body: dict[str, Json] = {**self.snapshot}
        for key in _IDENTITY:
            if key not in body and key in self.first:
                body[key] = self.first[key]
        if self.ended_by in ev.TERMINAL and body.get("status") in (None, "in_progress", "queued"):
            body["status"] = ev.LIFECYCLE[self.ended_by]
        output = merge_output(body.get("output"), self.slots, final=self.ended_by in ev.TERMINAL)
        if output is not None:
            body["output"] = output
        if self.error is not None and not body.get("error"):
            body["error"] = self.error
        if self.audio:
            body["audio"] = {key: "".join(pieces) for key, pieces in self.audio.items()}
        if self.kept:
            body["unknown_events"] = self.kept
        return Folded(body, bool(self.ended_by), count, unknown=self.unknown)


# --- handlers: True when the event was taken up -----------------------------------------------------------


def _take_lifecycle(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    snapshot = event.get("response")
    if snapshot is not None and type(snapshot) is not dict:
        return False
    if response.ended_by in ev.TERMINAL and kind not in ev.TERMINAL:
        # A late or repeated progress snapshot takes nothing back.
        return True
    if snapshot:
        response.first = response.first or snapshot
        response.snapshot = snapshot
    if kind in ev.TERMINAL:
        response.ended_by = kind
    return True


def _take_item(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    item = event.get("item")
    if item is None:
        return True
    if type(item) is not dict:
        return False
    response.put(event, item, kind == ev.ITEM_DONE)
    return True


def _take_delta(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    delta, logprobs = event.get("delta"), event.get("logprobs")
    if delta is not None and type(delta) is not str:
        return False
    buffer = response.open_text(kind, event)
    if delta:
        buffer.append(delta)
    if type(logprobs) is list and logprobs:
        text = ev.DELTAS[kind]
        slot = response.slot(event, text.item)
        slot.add_logprobs(slot.index(text.list, event.get(text.index), opening=False), logprobs)
    return True


def _take_whole(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    text = ev.WHOLE[kind]
    whole = event.get(text.whole)
    if whole is None:
        return True
    if type(whole) is not str:
        return False
    slot = response.slot(event, text.item)
    index = slot.index(text.list, event.get(text.index), opening=kind.endswith(".added"))
    slot.set_text(text, index, whole)
    logprobs = event.get("logprobs")
    if type(logprobs) is list and logprobs:
        slot.set_logprobs(index, logprobs)
    response.forget_open_texts()
    return True


def _take_part(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    item_type, name, index_key = ev.PARTS[kind]
    part = event.get("part")
    if part is None:
        return True
    slot = response.slot(event, item_type)
    slot.set_element(name, slot.index(name, event.get(index_key), opening=kind.endswith(".added")), part)
    response.forget_open_texts()
    return True


def _take_annotation(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    annotation = event.get("annotation")
    if annotation is None:
        return True
    slot = response.slot(event, "message")
    index = slot.index("content", event.get("content_index"), opening=False)
    slot.annotate(index, event.get("annotation_index"), annotation)
    return True


def _take_status(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    item_type, status = ev.STATUS[kind]
    response.slot(event, item_type).set_field("status", status)
    return True


def _take_image(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    slot = response.slot(event, "image_generation_call")
    for key in ("partial_image_b64", "background", "output_format", "quality", "size"):
        if key in event:
            slot.set_field(key, event[key])
    return True


def _take_shell_delta(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    delta = event.get("delta")
    if type(delta) is not dict:
        return delta is None
    slot = response.slot(event, "shell_call_output")
    slot.add_shell_output(slot.index("output", event.get("command_index"), opening=False), delta)
    return True


def _take_shell_whole(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    slot = response.slot(event, "shell_call_output")
    slot.set_shell_output(slot.index("output", event.get("command_index"), opening=False), event.get("output"))
    return True


def _take_audio(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    delta = event.get("delta")
    if type(delta) is str:
        response.audio.setdefault(ev.AUDIO[kind], []).append(delta)
    return delta is None or type(delta) is str


def _take_error(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    """Nested or flat; what the event says besides stands beside the error's own fields."""
    inner = event.get("error")
    beside = {
        key: value for key, value in event.items() if key not in ("error", "type", "sequence_number", "stream_id")
    }
    if type(inner) is dict:
        response.error = {**beside, **inner}
    elif inner is not None and not beside:
        response.error = inner
    else:
        response.error = (beside or {"type": kind}) if inner is None else {"error": inner, **beside}
    response.ended_by = response.ended_by or kind
    return True


def _ignore(response: _Response, kind: str, event: dict[str, Json]) -> bool:
    return True


_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(ev.LIFECYCLE, _take_lifecycle),
    **dict.fromkeys((ev.ITEM_ADDED, ev.ITEM_DONE), _take_item),
    **dict.fromkeys(ev.DELTAS, _take_delta),
    **dict.fromkeys(ev.WHOLE, _take_whole),
    **dict.fromkeys(ev.PARTS, _take_part),
    **dict.fromkeys(ev.STATUS, _take_status),
    **dict.fromkeys(ev.AUDIO, _take_audio),
    **dict.fromkeys(ev.IGNORED, _ignore),
    ev.ANNOTATION: _take_annotation,
    ev.PARTIAL_IMAGE: _take_image,
    ev.SHELL_DELTA: _take_shell_delta,
    ev.SHELL_DONE: _take_shell_whole,
    ev.ERROR: _take_error,
}
