"""The store interface: what the pipeline asks of working memory.

Theory of operation. Every call has one state per slot (its request, its response). A state is

    absent -> open -> claimed -> closed (a tombstone) -> open again for a further segment

* open: fragments are appended. A stream is *ready* when its pieces have no gap and the last of them carries
  the protocol's last event, or when an `end` capture's count is reached.
* claimed: the append that made it ready wrote the log position of that batch into the state. Whoever replays
  a batch that covers this position gets the pieces again (its commit did not happen); any other append is
  kept but emits nothing.
* closed: after the commit the pieces go and a tombstone stays, which knows how far the stream was emitted
  (``through``) and how many records came of it (``emitted``). Pieces at or before ``through`` are
  duplicates. Later ones open the next segment: some bodies hold several responses one after another.

Deadlines are stream time, in microseconds, per input partition: `due` asks for states whose last piece is
older than the state's patience. Nothing here reads a clock.

Every method takes a whole batch and costs at most one round trip per shard of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec


class Position(msgspec.Struct, frozen=True, array_like=True):
    """A place in an input partition: the offset of the last message a batch held of it."""

    topic: str
    partition: int
    offset: int


class StateKey(msgspec.Struct, frozen=True, array_like=True):
    """Which state: calls of different tenants never meet, even with equal ids."""

    tenant: str
    call_id: str
    slot: Literal["request", "response"]


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One call's share of a batch.

    span: first and last offset of this share in ``position``'s partition; ``position.offset`` is its last.
    packed: the packed fragment; None when the share is the whole unit (``whole``) and need not be stored.
    seqs: merged inclusive intervals of sequence numbers in the share; empty when pieces are unnumbered.
    hard: order of the last piece that ends the protocol's stream: its seq, or its offset when unnumbered.
    soft: some piece says only trailers follow (or an `end` without count on a numbered stream).
    count: number of pieces the `end` capture announced.
    ended: an `end` or `error` capture without a number came. It makes an unnumbered state that has pieces
    (``last`` >= 0) ready; on a numbered one it only shortens the patience, like ``soft`` (pieces sent before
    it may still be on their way). A state is numbered once any append brought ``seqs``: from then on ``last`` and
    ``hard`` of appends without ``seqs`` do not count (they are offsets), nor do those that came before.
    last_seen: newest stream time of the share, microseconds.
    patience: how long after ``last_seen`` the state is due: the idle time, and the grace once ``soft`` or
    ``hard`` was seen, microseconds.
    whole: the share alone is ready: store nothing but the claim.
    """

    key: StateKey
    position: Position
    first_offset: int
    packed: bytes | None
    seqs: tuple[tuple[int, int], ...] = ()
    last: int = -1
    hard: int = -1
    soft: bool = False
    count: int | None = None
    ended: bool = False
    last_seen: int = 0
    idle: int = 0
    grace: int = 0
    whole: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an append, or a state that is due.

    outcome:
      "open"       kept, more is expected.
      "ready"      emit now; ``fragments`` are all packed fragments of the segment (own share included, unless
                   it was appended as ``whole`` with packed None and the store holds nothing: then empty).
      "claimed"    kept; another position has claimed the segment. Emit nothing.
      "duplicate"  every piece is at or before ``through`` of a closed segment. Emit nothing.
    through: last seq (or offset, when unnumbered) that closed segments emitted; -1 when none.
    limit: on "ready" of a claim made earlier: emit only pieces up to this seq/offset; -1: all.
    emitted: records that closed segments of this state gave: the ordinal of the next one.
    final: the state was closed for good (see Close.final): on "duplicate", pieces past ``through`` are late.
    """

    key: StateKey
    outcome: Literal["open", "ready", "claimed", "duplicate"]
    fragments: tuple[bytes, ...] = ()
    through: int = -1
    limit: int = -1
    emitted: int = 0
    final: bool = False


class Close(msgspec.Struct, frozen=True, kw_only=True):
    """After the commit: forget the pieces, keep the tombstone.

    through: last seq (or offset) emitted. emitted: records of this state so far, this segment included.
    leftover: packed fragment of pieces past ``through`` that arrived since the claim; they open the next segment.
    final: no segment may follow (the call timed out, or was one whole body): every later append is answered
    "duplicate" with ``final`` set and stores nothing.
    """

    key: StateKey
    through: int
    emitted: int
    leftover: bytes | None = None
    final: bool = False


class Store(Protocol):
    """Working memory of open calls. Implementations: `memory.MemoryStore`, `redis_store.RedisStore`."""

    async def append(self, appends: Sequence[Append]) -> list[Answer]:
        """Apply a batch; answers in the same order. Raises StoreError when the store cannot answer."""
        ...

    async def due(self, position: Position, now: int, committed: int, limit: int) -> list[Answer]:
        """Claim at ``position`` up to ``limit`` states of its partition that are due at stream time ``now``.

        ``committed`` is the partition's committed offset (the next to read): a state whose claim lies before it
        was emitted already and is closed here instead of being answered.
        """
        ...

    async def close(self, closes: Sequence[Close]) -> None:
        """Turn claimed states into tombstones."""
        ...

    async def open_calls(self) -> int:
        """Number of states that hold pieces, for the gauge."""
        ...
