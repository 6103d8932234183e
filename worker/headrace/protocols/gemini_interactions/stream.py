"""Stream events -> interactions, as the API would have sent them without streaming.

An event opens, changes or closes the slot of one step, told by ``index``; everything else speaks of the whole
interaction. Handlers are looked up by event type; `slots` applies deltas. The last event is laid over all others.

Running totals of usage inside the stream count only where the last event has none. ``event_id`` is kept of the
last event that has one: it is where a client resumes. A stream that is replayed from its start (same id, same
indices) gives one interaction; an opening event with another id, or after the last event, begins the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.json_text import Json
from headrace.protocols.delta_run import Counted, DeltaRun, index_of
from headrace.protocols.entry_points import Folded
from headrace.protocols.gemini_interactions.finish import goes_on
from headrace.protocols.gemini_interactions.signs import TERMINATORS
from headrace.protocols.gemini_interactions.slots import PIECES, Slot, step_of
from headrace.protocols.stretches import Stretch

#: Key under which fields of events that nobody knows stay with the interaction.
EVENT_EXTRAS = "event_extras"
_LISTS = ("steps", "outputs")
_ENVELOPE = frozenset({"event_type", "event_id", "interaction"})


class _Interaction(Counted):
    """One interaction in the making."""

    __slots__ = ("body", "complete", "extras", "left", "list_key", "run", "slots", "stray", "unknown", "usage")

    def __init__(self) -> None:
        super().__init__()
        self.body: dict[str, Json] = {}
        self.slots: dict[int, Slot] = {}
        #: Slots whose index another step has now.
        self.left: list[tuple[int, Slot]] = []
        self.list_key = "steps"
        self.extras: list[Json] = []
        self.usage: Json = None
        self.complete = False
        self.unknown: list[tuple[str, str]] = []
        self.stray: list[Json] = []
        #: Deltas like the last event, if that is what it was.
        self.run: DeltaRun | None = None

    def update(self, fields: dict[str, Json]) -> None:
        """Lay fields of the interaction over what is known; null and an empty list of steps say nothing new."""
        for key, value in fields.items():
            if key not in self.body or not (value is None or (key in _LISTS and value == [])):
                self.body[key] = value

    def slot(self, event: dict[str, Json], delta: Json = None) -> Slot:
        """The slot of an event: of its index, else the last one, else a new one for the delta's type of step."""
        index = index_of(event)
        if index is None:
            index = next(reversed(self.slots), 0)
        slot = self.slots.get(index)
        if slot is None:
            flat = self.list_key == "outputs"
            slot = self.slots[index] = Slot(step_of(delta, flat=flat), flat=flat)
        return slot

    def open_slot(self, event: dict[str, Json], step: Json) -> None:
        """Open the slot of a start event. One that was open is being replayed, unless it is another step's."""
        given = index_of(event)
        index = len(self.slots) if given is None else given
        before = self.slots.get(index)
        if before is not None and not _is_replayed(before.step, step):
            self.left.append((index, before))
        self.slots[index] = Slot(step, flat=self.list_key == "outputs")

    def extra(self, event: dict[str, Json], keys: set[str]) -> None:
        """Keep fields of an event that nobody knows."""
        kept = {key: value for key, value in event.items() if key in keys or key in ("event_type", "index")}
        self.extras.append(kept)

    def taken(self) -> Folded:
        """The folded response. Steps of the last event are authoritative, unless it lacks some that were streamed."""
        body = self.body
        final = body.get(self.list_key)
        slots = self._in_order()
        if type(final) is list and len(final) >= len(slots):
            for slot in slots:
                self.stray += slot.unknown
        elif slots:
            body[self.list_key] = [slot.taken() for slot in slots]
        if self.usage is not None and body.get("usage") is None:
            body["usage"] = self.usage
        if self.extras:
            held = body.get(EVENT_EXTRAS)
            body[EVENT_EXTRAS] = [*held, *self.extras] if type(held) is list else self.extras
        return Folded(body, self.complete, self.events, unknown=self.unknown, stray=self.stray)

    def _in_order(self) -> list[Slot]:
        slots = [self.slots[index] for index in sorted(self.slots)]
        if self.left:
            every = sorted([*self.left, *self.slots.items()], key=itemgetter(0))
            slots = [slot for _, slot in every]
        return slots


def _is_replayed(before: Json, step: Json) -> bool:
    """Whether a start event can be that of the step before: it has the same type and, where both have one, id."""
    if type(before) is not dict or type(step) is not dict:
        return True
    for key in ("type", "id", "call_id"):
        known, said = before.get(key), step.get(key)
        if known is not None and said is not None and known != said:
            return False
    return True


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """One Folded an interaction, in order."""
    made = [_Interaction()]
    for event in events:
        if type(event) is not Stretch:
            _take(event, made)
        else:
            run = made[-1].run
            if run is None or not run.take_stretch(event):
                for each in event.events():
                    _take(each, made)
    return [one.taken() for one in made if one.events or one.stray]


def _take(event: Json, made: list[_Interaction]) -> None:
    """One event, for the last interaction or a new one."""
    now = made[-1]
    if type(event) is not dict:
        now.run = None
        _text(event, now)
        return
    if now.run is not None and now.run.take(event):
        return
    now.run = None
    handler = _handler(event)
    if handler is _opened and _is_another(event, now):
        now = _Interaction()
        made.append(now)
    if handler is None:
        event_type = event.get("event_type")
        now.unknown.append(("event", event_type if type(event_type) is str else "(none)"))
        now.stray.append(event)
        return
    handler(event, now)
    now.events += 1
    if len(event) > 3 or "delta" not in event or "index" not in event:
        _read_envelope(event, now)


def _handler(event: dict[str, Json]) -> Handler | None:
    event_type = event.get("event_type")
    if type(event_type) is str:
        return _HANDLERS.get(event_type)
    # No envelope: an answer in place of a stream.
    if "error" in event and "status" not in event:
        return _error
    return _whole if not _WHOLE_KEYS.isdisjoint(event) else None


def _read_envelope(event: dict[str, Json], now: _Interaction) -> None:
    event_type = event.get("event_type")
    known = _KNOWN_KEYS.get(event_type) if type(event_type) is str else None
    if known is not None and not known.issuperset(event):
        now.extra(event, event.keys() - known)


def _text(event: Json, now: _Interaction) -> None:
    """Not an object: the terminator, or nothing of ours.

    A relay may write the terminator after an answer that broke off: only a status that is no longer open counts.
    """
    if type(event) is str and event.strip() in TERMINATORS:
        status = now.body.get("status")
        now.complete = now.complete or (type(status) is str and not goes_on(status))
    else:
        now.stray.append(event)


def _is_another(event: dict[str, Json], now: _Interaction) -> bool:
    """Whether an opening event begins a new interaction, rather than replays this one."""
    opened = _fields(event).get("id")
    return bool(now.events) and (now.complete or not opened or now.body.get("id") != opened)


def _fields(event: dict[str, Json]) -> dict[str, Json]:
    """The interaction's fields of an event, which has them under ``interaction`` or beside its own."""
    nested = event.get("interaction")
    fields = dict(nested) if type(nested) is dict else {}
    for key, value in event.items():
        if key == "interaction_id":
            fields.setdefault("id", value)
        elif key not in _ENVELOPE:
            fields.setdefault(key, value)
    if event.get("event_id") is not None:
        fields["event_id"] = event["event_id"]
    return fields


# Handlers: (event, interaction)


def _opened(event: dict[str, Json], now: _Interaction) -> None:
    if event["event_type"] == "interaction.start":
        now.list_key = "outputs"
    fields = _fields(event)
    begun = fields.get(now.list_key)
    if type(begun) is list and begun:
        # Steps of before: a stream that goes on where another one ended.
        del fields[now.list_key]
        for index, step in enumerate(begun):
            now.open_slot({"index": index}, step)
    now.update(fields)


def _status(event: dict[str, Json], now: _Interaction) -> None:
    now.update(_fields(event))


def _completed(event: dict[str, Json], now: _Interaction) -> None:
    if event["event_type"] == "interaction.complete":
        now.list_key = "outputs"
    now.update(_fields(event))
    if event["event_type"] == "interaction.cancelled":
        now.body["status"] = "cancelled"
    now.complete = True


def _whole(event: dict[str, Json], now: _Interaction) -> None:
    now.update(event)
    now.complete = not goes_on(now.body.get("status"))


def _error(event: dict[str, Json], now: _Interaction) -> None:
    error = event.get("error")
    if error is None:
        error = {key: value for key, value in event.items() if key not in _ENVELOPE}
    elif not event.keys() <= _ERROR_KEYS:
        now.extra(event, event.keys() - _ERROR_KEYS)
    now.body["error"] = error
    _resume_after(event, now)
    now.complete = True


def _start(event: dict[str, Json], now: _Interaction) -> None:
    now.open_slot(event, event.get("step", {}))
    _resume_after(event, now)


def _content_start(event: dict[str, Json], now: _Interaction) -> None:
    now.list_key = "outputs"
    beside = {"type": event["type"]} if "type" in event else {}
    now.open_slot(event, event.get("content", beside))
    _resume_after(event, now)


def _delta(event: dict[str, Json], now: _Interaction) -> None:
    delta: Any = event.get("delta")
    slot = now.slot(event, delta)
    if slot.delta(delta):
        index = index_of(event) if len(event) == 3 else None
        pieces = slot.pieces_of(delta)
        if index is not None and pieces is not None:
            kind, source = delta["type"], PIECES[delta["type"]]
            now.run = DeltaRun("event_type", event["event_type"], index, kind, source, pieces, now)
    else:
        delta_type = delta.get("type") if type(delta) is dict else None
        now.unknown.append(("delta", delta_type if type(delta_type) is str else "(none)"))
    if len(event) > 3:
        metadata = event.get("metadata")
        if type(metadata) is dict:
            if metadata.keys() != {"total_usage"}:
                now.extra(event, {"metadata"})
            now.usage = metadata.get("total_usage", now.usage)
        _resume_after(event, now)


def _content_delta(event: dict[str, Json], now: _Interaction) -> None:
    now.list_key = "outputs"
    _delta(event, now)


def _stop(event: dict[str, Json], now: _Interaction) -> None:
    if event.get("usage") is not None:
        now.usage = event["usage"]
    if event.get("step_usage") is not None:
        slot = now.slot(event)
        if type(slot.step) is dict:
            slot.step["step_usage"] = event["step_usage"]
    _resume_after(event, now)


def _resume_after(event: dict[str, Json], now: _Interaction) -> None:
    event_id = event.get("event_id")
    if event_id is not None:
        now.body["event_id"] = event_id


Handler = Callable[[dict[str, Json], _Interaction], None]
_WHOLE_KEYS = frozenset({"steps", "outputs", "status"})
_HANDLERS: dict[str, Handler] = {
    "interaction.created": _opened,
    "interaction.start": _opened,
    "interaction.connected": _status,
    "interaction.status_update": _status,
    # Named by the migration guide only.
    "interaction.in_progress": _status,
    "interaction.requires_action": _status,
    "step.start": _start,
    "step.delta": _delta,
    "step.stop": _stop,
    "content.start": _content_start,
    "content.delta": _content_delta,
    "content.stop": _stop,
    "interaction.completed": _completed,
    "interaction.complete": _completed,
    "interaction.cancelled": _completed,
    "error": _error,
}
_INDEXED = frozenset({"event_type", "event_id", "index"})
#: Keys of events whose other fields are not the interaction's.
_KNOWN_KEYS = {
    "step.start": _INDEXED | {"step"},
    "step.delta": _INDEXED | {"delta", "metadata"},
    "step.stop": _INDEXED | {"usage", "step_usage"},
    "content.start": _INDEXED | {"content", "type"},
    "content.delta": _INDEXED | {"delta", "metadata"},
    "content.stop": _INDEXED | {"usage", "step_usage"},
}
_ERROR_KEYS = frozenset({"event_type", "event_id", "error"})
