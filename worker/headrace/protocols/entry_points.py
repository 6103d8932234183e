"""The entry points that every protocol folder has.

request.py   read_request(body, reading) -> record     write_request(record) -> body
response.py  read_response(body, reading, layout) -> record     write_response(record) -> body
stream.py    sign(payload) -> int     fold(events) -> [Folded]     unfold(body) -> events

"record" is the canonical shape with what the body says: model, messages, tools, usage, …; the pipeline adds ids,
times and coordinates. "body" is the wire JSON. Same protocol, both ways: write(read(body)) == body as values.

Natural form is a record that did not come from this protocol's own reader: no ``wire``, ``extras``, ``continuation``
or raw usage, maybe no ``wire_type``, ``provider_id`` or raw reason. Writers make a whole body of it: fields that the
wire always has, its own word for the canonical reason, usage as the wire counts it, ids of calls from
``tool_call.id``. They invent no facts: response id, model and times must be in the record. A reader therefore notes
in ``wire`` where a body lacks what the writer would add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.canonical import added
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import Json
from headrace.protocols.stretches import Stretch


class Folded:
    """One response folded out of stream events.

    body: what the provider would have sent without streaming; a stream error is under "error", as in its error
    bodies. complete: the protocol's last event (or every finish reason) was seen. events: stream events that
    made it. layout: what the whole body cannot say, for `read_response` (for instance in which order text
    and tool calls came); None where the body says it all. unknown: (kind, type) of events and deltas nobody
    knows, which are kept in the body or in ``stray``. stray: events that no response could take, raw. missing:
    gaps in the wire's own numbering of events, as inclusive ranges, where it numbers them. record_type: "request"
    where the stream itself carries the request (the setup of a Live session): `read_request` takes the body.
    """

    # No dataclass: what that generates is not compiled with the rest.
    __slots__ = ("body", "complete", "events", "layout", "missing", "record_type", "stray", "unknown")

    def __init__(
        self,
        body: dict[str, Json],
        complete: bool,
        events: int,
        layout: Any = None,
        unknown: list[tuple[str, str]] | None = None,
        stray: list[Json] | None = None,
        missing: list[tuple[int, int]] | None = None,
        record_type: str = "response",
    ) -> None:
        self.body = body
        self.complete = complete
        self.events = events
        self.layout = layout
        self.unknown: list[tuple[str, str]] = [] if unknown is None else unknown
        self.stray: list[Json] = [] if stray is None else stray
        self.missing: list[tuple[int, int]] = [] if missing is None else missing
        self.record_type = record_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded) and self._facts() == other._facts()

    def __repr__(self) -> str:
        return f"Folded{self._facts()!r}"

    def _facts(self) -> tuple[Any, ...]:
        facts = (self.body, self.complete, self.events, self.layout, self.unknown, self.stray)
        return (*facts, self.missing, self.record_type)


ReadRequest = Callable[[dict[str, Json], Reading], CanonicalRecord]
ReadResponse = Callable[[dict[str, Json], Reading, Any], CanonicalRecord]
Write = Callable[[CanonicalRecord], Json]


@dataclass(frozen=True, slots=True)
class Codec:
    """A protocol's entry points.

    read_request, read_response: raise WireError when the JSON is no message of this protocol at all; whatever
    else is odd is kept (extras, raw) and counted. A response body may be an error body (``error`` is filled).
    sign: whether raw bytes (one JSON event, or a slice of the SSE body) hold the protocol's last event:
    SIGN_HARD, SIGN_SOFT (only trailers follow), SIGN_NONE. Exact on whole events, never fooled by content.
    fold: events are parsed JSON values in order; an event that is no JSON (``[DONE]``) is its text. Many that are
    alike may come as a `Stretch`, right after one of them. Gives one Folded a response: several responses in one body
    are several. Never raises on odd events.
    unfold: the event sequence of a whole body, as the provider would stream it.
    sse: how one event is written as SSE text, terminator included where the protocol has one.
    usage_paths: dotted paths in the wire's usage object that named usage fields carry.
    """

    protocol: str
    read_request: ReadRequest
    write_request: Write
    read_response: ReadResponse
    write_response: Write
    sign: Callable[[bytes], int]
    fold: Callable[[Sequence[Json | Stretch]], list[Folded]]
    unfold: Callable[[dict[str, Json]], list[Json]]
    sse: Callable[[Sequence[Json]], str]
    usage_paths: frozenset[str]

    def __post_init__(self) -> None:
        """No codec writes what Headrace added to a response."""
        write = self.write_response
        object.__setattr__(self, "write_response", lambda record: write(added.without(record)))
