"""Which events belong to which response: a body may hold several, a WebSocket interleaves them."""

from __future__ import annotations

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_responses import events as ev
from headrace.protocols.openai_responses.numbering import Numbers, without_repeats
from headrace.protocols.openai_responses.streamed_response import StreamedResponse
from headrace.protocols.stretches import Path, Stretch

_BOUNDS = frozenset({*ev.LIFECYCLE, ev.ERROR})
#: Events that may change which response the others belong to, and those that belong to none.
_TELLING = _BOUNDS | ev.AROUND
#: What deltas of one text differ in. Some gateways give each of them another item id.
_OWN: frozenset[Path] = frozenset({("delta",), ("sequence_number",), ("obfuscation",), ("item_id",)})
#: Some servers end with this line, as Chat Completions does.
_TERMINATOR = "[DONE]"


class Sorting:
    """Hands events to their responses.

    boundaries: the responses seen so far. current: the one that events belong to now. stray: events that are part of
    no response; they stand with the response they came in.
    """

    __slots__ = ("_stream", "_streams", "boundaries", "current", "stray")

    def __init__(self) -> None:
        self.boundaries: list[Boundary] = []
        self.current: Boundary | None = None
        self.stray: list[Json] = []
        self._streams: dict[Json, Boundary] = {}
        self._stream: Json = None

    def take(self, event: Json) -> None:
        """Any event but a stretch."""
        if type(event) is not dict:
            if type(event) is not str or event.strip() != _TERMINATOR:
                self.stray.append(event)
            return
        kind = event.get("type")
        if type(kind) is not str:
            kind = None
        current = self.current
        if current is None or kind in _TELLING or "stream_id" in event:
            if kind in ev.AROUND:
                self.stray.append(event)
                return
            named = event.get("stream_id")
            if current is None or (named is not None and named != self._stream) or kind in _BOUNDS:
                current = self._bound(kind, event, named)
        current.take(event)

    def take_stretch(self, stretch: Stretch) -> None:
        """A stretch of plain deltas belongs where the event before it does; others are broken up."""
        if self.current is not None and _is_plain(stretch):
            self.current.take_stretch(stretch)
            return
        for event in stretch.events():
            self.take(event)

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
    """Where one response of a stream ends and the next begins, and its events, which it takes as they come.

    Where their numbers turn out to be odd, no more is taken: the response is made anew of all of them.
    """

    __slots__ = ("_ended", "_events", "_id", "_numbers", "_opened", "_response", "_stretched", "stray")

    def __init__(self, stray: list[Json]) -> None:
        self.stray = stray
        self._events: list[dict[str, Json] | Stretch] = []
        #: How many events are in stretches, but for one each.
        self._stretched = 0
        self._numbers = Numbers()
        self._response = StreamedResponse()
        self._ended = False
        self._opened = False
        self._id: Json = None

    def goes_on(self, event: dict[str, Json]) -> bool:
        """Take a delta that adds to the same text as the event before it; False, with nothing done, for any other."""
        text = self._response.open_text
        delta = None if text is None else text.delta_of(event)
        if text is None or delta is None:
            return False
        self._events.append(event)
        if self._numbers.follow(event.get("sequence_number")):
            text.pieces.append(delta)
        return True

    def take(self, event: dict[str, Json]) -> None:
        """Any event of the response but a stretch."""
        self._events.append(event)
        if self._numbers.follow(event.get("sequence_number")):
            self._response.take(event)

    def take_stretch(self, stretch: Stretch) -> None:
        """A stretch of plain deltas."""
        self._events.append(stretch)
        self._stretched += len(stretch) - 1
        if self._numbers.follow_stretch(stretch):
            self._response.take_stretch(stretch)

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

    def folded(self) -> Folded:
        """The response as far as it came."""
        if not self._numbers.is_odd:
            count = len(self._events) + self._stretched
            return self._response.result(count, self._numbers.missing, self.stray)
        events, missing = without_repeats(self._events)
        response = StreamedResponse()
        for event in events:
            response.take(event)
        return response.result(len(events), missing, self.stray)


def _response_id(event: dict[str, Json]) -> Json:
    response = event.get("response")
    return response.get("id") if type(response) is dict else None
