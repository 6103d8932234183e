"""Dead letters of pieces: those that came too late, those a whole body displaced, those nobody could read."""

from __future__ import annotations

from headrace import records
from headrace.canonical.shape import DeadLetter
from headrace.capture.inbound import Source as Coordinates
from headrace.errors import HeadraceError
from headrace.reassembly.facts import CallFacts
from headrace.reassembly.pieces import Pieces


def place_of(source: Coordinates) -> str:
    """A message's place as people write it: ``topic/partition@offset``."""
    return f"{source.topic}/{source.partition}@{source.offset}"


def late(pieces: Pieces, facts: CallFacts) -> DeadLetter:
    """Pieces whose call was closed before they came."""
    error = HeadraceError(
        "pieces came after their call was closed",
        code="late_chunk",
        place=_place(pieces),
        fix="raise the idle time if the producer pauses that long",
    )
    return unreadable(error, pieces, facts)


def already_recorded(pieces: Pieces, facts: CallFacts, *, source: str) -> DeadLetter:
    """What came both as a stream and as a whole body. source: what the record was made of."""
    error = HeadraceError(
        f"the call's response was recorded from {source}",
        code="already_recorded",
        place=_place(pieces),
        fix="send the stream or the whole body, not both",
    )
    return unreadable(error, pieces, facts)


def fault(raised: Exception, pieces: Pieces, facts: CallFacts) -> DeadLetter:
    """Pieces that our own code could not deal with."""
    ours = raised if isinstance(raised, HeadraceError) else records.unexpected(raised, _place(pieces))
    return unreadable(ours, pieces, facts, raised)


def unreadable(
    error: HeadraceError, pieces: Pieces, facts: CallFacts, cause: BaseException | None = None
) -> DeadLetter:
    """Pieces with their bytes: JSON events a line each, slices as they were cut; of an `error` its message."""
    separator = b"\n" if pieces.traits[0].form == "json" else b""
    pairs = zip(pieces.payloads, pieces.traits, strict=True)
    value = separator.join([payload or (trait.message or "").encode() for payload, trait in pairs])
    return records.dead_letter(error, coordinates(pieces), value, facts=facts, cause=cause)


def coordinates(pieces: Pieces) -> list[Coordinates]:
    """Where pieces lie."""
    places = zip(pieces.traits, pieces.offsets, pieces.timestamps, strict=True)
    return [Coordinates(trait.topic, trait.partition, offset, timestamp) for trait, offset, timestamp in places]


def _place(pieces: Pieces) -> str:
    return place_of(coordinates(pieces)[0])
