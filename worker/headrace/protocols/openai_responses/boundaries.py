"""Which events belong to which response: a body may hold several, a WebSocket interleaves them."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.json_text import Json
from headrace.protocols.openai_responses import events as ev
from headrace.protocols.stretches import Path, Stretch

#: Events of one response, and what came in between that is part of none.
Group = tuple[list[dict[str, Json] | Stretch], list[Json]]

_BOUNDS = frozenset({*ev.LIFECYCLE, ev.ERROR})
#: What deltas of one text differ in. Some gateways give each of them another item id.
_OWN: frozenset[Path] = frozenset({("delta",), ("sequence_number",), ("obfuscation",), ("item_id",)})
#: Some servers end with this line, as Chat Completions does.
_TERMINATOR = "[DONE]"


def sorted_by_response(events: Iterable[Json | Stretch]) -> list[Group]:
    """(events, strays) of each response. Strays stand with the response they came in.

    A stretch of plain deltas belongs where the event before it does; others are broken up.
    """
    sorting, deltas = _Sorting(), ev.DELTAS
    current: Boundary | None = None
    for event in events:
        if type(event) is dict:
            # Nearly all events are put where `take` would put them.
            kind = event.get("type")
            if current is not None and type(kind) is str and kind in deltas and "stream_id" not in event:
                current.events.append(event)
            else:
                sorting.take(event)
                current = sorting.current
        elif type(event) is not Stretch:
            sorting.take_odd(event)
        elif current is not None and _is_plain(event):
            current.events.append(event)
        else:
            for each in event.events():
                sorting.take(each)
            current = sorting.current
    groups = [(boundary.events, boundary.stray) for boundary in sorting.boundaries]
    return groups if groups or not sorting.stray else [([], sorting.stray)]


class _Sorting:
    """The responses seen so far, and the one that events belong to now."""

    __slots__ = ("_stream", "_streams", "boundaries", "current", "stray")

    def __init__(self) -> None:
        self.boundaries: list[Boundary] = []
        self.current: Boundary | None = None
        self.stray: list[Json] = []
        self._streams: dict[Json, Boundary] = {}
        self._stream: Json = None

    def take(self, event: Json) -> None:
        """Any event but those of a stretch."""
        if type(event) is not dict:
            self.take_odd(event)
            return
        kind = event.get("type")
        if type(kind) is not str:
            kind = None
        if kind in ev.AROUND:
            self.stray.append(event)
            return
        named = event.get("stream_id")
        current = self.current
        if current is None or (named is not None and named != self._stream) or kind in _BOUNDS:
            current = self._bound(kind, event, named)
        current.events.append(event)

    def take_odd(self, event: Json) -> None:
        """What is no object."""
        if type(event) is not str or event.strip() != _TERMINATOR:
            self.stray.append(event)

    def _bound(self, kind: Json, event: dict[str, Json], named: Json) -> Boundary:
        """The response of an event that may begin or end one, or is of another stream."""
        if type(named) is str and (named in self._streams or self._stream is not None or kind in ev.LIFECYCLE):
            # An id that only a trailing event has opens no response.
            self._stream = named
        found = self._streams.get(self._stream)
        if found is None or found.starts_another(kind, event):
            found = self._streams[self._stream] = Boundary(self.stray if self.current is None else [])
            self.boundaries.append(found)
        found.note(kind, event)
        self.current, self.stray = found, found.stray
        return found


def _is_plain(stretch: Stretch) -> bool:
    """Whether the events of a stretch are deltas with nothing odd that differ in what a delta has of its own."""
    event = stretch.event
    kind, stream = event.get("type"), event.get("stream_id")
    return (
        type(kind) is str
        and kind in ev.DELTAS
        and type(event.get("delta")) is str
        and not event.get("logprobs")
        and (stream is None or type(stream) is str)
        and ev.KNOWN_KEYS[kind].issuperset(event)
        and stretch.varying() <= _OWN
    )


class Boundary:
    """Where one response of a stream ends and the next begins."""

    def __init__(self, stray: list[Json]) -> None:
        self.events: list[dict[str, Json] | Stretch] = []
        self.stray = stray
        self._ended = False
        self._opened = False
        self._id: Json = None

    def starts_another(self, kind: Json, event: dict[str, Json]) -> bool:
        """Whether an event cannot belong to this response any more."""
        response_id = _response_id(event)
        if kind == "response.created":
            return self._opened and (response_id is None or response_id != self._id)
        # Some gateways give every snapshot another id: only after the end does it tell a new response.
        return self._ended and kind in ev.LIFECYCLE and response_id not in (None, self._id)

    def note(self, kind: Json, event: dict[str, Json]) -> None:
        """Remember what was seen of the response."""
        if kind in ev.LIFECYCLE:
            self._opened = True
            if self._id is None or kind in ev.TERMINAL:
                self._id = _response_id(event) or self._id
        self._ended = self._ended or kind == ev.ERROR or kind in ev.TERMINAL


def _response_id(event: dict[str, Json]) -> Json:
    response = event.get("response")
    return response.get("id") if type(response) is dict else None
