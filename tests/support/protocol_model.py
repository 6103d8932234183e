"""The protocol between lanes, store and Kafka as a small state machine, and an exhaustive walk through it.

One call, its pieces in two partitions, one message a batch. A partition may have two lanes at a time: its owner, and
a zombie that was taken over. Every step of a lane is a transition by itself, so the walk stops each lane after each
step, lets it die there, lets another take over, and loses the store's memory in between. `without` leaves one rule of
the protocol out; the walk must then find what the rule is for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

_T = TypeVar("_T")

RULES = frozenset(
    {"claim", "fence", "close after commit", "lost close", "epoch", "published", "wait for all", "filter outlives"}
)


@dataclass(frozen=True)
class Lane:
    """One lane of a partition. ready: the batch's append completed the call. filtering: it leaves out what is out."""

    generation: int
    epoch: int
    offset: int
    step: str = "idle"
    ready: bool = False
    filtering: bool = False


@dataclass(frozen=True)
class Store:
    """The call's state. claim: (partition, offset)."""

    epoch: int = 0
    pieces: frozenset[str] = frozenset()
    claim: tuple[int, int] | None = None
    closed: bool = False


@dataclass(frozen=True)
class World:
    """committed: per partition (offset, epoch, step of a rebuild). out: how often the record was published."""

    committed: tuple[tuple[int, int, str], ...]
    generations: tuple[int, ...]
    lanes: tuple[tuple[Lane | None, Lane | None], ...]
    store: Store = Store()
    out: int = 0
    losses: int = 1
    deaths: int = 2


class Model:
    """The protocol over given logs, one string of pieces a partition."""

    def __init__(self, logs: tuple[str, ...], without: str | None = None) -> None:
        assert without is None or without in RULES
        self._logs = logs
        self._whole = frozenset("".join(logs))
        self._rules = RULES - {without}

    def begin(self) -> World:
        """Nothing read yet, nobody at work."""
        count = len(self._logs)
        return World(((0, 0, ""),) * count, (0,) * count, ((None, None),) * count)

    def steps(self, world: World) -> Iterator[World]:
        """Every world that one step away is."""
        if world.losses:
            yield replace(world, store=Store(epoch=world.store.epoch + 1), losses=world.losses - 1)
        for partition in range(len(self._logs)):
            yield from self._takeover(world, partition)
            for seat in (0, 1):
                lane = world.lanes[partition][seat]
                if lane is not None:
                    if world.deaths:
                        yield replace(_seated(world, partition, seat, None), deaths=world.deaths - 1)
                    yield from self._lane(world, partition, seat, lane)

    def _takeover(self, world: World, at: int) -> Iterator[World]:
        """Another lane opens the partition: fences the former, reads the commit after that."""
        owner, zombie = world.lanes[at]
        if owner is not None and (zombie is not None or not world.deaths):
            return
        offset, epoch, step = world.committed[at]
        generation = world.generations[at] + 1
        lost = "epoch" in self._rules and (epoch, step) != (world.store.epoch, "")
        lane = Lane(generation, world.store.epoch, offset, "lost" if lost else "idle")
        lanes = _set(world.lanes, at, (lane, owner if owner is not None else zombie))
        deaths = world.deaths - (owner is not None)
        yield replace(world, lanes=lanes, generations=_set(world.generations, at, generation), deaths=deaths)

    def _lane(self, world: World, at: int, seat: int, lane: Lane) -> Iterator[World]:
        dead = _seated(world, at, seat, None)
        if "epoch" in self._rules and lane.step in ("idle", "closing") and lane.epoch != world.store.epoch:
            yield dead  # The store says so with the next reply; the lane opens again.
            return
        if lane.step == "lost":
            yield self._acknowledge(world, at, seat, lane)
        elif lane.step == "acknowledged":
            if self._all_at(world, ("!", "~", "^", "")):
                yield _seated(world, at, seat, replace(lane, step="scanned", filtering=world.out > 0))
        elif lane.step == "scanned":
            yield self._replay(world, at, seat, lane)
        elif lane.step == "replayed":
            if self._all_at(world, ("~", "^", "")):
                if not self._is_owner(world, at, lane):
                    yield dead
                    return
                done = _seated(world, at, seat, replace(lane, step="idle"))
                yield replace(
                    done, committed=_set(world.committed, at, (lane.offset, lane.epoch, self._mark(at, lane)))
                )
        elif lane.step == "idle":
            yield from self._append(world, at, seat, lane)
        elif lane.step == "appended":
            yield self._commit(world, at, seat, lane)
        else:
            yield self._close(world, at, seat, lane)

    def _mark(self, at: int, lane: Lane) -> str:
        """Whoever takes over a lane that still filters must filter too."""
        filters = lane.filtering and lane.offset < len(self._logs[at]) and "filter outlives" in self._rules
        return "^" if filters else ""

    def _is_owner(self, world: World, at: int, lane: Lane) -> bool:
        return "fence" not in self._rules or lane.generation == world.generations[at]

    def _all_at(self, world: World, steps: tuple[str, ...]) -> bool:
        if "wait for all" not in self._rules:
            return True
        return all(epoch == world.store.epoch and step in steps for _, epoch, step in world.committed)

    def _acknowledge(self, world: World, at: int, seat: int, lane: Lane) -> World:
        if lane.epoch != world.store.epoch or not self._is_owner(world, at, lane):
            return _seated(world, at, seat, None)
        after = _seated(world, at, seat, replace(lane, step="acknowledged"))
        return replace(after, committed=_set(world.committed, at, (lane.offset, lane.epoch, "!")))

    def _replay(self, world: World, at: int, seat: int, lane: Lane) -> World:
        """Read again up to the commit; publish what was never out."""
        if lane.epoch != world.store.epoch or not self._is_owner(world, at, lane):
            return _seated(world, at, seat, None)
        store, out = world.store, world.out
        for offset in range(lane.offset):
            store, ready = self._appended(store, at, offset)
            if ready:
                out += not (lane.filtering and "published" in self._rules)
                store = Store(store.epoch, closed=True)
        after = _seated(world, at, seat, replace(lane, step="replayed"))
        committed = _set(world.committed, at, (lane.offset, lane.epoch, "~"))
        return replace(after, store=store, out=out, committed=committed)

    def _appended(self, store: Store, at: int, offset: int) -> tuple[Store, bool]:
        if store.closed:
            return store, False
        pieces = store.pieces | {self._logs[at][offset]}
        if store.claim is not None and "claim" in self._rules:
            return replace(store, pieces=pieces), store.claim == (at, offset)
        ready = pieces == self._whole
        return replace(store, pieces=pieces, claim=(at, offset) if ready else None), ready

    def _append(self, world: World, at: int, seat: int, lane: Lane) -> Iterator[World]:
        store = world.store
        if store.claim is not None and store.claim[0] == at and store.claim[1] < lane.offset:
            # The claim's commit took place, its close did not.
            if "lost close" in self._rules and self._is_owner(world, at, lane):
                yield replace(world, store=Store(store.epoch, closed=True))
            return
        if lane.offset >= len(self._logs[at]):
            return
        store, ready = self._appended(store, at, lane.offset)
        if ready and "close after commit" not in self._rules:
            store = Store(store.epoch, closed=True)
        yield replace(_seated(world, at, seat, replace(lane, step="appended", ready=ready)), store=store)

    def _commit(self, world: World, at: int, seat: int, lane: Lane) -> World:
        if not self._is_owner(world, at, lane):
            return _seated(world, at, seat, None)
        known = lane.filtering and "published" in self._rules
        lane = replace(lane, offset=lane.offset + 1, step="closing")
        after = _seated(world, at, seat, lane)
        committed = _set(world.committed, at, (lane.offset, lane.epoch, self._mark(at, lane)))
        return replace(after, committed=committed, out=world.out + (lane.ready and not known))

    def _close(self, world: World, at: int, seat: int, lane: Lane) -> World:
        store = world.store
        if lane.ready and store.claim == (at, lane.offset - 1):
            store = Store(store.epoch, closed=True)
        return replace(_seated(world, at, seat, replace(lane, step="idle", ready=False)), store=store)


def _set(values: tuple[_T, ...], at: int, value: _T) -> tuple[_T, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _seated(world: World, at: int, seat: int, lane: Lane | None) -> World:
    return replace(world, lanes=_set(world.lanes, at, _set(world.lanes[at], seat, lane)))  # type: ignore[arg-type]


@dataclass
class Walk:
    """What a walk found: worlds seen, and the first that breaks a promise, with the promise."""

    worlds: int
    broken: str = ""


def walk(model: Model) -> Walk:
    """Every world that can come about, each with a check of all promises.

    Published twice; lost: nothing can happen any more, and it was not published; stuck: nothing can happen any more,
    and the call is claimed for ever.
    """
    seen = {model.begin()}
    queue = deque(seen)
    while queue:
        world = queue.popleft()
        if world.out > 1:
            return Walk(len(seen), "published twice")
        after = list(model.steps(world))
        calm = [each for each in after if each.losses == world.losses and each.deaths == world.deaths]
        if not calm and world.out != 1:
            return Walk(len(seen), "lost")
        if not calm and world.store.claim is not None:
            return Walk(len(seen), "stuck")
        for each in after:
            if each not in seen:
                seen.add(each)
                queue.append(each)
    return Walk(len(seen))
