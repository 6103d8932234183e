"""Dressing what a codec read as a finished record, and what nobody could read as a dead letter.

Everything here is a function of its arguments: ids derive from coordinates, times come from captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace import __version__
from headrace.canonical import ids
from headrace.canonical.reading import Reading
from headrace.canonical.shape import (
    CanonicalRecord,
    CaptureInfo,
    DeadLetter,
    DeadLetterHeader,
    Source,
    Timing,
)
from headrace.capture.inbound import Inbound
from headrace.capture.inbound import Source as Coordinates
from headrace.capture.redaction import redact_bytes, redact_headers, redact_text
from headrace.errors import HeadraceError
from headrace.reassembly.facts import CallFacts

SCHEMA_VERSION = "1.0.0"
NORMALIZER = f"headrace/{__version__}"

#: Facts of the capture that say how the traffic was seen (design section 3).
_CAPTURE_INFO = ("origin", "side", "attempt", "truncated", "fidelity")


def finish(
    shape: CanonicalRecord,
    reading: Reading,
    facts: CallFacts,
    coordinates: Sequence[Coordinates],
    captured: Sequence[int],
) -> CanonicalRecord:
    """The record: the codec's shape with ids, call facts, times and sources.

    coordinates: input messages the record was made of. captured: their capture times, microseconds.
    """
    shape["record_id"] = ids.record_id(facts.tenant, facts.call_id, reading.record_type, reading.ordinal)
    shape["record_type"] = reading.record_type
    shape["revision"] = 0
    shape["ordinal"] = reading.ordinal
    shape["call_id"] = facts.call_id
    for name in ("task_id", "tenant", "request_version", "protocol", "provider"):
        _set(shape, name, getattr(facts, name))
    info: CaptureInfo = {}
    for name in _CAPTURE_INFO:
        _set(info, name, getattr(facts, name))
    if info:
        shape["capture"] = info
    if "error" in shape:
        _redact_error(shape)
    timing: Timing = shape.get("timing", {})
    if captured:
        timing["first_captured_at"] = min(captured)
        timing["last_captured_at"] = max(captured)
    if timing:
        shape["timing"] = timing
    shape["sources"] = source_ranges(coordinates)
    unknown = reading.unknown_types()
    if unknown:
        shape["unknown_types"] = unknown
    shape["schema_version"] = SCHEMA_VERSION
    shape["normalizer"] = NORMALIZER
    return shape


def _redact_error(shape: CanonicalRecord) -> None:
    """Providers and gateways quote the key that they refuse."""
    error: Any = shape["error"]
    for name in ("message", "detail", "raw", "extras"):
        text = error.get(name)
        if type(text) is str:
            error[name] = redact_text(text)


def _set(shape: Any, name: str, value: Any) -> None:
    if value is not None:
        shape[name] = value


def source_ranges(coordinates: Iterable[Coordinates]) -> list[Source]:
    """One range per (topic, partition), sorted: first and last offset of the messages that were used."""
    ranges: dict[tuple[str, int], tuple[int, int]] = {}
    for at in coordinates:
        key = (at.topic, at.partition)
        first, last = ranges.get(key, (at.offset, at.offset))
        ranges[key] = (min(first, at.offset), max(last, at.offset))
    return [
        {"topic": topic, "partition": partition, "first_offset": first, "last_offset": last}
        for (topic, partition), (first, last) in sorted(ranges.items())
    ]


def content(record: CanonicalRecord) -> dict[str, Any]:
    """The record without what depends on how its input was cut and where it lay.

    Two runs over the same traffic give equal content, byte for byte; coordinates differ between a topic and
    a file.
    """
    return {name: value for name, value in record.items() if name != "sources"}


def dead_letter(
    error: HeadraceError,
    coordinates: Sequence[Coordinates],
    value: bytes | None,
    *,
    key: bytes | None = None,
    headers: Iterable[tuple[str, bytes | None]] = (),
    facts: CallFacts | None = None,
    cause: BaseException | None = None,
) -> DeadLetter:
    """A dead letter with the original bytes, credentials removed."""
    ranges = source_ranges(coordinates)
    letter: DeadLetter = {
        "dead_letter_id": ids.derive("dead_letter", error.code, *(tuple(at.values()) for at in ranges), error.place),
        "code": error.code,
        "message": error.message,
        "sources": ranges,
        "schema_version": SCHEMA_VERSION,
        "normalizer": NORMALIZER,
    }
    _set(letter, "place", error.place or None)
    _set(letter, "fix", error.fix or None)
    _set(letter, "cause", type(cause).__name__ if cause else None)
    if facts is not None:
        for name in ("call_id", "tenant", "protocol", "provider"):
            _set(letter, name, getattr(facts, name))
    if coordinates:
        letter["timestamp"] = max(at.timestamp for at in coordinates)
    _set(letter, "key", key)
    _set(letter, "value", redact_bytes(value) if value is not None else None)
    kept = [_header(name, held) for name, held in headers]
    if kept:
        letter["headers"] = kept
    return letter


def _header(name: str, value: bytes | None) -> DeadLetterHeader:
    shown: Mapping[str, str] = redact_headers({name.lower(): (value or b"").decode("latin-1")})
    header: DeadLetterHeader = {"name": name}
    if value is not None:
        header["value"] = next(iter(shown.values()), "").encode("latin-1")
    return header


def dead_letter_of(error: HeadraceError, inbound: Inbound, cause: BaseException | None = None) -> DeadLetter:
    """The dead letter of one whole input message."""
    return dead_letter(error, [inbound.source], inbound.value, key=inbound.key, headers=inbound.headers, cause=cause)


def dead_letter_instead(shape: CanonicalRecord | DeadLetter, error: HeadraceError) -> DeadLetter:
    """In place of an output that cannot be written: a dead letter with its identity and where its input lies."""
    letter = dead_letter(error, [], None)
    letter["dead_letter_id"] = ids.derive("dead_letter", error.code, *_identity(shape))
    letter["sources"] = shape.get("sources", [])
    for name in ("call_id", "tenant", "protocol", "provider"):
        _set(letter, name, shape.get(name))
    return letter


def _identity(shape: CanonicalRecord | DeadLetter) -> tuple[object, object]:
    return shape.get("record_id"), shape.get("dead_letter_id")


def unexpected(cause: BaseException, place: str) -> HeadraceError:
    """A fault of our own as a typed error: the message becomes a dead letter and the partition goes on.

    The exception's text is left out: it may quote the input, secrets included.
    """
    frame = cause.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{frame.tb_frame.f_code.co_name}:{frame.tb_lineno}" if frame else "unknown"
    return HeadraceError(
        f"unexpected {type(cause).__name__} in {where}",
        code="internal_error",
        place=place,
        fix="report this with the dead letter; replay it after an upgrade",
    )
