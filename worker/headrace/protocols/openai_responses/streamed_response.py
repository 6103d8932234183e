"""One response while its events come: its snapshot, its items as slots, and what each event does to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_responses import events as ev
from headrace.protocols.openai_responses.merge import merge_output
from headrace.protocols.openai_responses.open_texts import OpenText
from headrace.protocols.openai_responses.slots import Slot, is_named, is_same, same_type
from headrace.protocols.openai_responses.waiting import Waiting
from headrace.protocols.stretches import Path, Stretch

#: Fields that a thin terminal response may lack and its first snapshot has.
_IDENTITY = ("id", "object", "created_at", "model")
_DELTA: Path = ("delta",)
_ITEM_ID: Path = ("item_id",)
_NOTHING: Any = object()
_Handler = Callable[["StreamedResponse", str, dict[str, Json]], bool]


@final
class StreamedResponse:
    """One response while its events come. open_text: what the last event added to, where it was a plain delta."""

    __slots__ = (
        "_by_id",
        "_by_index",
        "_kept_values",
        "_waiting",
        "audio",
        "ended_by",
        "error",
        "first",
        "kept",
        "open_text",
        "slots",
        "snapshot",
        "unknown",
    )

    def __init__(self) -> None:
        self.snapshot: dict[str, Json] | None = None
        self.first: dict[str, Json] | None = None
        self.ended_by = ""
        self.error: Json = None
        self.audio: dict[str, list[str]] | None = None
        self.unknown: list[tuple[str, str]] = []
        self.kept: list[Json] = []
        self._kept_values: dict[str, Json] | None = None
        self.slots: list[Slot] = []
        self._by_id: dict[str, Slot] = {}
        self._by_index: dict[int, Slot] = {}
        #: Made when first asked for: most responses never do.
        self._waiting: Waiting | None = None
        self.open_text: OpenText | None = None

    def take(self, event: dict[str, Json]) -> None:
        """Apply an event; a delta of the open text, too."""
        self.open_text = None
        named = event.get("type")
        kind: str = named if type(named) is str else ""
        handler = _HANDLERS.get(kind)
        if named is None and event.get("error"):
            kind, handler = ev.ERROR, _take_error
        if handler is None or not handler(self, kind, event):
            self.unknown.append(("event", kind or "(none)"))
            self.kept.append(event)
        elif kind != ev.ERROR and not ev.KNOWN_KEYS[kind].issuperset(event):
            self._keep_odd(kind, event, sorted(event.keys() - ev.KNOWN_KEYS[kind]))

    def take_stretch(self, stretch: Stretch) -> None:
        """Plain deltas that go on where the event before them added to a text. Ids that nobody knows change nothing."""
        text = self.open_text
        if stretch.varies(_ITEM_ID) and not (
            type(stretch.event.get("output_index")) is int and self._by_id.keys().isdisjoint(stretch.values(_ITEM_ID))
        ):
            text = None
        if text is None:
            for event in stretch.events():
                self.take(event)
        else:
            text.pieces += stretch.values(_DELTA)

    def _keep_odd(self, kind: str, event: dict[str, Json], odd: list[str]) -> None:
        """Unknown fields of a known event; a value that only repeats is kept once."""
        snapshot: Json = event.get("response")
        if kind in ev.LIFECYCLE and type(snapshot) is dict and snapshot is self.snapshot:
            # Of a snapshot that another will replace only what is known to stand beside one moves into it.
            beside = odd if kind in ev.TERMINAL else ev.BESIDE_SNAPSHOT.intersection(odd)
            for key in [key for key in beside if key not in snapshot]:
                self.snapshot = snapshot = {**snapshot, key: event[key]}
                odd.remove(key)
                if key not in ev.BESIDE_SNAPSHOT:
                    self.unknown.append(("event_field", f"{kind}.{key}"))
        if self._kept_values is None:
            self._kept_values = {}
        known = self._kept_values
        new = {key: event[key] for key in odd if known.get(key, _NOTHING) != event[key]}
        if new:
            known.update(new)
            self.unknown += [("event_field", f"{kind}.{key}") for key in new]
            self.kept.append({"type": kind, **new})

    # --- slots --------------------------------------------------------------------------------------------

    def slot(self, event: dict[str, Json], item_type: str) -> Slot:
        """The slot an event means, opened if nobody has: by item id, else by index, else the last of its type."""
        # An empty id is none.
        item_id, index = event.get("item_id") or None, event.get("output_index")
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
            if self._waiting is None:
                self._waiting = Waiting(self.slots)
            first = self._waiting.first(item, done)
            if first is not None:
                return first
        return self._open(Slot(self._key(index), {}), index)

    def _key(self, index: Json) -> int:
        return index if type(index) is int else len(self.slots)

    def _open(self, slot: Slot, index: Json) -> Slot:
        self.slots.append(slot)
        if self._waiting is not None:
            self._waiting.add(slot)
        if type(index) is int:
            self._by_index[index] = slot
        self._name(slot)
        return slot

    def _name(self, slot: Slot) -> None:
        """Let events find a slot by the ids of its item."""
        for key in ("id", "call_id"):
            name = slot.item.get(key)
            if type(name) is str and name:
                self._by_id[name] = slot

    def put(self, event: dict[str, Json], item: dict[str, Json], done: bool) -> None:
        """A whole copy of an item."""
        slot = self.item_slot(event, item, done)
        if slot.done and not done:
            return
        slot.replace(item, done)
        if self._waiting is not None:
            self._waiting.add(slot)
        self._name(slot)

    # --- the result ---------------------------------------------------------------------------------------

    def result(self, count: int, missing: list[tuple[int, int]], stray: list[Json]) -> Folded:
        """The response as far as it came. count: its events."""
        body: dict[str, Json] = {} if self.snapshot is None else self.snapshot.copy()
        first = self.first
        for key in _IDENTITY:
            if key not in body and first is not None and key in first:
                body[key] = first[key]
        is_final = self.ended_by in ev.TERMINAL
        if is_final and body.get("status") in (None, "in_progress", "queued"):
            body["status"] = ev.LIFECYCLE[self.ended_by]
        output = merge_output(body.get("output"), self.slots, final=is_final)
        if output is not None:
            body["output"] = output
        if self.error is not None and not body.get("error"):
            body["error"] = self.error
        if self.audio is not None:
            body["audio"] = {key: "".join(pieces) for key, pieces in self.audio.items()}
        if self.kept:
            body["unknown_events"] = self.kept
        return Folded(body, bool(self.ended_by), count, unknown=self.unknown, stray=stray, missing=missing)


# --- handlers: True when the event was taken up -----------------------------------------------------------


def _take_lifecycle(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    snapshot = event.get("response")
    if snapshot is not None and type(snapshot) is not dict:
        return False
    if response.ended_by in ev.TERMINAL and (kind == ev.DONE or kind not in ev.TERMINAL):
        # A late or repeated progress snapshot takes nothing back.
        return True
    if kind == ev.DONE:
        known = response.snapshot or {}
        snapshot = {key: value for key, value in known.items() if key != "output"} | (snapshot or {})
    if snapshot:
        response.first = response.first or snapshot
        response.snapshot = snapshot
    if kind in ev.TERMINAL:
        response.ended_by = kind
    return True


def _take_item(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    item = event.get("item")
    if item is None:
        return True
    if type(item) is not dict:
        return False
    response.put(event, item, kind == ev.ITEM_DONE)
    return True


def _take_delta(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    delta, logprobs = event.get("delta"), event.get("logprobs")
    if delta is not None and type(delta) is not str:
        return False
    text = ev.DELTAS[kind]
    slot = response.slot(event, text.item)
    given = event.get(text.index) if text.index else None
    index = slot.index(text.list, given, opening=False)
    pieces = slot.text(text, index)
    if delta:
        pieces.append(delta)
    if type(logprobs) is list and logprobs:
        slot.add_logprobs(index, logprobs)
    elif delta is not None and ev.KNOWN_KEYS[kind].issuperset(event):
        response.open_text = OpenText(event, text.index, pieces)
    return True


def _take_whole(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
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
    return True


def _take_part(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    item_type, name, index_key = ev.PARTS[kind]
    part = event.get("part")
    if part is None:
        return True
    slot = response.slot(event, item_type)
    opening = kind.endswith(".added")
    slot.set_element(name, slot.index(name, event.get(index_key), opening), part, done=not opening)
    return True


def _take_annotation(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    annotation = event.get("annotation")
    if annotation is None:
        return True
    slot = response.slot(event, "message")
    index = slot.index("content", event.get("content_index"), opening=False)
    slot.annotate(index, event.get("annotation_index"), annotation)
    return True


def _take_status(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    item_type, status = ev.STATUS[kind]
    response.slot(event, item_type).set_field("status", status)
    return True


def _take_image(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    slot = response.slot(event, "image_generation_call")
    for key in ("partial_image_b64", "background", "output_format", "quality", "size"):
        if key in event:
            slot.set_field(key, event[key])
    return True


def _take_shell_delta(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    delta = event.get("delta")
    if type(delta) is not dict:
        return delta is None
    slot = response.slot(event, "shell_call_output")
    slot.add_shell_output(slot.index("output", event.get("command_index"), opening=False), delta)
    return True


def _take_shell_whole(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    slot = response.slot(event, "shell_call_output")
    slot.set_shell_output(slot.index("output", event.get("command_index"), opening=False), event.get("output"))
    return True


def _take_audio(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
    delta = event.get("delta")
    if type(delta) is str:
        if response.audio is None:
            response.audio = {}
        response.audio.setdefault(ev.AUDIO[kind], []).append(delta)
    return delta is None or type(delta) is str


def _take_error(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
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


def _ignore(response: StreamedResponse, kind: str, event: dict[str, Json]) -> bool:
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
