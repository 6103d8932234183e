"""How much of the wire the named fields of records carry: the measure of the escape hatch.

Definition. The *leaves* of a wire body (for a stream: of the body it folds to) are its scalars, its nulls and its
empty objects and lists. A leaf is carried by

    extras   when it sits in an `extras` text: a field of a known type that the model does not name
    raw      when it sits in a `raw` text (a type nobody knows), or in `usage.raw` at a path that is in none of the
             codec's ``usage_paths``
    json     when it sits in a named field of JSON text (arguments, parameters, data, config, other, detail, …)
    nulls    when it is an explicit null of a named field: `wire` spells it
    named    otherwise: a named field of its own holds it

The *share* is everything but extras and raw. It counts leaves, not bytes: one unnamed flag weighs as much as one
unnamed image. What it cannot see is a leaf that was lost; that is what the round-trip tests are for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from headrace.canonical.avro import CANONICAL_RECORD, record_format
from headrace.canonical.reading import Reading
from headrace.canonical.schema_tree import Array, Node, Nullable, Record
from headrace.canonical.shape import CanonicalRecord
from headrace.capture import detection
from headrace.capture.body import read_body
from headrace.capture.framing import join_pieces
from headrace.capture.model import Capture
from headrace.errors import HeadraceError
from headrace.json_text import Json, loads
from headrace.protocols import codec as codec_of
from headrace.protocols.entry_points import Codec

_HATCH = ("extras", "raw")
#: Fields of JSON text that are no named home of a leaf.
_NOT_NAMED = frozenset({"wire", *_HATCH})
#: How the schema's doc says that a field's text is JSON.
_IS_JSON = "JSON text."


@dataclass(slots=True)
class Coverage:
    """Counts of leaves. leaves: all. The others: who carries them (see above); they add up to ``leaves``."""

    leaves: int = 0
    named: int = 0
    json: int = 0
    nulls: int = 0
    extras: int = 0
    raw: int = 0

    @property
    def share(self) -> float:
        """Share of the leaves that named fields carry, 0 to 1; 1 for an empty body."""
        return 1 - (self.extras + self.raw) / self.leaves if self.leaves else 1.0

    def add(self, other: Coverage) -> None:
        """Add another body's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One wire body and the shape a codec read from it."""

    protocol: str
    body: dict[str, Json]
    record: CanonicalRecord


def measure(body: Mapping[str, Json], record: CanonicalRecord, usage_paths: frozenset[str]) -> Coverage:
    """The coverage of one body by its record; usage_paths as in the protocol's codec."""
    found = Coverage(leaves=count_leaves(body))
    rest = Counter(_keyed_leaves(body, ""))
    for name, text in _texts(record):
        value = loads(text)
        if name in _HATCH:
            setattr(found, name, getattr(found, name) + count_leaves(value))
            rest.subtract(_keyed_leaves(value, ""))
    unnamed = list(_unnamed_usage(record, usage_paths))
    found.raw += len(unnamed)
    rest.subtract(unnamed)
    for name, value in _json_fields(record):
        for leaf in _keyed_leaves(value, name):
            if rest[leaf] > 0:
                rest[leaf] -= 1
                found.json += 1
    found.nulls = sum(count for (_, text), count in rest.items() if text == _NULL and count > 0)
    # The hatch is counted as it stands: leaves in it that the body does not have would count against us.
    found.named = max(0, found.leaves - found.json - found.nulls - found.extras - found.raw)
    return found


def count_leaves(value: Json) -> int:
    """Leaves of a JSON value: scalars, nulls, empty objects and lists."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(count_leaves(one) for one in inner) or 1


def of_captures(captures: Iterable[Capture]) -> tuple[dict[str, Coverage], int]:
    """Coverage by protocol of whole calls in any order, and how many bodies could not be read."""
    found: dict[str, Coverage] = {}
    unread = 0
    for exchange in exchanges(captures):
        if exchange is None:
            unread += 1
        else:
            paths = codec_of(exchange.protocol).usage_paths
            found.setdefault(exchange.protocol, Coverage()).add(measure(exchange.body, exchange.record, paths))
    return found, unread


def of_records(records: Iterable[CanonicalRecord]) -> dict[str, Coverage]:
    """Coverage by protocol where only records are at hand: of the bodies they are written back to."""
    found: dict[str, Coverage] = {}
    for record in records:
        codec = codec_of(record.get("protocol", ""))
        write = codec.write_request if record.get("record_type") == "request" else codec.write_response
        coverage = measure(write(record), record, codec.usage_paths)
        found.setdefault(codec.protocol, Coverage()).add(coverage)
    return found


# Captures to bodies


def exchanges(captures: Iterable[Capture]) -> Iterator[Exchange | None]:
    """The bodies of captures with what their codec reads from them; None for one that cannot be read.

    Streams come after whole bodies. Their pieces are put in order by ``seq`` where they have one. Bodies and pieces
    that came twice count once.
    """
    streams: dict[tuple[str | None, str], list[Capture]] = {}
    seen: set[tuple[str | None, str, str]] = set()
    for capture in captures:
        if capture.kind in ("request", "response"):
            slot = (capture.tenant, capture.call_id, capture.kind)
            if slot not in seen:
                seen.add(slot)
                yield from _guarded([capture])
        elif capture.kind == "stream":
            streams.setdefault((capture.tenant, capture.call_id), []).append(capture)
    for pieces in streams.values():
        yield from _guarded(_in_order(pieces))


def _in_order(pieces: list[Capture]) -> list[Capture]:
    if any(piece.seq is None for piece in pieces):
        return pieces
    first = {piece.seq: piece for piece in reversed(pieces)}
    return [first[seq] for seq in sorted(first, key=lambda seq: seq or 0)]


def _guarded(captures: list[Capture]) -> Iterator[Exchange | None]:
    try:
        yield from list(_read(captures))
    except HeadraceError:
        yield None


def _read(captures: list[Capture]) -> Iterator[Exchange]:
    first = captures[0]
    events = _events(captures)
    kind = "stream" if len(events) > 1 and first.kind == "response" else first.kind
    codec = codec_of(_protocol(captures, kind, events))
    reading = Reading(first.call_id, "response", tenant=first.tenant)
    if first.kind == "request":
        body = events[0]
        yield Exchange(codec.protocol, body, codec.read_request(body, Reading(first.call_id, "request")))
    elif first.kind == "response" and len(events) == 1 and isinstance(events[0], dict):
        yield Exchange(codec.protocol, events[0], codec.read_response(events[0], reading, None))
    else:
        yield from _folded(codec, events, reading)


def _folded(codec: Codec, events: list[Json], reading: Reading) -> Iterator[Exchange]:
    for folded in codec.fold(events):
        if folded.record_type == "request":
            yield Exchange(codec.protocol, folded.body, codec.read_request(folded.body, reading))
        else:
            yield Exchange(codec.protocol, folded.body, codec.read_response(folded.body, reading, folded.layout))


def _protocol(captures: list[Capture], kind: str, events: list[Json]) -> str:
    named = next((capture.protocol for capture in captures if capture.protocol), None)
    url = next((capture.http.url for capture in captures if capture.http and capture.http.url), None)
    return named or detection.detect(kind, url, events[0] if kind == "request" else events)


def _events(captures: list[Capture]) -> list[Json]:
    """The JSON values in the captures of one body; text for ``[DONE]``."""
    events: list[Json] = []
    slices: list[bytes] = []
    encoding = next((capture.http.headers.get("content-encoding") for capture in captures if capture.http), None)
    for capture in captures:
        if capture.form == "bytes":
            slices.append(capture.payload)
            continue
        value = loads(capture.payload)
        if capture.direction is not None:
            value = {"from": capture.direction, "frame": value}
        events += value if isinstance(value, list) else [value]
    if slices:
        framed = read_body(join_pieces(slices), encoding)
        events += [event.value for event in framed.events if event.error is None]
    if not events:
        raise HeadraceError("the body is empty", code="bad_body")
    return events


# Leaves of bodies and of records

_NULL = "null"
#: (last key on the path, type and value): leaves are compared by it, since named JSON fields hold subtrees.
_Leaf = tuple[str, str]


def _keyed_leaves(value: Json, key: str) -> Iterator[_Leaf]:
    if isinstance(value, dict) and value:
        for name, held in value.items():
            yield from _keyed_leaves(held, name)
    elif isinstance(value, list) and value:
        for held in value:
            yield from _keyed_leaves(held, key)
    else:
        yield key, _NULL if value is None else f"{type(value).__name__}:{value}"


def _texts(shape: Any) -> Iterator[tuple[str, str]]:
    """Every string field of a shape and of what it holds, but those of usage."""
    if isinstance(shape, list):
        for one in shape:
            yield from _texts(one)
    elif isinstance(shape, dict):
        for name, value in shape.items():
            if name in _HATCH and isinstance(value, str):
                yield name, value
            elif name != "usage":
                yield from _texts(value)


def _unnamed_usage(record: CanonicalRecord, usage_paths: frozenset[str]) -> Iterator[_Leaf]:
    raw = record.get("usage", {}).get("raw")
    if raw is not None:
        yield from _off_paths(loads(raw), "", usage_paths)


def _off_paths(value: Json, path: str, named: frozenset[str]) -> Iterator[_Leaf]:
    """Leaves that are neither at a named path nor below one; list elements have their list's path."""
    if path in named:
        return
    if isinstance(value, dict) and value:
        for name, held in value.items():
            yield from _off_paths(held, f"{path}.{name}" if path else name, named)
    elif isinstance(value, list) and value:
        for held in value:
            yield from _off_paths(held, path, named)
    elif path:
        yield from _keyed_leaves(value, path.rpartition(".")[2])


def _json_fields(record: CanonicalRecord) -> Iterator[tuple[str, Json]]:
    """(name, value) of every named field of JSON text, wherever it sits."""
    yield from _walk_json(record, record_format(CANONICAL_RECORD).tree)


def _walk_json(shape: Any, node: Node) -> Iterator[tuple[str, Json]]:
    node = node.of if isinstance(node, Nullable) else node
    if isinstance(node, Array):
        for one in shape:
            yield from _walk_json(one, node.items)
    elif isinstance(node, Record):
        for field in node.fields:
            if field.name not in shape:
                continue
            if field.doc.endswith(_IS_JSON):
                if field.name not in _NOT_NAMED:
                    yield field.name, loads(shape[field.name])
            else:
                yield from _walk_json(shape[field.name], field.type)
