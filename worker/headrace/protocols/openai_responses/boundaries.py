"""Which events belong to which response: a body may hold several, a WebSocket interleaves them."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.json_text import Json
from headrace.protocols.openai_responses import events as ev

#: Events of one response, and what came in between that is part of none.
Group = tuple[list[dict[str, Json]], list[Json]]

_BOUNDS = (*ev.LIFECYCLE, ev.ERROR)
#: Some servers end with this line, as Chat Completions does.
_TERMINATOR = "[DONE]"


def sorted_by_response(events: Sequence[Json]) -> list[Group]:
    """(events, strays) of each response. Strays stand with the response they came in."""
    boundaries: list[Boundary] = []
    streams: dict[Json, Boundary] = {}
    current: Boundary | None = None
    stray: list[Json] = []
    stream: Json = None
    for event in events:
        if type(event) is not dict:
            if type(event) is not str or event.strip() != _TERMINATOR:
                stray.append(event)
            continue
        kind = event.get("type")
        if kind.__class__ is not str:
            kind = None
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


class Boundary:
    """Where one response of a stream ends and the next begins."""

    def __init__(self, stray: list[Json]) -> None:
        self.events: list[dict[str, Json]] = []
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
