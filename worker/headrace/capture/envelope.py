"""One input message -> its captures, whichever of the forms it has.

Three forms, told by content: metadata in Kafka headers (``headrace-call-id`` is there), Avro (its first byte), JSON
(anything else). A JSON array is a batch of captures. A message of a producer that was there before Headrace goes
through its source mapping instead. Credentials are out of everything that comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headrace.capture.avro_form import AvroCaptures, default_avro, has_avro_form, read_avro, write_avro
from headrace.capture.framing import join_pieces
from headrace.capture.headers_form import has_headers_form, read_headers, write_headers
from headrace.capture.inbound import Inbound
from headrace.capture.json_form import facts_said, read_json, write_json
from headrace.capture.json_form import read_event as read_json_event
from headrace.capture.json_shapes import Event
from headrace.capture.mapped import read_mapped
from headrace.capture.mapping import Mapping
from headrace.capture.model import Capture
from headrace.capture.results import Read, Reject
from headrace.errors import CaptureError, HeadraceError

__all__ = [
    "AvroCaptures", "Event", "Read", "Reject", "facts_said", "read_avro", "read_captures", "read_event",
    "read_headers", "read_json", "write_avro", "write_headers", "write_json",
]  # fmt: skip

_split_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_captures(inbound: Inbound, mapping: Mapping | None = None, avro: AvroCaptures | None = None) -> Read:
    """The captures of a message; what is none is a reject with its own bytes. Raises no HeadraceError.

    mapping: how to read this producer's messages. avro: the reader that knows the schema registry.
    """
    try:
        if mapping is not None:
            return _joined(read_mapped(inbound, mapping))
        return _read_own(inbound, avro)
    except HeadraceError as error:
        return Read(rejects=[Reject.of(error, inbound.value)])


def own_value(inbound: Inbound) -> bytes | None:
    """The value of a message that says all in it; None where it has none, or its metadata are Kafka headers."""
    return None if inbound.headers and has_headers_form(inbound) else inbound.value


def read_event(inbound: Inbound) -> Event | None:
    """The event of a message that is one event of a stream in JSON, as nearly all are; None for any other message
    and for what `read_captures` refuses."""
    value = own_value(inbound)
    return None if value is None else read_json_event(value)


def _read_own(inbound: Inbound, avro: AvroCaptures | None) -> Read:
    if inbound.headers and has_headers_form(inbound):
        return Read([read_headers(inbound)])
    value = inbound.value
    if value is None:
        raise CaptureError("the message has no value", place="value", fix="send a capture, not a tombstone")
    if has_avro_form(value):
        return Read([(avro or default_avro()).read(inbound)])
    if value.lstrip()[:1] == b"[":
        return _joined(_read_batch(value, lambda raw: read_json(raw, inbound.source)))
    return Read([read_json(value, inbound.source)])


def _read_batch(value: bytes, read_one: Callable[[bytes], Capture]) -> Read:
    """Each element of a JSON array by itself: a bad one costs only itself."""
    try:
        elements = _split_batch(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CaptureError(f"not a JSON array: {error}", place="$", fix="write one JSON value a message") from None
    read = Read()
    for index, element in enumerate(elements):
        raw = bytes(element)
        try:
            read.captures.append(read_one(raw))
        except HeadraceError as error:
            error.place = f"$[{index}]{error.place.removeprefix('$')}"
            read.rejects.append(Reject.of(error, raw))
    return read


def _joined(read: Read) -> Read:
    """Stream pieces of one call without ``seq`` in one message become one piece.

    Such pieces are ordered by their place in the log, and here they have the same one.
    """
    groups: dict[tuple[str | None, str, str | None], list[Capture]] = {}
    for capture in read.captures:
        if capture.kind == "stream" and capture.seq is None:
            groups.setdefault((capture.tenant, capture.call_id, capture.direction), []).append(capture)
    absorbed: set[int] = set()
    for first, *others in groups.values():
        if others:
            _absorb(first, others)
            absorbed.update(map(id, others))
    read.captures = [capture for capture in read.captures if id(capture) not in absorbed]
    return read


def _absorb(first: Capture, others: list[Capture]) -> None:
    """Put the payloads behind one another: JSON events a line each, slices as they were cut."""
    pieces = [first, *others]
    payloads = [piece.payload for piece in pieces]
    first.payload = b"\n".join(payloads) if any(piece.form == "json" for piece in pieces) else join_pieces(payloads)
    first.form = "bytes"
