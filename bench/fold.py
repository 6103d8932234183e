"""Folding streams, side by side: python -m bench.fold [--recorded FOLDER].

Each contestant folds the same events in turns, so that a busy machine hurts all alike; medians and ratios are
printed. A contestant whose content differs from Headrace's is marked and counted, never left out.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import streams
from bench.contestants import CONTESTANTS, Contestant, Events

_SHAPES = ((10, 0), (100, 1), (1_000, 1), (1_000, 20), (10_000, 20), (100_000, 1))
_SLOW_EVENTS = 20_000


def time_once(contestant: Contestant, workload: Sequence[Events]) -> float:
    """Seconds for one pass over a workload."""
    start = time.perf_counter()
    for events in workload:
        contestant.fold(events)
    return time.perf_counter() - start


def race(protocol: str, workload: Sequence[Events], rounds: int) -> dict[str, list[float]]:
    """Seconds of each round by contestant, rounds taken in turns."""
    runners = [one for one in CONTESTANTS if one.protocol == protocol]
    total = sum(len(events) for events in workload)
    times: dict[str, list[float]] = {one.name: [] for one in runners}
    for number in range(rounds):
        for one in runners:
            if number and total > _SLOW_EVENTS and one.name not in ("headrace", "orjson.loads alone"):
                continue
            gc.collect()
            try:
                times[one.name].append(time_once(one, workload))
            except Exception as error:
                times.pop(one.name, None)
                print(f"  {one.name} failed: {type(error).__name__}: {str(error)[:100]}")
                runners = [runner for runner in runners if runner is not one]
                break
    return times


def agreement(protocol: str, workload: Sequence[Events]) -> dict[str, str]:
    """How many streams each contestant built alike with Headrace."""
    ours = next(one for one in CONTESTANTS if one.protocol == protocol and one.name == "headrace")
    assert ours.content is not None
    expected = [ours.content(ours.fold(events)) for events in workload]
    found: dict[str, str] = {}
    for one in CONTESTANTS:
        if one.protocol != protocol or one.content is None:
            continue
        same = 0
        for events, wanted in zip(workload, expected, strict=True):
            try:
                same += one.content(one.fold(events)) == wanted
            except Exception:
                continue
        found[one.name] = f"{same}/{len(workload)}"
    return found


def report(console: Console, title: str, protocol: str, workload: Sequence[Events], rounds: int) -> None:
    """Race and print one table."""
    count = sum(len(events) for events in workload)
    same = agreement(protocol, workload)
    times = race(protocol, workload, rounds)
    ours = statistics.median(times["headrace"])
    table = Table(title=f"{title}: {protocol}, {len(workload)} streams, {count:,} events", title_justify="left")
    for name in ("", "us/event", "min", "max", "vs headrace", "same content"):
        table.add_column(name, justify="left" if not name else "right")
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        scale = 1e6 / count
        table.add_row(
            name,
            f"{middle * scale:.2f}",
            f"{min(seconds) * scale:.2f}",
            f"{max(seconds) * scale:.2f}",
            f"{middle / ours:.2f}x",
            same.get(name, ""),
        )
    console.print(table)


def main() -> None:
    """Run all workloads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, help="folder of recorded exchanges (openai.chat.jsonl, …)")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    console = Console(width=110)
    for protocol, make in streams.SYNTHETIC.items():
        if options.recorded:
            report(console, "recorded", protocol, streams.recorded(options.recorded, protocol), options.rounds)
        for chunks, calls in _SHAPES:
            report(console, f"{chunks:,} chunks, {calls} calls", protocol, [make(chunks, calls)], options.rounds)


if __name__ == "__main__":
    main()
