"""One call's state: the rules of the store contract, without storage.

`memory.MemoryStore` runs this module; `lua/state.lua` says the same for Redis, name by name, because there the
rules must run where the state is. Whoever changes one changes the other: the same tests run over both.

Two tracks. Sequence numbers and offsets do not compare, so a state keeps both apart: ``through``, ``hard``,
``intervals`` speak of numbered pieces, the ``log_`` fields of pieces without a number. The state is *numbered*
once a number was seen, and then the first track decides.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from headrace.reassembly.spans import Interval, beyond, holes, overlap, union
from headrace.reassembly.store import MAX_ORDER, UNIT, UNKNOWN_RECORDS, Answer, Append, Close, Position, StateKey

Verdict = Literal["open", "ready", "claimed", "duplicate"]

Due = Literal["ready", "again", "wait", "gone"]

OPEN, CLAIMED, CLOSED = 0, 1, 2

#: ``source`` of a state whose unnumbered pieces came from several partitions: their offsets do not compare.
MIXED = "*"

#: ``source`` of a state that a whole body has claimed or closed: no piece was ever emitted of it, whatever its order.
BODY = "="


class Tombstone(msgspec.Struct, frozen=True, array_like=True):
    """What stays of a closed state."""

    numbered: bool
    final: bool
    emitted: int
    through: int
    log_through: int
    source: str
    gaps: list[Interval]


class State(msgspec.Struct):
    """A state that is not absent.

    through, log_through: how far closed segments were emitted, by sequence number and by offset.
    source: where unnumbered pieces come from: "" for nowhere yet, a partition, or MIXED; BODY where they do not count.
    gaps: sequence numbers before the end of an emitted segment that were never part of one.
    intervals: sequence numbers of this segment, past ``through``. loose: unnumbered pieces past ``log_through``
    (past ``log_limit`` while claimed) are held.
    home: the partition whose deadlines watch this state. held: number of fragments stored.
    limit, log_limit: reach of the claimed segment. answered: fragments the last "ready" showed; settled: of
    these, the ones that hold nothing past the limit. settles: a lost close of this claim was final.
    """

    status: int = OPEN
    numbered: bool = False
    final: bool = False
    emitted: int = 0
    through: int = -1
    log_through: int = -1
    source: str = ""
    gaps: list[Interval] = msgspec.field(default_factory=list)
    intervals: list[Interval] = msgspec.field(default_factory=list)
    hard: int = -1
    log_top: int = -1
    log_hard: int = -1
    loose: bool = False
    soft: bool = False
    count: int = -1
    last_seen: int = 0
    idle: int = 0
    grace: int = 0
    home: str = ""
    held: int = 0
    claim: Position | None = None
    by_due: bool = False
    settles: bool = False
    limit: int = -1
    log_limit: int = -1
    answered: int = 0
    settled: int = 0

    # What the state is

    @property
    def top(self) -> int:
        """The highest sequence number, closed segments included."""
        return self.intervals[-1][1] if self.intervals else self.through

    @property
    def compares(self) -> bool:
        """Whether offsets of unnumbered pieces say what came before what."""
        return self.source not in (MIXED, BODY)

    @property
    def complete(self) -> bool:
        """Whether the segment can be emitted without waiting."""
        if self.final:
            return True  # What slipped between a final claim and its close: nothing will complete it.
        if self.numbered:
            if len(self.intervals) != 1 or self.intervals[0][0] != self.through + 1:
                return False
            return self.top + 1 >= self.count if self.count >= 0 else self.hard == self.top
        return self.compares and self.log_top > self.log_through and self.log_hard >= self.log_top

    @property
    def deadline(self) -> int:
        """Stream time from which the open state is due."""
        ending = self.soft or self.hard >= 0 or self.log_hard >= 0
        return self.last_seen + (self.grace if ending else self.idle)

    def answer(
        self,
        key: StateKey,
        verdict: Verdict,
        late: list[Interval],
        *,
        again: bool = False,
        kept: bool = True,
    ) -> Answer:
        """The answer without its fragments. again: "ready" of a claim made earlier."""
        if self.numbered:
            through, limit, top = self.through, self.limit, self.top
        elif self.compares:
            through, limit, top = self.log_through, self.log_limit, self.log_top
        else:
            through, limit, top = -1, -1, -1
        ready = verdict == "ready"
        return Answer(
            key=key,
            outcome=verdict,
            through=through,
            limit=limit if ready and (again or limit < top) else -1,
            emitted=self.emitted,
            final=self.final,
            body=self.source == BODY,
            numbered=self.numbered,
            late=tuple(late),
            kept=kept,
            claim=self.claim if ready else None,
        )

    # Appending

    def take(self, key: StateKey, share: Append) -> Answer:
        """Apply an append. ``held`` has grown by one if the caller must store the share's fragment."""
        late = overlap(share.seqs, self.gaps)
        if self.final:
            return self._duplicate(key, share, late)
        if self.status == CLOSED or (self.status == OPEN and is_body(share)):
            if not self.is_news(share, self.through, self.log_through):
                return self._duplicate(key, share, late)
            self.status = OPEN
        if self.status == CLAIMED:
            return self._take_claimed(key, share, late)
        self._merge(share, self.log_through)
        if not share.whole and not self.complete:
            return self.answer(key, "open", late)
        self._claim(share.position, by_due=False)
        if share.whole:
            self._limit_to(share)
        return self.answer(key, "ready", late)

    def _duplicate(self, key: StateKey, share: Append, late: list[Interval]) -> Answer:
        """The answer to what cannot be of any segment."""
        answer = self.answer(key, "duplicate", late)
        if self.numbered or (not share.seqs and self.source in ("", source_of(share.position))):
            return answer
        # Numbers do not compare with the offsets that were emitted, nor do offsets of another partition.
        return msgspec.structs.replace(answer, through=-1)

    def _take_claimed(self, key: StateKey, share: Append, late: list[Interval]) -> Answer:
        news = self.is_news(share, self.limit, self.log_limit)
        kept = share.packed is not None or not news
        if not self._covers(share):
            # Nothing may be noted of a share that is not stored: a gap would look filled.
            if share.packed is not None:
                self._merge(share, self.log_limit, soft=news)
            return self.answer(key, "claimed", late, kept=kept and not self._leads_to_claim(share))
        # Holes of the claimed segment can still be filled; those of closed ones can not.
        late = overlap(share.seqs, [gap for gap in self.gaps if gap[1] <= self.through])
        self._merge(share, self.log_limit, soft=news)
        if self.by_due:
            # From here on this call's own message carries the claim, and its replay comes as an append.
            self.by_due, self.claim = False, share.position
        self._show()
        return self.answer(key, "ready", late, again=True, kept=kept)

    def is_news(self, share: Append, through: int, log_through: int) -> bool:
        """Whether the share has anything past these places."""
        if share.seqs and share.seqs[-1][1] > through:
            return True
        loose = share.loose if share.seqs else share.last
        if loose >= 0:
            return self.source not in ("", source_of(share.position)) or loose > log_through
        if share.last == UNIT:
            return self.source != BODY and self.emitted == 0 and max(through, log_through) < 0
        return self.numbered and share.count is not None and share.count > through + 1

    def _covers(self, share: Append) -> bool:
        claim, position = self.claim, share.position
        return (
            claim is not None
            and claim.round == 0
            # Pieces around a whole body do not read its claim again, nor a body that of its stream.
            and (self.source == BODY) == is_body(share)
            and (claim.topic, claim.partition) == (position.topic, position.partition)
            and share.first_offset <= claim.offset <= position.offset
        )

    def _leads_to_claim(self, share: Append) -> bool:
        """Whether a share that is not stored may be needed at the claim.

        The claim's batch may have been one whole share that was never stored. Read again in smaller batches, its first
        pieces come, and are committed, before the piece that holds the claim.
        """
        claim, position = self.claim, share.position
        return (
            claim is not None
            and share.packed is None
            and share.last != UNIT
            and (claim.topic, claim.partition) == (position.topic, position.partition)
            and position.offset < claim.offset
        )

    def _merge(self, share: Append, log_through: int, *, soft: bool = True) -> None:
        if share.seqs:
            self.numbered = True
            self.intervals = union(self.intervals, beyond(share.seqs, self.through))
            self.hard = max(self.hard, share.hard if share.hard > self.through else -1)
            if share.loose >= 0:
                self._merge_log(share, share.loose, self.is_news(share, MAX_ORDER, log_through))
        else:
            self._merge_log(share, share.last, self.is_news(share, self.top, log_through))
            self.log_hard = max(self.log_hard, share.hard, share.position.offset if share.ended else -1)
        if share.count is not None:
            self.count = share.count
        self.soft = self.soft or ((share.soft or share.ended) and soft)
        self.last_seen = max(self.last_seen, share.last_seen)
        self.idle, self.grace = share.idle, share.grace
        if self.status == OPEN:
            self.home = source_of(share.position)
        if share.packed is not None:
            self.held += 1

    def _merge_log(self, share: Append, last: int, news: bool) -> None:
        """Note pieces without a number up to ``last``."""
        self.loose = self.loose or news
        if last != UNIT and self.source != BODY:
            here = source_of(share.position)
            self.source = here if self.source in ("", here) else MIXED
        self.log_top = max(self.log_top, last)

    # Claiming

    def _claim(self, position: Position, *, by_due: bool) -> None:
        self.status = CLAIMED
        self.claim, self.by_due, self.home = position, by_due, source_of(position)
        self.settles = by_due
        self.limit, self.log_limit = self.top, self.log_top
        self.loose = self.soft = False
        self._show()
        self.settled = self.answered

    def _limit_to(self, share: Append) -> None:
        """A whole share ends its segment, though pieces past it may be held already."""
        if share.seqs:
            self.limit = min(self.limit, share.seqs[-1][1])
        elif share.last >= 0 and (self.numbered or not self.compares):
            pass  # Its offsets hold nothing back here.
        elif share.last >= 0:
            self.log_limit = min(self.log_limit, share.last)
            self.loose = self.log_top > self.log_limit
        else:
            self.settles = True
            self.source = BODY if is_body(share) else self.source
        if self.limit < self.top or self.loose:
            self.settled = 0
        self._note_gaps()

    def _show(self) -> None:
        """All that is held is given out with a "ready"; a limit holds back only what compares with it."""
        self.answered = self.held
        if self.numbered or not self.compares:
            self.loose, self.log_limit = False, self.log_top
        if self.numbered and self.limit < 0:
            self.limit = self.top  # No number was claimed, so none holds those back that came since.
        if self.limit >= self.top and not self.loose:
            self.settled = self.answered
        self._note_gaps()

    def _note_gaps(self) -> None:
        emitted = [(low, min(high, self.limit)) for low, high in self.intervals if low <= self.limit]
        self.gaps = [gap for gap in self.gaps if gap[1] <= self.through] + holes(emitted, self.through + 1)

    # Deadlines

    def fall_due(self, position: Position, now: int, committed: tuple[int, int]) -> Due:
        """Look at the state for the owner of ``position``'s partition, who committed up to (offset, round).

        "ready": claimed at ``position`` now. "again": claimed by an earlier `due` whose commit did not happen.
        "gone": nothing of it is this partition's to watch. A claim before ``committed`` whose close was lost is
        closed on the way: by as much as ``held`` shrinks, first fragments go.
        """
        if self.status == CLOSED or self.home != source_of(position):
            return "gone"
        if self.claim is not None:
            if not is_committed(self.claim.offset, self.claim.round, committed):
                reached = self.by_due and self.claim.offset <= position.offset
                if reached:
                    self._show()
                return "again" if reached else "wait"
            self._close_lost()
            if self.status == CLOSED:
                return "gone"
        if not self.complete and now < self.deadline:
            return "wait"
        self._claim(position, by_due=True)
        return "ready"

    # Closing

    def close(self, close: Close) -> int | None:
        """Cut the emitted segment off. Returns how many of the first fragments go; None: nothing was done."""
        if self.status != CLAIMED or (close.claim is not None and close.claim != self.claim):
            return None
        reached = -1 if self.source == BODY else close.through
        if close.leftover is None:
            # All that the claim reached was shown and dealt with, pieces that are no stream pieces included.
            reached = max(reached, self.limit if self.numbered else self.log_limit)
        self.emitted = close.emitted
        return self._cut(reached, final=close.final, leftover=close.leftover is not None)

    def _close_lost(self) -> None:
        """The segment was committed, its close never came."""
        self.emitted += UNKNOWN_RECORDS
        self._cut(self.limit if self.numbered else self.log_limit, final=self.settles)

    def _cut(self, reached: int, *, final: bool, leftover: bool = False) -> int:
        if self.numbered:
            # Clamped: an end alone has no number, and its offset must not pass for one.
            self.through = max(self.through, min(reached, self.top))
            self.log_through = max(self.log_through, self.log_limit)
        else:
            self.log_through = max(self.log_through, min(reached, self.log_top))
            self.loose = self.loose and (not self.compares or self.log_top > self.log_through)
        self.intervals = beyond(self.intervals, self.through)
        self.gaps = [gap for gap in self.gaps if gap[0] <= self.through]
        self.hard = self.hard if self.hard > self.through else -1
        self.log_hard = self.log_hard if self.loose and self.log_hard > self.log_through else -1
        self.count = self.count if self.numbered and self.count > self.through + 1 else -1
        self.final = self.final or final
        more = self.loose or bool(self.intervals)
        # Pieces past the segment may lie in fragments that a repeated "ready" showed: those stay if nobody gave
        # the pieces back as a leftover.
        dropped = self.settled if more and not leftover else self.answered
        self.held += leftover - dropped
        self.claim, self.by_due, self.settles, self.limit, self.log_limit = None, False, False, -1, -1
        self.answered = self.settled = 0
        self.status = OPEN if leftover or (more and self.held > 0) else CLOSED
        return dropped

    def tombstone(self) -> Tombstone:
        """What to keep of a closed state."""
        return Tombstone(
            self.numbered, self.final, self.emitted, self.through, self.log_through, self.source, self.gaps
        )


def from_tombstone(stone: Tombstone) -> State:
    """The closed state that a tombstone stands for."""
    return State(
        status=CLOSED,
        numbered=stone.numbered,
        final=stone.final,
        emitted=stone.emitted,
        through=stone.through,
        log_through=stone.log_through,
        log_top=stone.log_through,
        source=stone.source,
        gaps=stone.gaps,
    )


def is_body(share: Append) -> bool:
    """Whether the share is a whole body, and not pieces or a unit that brings nothing of its own."""
    return share.last == share.hard == UNIT


def is_committed(offset: int, round_: int, committed: tuple[int, int]) -> bool:
    """Whether the commit of a claim made there is part of ``committed``: (next offset to read, round)."""
    return offset < committed[0] or (offset == committed[0] and 0 < round_ <= committed[1])


def source_of(position: Position) -> str:
    """Name of the position's partition."""
    return f"{position.topic}|{position.partition}"
