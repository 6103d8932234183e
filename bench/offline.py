"""`headrace normalize` over a large file: python -m bench.offline [--megabytes 1000] [--quick].

The file is made first: streams of five protocols, interleaved, a capture a line. Wall and CPU time are those of the
whole command, start-up included; the outputs of one process and of two must be the same, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

from bench.captures import Traffic
from bench.rounds import CONSOLE, summary

_OPEN_AT_ONCE = 200


def write(path: Path, megabytes: int) -> int:
    """Fill a file with captures; how many calls."""
    probe = sum(len(message.value) + 1 for message in Traffic(calls=50, chunks=50, open_at_once=50).messages()) / 50
    traffic = Traffic(calls=int(megabytes * 1e6 / probe), chunks=50, open_at_once=_OPEN_AT_ONCE)
    with path.open("wb", buffering=1 << 20) as file:
        for message in traffic.messages():
            file.write(message.value + b"\n")
    return traffic.calls


def normalize(source: Path, target: Path, workers: int) -> tuple[float, float]:
    """Wall and CPU seconds of the command."""
    before = os.times()
    start = time.perf_counter()
    command = [sys.executable, "-m", "headrace.cli", "normalize", str(source), "-o", str(target), "--quiet"]
    subprocess.run([*command, "--workers", str(workers)], check=True)
    wall = time.perf_counter() - start
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, spent


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="50 MB")
    options = parser.parse_args()
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "captures.jsonl"
        calls = write(source, 50 if options.quick else options.megabytes)
        size = source.stat().st_size / 1e6
        table = Table(title=f"normalize {size:,.0f} MB, {calls:,} calls", title_justify="left")
        for name in ("processes", "MB/s", "records/s", "wall s", "CPU s"):
            table.add_column(name, justify="right")
        digests = set()
        for workers in (1, 2):
            target = Path(folder) / f"records-{workers}.jsonl"
            wall, cpu = normalize(source, target, workers)
            with target.open("rb") as file:
                digests.add(hashlib.file_digest(file, "sha256").hexdigest())
            with target.open("rb") as file:
                assert sum(1 for _ in file) == calls, "records are missing"
            target.unlink()
            table.add_row(str(workers), f"{size / wall:.1f}", f"{calls / wall:,.0f}", f"{wall:.1f}", f"{cpu:.1f}")
            made[workers] = {"MB_s": round(size / wall, 1), "records_s": round(calls / wall), "cpu_s": round(cpu, 1)}
        assert len(digests) == 1, "the outputs differ"
        CONSOLE.print(table)
    summary(bench="offline", megabytes=round(size), **{f"{workers} processes": each for workers, each in made.items()})


if __name__ == "__main__":
    main()
