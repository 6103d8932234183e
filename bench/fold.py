"""Folding streams, side by side: python -m bench.fold [--quick] [--own] [--recorded FOLDER].

Each contestant folds the same events in turns; medians, spread and ratios are printed, and a line of JSON at the end.
A contestant whose content differs from Headrace's is counted, never left out; one that grows with the square of the
length runs only on streams that it can finish.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import streams
from bench.contestants import CONTESTANTS, Content, Contestant, Events
from bench.rounds import race, report, settle, summary

_SHAPES = ((10, 0), (100, 1), (1_000, 1), (1_000, 20), (10_000, 20), (100_000, 1))
_QUICK = ((100, 1), (1_000, 20))
#: Peers take part up to so many events in one stream; past it some need minutes.
_PEER_EVENTS = 2_500
_OWN = ("headrace", "orjson.loads alone")
#: A short stream is folded so often in one round that a round takes about as long as one of so many events.
_ROUND_EVENTS = 1_000


def contestants(protocol: str, workload: Sequence[Events], *, own: bool = False) -> list[Contestant]:
    """Who folds this workload. own: none but Headrace and orjson."""
    peers = not own and max(len(events) for events in workload) <= _PEER_EVENTS
    return [one for one in CONTESTANTS if one.protocol == protocol and (peers or one.name in _OWN)]


def run(protocol: str, title: str, workload: Sequence[Events], rounds: int, *, own: bool = False) -> dict[str, float]:
    """Race and print one table; medians in microseconds an event."""
    count = sum(len(events) for events in workload)
    runners = contestants(protocol, workload, own=own)
    same = _agreement(runners, workload)
    repeats = max(1, _ROUND_EVENTS // count)
    # What a contestant cannot fold at all it need not fold here: it races on what is left.
    works = {one.name: able for one in runners if (able := _foldable(one, workload))}
    if any(len(able) < len(workload) for able in works.values()):
        fold_all = [at for at in range(len(workload)) if all(at in able for able in works.values())]
        workload = [workload[at] for at in fold_all]
        count = sum(len(events) for events in workload)
        title += f" (on {len(workload)} that all can fold)"
    times = race({one.name: _pass(one, workload, repeats) for one in runners}, rounds)
    return report(f"{protocol}: {title}, {count:,} events", times, count * repeats, "event", "headrace", same)


def _pass(contestant: Contestant, workload: Sequence[Events], repeats: int) -> Callable[[], object]:
    def work() -> None:
        for _ in range(repeats):
            for events in workload:
                contestant.fold(events)

    return work


def _foldable(contestant: Contestant, workload: Sequence[Events]) -> set[int]:
    able = set()
    for at, events in enumerate(workload):
        try:
            contestant.fold(events)
        except Exception:
            continue
        able.add(at)
    return able


def _agreement(runners: Sequence[Contestant], workload: Sequence[Events]) -> dict[str, str]:
    """In how many streams each contestant's text and calls are Headrace's."""
    ours = next(one for one in runners if one.name == "headrace")
    if ours.content is None:
        return {}
    expected = [_content(ours, events) for events in workload]
    assert None not in expected
    return {
        one.name: f"{sum(_content(one, events) == wanted for events, wanted in zip(workload, expected, strict=True))}"
        f"/{len(workload)} alike"
        for one in runners
        if one.content is not None and one is not ours
    }


def _content(contestant: Contestant, events: Events) -> Content | None:
    assert contestant.content is not None
    try:
        return contestant.content(contestant.fold(events))
    except Exception:
        return None


def main() -> None:
    """Run all workloads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, help="folder of recorded exchanges (openai.chat.jsonl, …)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="two synthetic shapes, few rounds")
    parser.add_argument("--protocol", action="append", help="only these")
    parser.add_argument("--own", action="store_true", help="Headrace and orjson only")
    options = parser.parse_args()
    rounds = 5 if options.quick else options.rounds
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    settle()
    ratios: dict[str, dict[str, float]] = {}
    flat: dict[str, float] = {}
    for protocol, make in streams.SYNTHETIC.items():
        if options.protocol and protocol not in options.protocol:
            continue
        found: dict[str, list[float]] = {}
        lengths: dict[int, float] = {}
        for chunks, calls in _QUICK if options.quick else _SHAPES:
            medians = run(protocol, f"{chunks:,} chunks, {calls} calls", [make(chunks, calls)], rounds, own=options.own)
            lengths[chunks] = medians["headrace"]
            _collect(found, medians)
        if options.recorded:
            recorded = [events for events in streams.recorded(options.recorded, protocol) if events]
            _collect(found, run(protocol, f"{len(recorded)} recorded streams", recorded, rounds, own=options.own))
        ratios[protocol] = {name: round(statistics.median(each), 2) for name, each in found.items()}
        flat[protocol] = round(lengths[max(lengths)] / lengths[100], 2)
    middle = statistics.median(1 / each["orjson.loads alone"] for each in ratios.values())
    summary(bench="fold", times_headrace=ratios, longest_by_100=flat, headrace_by_orjson=round(middle, 2))


def _collect(found: dict[str, list[float]], medians: dict[str, float]) -> None:
    for name, figure in medians.items():
        found.setdefault(name, []).append(figure / medians["headrace"])


if __name__ == "__main__":
    main()
