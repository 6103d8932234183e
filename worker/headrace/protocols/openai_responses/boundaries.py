"""Which events belong to which response: a body may hold several, a WebSocket interleaves them."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.json_text import Json
from headrace.protocols.openai_responses import events as ev
from headrace.protocols.stretches import Path, Stretch, broken_up

#: Events of one response, and what came in between that is part of none.
Group = tuple[list[dict[str, Json] | Stretch], list[Json]]

_BOUNDS = (*ev.LIFECYCLE, ev.ERROR)
#: What deltas of one text differ in. Some gateways give each of them another item id.
_OWN: frozenset[Path] = frozenset({("delta",), ("sequence_number",), ("obfuscation",), ("item_id",)})
#: Some servers end with this line, as Chat Completions does.
_TERMINATOR = "[DONE]"


def sorted_by_response(events: Iterable[Json | Stretch]) -> list[Group]:
    """(events, strays) of each response. Strays stand with the response they came in.

    A stretch of plain deltas belongs where the event before it does; others are broken up.
    """
    boundaries: list[Boundary] = []
    streams: dict[Json, Boundary] = {}
    current: Boundary | None = None
    stray: list[Json] = []
    stream: Json = None
    for event in broken_up(events, _is_plain):
        if type(event) is not dict:
            if type(event) is Stretch and current is not None:
                current.events.append(event)
            elif type(event) is not str or event.strip() != _TERMINATOR:
                stray.append(event)
            continue
        kind = event.get("type")
        if kind.__class__ is not str:
            kind = None
        elif kind in ev.DELTAS and current is not None and "stream_id" not in event:
            # Nearly all events, put where the others would put them.
            current.events.append(event)
            continue
        if kind in ev.AROUND:
            stray.append(event)
            continue
        named = event.get("stream_id")
        if current is None or (named is not None and named != stream) or kind in _BOUNDS:
            if type(named) is str and (named in streams or stream is not None or kind in ev.LIFECYCLE):
                # An id that only a trailing event has opens no response.
                stream = named
            found = streams.get(stream)
            if found is None or found.starts_another(kind, event):
                found = streams[stream] = Boundary(stray if current is None else [])
                boundaries.append(found)
            found.note(kind, event)
            current, stray = found, found.stray
        current.events.append(event)
    groups = [(boundary.events, boundary.stray) for boundary in boundaries]
    return groups if groups or not stray else [([], stray)]


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
