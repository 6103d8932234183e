"""Hostile traffic through the whole pipeline: python -m bench.fuzz --count 100000 --seed 1 [--only NUMBER].

Every case must end as a record or as a dead letter with a code that is not `internal_error`; records must go through
Avro and come back, whole bodies as they came; memory must stay flat. Prints totals by outcome, and exits with 1
when anything else happened.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from tests.support.everything import own_seeds, shared_seeds
from tests.support.fuzzing import Case, Fuzzer, Outcome, judge

_SLOW_SECONDS = 2.0
_SHOWN = 40


def rss_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def fuzz(fuzzer: Fuzzer, numbers: range, every: int) -> int:
    """Run the cases, print what happened; gives the number of cases with faults."""
    totals: Counter[str] = Counter()
    made_of: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    slowest: list[tuple[float, int]] = []
    bad = 0
    memory: list[float] = []
    start = time.perf_counter()
    for done, number in enumerate(numbers, 1):
        case = fuzzer.case(number)
        outcome = await judge(case, batch=1 + number % 7 * 50)
        totals[outcome.label] += 1
        made_of[f"{case.protocol} {case.what}"] += 1
        slowest = sorted([*slowest, (outcome.seconds, number)], reverse=True)[:5]
        if outcome.faults:
            bad += 1
            kinds.update(fault.split(":")[0] for fault in outcome.faults)
            if bad <= _SHOWN:
                _show(number, case, outcome)
        if done % every == 0:
            gc.collect()
            memory.append(rss_mb())
            print(f"{done} cases, {bad} bad, {memory[-1]:.0f} MB, {time.perf_counter() - start:.0f} s", flush=True)
    print("outcomes:", dict(totals.most_common()))
    print("made of:", dict(made_of.most_common()))
    print("faults:", dict(kinds) or "none")
    print("slowest:", ", ".join(f"case {number} {seconds:.2f} s" for seconds, number in slowest))
    print("memory, MB:", [round(each) for each in memory])
    return bad + sum(seconds > _SLOW_SECONDS for seconds, _ in slowest)


def _show(number: int, case: Case, outcome: Outcome) -> None:
    print(f"case {number} ({case.protocol} {case.kind}, {case.what}): {outcome.faults[0]}", flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run one case and print its messages")
    options = parser.parse_args()
    fuzzer = Fuzzer([*own_seeds(), *shared_seeds(largest=8_000)], options.seed)
    if options.only is not None:
        case = fuzzer.case(options.only)
        for message in case.messages:
            print(message.decode("utf-8", "replace")[:20_000])
        outcome = asyncio.run(judge(case, batch=1 + options.only % 7 * 50))
        print(outcome)
        sys.exit(bool(outcome.faults))
    numbers = range(options.start, options.start + options.count)
    sys.exit(bool(asyncio.run(fuzz(fuzzer, numbers, every=max(1, options.count // 20)))))


if __name__ == "__main__":
    main()
