"""Dead letters of pieces: those that came too late, those a whole body displaced, those nobody could read."""

from __future__ import annotations

from collections.abc import Sequence

from headrace import records
from headrace.canonical.shape import DeadLetter
from headrace.capture.model import Source as Coordinates
from headrace.errors import HeadraceError
from headrace.reassembly.pieces import CallFacts, Piece


def place_of(source: Coordinates) -> str:
    """A message's place as people write it: ``topic/partition@offset``."""
    return f"{source.topic}/{source.partition}@{source.offset}"


def late(pieces: Sequence[Piece], facts: CallFacts) -> DeadLetter:
    """Pieces whose call was closed before they came."""
    error = HeadraceError(
        "pieces came after their call was closed",
        code="late_chunk",
        place=_place(pieces[0]),
        fix="raise the idle time if the producer pauses that long",
    )
    return unreadable(error, pieces, facts)


def already_recorded(pieces: Sequence[Piece], facts: CallFacts, *, source: str) -> DeadLetter:
    """What came both as a stream and as a whole body. source: what the record was made of."""
    error = HeadraceError(
        f"the call's response was recorded from {source}",
        code="already_recorded",
        place=_place(pieces[0]),
        fix="send the stream or the whole body, not both",
    )
    return unreadable(error, pieces, facts)


def fault(raised: Exception, pieces: Sequence[Piece], facts: CallFacts) -> DeadLetter:
    """Pieces that our own code could not deal with."""
    ours = raised if isinstance(raised, HeadraceError) else records.unexpected(raised, _place(pieces[0]))
    return unreadable(ours, pieces, facts, raised)


def unreadable(
    error: HeadraceError, pieces: Sequence[Piece], facts: CallFacts, cause: BaseException | None = None
) -> DeadLetter:
    """Pieces with their bytes: JSON events a line each, slices as they were cut; of an `error` its message."""
    separator = b"\n" if pieces[0].form == "json" else b""
    value = separator.join([piece.payload or (piece.message or "").encode() for piece in pieces])
    return records.dead_letter(error, [coordinates(piece) for piece in pieces], value, facts=facts, cause=cause)


def coordinates(piece: Piece) -> Coordinates:
    """Where a piece lies."""
    return Coordinates(piece.topic, piece.partition, piece.offset, piece.timestamp)


def _place(piece: Piece) -> str:
    return place_of(coordinates(piece))
