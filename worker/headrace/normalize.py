"""From the bytes of one call to its records: the sans-IO heart that worker and offline runs share.

    request body            -> one request record
    whole response body     -> response records (a whole SSE, NDJSON or JSON-array body is folded)
    stream pieces in order  -> response records

Bodies are told by their content. What cannot be read becomes a dead letter with its bytes; a stream with one
bad event gives its record and a dead letter for that event.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from headrace import records, regular_streams
from headrace.canonical import added
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.capture import detection
from headrace.capture.body import read_body
from headrace.capture.framing import Framed, FramedEvent, join_pieces
from headrace.capture.inbound import Source as Coordinates
from headrace.capture.json_shapes import Said
from headrace.capture.model import Capture, Http
from headrace.capture.redaction import redact_body
from headrace.errors import FramingError, HeadraceError, WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols import codec as codec_of
from headrace.protocols.entry_points import Codec, Folded
from headrace.protocols.stretches import Stretch, read
from headrace.reassembly.facts import CallFacts
from headrace.reassembly.pieces import Pieces


@dataclass(slots=True)
class Normalized:
    """What one unit of input became.

    complete: the wire's own evidence says that the last response ended.
    """

    records: list[CanonicalRecord] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    complete: bool = True


@dataclass(slots=True)
class _Events:
    """What a codec folds. values: events in order, parsed, or stretches of them. bad: events that are no JSON."""

    values: list[Json] = field(default_factory=list)
    bad: list[FramedEvent] = field(default_factory=list)

    @classmethod
    def of(cls, framed: Framed) -> _Events:
        """A framed body's events; what its end cut off is a bad one."""
        bad = framed.bad
        values = [event.value for event in framed.events if event.error is None] if bad else framed.values
        if framed.remainder:
            bad.append(_cut_off(framed.remainder))
        return cls(values, bad)

    def add(self, more: _Events) -> None:
        """Add what follows."""
        self.values += more.values
        self.bad += more.bad


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a unit's bytes came from: call facts, and coordinates and capture times that span its messages."""

    facts: CallFacts
    coordinates: tuple[Coordinates, ...]
    captured: tuple[int, ...]


def facts_of_capture(capture: Capture) -> CallFacts:
    """The call facts that one capture carries."""
    return call_facts(capture, capture.protocol, capture.http)


def call_facts(said: Capture | Said, protocol: str | None, http: Http | None) -> CallFacts:
    """What a message says of its call, with the protocol and the HTTP facts as they were read."""
    return CallFacts(
        call_id=said.call_id,
        protocol=protocol,
        provider=said.provider,
        task_id=said.task_id,
        request_version=said.request_version,
        tenant=said.tenant,
        http=http,
        origin=said.origin,
        side=said.side,
        attempt=said.attempt,
        truncated=said.truncated,
        fidelity=said.fidelity,
    )


def _origin(capture: Capture) -> Origin:
    captured = () if capture.captured_at is None else (capture.captured_at,)
    return Origin(facts_of_capture(capture), (capture.source,), captured)


def request(capture: Capture) -> Normalized:
    """A `request` capture -> its request record. Raises HeadraceError when the body cannot be read at all."""
    origin = _origin(capture)
    body = _single(_framed(capture.payload, capture.form, capture.http), "request")
    if not _is_safe(capture):
        body = _safe(body)
    origin = _known(origin, "request", body)
    reading = Reading(capture.call_id, "request", tenant=capture.tenant)
    shape = _codec(origin).read_request(body, reading)
    model = detection.model_of(_url(capture.http))
    if "model" not in shape and model:
        shape["model"] = model
    return Normalized([records.finish(shape, reading, origin.facts, origin.coordinates, origin.captured)])


def response(capture: Capture) -> Normalized:
    """A `response` capture -> its response records; one for most bodies, several for a stream of several.

    An HTTP error always gives a record with ``error``, whatever its body is. Raises HeadraceError when any other
    body cannot be read at all.
    """
    origin = _origin(capture)
    try:
        values = None if capture.form == "json" else regular_streams.values_of(capture.payload)
        if values is not None:
            origin, events = _known(origin, "response", values), _Events(values)
        else:
            framed = _framed(capture.payload, capture.form, capture.http)
            origin, events = _known(origin, "response", framed.values), _Events.of(framed)
            if framed.form == "json" and isinstance(framed.events[0].value, dict):
                reading = Reading(capture.call_id, "response", tenant=capture.tenant)
                body = framed.events[0].value if _is_safe(capture) else _safe(framed.events[0].value)
                shape = _codec(origin).read_response(body, reading, None)
                return Normalized([_finish_response(shape, reading, origin)])
        made = _folded(origin, events, first_ordinal=0, reason="no_terminal_event")
        if not made.records and not made.dead_letters:
            raise WireError("the body holds no event", code="empty_body", fix="send the body of the response")
        return made
    except (FramingError, WireError) as unreadable:
        if not _is_http_error(capture.http):
            raise
        return Normalized([_http_error(capture, origin, unreadable)])


def stream(facts: CallFacts, pieces: Pieces, *, first_ordinal: int) -> Normalized:
    """The pieces of one segment, in order, -> its response records.

    Whether a response ended is the wire's own evidence; `end` and `error` captures only say why it did not.
    """
    streamed = pieces.of_kind("stream")
    origin = _stream_origin(facts, pieces, streamed)
    events = _Events()
    for run in _runs(streamed):
        events.add(_run_events(run, facts.http))
    failure = _failure(pieces)
    if failure is not None and len(streamed) == 0:
        # After a response it is none itself: what failed then is the connection that had brought it.
        return Normalized([_transport_error(origin, failure)], complete=first_ordinal == 0)
    if not events.values and not events.bad:
        return Normalized(complete=False)
    origin = _known(origin, "stream", events.values)
    made = _folded(origin, events, first_ordinal=first_ordinal, reason=_reason(pieces))
    if first_ordinal == 0 and _has_gap(streamed):
        for record in made.records:
            record["status"], record["status_reason"] = "incomplete", "missing_pieces"
    if failure is not None and made.records and not made.complete:
        record = made.records[-1]
        added.fail(record)
        if "error" not in record:
            message = failure.traits[0].message
            added.add_error(record, type="transport_error", message=message or "the stream broke off")
    return made


def silence(facts: CallFacts, pieces: Pieces) -> Normalized:
    """Pieces without a single event: the call ended, or was given up, before any answer came."""
    reading = Reading(facts.call_id, "response", tenant=facts.tenant)
    shape: CanonicalRecord = {"status": "incomplete", "status_reason": _reason(pieces), "chunk_count": 0}
    origin = _stream_origin(facts, pieces, pieces.of_kind("stream"))
    return Normalized([_finish_response(shape, reading, origin)], complete=False)


def _failure(pieces: Pieces) -> Pieces | None:
    """The first `error` of the pieces."""
    for index, trait in enumerate(pieces.traits):
        if trait.kind == "error":
            return pieces.at([index])
    return None


def _stream_origin(facts: CallFacts, pieces: Pieces, streamed: Pieces) -> Origin:
    """Where the pieces lie; times of the wire, where it gave any."""
    timed = streamed if len(streamed) > 0 else pieces
    captured = tuple([moment for moment in timed.captured if moment is not None])
    return Origin(facts, _span(pieces), captured)


def _span(pieces: Pieces) -> tuple[Coordinates, ...]:
    """The first and the last message of each partition that the pieces came from, with the partition's newest time."""
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    offsets, timestamps = pieces.offsets, pieces.timestamps
    known = pieces.traits[0]
    first = last = offsets[0]
    latest = timestamps[0]
    for index, trait in enumerate(pieces.traits):
        offset, timestamp = offsets[index], timestamps[index]
        if trait is not known:
            found[known.topic, known.partition] = (first, last, latest)
            known = trait
            first, last, latest = found.get((trait.topic, trait.partition), (offset, offset, timestamp))
        if offset < first:
            first = offset
        elif offset > last:
            last = offset
        if timestamp > latest:
            latest = timestamp
    found[known.topic, known.partition] = (first, last, latest)
    spans: list[Coordinates] = []
    for (topic, partition), (first, last, latest) in sorted(found.items()):
        spans += [Coordinates(topic, partition, first, latest), Coordinates(topic, partition, last, latest)]
    return tuple(spans)


# Bodies and pieces to events


def _framed(payload: bytes, form: str, http: Http | None) -> Framed:
    if form == "json":
        value = loads(payload)
        if isinstance(value, str):
            return read_body(payload)
        if isinstance(value, list):
            return Framed([FramedEvent(payload, element) for element in value], form="array")
        return Framed([FramedEvent(payload, value)], form="json")
    encoding = http.headers.get("content-encoding") if http else None
    return read_body(payload, encoding)


def _cut_off(remainder: bytes) -> FramedEvent:
    return FramedEvent(remainder, remainder.decode("utf-8", "replace"), None, "the end of the body cut it off")


def _single(framed: Framed, what: str) -> dict[str, Json]:
    values = framed.values
    if len(values) != 1 or not isinstance(values[0], dict):
        raise WireError(
            f"a {what} body is one JSON object, this is {framed.form} with {len(values)} values",
            fix=f"send the whole {what} body as one JSON object",
        )
    body: dict[str, Json] = values[0]
    return body


def _is_safe(capture: Capture) -> bool:
    """Whether the capture's reader saw the body as the JSON object that it is."""
    return capture.form == "json" and capture.payload[:1] == b"{"


def _safe(body: dict[str, Json]) -> dict[str, Json]:
    """A body without secrets. Those of slices, of compressed and of escaped bodies are seen only now."""
    safe = redact_body(body)
    return safe if type(safe) is dict else body


def _runs(pieces: Pieces) -> list[Pieces]:
    """Neighbouring pieces of one form; byte slices on both sides of a missing number are not neighbours."""
    trait = pieces.trait()
    if trait is not None and trait.form == "json":
        return [pieces]
    forms = [trait.form for trait in pieces.traits]
    starts = [
        index
        for index in range(len(forms))
        if index == 0 or forms[index] != forms[index - 1] or (forms[index] == "bytes" and _is_gap(pieces, index))
    ]
    return [pieces.at(range(start, end)) for start, end in pairwise([*starts, len(forms)])]


def _is_gap(pieces: Pieces, index: int) -> bool:
    """Whether a number is missing before a piece."""
    before, after = pieces.seqs[index - 1], pieces.seqs[index]
    return before is not None and after is not None and after != before + 1


def _run_events(run: Pieces, http: Http | None) -> _Events:
    if run.traits[0].form == "json":
        return _json_events(run)
    encoding = http.headers.get("content-encoding") if http else None
    joined = join_pieces(run.payloads)
    values = regular_streams.values_of(joined)
    if values is not None:
        return _Events(values)
    try:
        return _Events.of(read_body(joined, encoding))
    except FramingError as error:
        return _Events(bad=[FramedEvent(joined, joined.decode("utf-8", "replace"), None, error.message)])


def _json_events(run: Pieces) -> _Events:
    if _has_direction(run):
        return _events_one_by_one(run)
    try:
        return _Events(read(run.payloads))
    except FramingError:
        return _events_one_by_one(run)


def _has_direction(run: Pieces) -> bool:
    known = None
    for trait in run.traits:
        if trait is not known:
            if trait.direction is not None:
                return True
            known = trait
    return False


def _events_one_by_one(run: Pieces) -> _Events:
    """Some have a direction, or are no JSON."""
    events = _Events()
    for trait, payload in zip(run.traits, run.payloads, strict=True):
        try:
            value: Json = loads(payload)
        except FramingError as error:
            events.bad.append(FramedEvent(payload, payload.decode("utf-8", "replace"), None, error.message))
        else:
            events.values.append(value if trait.direction is None else {"from": trait.direction, "frame": value})
    return events


# Events to records


def _folded(origin: Origin, events: _Events, *, first_ordinal: int, reason: str) -> Normalized:
    """Fold events into records; events that no response could take become dead letters."""
    made = Normalized()
    made.dead_letters += [_bad_event(event.data, event.error or "", origin) for event in events.bad]
    folded = _codec(origin).fold(events.values)
    ordinals = Counter({"response": first_ordinal})
    for one in folded:
        made.records.append(_folded_record(origin, one, ordinals[one.record_type], reason))
        ordinals[one.record_type] += 1
        made.dead_letters += [_bad_event(dumps(stray).encode(), "no response takes it", origin) for stray in one.stray]
    made.complete = bool(folded) and folded[-1].complete
    return made


def _folded_record(origin: Origin, folded: Folded, ordinal: int, reason: str) -> CanonicalRecord:
    facts = origin.facts
    reading = Reading(facts.call_id, folded.record_type, tenant=facts.tenant, ordinal=ordinal)
    codec = _codec(origin)
    if folded.record_type == "request":
        shape = codec.read_request(_safe(folded.body), reading)
    else:
        shape = codec.read_response(_safe(folded.body), reading, folded.layout)
    for kind, name in folded.unknown:
        reading.unknown_type(kind, name)
    shape["chunk_count"] = folded.events
    if folded.missing:
        shape["missing_events"] = [{"first": first, "last": last} for first, last in folded.missing]
    if folded.record_type == "request":
        return records.finish(shape, reading, facts, origin.coordinates, origin.captured)
    if not folded.complete and shape.get("status") != "failed":
        shape["status"] = "incomplete"
        shape["status_reason"] = reason
    return _finish_response(shape, reading, origin)


def _finish_response(shape: CanonicalRecord, reading: Reading, origin: Origin) -> CanonicalRecord:
    http = origin.facts.http
    if _is_http_error(http) and http is not None and http.status is not None:
        added.fail(shape)
        added.add_error(shape, http_status=http.status)
    if http is not None and "error" in shape:
        request_id = next((http.headers[name] for name in _REQUEST_ID_HEADERS if name in http.headers), None)
        added.add_error(shape, request_id=request_id or None)
    return records.finish(shape, reading, origin.facts, origin.coordinates, origin.captured)


_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-goog-request-id", "apim-request-id")


def _http_error(capture: Capture, origin: Origin, unreadable: HeadraceError) -> CanonicalRecord:
    """An HTTP error whose body is no message of the protocol: an HTML page of a proxy, plain text, nothing."""
    shape: CanonicalRecord = {"status": "failed", "error": {"type": "http_error"}}
    text = capture.payload.decode("utf-8", "replace")
    shape["error"]["message"] = text or unreadable.message
    return _finish_response(shape, Reading(capture.call_id, "response", tenant=capture.tenant), origin)


def _transport_error(origin: Origin, failure: Pieces) -> CanonicalRecord:
    """A call that failed before any response: the `error` capture is all there is."""
    reading = Reading(origin.facts.call_id, "response", tenant=origin.facts.tenant)
    shape: CanonicalRecord = {"status": "failed", "error": {"type": "transport_error"}}
    message = failure.traits[0].message or failure.payloads[0].decode("utf-8", "replace")
    if message:
        shape["error"]["message"] = message
    captured_at = failure.captured[0]
    if captured_at is not None:
        shape["timing"] = {"first_captured_at": captured_at, "last_captured_at": captured_at}
    return _finish_response(shape, reading, origin)


def _reason(pieces: Pieces) -> str:
    """Why a stream without its last event stopped: the closing capture's word, or the wire's silence."""
    reason = "no_terminal_event"
    known = None
    for trait in pieces.traits:
        if trait is known:
            continue
        known = trait
        if trait.outcome == "aborted":
            return "aborted"
        if trait.outcome == "timeout":
            reason = "timeout"
    return reason


def _has_gap(pieces: Pieces) -> bool:
    """Whether numbers are missing between pieces in order; a stream may be numbered from 0 or from 1."""
    first, last, count = 0, 0, 0
    for seq in pieces.seqs:
        if seq is not None:
            first, last, count = (first if count else seq), seq, count + 1
    return count > 0 and (first > 1 or last - first + 1 != count)


def _bad_event(data: bytes, reason: str, origin: Origin) -> DeadLetter:
    error = FramingError(
        f"an event of the stream cannot be read: {reason}",
        code="bad_event",
        place=f"event of call {origin.facts.call_id}",
        fix="see the call's record for what could be read",
    )
    return records.dead_letter(error, origin.coordinates, data, facts=origin.facts)


# Protocol and provider


def _known(origin: Origin, kind: str, sample: Json) -> Origin:
    """The origin with protocol and provider told from URL and shape where the capture does not say."""
    facts = origin.facts
    url = _url(facts.http)
    protocol = facts.protocol or detection.detect(kind, url, _without_stretches(sample))
    provider = facts.provider or (detection.provider_of(url) if url else None)
    if (protocol, provider) == (facts.protocol, facts.provider):
        return origin
    known = msgspec.structs.replace(facts, protocol=protocol, provider=provider)
    return Origin(known, origin.coordinates, origin.captured)


def _without_stretches(sample: Json) -> Json:
    return [value for value in sample if type(value) is not Stretch] if type(sample) is list else sample


def _codec(origin: Origin) -> Codec:
    return codec_of(origin.facts.protocol or "")


def _url(http: Http | None) -> str | None:
    return http.url if http else None


def _is_http_error(http: Http | None) -> bool:
    return http is not None and http.status is not None and http.status >= 400
