"""The chaos of `bench/chaos.py`, for a minute: nothing lost, nothing twice, nothing changed."""

from __future__ import annotations

from pathlib import Path

from bench.chaos import Chaos, Plan


async def test_exactly_once_while_everything_breaks(tmp_path: Path) -> None:
    plan = Plan(calls=600, chunks=12, workers=2, seconds=40.0, every=3.0, seed=11, idle_seconds=15.0)
    report = await Chaos(plan, tmp_path).run()
    print(f"\n{report}")
    assert report.comparison.exact, str(report.comparison)
    assert sum(report.faults.values()) >= 5
