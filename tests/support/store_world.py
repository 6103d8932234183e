"""Workers, partitions and crashes around a store, as a hypothesis state machine.

A producer writes calls to two partitions: numbered streams spread over both and out of order, unnumbered streams,
whole units, with duplicates of all of them. Each partition has an owner that goes through batches as a worker does
(append, due, commit with what was emitted, close) and may die between any two of these steps; the next owner starts
at the committed offset, with batches of another size.
"""

from __future__ import annotations

import ast
import asyncio
from collections import Counter
from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.reassembly.sequence import intervals
from headrace.reassembly.store import UNIT, Answer, Append, Close, StateKey, Store
from tests.support.shares import at, closing

_IDLE, _GRACE = 60, 25
_PARTITIONS = 2

#: (order, partition, offset): enough of a piece to tell it from others. Order is its seq, or its offset.
Piece = tuple[int, int, int]


@dataclass(frozen=True)
class Message:
    """One message of the log. seq: None for a piece without a number, -1 for a whole unit. time: stream time."""

    key: StateKey
    seq: int | None
    hard: bool
    time: int


@dataclass
class Reading:
    """One owner's batch of a partition, step by step."""

    first: int
    last: int
    round: int = 0
    emitted: list[tuple[StateKey, int, frozenset[int]]] = field(default_factory=list)
    late: list[tuple[StateKey, int]] = field(default_factory=list)
    closes: list[Close] = field(default_factory=list)
    step: str = "appended"


@dataclass
class Partition:
    log: list[Message] = field(default_factory=list, repr=False)
    committed: int = 0
    round: int = 0
    reading: Reading | None = None
    owner: int = 0


class StoreWorld(RuleBasedStateMachine):
    """Subclasses say how to `connect` the stores: one a worker, over the same memory."""

    async def connect(self) -> list[Store]:
        raise NotImplementedError

    async def disconnect(self) -> None:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stores = self.loop.run_until_complete(self.connect())
        self.partitions = [Partition() for _ in range(_PARTITIONS)]
        self.sent: dict[StateKey, set[int]] = {}
        self.records: Counter[tuple[StateKey, int]] = Counter()
        self.ordinals: Counter[tuple[StateKey, int]] = Counter()
        self.late: set[tuple[StateKey, int]] = set()
        self.ghosts: list[tuple[Store, list[Close]]] = []
        self.timed_out = False
        self.lost_closes = 0
        self.clock = 0

    # The producer

    @initialize(number=st.integers(1, 5), data=st.data())
    def produce(self, number: int, data: st.DataObject) -> None:
        pending: list[list[tuple[int, StateKey, int | None, bool]]] = []
        for index in range(number):
            kind = data.draw(st.sampled_from(["numbered", "numbered", "unnumbered", "unit", "unfinished"]))
            key = StateKey("t", f"{kind}-{index}", "request" if kind == "unit" else "response")
            pending.append(data.draw(_call(key, kind)))
        while any(pending):
            source = data.draw(st.sampled_from([at_ for at_, rest in enumerate(pending) if rest]))
            partition, key, seq, hard = pending[source].pop(0)
            self.clock += data.draw(st.sampled_from([1, 1, 1, 5, 30]))
            log = self.partitions[partition].log
            log.append(Message(key, seq, hard, self.clock))
            self.sent.setdefault(key, set()).add(_order(log[-1], len(log) - 1))

    # The workers

    @precondition(lambda self: any(self._unread(each) for each in self.partitions))
    @rule(data=st.data(), size=st.integers(1, 9))
    def append(self, data: st.DataObject, size: int) -> None:
        partition = self._choose(data, self._unread)
        self._append(partition, size)

    @precondition(lambda self: any(_in_step(each, "appended") for each in self.partitions))
    @rule(data=st.data(), limit=st.integers(1, 3))
    def due(self, data: st.DataObject, limit: int) -> None:
        self._due(self._choose(data, lambda each: _in_step(each, "appended")), limit)

    @precondition(lambda self: any(_is_idle(each) for each in self.partitions))
    @rule(data=st.data(), passed=st.sampled_from([0, _GRACE, _IDLE]))
    def tick(self, data: st.DataObject, passed: int) -> None:
        """The partition is read to its end; the clock makes calls due."""
        partition = self._choose(data, _is_idle)
        self.clock += passed
        self._tick(partition)

    @precondition(lambda self: any(_in_step(each, "due") for each in self.partitions))
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        self._commit(self._choose(data, lambda each: _in_step(each, "due")))

    @precondition(lambda self: any(_in_step(each, "committed") for each in self.partitions))
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        self._close(self._choose(data, lambda each: _in_step(each, "committed")))

    @precondition(lambda self: any(each.reading for each in self.partitions))
    @rule(data=st.data(), zombie=st.booleans())
    def crash(self, data: st.DataObject, zombie: bool) -> None:
        """The owner dies at any step; as a zombie it repeats its last append after the next owner took over."""
        partition = self._choose(data, lambda each: each.reading is not None)
        reading = partition.reading
        assert reading is not None
        self.lost_closes += bool(reading.step == "committed" and reading.closes)
        partition.reading = None
        former = self.stores[partition.owner]
        partition.owner = (partition.owner + 1) % len(self.stores)
        if zombie and reading.step == "committed":
            self.ghosts.append((former, reading.closes))
        elif zombie and not reading.round:
            shares = self._shares(partition, reading.first, reading.last)
            self.loop.run_until_complete(former.append([append for append, _ in shares]))

    @precondition(lambda self: self.ghosts)
    @rule()
    def wake_up(self) -> None:
        """A paused owner goes on with the close of what it had committed before others took over."""
        former, closes = self.ghosts.pop()
        self.loop.run_until_complete(former.close(closes))

    @invariant()
    def no_piece_is_published_twice(self) -> None:
        assert max(self.records.values(), default=0) <= 1
        assert max(self.ordinals.values(), default=0) <= 1

    def teardown(self) -> None:
        try:
            self._finish()
        finally:
            self.loop.run_until_complete(self.disconnect())
            self.loop.close()

    def _finish(self) -> None:
        """With no more crashes, everything that was sent comes out, and nothing stays behind."""
        for partition in self.partitions:
            partition.reading = None
        for _ in range(50):
            for partition in self.partitions:
                if self._unread(partition):
                    self._append(partition, 50)
                    self._due(partition, 50)
                else:
                    self.clock += 10 * _IDLE
                    self._tick(partition)
                self._commit(partition)
                self._close(partition)
            if not any(map(self._unread, self.partitions)) and not self._open_calls():
                break
        assert self._open_calls() == 0
        for key, orders in self.sent.items():
            published = {order for other, order in self.records if other == key}
            late = {order for other, order in self.late if other == key}
            assert published | late == orders
            if key.call_id.startswith("unit"):
                assert published == {0}
            if not self.timed_out and not self.lost_closes and not key.call_id.startswith("unfinished"):
                assert {ordinal for other, ordinal in self.ordinals if other == key} == {0}
        self.no_piece_is_published_twice()

    # One step

    def _append(self, partition: Partition, size: int) -> None:
        first, last = partition.committed, min(partition.committed + size, len(partition.log)) - 1
        reading = partition.reading = Reading(first, last)
        shares = self._shares(partition, first, last)
        store = self.stores[partition.owner]
        answers = self.loop.run_until_complete(store.append([append for append, _ in shares]))
        again = [at_ for at_, answer in enumerate(answers) if not answer.kept]
        if again:
            full = [
                msgspec.structs.replace(shares[at_][0], packed=repr(shares[at_][1]).encode(), whole=False)
                for at_ in again
            ]
            for at_, answer in zip(again, self.loop.run_until_complete(store.append(full)), strict=True):
                assert answer.kept
                answers[at_] = answer
        for (append, pieces), answer in zip(shares, answers, strict=True):
            self._take(reading, answer, pieces, append)

    def _due(self, partition: Partition, limit: int) -> None:
        reading = partition.reading
        assert reading is not None
        now = max(message.time for message in partition.log[: reading.last + 1])
        self._ask(partition, reading, now, limit)

    def _tick(self, partition: Partition) -> None:
        reading = partition.reading = Reading(partition.committed, partition.committed, partition.round + 1)
        self._ask(partition, reading, self.clock, 50)

    def _ask(self, partition: Partition, reading: Reading, now: int, limit: int) -> None:
        position = at(reading.last, self.partitions.index(partition), reading.round)
        asked = self.stores[partition.owner].due(position, now, partition.committed, limit, partition.round)
        for answer in self.loop.run_until_complete(asked):
            self.timed_out = True
            self._emit(reading, answer, [], final=True)
        reading.step = "due"

    def _commit(self, partition: Partition) -> None:
        """One transaction: what was emitted and how far was read, or nothing of both."""
        reading = partition.reading
        assert reading is not None
        partition.round = reading.round
        if not reading.round:
            partition.committed = reading.last + 1
        for key, ordinal, orders in reading.emitted:
            self.ordinals[key, ordinal] += 1
            self.records.update((key, order) for order in orders)
        self.late.update(reading.late)
        reading.step = "committed"

    def _close(self, partition: Partition) -> None:
        reading = partition.reading
        assert reading is not None
        self.loop.run_until_complete(self.stores[partition.owner].close(reading.closes))
        partition.reading = None

    # The pipeline's part

    def _shares(self, partition: Partition, first: int, last: int) -> list[tuple[Append, list[Piece]]]:
        number = self.partitions.index(partition)
        groups: dict[tuple[StateKey, int], list[int]] = {}
        for offset in range(first, last + 1):
            message = partition.log[offset]
            groups.setdefault((message.key, offset if message.seq == -1 else -1), []).append(offset)
        return [_share(partition.log, number, offsets) for offsets in groups.values()]

    def _take(self, reading: Reading, answer: Answer, pieces: list[Piece], append: Append) -> None:
        reading.late += [(answer.key, order) for low, high in answer.late for order in range(low, high + 1)]
        if answer.outcome == "ready":
            is_unit = not append.seqs and append.last == UNIT
            self._emit(reading, answer, pieces, final=is_unit)
        elif answer.outcome == "duplicate":
            reading.late += [(answer.key, order) for order, _, _ in pieces if order > answer.through]

    def _emit(self, reading: Reading, answer: Answer, own: list[Piece], *, final: bool) -> None:
        pieces = [piece for packed in answer.fragments for piece in ast.literal_eval(packed.decode())] + own
        orders = {order for order, _, _ in pieces if order > answer.through}
        if answer.final:
            reading.late += [(answer.key, order) for order in orders]
            reading.closes.append(closing(answer, max(orders), records=0, final=True))
            return
        kept = {order for order in orders if answer.limit < 0 or order <= answer.limit}
        assert kept, "a segment without pieces"
        rest = [piece for piece in pieces if piece[0] in orders - kept]
        reading.emitted.append((answer.key, answer.emitted, frozenset(kept)))
        # An even number of left-over pieces is handed back, an odd one is left to the store: both are allowed.
        leftover = repr(rest).encode() if rest and len(rest) % 2 == 0 else None
        reading.closes.append(closing(answer, max(kept), leftover=leftover, final=final))

    # Looking

    def _choose(self, data: st.DataObject, wanted: object) -> Partition:
        return data.draw(st.sampled_from([each for each in self.partitions if wanted(each)]))  # type: ignore[operator]

    @staticmethod
    def _unread(partition: Partition) -> bool:
        return partition.reading is None and partition.committed < len(partition.log)

    def _open_calls(self) -> int:
        return sum(self.loop.run_until_complete(store.open_calls()) for store in self.stores)


def _in_step(partition: Partition, step: str) -> bool:
    return partition.reading is not None and partition.reading.step == step


def _is_idle(partition: Partition) -> bool:
    return partition.reading is None and partition.committed == len(partition.log)


def _order(message: Message, offset: int) -> int:
    if message.seq == -1:
        return 0
    return offset if message.seq is None else message.seq


def _share(log: list[Message], partition: int, offsets: list[int]) -> tuple[Append, list[Piece]]:
    messages = [log[offset] for offset in offsets]
    pieces = [(_order(log[offset], offset), partition, offset) for offset in offsets]
    seqs = tuple(intervals(message.seq for message in messages if message.seq is not None and message.seq >= 0))
    last = UNIT if messages[0].seq == -1 else max(order for order, _, _ in pieces)
    hard = (
        UNIT
        if last == UNIT
        else max((piece[0] for piece, message in zip(pieces, messages, strict=True) if message.hard), default=-1)
    )
    whole = hard == last and (not seqs or seqs == ((0, last),))
    share = Append(
        key=messages[0].key,
        position=at(offsets[-1], partition),
        first_offset=offsets[0],
        packed=None if whole else repr(pieces).encode(),
        seqs=seqs,
        last=last,
        hard=hard,
        last_seen=messages[-1].time,
        idle=_IDLE,
        grace=_GRACE,
        whole=whole,
    )
    return share, pieces


@st.composite
def _call(draw: st.DrawFn, key: StateKey, kind: str) -> list[tuple[int, StateKey, int | None, bool]]:
    """The call's messages in the order they are written: (partition, key, seq, hard)."""
    if kind == "unit":
        return [(partition, key, -1, True) for partition in draw(st.lists(st.integers(0, 1), min_size=1, max_size=3))]
    count = draw(st.integers(1, 8))
    if kind == "unnumbered":
        partition = draw(st.integers(0, 1))
        return [(partition, key, None, number == count - 1) for number in range(count)]
    order = [*range(count), *draw(st.lists(st.integers(0, count - 1), max_size=3))]
    if draw(st.booleans()):
        order = draw(st.permutations(order))
    if kind == "unfinished":
        missing = draw(st.integers(0, count - 1))
        order = [seq for seq in order if seq != missing] or [missing]
    return [(draw(st.integers(0, 1)), key, seq, seq == count - 1) for seq in order]
