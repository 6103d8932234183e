"""The store in this process, for tests and for files: what does not fit in memory goes to a temporary file."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from headrace.reassembly.spill import SpillFile
from headrace.reassembly.state import CLAIMED, CLOSED, State, Tombstone, from_tombstone, source_of
from headrace.reassembly.store import FOREVER, Answer, Append, Close, Position, StateKey

_encode = msgspec.msgpack.Encoder().encode
_decode_stone = msgspec.msgpack.Decoder(Tombstone).decode

#: Deadline of an open state that needs to wait for nothing.
_AT_ONCE = -1


class _Call:
    """A state with its fragments.

    serial: in order of first appearance. spilled: how many of the first fragments are in the file.
    watched: (partition, deadline) of the state's one valid entry among the deadlines. claimed_in: the partition
    among whose claims it is, or was.
    """

    __slots__ = ("claimed_in", "fragments", "serial", "spilled", "state", "watched")

    def __init__(self, serial: int, state: State) -> None:
        self.serial = serial
        self.state = state
        self.fragments: list[bytes] = []
        self.spilled = 0
        self.watched: tuple[str, int] | None = None
        self.claimed_in = ""

    @property
    def deadline(self) -> int:
        return _AT_ONCE if self.state.complete else self.state.deadline


class MemoryStore:
    """The store contract in memory.

    budget: bytes of fragments to hold in memory; past it, those of the calls touched longest ago go to a temporary
    file and come back when their call is ready. tombstones: closed calls to remember in memory; older ones go to the
    same file. folder: where that file is made once it is needed; None for the system's temporary folder.
    Raises StoreError ``store_full`` when the file cannot grow.
    """

    def __init__(self, *, budget: int = 256 << 20, tombstones: int = 500_000, folder: Path | None = None) -> None:
        self._budget = budget
        self._most_tombstones = tombstones
        self._folder = folder
        self._opened_file: SpillFile | None = None
        self._calls: dict[StateKey, _Call] = {}
        self._tombstones: dict[StateKey, Tombstone] = {}
        #: Calls with fragments in memory, the one touched longest ago first, and the bytes of these fragments.
        self._resident: dict[StateKey, _Call] = {}
        self._resident_bytes = 0
        self._claims: dict[str, dict[StateKey, _Call]] = {}
        #: Per partition: (deadline, serial, key). The state decides; an entry is never later than its deadline.
        self._deadlines: dict[str, list[tuple[int, int, StateKey]]] = {}
        self._serial = 0
        #: Random: a later process must not take its empty memory for this one.
        self._epoch = uuid.uuid4().hex

    async def epoch(self) -> str:
        """The mark of this memory: it lives as long as the process."""
        return self._epoch

    async def new_epoch(self) -> str:
        """Another mark for the same memory."""
        self._epoch = uuid.uuid4().hex
        return self._epoch

    async def aclose(self) -> None:
        """Forget everything and remove the temporary file."""
        self._calls.clear()
        self._resident.clear()
        if self._opened_file is not None:
            self._opened_file.close()
            self._opened_file = None

    @property
    def resident_bytes(self) -> int:
        """Bytes of fragments held in memory; `append` and `close` leave it within the budget."""
        return self._resident_bytes

    # The contract

    async def append(self, appends: Sequence[Append]) -> list[Answer]:
        """As `store.Store.append`."""
        return [self._append(append) for append in appends]

    async def due(
        self, position: Position, now: int, committed: int, limit: int, committed_round: int = 0
    ) -> list[Answer]:
        """As `store.Store.due`."""
        source = source_of(position)
        marks = (committed, committed_round)
        again: list[tuple[tuple[int, int, int], Answer]] = []
        fresh: list[Answer] = []
        for key, call in list(self._claims.get(source, {}).items()):
            verdict = self._look(key, call, position, now, marks)
            if verdict == "again":
                claim = call.state.claim or position
                again.append(((claim.offset, claim.round, call.serial), self._shown(key, call, again=True)))
            elif verdict == "ready":
                fresh.append(self._shown(key, call))
        for key, call in self._waiting(source, now):
            if len(fresh) >= limit:
                self._watch(key, call)
                break
            if self._look(key, call, position, now, marks) == "ready":
                fresh.append(self._shown(key, call))
        return [answer for _, answer in sorted(again, key=lambda each: each[0])] + fresh

    async def close(self, closes: Sequence[Close]) -> None:
        """As `store.Store.close`."""
        for close in closes:
            call = self._calls.get(close.key)
            if call is None:
                continue
            dropped = call.state.close(close)
            if dropped is None:
                continue
            self._drop(close.key, call, dropped)
            if close.leftover is not None:
                self._recall(close.key, call)
                call.fragments.insert(0, close.leftover)
                self._keep(close.key, call, len(close.leftover))
            self._file(close.key, call)

    async def open_calls(self) -> int:
        """As `store.Store.open_calls`."""
        return len(self._calls)

    # One call

    def _append(self, append: Append) -> Answer:
        key = append.key
        call = self._calls.get(key)
        if call is None:
            stone = self._tombstone(key)
            call = _Call(self._serial, from_tombstone(stone) if stone else State())
        answer = call.state.take(key, append)
        if answer.outcome == "duplicate":
            return answer
        if key not in self._calls:
            self._calls[key] = call
            self._tombstones.pop(key, None)
            self._serial += 1
        if append.packed is not None and call.state.held > call.spilled + len(call.fragments):
            call.fragments.append(append.packed)
            self._keep(key, call, len(append.packed))
        self._file(key, call)
        return self._with_fragments(answer, key, call) if answer.outcome == "ready" else answer

    def _look(self, key: StateKey, call: _Call, position: Position, now: int, committed: tuple[int, int]) -> str:
        held = call.state.held
        verdict = call.state.fall_due(position, now, committed)
        self._drop(key, call, held - call.state.held)
        self._file(key, call)
        return verdict

    def _shown(self, key: StateKey, call: _Call, *, again: bool = False) -> Answer:
        return self._with_fragments(call.state.answer(key, "ready", [], again=again), key, call)

    def _with_fragments(self, answer: Answer, key: StateKey, call: _Call) -> Answer:
        self._recall(key, call)
        return msgspec.structs.replace(answer, fragments=tuple(call.fragments))

    def _file(self, key: StateKey, call: _Call) -> None:
        """Put the call where its status belongs: among claims, deadlines or tombstones."""
        state = call.state
        self._claims.get(call.claimed_in, {}).pop(key, None)
        if state.status == CLAIMED:
            call.claimed_in = state.home
            self._claims.setdefault(state.home, {})[key] = call
        elif state.status == CLOSED:
            self._drop(key, call, call.spilled + len(call.fragments))
            self._calls.pop(key, None)
            self._bury(key, state.tombstone())
        else:
            self._watch(key, call)

    # Deadlines

    def _watch(self, key: StateKey, call: _Call) -> None:
        home, deadline = call.state.home, call.deadline
        if call.watched is None or call.watched[0] != home or call.watched[1] > deadline:
            call.watched = (home, deadline)
            heapq.heappush(self._deadlines.setdefault(home, []), (deadline, call.serial, key))

    def _waiting(self, source: str, now: int) -> Iterator[tuple[StateKey, _Call]]:
        """Open calls of a partition that are due, by deadline; at FOREVER by first appearance."""
        if now >= FOREVER:
            for key, call in list(self._calls.items()):
                if call.state.home == source and call.state.status != CLAIMED:
                    yield key, call
            return
        queue = self._deadlines.get(source, [])
        while queue and queue[0][0] <= now:
            deadline, serial, key = heapq.heappop(queue)
            watched = self._calls.get(key)
            if watched is None or watched.serial != serial or watched.watched != (source, deadline):
                continue
            watched.watched = None
            if watched.state.status == CLAIMED or watched.state.home != source:
                continue
            if watched.deadline > deadline:
                self._watch(key, watched)
            else:
                yield key, watched

    # Fragments and tombstones, in memory or in the file

    def _keep(self, key: StateKey, call: _Call, size: int) -> None:
        self._resident.pop(key, None)
        self._resident[key] = call
        self._resident_bytes += size
        if self._resident_bytes > self._budget:
            self._spill()

    def _spill(self) -> None:
        """Write out the calls touched longest ago until a quarter of the budget is free."""
        rows: list[tuple[int, int, bytes]] = []
        while self._resident and self._resident_bytes > self._budget * 3 // 4:
            key = next(iter(self._resident))
            call = self._resident.pop(key)
            rows += [(call.serial, call.spilled + at, packed) for at, packed in enumerate(call.fragments)]
            self._resident_bytes -= sum(map(len, call.fragments))
            call.spilled += len(call.fragments)
            call.fragments = []
        self._spill_file().put_fragments(rows)

    def _recall(self, key: StateKey, call: _Call) -> None:
        """Bring a call's fragments back from the file."""
        if call.spilled:
            spilled = self._spill_file().take_fragments(call.serial)
            call.fragments[:0] = spilled
            call.spilled = 0
            self._resident[key] = call
            self._resident_bytes += sum(map(len, spilled))

    def _drop(self, key: StateKey, call: _Call, count: int) -> None:
        """Remove the first ``count`` fragments."""
        if not count:
            return
        self._recall(key, call)
        self._resident_bytes -= sum(map(len, call.fragments[:count]))
        del call.fragments[:count]
        if not call.fragments:
            self._resident.pop(key, None)

    def _bury(self, key: StateKey, stone: Tombstone) -> None:
        self._tombstones[key] = stone
        if len(self._tombstones) > self._most_tombstones:
            oldest = list(self._tombstones)[: len(self._tombstones) // 2 or 1]
            self._spill_file().put_tombstones((_name(each), _encode(self._tombstones.pop(each))) for each in oldest)

    def _tombstone(self, key: StateKey) -> Tombstone | None:
        stone = self._tombstones.get(key)
        if stone is None and self._opened_file is not None:
            packed = self._opened_file.tombstone(_name(key))
            return _decode_stone(packed) if packed else None
        return stone

    def _spill_file(self) -> SpillFile:
        if self._opened_file is None:
            self._opened_file = SpillFile(self._folder)
        return self._opened_file


def _name(key: StateKey) -> bytes:
    text = f"{len(key.tenant)}|{key.tenant}{key.slot}|{key.call_id}"
    return text.encode("utf-8", "surrogatepass")
