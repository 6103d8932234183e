"""Shares of calls for store tests, with the defaults a test does not care about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.reassembly.sequence import intervals
from headrace.reassembly.store import UNIT, Answer, Append, Close, Position, StateKey

IDLE, GRACE = 1_000, 100
TOPIC = "raw"

CALL = StateKey("tenant", "call-1", "response")


def at(offset: int, partition: int = 0, round: int = 0, topic: str = TOPIC) -> Position:
    """A position; partition 0 of one topic unless told."""
    return Position(topic, partition, offset, round)


def numbered(
    seqs: Iterable[int],
    offset: int,
    *,
    key: StateKey = CALL,
    hard: int = -1,
    soft: bool = False,
    count: int | None = None,
    ended: bool = False,
    whole: bool = False,
    partition: int = 0,
    first: int | None = None,
    seen: int | None = None,
    packed: bytes | None = None,
    loose: int = -1,
) -> Append:
    """A share of numbered pieces whose last message is at ``offset``; its fragment names the numbers."""
    seqs = sorted(seqs)
    return Append(
        key=key,
        position=at(offset, partition),
        first_offset=offset if first is None else first,
        packed=None if whole else packed or repr(seqs).encode(),
        seqs=tuple(intervals(seqs)),
        last=max(seqs, default=-1),
        hard=hard,
        loose=loose,
        soft=soft,
        count=count,
        ended=ended,
        last_seen=offset if seen is None else seen,
        idle=IDLE,
        grace=GRACE,
        whole=whole,
    )


def logged(
    offsets: Sequence[int],
    *,
    key: StateKey = CALL,
    hard: bool = False,
    soft: bool = False,
    ended: bool = False,
    whole: bool = False,
    partition: int = 0,
    seen: int | None = None,
    last: int | None = None,
) -> Append:
    """A share of pieces without numbers at these offsets; the last one may be the protocol's last event."""
    return Append(
        key=key,
        position=at(offsets[-1], partition),
        first_offset=offsets[0],
        packed=None if whole else repr(list(offsets)).encode(),
        last=offsets[-1] if last is None else last,
        hard=offsets[-1] if hard else -1,
        soft=soft,
        ended=ended,
        last_seen=offsets[-1] if seen is None else seen,
        idle=IDLE,
        grace=GRACE,
        whole=whole,
    )


def unit(offset: int, *, key: StateKey = CALL, partition: int = 0) -> Append:
    """A whole body: claimed once."""
    return Append(
        key=key,
        position=at(offset, partition),
        first_offset=offset,
        packed=None,
        last=UNIT,
        hard=UNIT,
        whole=True,
        last_seen=offset,
        idle=IDLE,
        grace=GRACE,
    )


def closing(
    answer: Answer, through: int, *, records: int = 1, leftover: bytes | None = None, final: bool = False
) -> Close:
    """The close of a segment that gave ``records`` records."""
    return Close(
        key=answer.key,
        through=through,
        emitted=answer.emitted + records,
        leftover=leftover,
        final=final,
        claim=answer.claim,
    )
