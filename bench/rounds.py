"""Measuring side by side: contestants take turns round by round, so that a busy machine hurts all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from headrace import normalize
from headrace.json_text import dumps

CONSOLE = Console(width=120)

#: A contestant stops taking turns once it has had this many seconds: slow ones run fewer rounds.
_BUDGET = 4.0


@dataclass
class Times:
    """CPU seconds of a contestant's rounds."""

    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def settle() -> None:
    """The collector as the worker sets it, for all contestants alike: what is there stays, new garbage is rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def race(runners: Mapping[str, Callable[[], object]], rounds: int, budget: float = _BUDGET) -> dict[str, Times]:
    """CPU time of each runner, round by round in turns. One that raises is out, with the reason."""
    times = {name: Times() for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            mine = times[name]
            if mine.failure or sum(mine.seconds) > budget:
                continue
            gc.collect()
            start = time.process_time()
            try:
                run()
            except Exception as error:
                mine.failure = f"{type(error).__name__}: {str(error)[:60]}"
                continue
            mine.seconds.append(time.process_time() - start)
    return times


def report(
    title: str, times: Mapping[str, Times], units: int, unit: str, ours: str, notes: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Print a table: microseconds a unit, and how many times ours. Returns the medians in microseconds a unit."""
    table = Table(title=title, title_justify="left")
    for name in ("", f"us/{unit}", "min", "max", f"vs {ours}", "rounds", "content"):
        table.add_column(name, justify="left" if not name else "right")
    scale = 1e6 / units
    base = times[ours].median
    medians = {}
    for name, mine in times.items():
        note = (notes or {}).get(name, "")
        if mine.failure or not mine.seconds:
            table.add_row(name, "-", "-", "-", "-", "0", mine.failure or note)
            continue
        medians[name] = mine.median * scale
        figures = (mine.median * scale, min(mine.seconds) * scale, max(mine.seconds) * scale)
        table.add_row(
            name, *(f"{one:.2f}" for one in figures), f"{mine.median / base:.2f}x", str(len(mine.seconds)), note
        )
    CONSOLE.print(table)
    return medians


def summary(**figures: object) -> None:
    """One line of JSON with the figures, and which form of the core gave them, for whoever collects them."""
    core = "plain" if (normalize.__file__ or "").endswith(".py") else "compiled"
    print(dumps({**figures, "core": core}))
