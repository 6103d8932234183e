"""Messages in, shares out: the captures of a batch, grouped by call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from msgspec import Raw

from headrace import normalize, records
from headrace.capture import envelope
from headrace.capture.avro_form import AvroCaptures
from headrace.capture.event_shape import EventShape, start_of
from headrace.capture.inbound import Inbound
from headrace.capture.inbound import Source as Coordinates
from headrace.capture.mapping import Mapping as SourceMapping
from headrace.capture.model import Capture
from headrace.errors import HeadraceError
from headrace.pipeline import letters
from headrace.pipeline.batch import Batch
from headrace.pipeline.written import OpenCalls, Written
from headrace.reassembly.facts import CallFacts, Trait
from headrace.reassembly.pieces import Pieces
from headrace.reassembly.store import StateKey

#: Which event of a share tells how they are written.
_TO_BE_SHAPED = 2


@final
class Share:
    """One call's part of a batch: one whole body, or the stream pieces of one partition, as they came.

    body: the capture of a whole body, the share's only piece. index: place of its last message in the batch; it
    orders what the batch emits. said: what the last message read by `envelope.read_event` said of the call.
    stated: the facts of that. events: the trait of such messages by their direction. written: how they are written,
    where that is known.
    """

    # No dataclass: what that generates is not compiled with the rest.
    __slots__ = (
        "_partition",
        "_topic",
        "body",
        "events",
        "facts",
        "index",
        "key",
        "pieces",
        "said",
        "stated",
        "written",
    )

    def __init__(self, key: StateKey, facts: CallFacts, first: Coordinates, body: Capture | None = None) -> None:
        self.key = key
        self._topic = first.topic
        self._partition = first.partition
        self.facts = facts
        self.pieces = Pieces()
        self.index = 0
        self.body = body
        self.said: Any = None
        self.stated = facts
        self.events: dict[str | None, Trait] = {}
        self.written: Written | None = None

    def is_of(self, message: Inbound) -> bool:
        """Whether a message lies in the share's partition."""
        return message.partition == self._partition and message.topic == self._topic

    def add(self, capture: Capture, index: int) -> None:
        """Add a capture's piece; ``index``: the place of its message in the batch."""
        at, pieces = capture.source, self.pieces
        trait = Trait(
            at.topic,
            at.partition,
            capture.kind,
            capture.form,
            capture.direction,
            capture.count,
            capture.outcome,
            capture.message,
        )
        if pieces.traits and pieces.traits[-1] == trait:
            trait = pieces.traits[-1]
        pieces.add(trait, at.offset, at.timestamp, capture.seq, capture.captured_at, capture.payload)
        self.index = index


class Intake:
    """Reads the envelopes of one kind of worker.

    mappings: source mapping by topic, for producers that were there before Headrace. avro: the reader of Avro
    captures that knows a schema registry.
    """

    def __init__(self, mappings: Mapping[str, SourceMapping] | None, avro: AvroCaptures | None) -> None:
        self._mappings = {} if mappings is None else mappings
        self._avro = avro
        self._open_calls = OpenCalls()

    def shares(self, messages: Iterable[Inbound], batch: Batch) -> list[Share]:
        """Stream pieces by call and partition, whole bodies alone; ordered by last message.

        What is no capture becomes a dead letter of the batch.
        """
        self._open_calls.next_batch()
        gathered = _Gathered(self._open_calls)
        for index, message in enumerate(messages):
            mapping = self._mappings.get(message.topic) if self._mappings else None
            if mapping is None and gathered.add_like(message, index):
                continue
            event = envelope.read_event(message) if mapping is None else None
            if event is not None and gathered.add_event(event, message, index):
                continue
            for capture in self._captures(message, mapping, index, batch):
                gathered.add(capture, index)
        gathered.shares.sort(key=lambda share: share.index)
        return gathered.shares

    def note(self, share: Share, *, is_open: bool) -> None:
        """Whether more of a share's call is to come: then how its events are written is worth knowing."""
        if share.written is not None:
            if is_open:
                self._open_calls.keep(share.written)
            else:
                self._open_calls.drop(share.written)

    def _captures(self, message: Inbound, mapping: SourceMapping | None, index: int, batch: Batch) -> Sequence[Capture]:
        try:
            read = envelope.read_captures(message, mapping, self._avro)
        except Exception as fault:
            ours = records.unexpected(fault, letters.place_of(message.source))
            batch.dead_letters.append((index, records.dead_letter_of(ours, message, fault)))
            return ()
        for reject in read.rejects:
            letter = records.dead_letter(
                reject.error, [message.source], reject.value, key=message.key, headers=message.headers
            )
            batch.dead_letters.append((index, letter))
        return read.captures


class _Gathered:
    """The shares of a batch while it is read."""

    def __init__(self, open_calls: OpenCalls) -> None:
        self.shares: list[Share] = []
        self._open_calls = open_calls
        self._http: dict[bytes, Raw] = {}
        self._streams: dict[tuple[str, int, str, str], Share] = {}
        #: By call id, the share that an event was added to last.
        self._last: dict[str, Share] = {}
        #: By what their messages begin with, shares of which it is known how these are written.
        self._shaped: dict[bytes, Share] = {}

    def add_like(self, message: Inbound, index: int) -> bool:
        """Add the piece of an event that is written as the ones before it; False, and nothing added, for any other."""
        value = envelope.own_value(message)
        start = None if value is None else start_of(value)
        if value is None or start is None:
            return False
        share = self._shaped.get(start)
        written = self._open_calls.find(start) if share is None else share.written
        if written is None or not written.is_of(message):
            return False
        read = written.shape.read(value)
        if read is None:
            return False
        if share is None:
            share = self._resumed(written, message)
        seq, captured_at, payload = read
        share.pieces.add(written.trait, message.offset, message.timestamp, seq, captured_at, payload)
        share.index = index
        return True

    def _resumed(self, written: Written, message: Inbound) -> Share:
        """The share, in this batch, of a call that was open after an earlier one."""
        share = self._stream(written.facts, message.source)
        if share.written is None:
            share.written = written
            self._shaped[written.shape.start] = share
        if share.said is None:
            self._say(share, written.said, written.facts)
            share.events[written.trait.direction] = written.trait
        return share

    def add_event(self, event: envelope.Event, message: Inbound, index: int) -> bool:
        """Add an event's piece; False, and nothing added, when what it says of the call is not to be accepted."""
        said = event.said
        share = self._last.get(said.call_id)
        if share is None or not share.is_of(message) or share.said != said:
            try:
                facts = normalize.call_facts(said, *envelope.facts_said(said))
            except HeadraceError:
                return False
            share = self._stream(facts, message.source)
            # Many calls say the same of HTTP. One copy stays near the processor; each call's own would not. A copy, for
            # what lies in a message keeps all of it in memory.
            http = bytes(said.http)
            said.http = self._http.setdefault(http, Raw(http))
            self._say(share, said, facts)
        trait = share.events.get(event.direction)
        if trait is None:
            trait = Trait(message.topic, message.partition, "stream", "json", event.direction)
            share.events[event.direction] = trait
        share.pieces.add(trait, message.offset, message.timestamp, event.seq, event.captured_at, event.payload)
        share.index = index
        if len(share.pieces) == _TO_BE_SHAPED and share.written is None and message.value is not None:
            # Of fewer it would cost more than it saves.
            shape = EventShape.of(message.value, event)
            if shape is not None:
                share.written = Written(shape, trait, share.said, share.stated)
                self._shaped[shape.start] = share
        return True

    def _say(self, share: Share, said: Any, facts: CallFacts) -> None:
        """What the last event said that was read in full, which most after it say, too."""
        share.said, share.stated = said, facts
        self._last[said.call_id] = share

    def add(self, capture: Capture, index: int) -> None:
        """Add a capture of any kind."""
        facts = normalize.facts_of_capture(capture)
        if capture.kind in ("request", "response"):
            share = Share(StateKey(facts.tenant or "", facts.call_id, capture.kind), facts, capture.source, capture)
            self.shares.append(share)
        else:
            share = self._stream(facts, capture.source)
        share.add(capture, index)

    def _stream(self, facts: CallFacts, source: Coordinates) -> Share:
        """The share of a call's stream, which the facts are added to."""
        place = (facts.call_id, source.partition, source.topic, facts.tenant or "")
        share = self._streams.get(place)
        if share is None:
            key = StateKey(facts.tenant or "", facts.call_id, "response")
            share = self._streams[place] = Share(key, facts, source)
            self.shares.append(share)
        elif share.facts != facts:
            share.facts = share.facts.merged(facts)
        return share
