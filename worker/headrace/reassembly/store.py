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
  duplicates, or late where the closed segments had gaps (`Answer.late`). Later ones open the next segment:
  some bodies hold several responses one after another.

Two kinds of order. A state is *numbered* once a piece with a sequence number reached it, and stays so: its
orders (``last``, ``hard``, ``through``, ``limit``) are sequence numbers, and pieces without a number are carried
along. Otherwise orders are offsets, and offsets compare only within one input partition: a call whose unnumbered
pieces, or their `end`, come from several is never ready by itself, it is due, and ``through`` and ``limit`` are
-1 for it. A whole unit (a request, a whole body) has the order UNIT.

Deadlines are stream time, in microseconds, per input partition: `due` asks for states whose last piece is
older than the state's patience. Nothing here reads a clock. A state belongs to the partition its last share
came from, a claimed one to the partition of its claim.

Batches of one partition go strictly one after another: append, due, emit and commit, close. `append` costs
one round trip per shard of the store, `close` too, `due` one when nothing is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from headrace.capture.model import LARGEST_SEQ

#: A stream time after every deadline: at the end of the input `due` with it gives all open states.
FOREVER = 2**63 - 1

#: The largest sequence number or offset a store keeps exactly (Redis computes in doubles).
MAX_ORDER = LARGEST_SEQ

#: The order of a whole unit (a request, a whole body): not a place in a stream, it compares with everything.
UNIT = -2

#: Added to ``emitted`` where a segment was emitted but its `Close` was lost, so that nobody can know how many
#: records it gave: ordinals of the next segment never meet those of this one.
UNKNOWN_RECORDS = 1 << 20


class Position(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A place in an input partition: the offset of the last message a batch held of it.

    round: 0 where messages moved the offset. When the clock alone makes states due, no commit can move it: such
    a batch sits at the next offset to read, with a round of 1, 2, … that is committed with it (in the offset's
    metadata). Without rounds a crash between that commit and its `close` would emit the states twice.
    """

    topic: str
    partition: int
    offset: int
    round: int = 0


class StateKey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which state: calls of different tenants never meet, even with equal ids."""

    tenant: str
    call_id: str
    slot: Literal["request", "response"]


class Append(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call's share of a batch.

    first_offset: first offset of this share in ``position``'s partition; ``position.offset`` is its last.
    packed: the packed fragment; None when the share is the whole unit (``whole``) and need not be stored.
    seqs: merged inclusive intervals of sequence numbers in the share; empty when pieces are unnumbered.
    last: highest order in the share: its last seq, or its last offset when unnumbered; UNIT for a whole unit; -1
    where there is none (an `end` alone).
    hard: order of the last piece that ends the protocol's stream: its seq, or its offset when unnumbered; UNIT for a
    whole body. A unit without it brings nothing of its own: it only claims what is there.
    loose: highest offset of pieces without a number beside numbered ones, their `end` left out; -1 when there is none.
    soft: some piece says only trailers follow (or an `end` without count on a numbered stream).
    count: number of pieces the `end` capture announced.
    ended: an `end` or `error` capture without a number came. It makes an unnumbered state that has pieces
    (``last`` >= 0) ready when it is the newest thing of their partition; from another partition, or on a numbered
    state, it only shortens the patience, like ``soft`` (pieces sent before it may still be on their way). A state
    is numbered once any append brought ``seqs``: from then on ``last`` and ``hard`` of appends without ``seqs`` do
    not count (they are offsets), nor do those that came before.
    last_seen: newest stream time of the share, microseconds.
    idle, grace: patience, how long after ``last_seen`` the state is due: the idle time, and the grace once
    ``soft`` or ``hard`` was seen, microseconds. The newest share's values hold.
    whole: the share alone is ready: store nothing but the claim.
    """

    key: StateKey
    position: Position
    first_offset: int
    packed: bytes | None
    seqs: tuple[tuple[int, int], ...] = ()
    last: int = -1
    hard: int = -1
    loose: int = -1
    soft: bool = False
    count: int | None = None
    ended: bool = False
    last_seen: int = 0
    idle: int = 0
    grace: int = 0
    whole: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of an append, or a state that is due.

    outcome:
      "open"       kept, more is expected.
      "ready"      emit now; ``fragments`` are all packed fragments of the segment (own share included, unless
                   it was appended as ``whole`` with packed None and the store holds nothing: then empty).
      "claimed"    kept; another position has claimed the segment. Emit nothing.
      "duplicate"  every piece is at or before ``through`` of a closed segment. Emit nothing.
    through: last seq (or offset, when unnumbered) that closed segments emitted; -1 when none.
    limit: emit only pieces up to this seq/offset; -1: all. Set on "ready" of a claim made earlier, and where a
    ``whole`` share is ready while pieces past it were kept already.
    emitted: records that closed segments of this state gave: the ordinal of the next one.
    final: the state was closed for good (see Close.final): on "duplicate", pieces past ``through`` are late; on
    "ready", so are all pieces: they came between the final claim and its close.
    body: a whole body has claimed or closed the state: no piece of a stream was or will be emitted, and ``through``
    speaks of those that were kept aside. (So where a body's own append is told False, its stream was there first.)
    numbered: whether ``through`` and ``limit`` are sequence numbers; pieces without one are then not subject to
    them. False: offsets.
    late: intervals of the share's seqs that are at or before the end of an emitted segment but were never part
    of it (they were its gaps). No segment will emit them: dead letters, never silence.
    kept: False when pieces of a ``whole`` share lie past a claim, or lead up to one in its own partition, and were not
    kept because ``packed`` is None: append it again with its packed fragment, ``whole`` False, and go by that answer.
    claim: on "ready", the position that claims the segment; `Close.claim` gives it back.
    """

    key: StateKey
    outcome: Literal["open", "ready", "claimed", "duplicate"]
    fragments: tuple[bytes, ...] = ()
    through: int = -1
    limit: int = -1
    emitted: int = 0
    final: bool = False
    body: bool = False
    numbered: bool = False
    late: tuple[tuple[int, int], ...] = ()
    kept: bool = True
    claim: Position | None = None


class Close(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """After the commit: forget the pieces, keep the tombstone.

    through: last seq (or offset) emitted. emitted: records of this state so far, this segment included.
    leftover: packed fragment of pieces past ``through`` that arrived since the claim; they open the next segment.
    Fragments that no "ready" answer has shown yet stay in the store by themselves.
    final: no segment may follow (the call timed out, or was one whole body): every later append is answered
    "duplicate" with ``final`` set and stores nothing.
    claim: `Answer.claim` of the segment. A close whose claim is not the state's any more comes from a stale owner
    and does nothing; None closes whatever is claimed.
    """

    key: StateKey
    through: int
    emitted: int
    leftover: bytes | None = None
    final: bool = False
    claim: Position | None = None


class Store(Protocol):
    """Working memory of open calls. Implementations: `memory.MemoryStore`, `redis_store.RedisStore`."""

    async def append(self, appends: Sequence[Append]) -> list[Answer]:
        """Apply a batch; answers in the same order. Raises StoreError when the store cannot answer."""
        ...

    async def due(
        self, position: Position, now: int, committed: int, limit: int, committed_round: int = 0
    ) -> list[Answer]:
        """Claim at ``position`` up to ``limit`` states of its partition that are due at stream time ``now``.

        ``committed`` is the partition's committed offset (the next to read), ``committed_round`` the round
        committed with it (0: none): a state whose claim is part of that commit was emitted already and is closed
        here instead of being answered (for good, if `due` or a whole unit had claimed it). States that `due` claimed
        and nobody committed are answered again, over and above ``limit``, in every batch that reaches their claim:
        call `due` in every batch, once, and close what it gave before the next. (Claims of appends are answered
        again by the replayed append.) Ordered by deadline; with ``now=FOREVER`` in a memory store by first
        appearance.
        """
        ...

    async def close(self, closes: Sequence[Close]) -> None:
        """Turn claimed states into tombstones."""
        ...

    async def open_calls(self) -> int:
        """Number of states not closed yet, for the gauge. A call whose pieces come from several partitions may count
        once for each, until its deadline there has passed."""
        ...
