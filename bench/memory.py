"""What open calls cost: python -m bench.memory [--quick].

Calls are opened and left open: pieces of each arrive in several batches. Measured: bytes of Redis (``used_memory``)
for each open call, against the raw bytes of its captures and of its payloads; and what the process that runs the
pipeline keeps as calls and pieces grow: objects, and resident memory after the allocator gave back what is free.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table
from tests.support.services import RedisServer

from bench.captures import Message, Traffic
from bench.rounds import CONSOLE, summary
from headrace.capture.inbound import Inbound, Source
from headrace.pipeline import Pipeline
from headrace.reassembly.redis_store import RedisStore

_BATCH = 20_000
#: (calls, chunks a call)
_SIZES = ((1_000, 10), (10_000, 10), (40_000, 10), (80_000, 10), (1_000, 50), (10_000, 50), (1_000, 500))
_COLUMNS = ("calls", "pieces/call", "raw bytes/call", "Redis bytes/call", "of raw", "objects kept", "process grew, MB")
_QUICK = ((1_000, 50),)
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _resident() -> float:
    """Megabytes of this process in memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6


async def _used(store: RedisStore) -> int:
    return int((await store._link._client.info("memory"))["used_memory"])


def measure(url: str, calls: int, chunks: int) -> dict[str, Any]:
    """Open so many calls; all pieces but the last of each arrive. Runs in a process of its own."""
    # What a worker needs anyway: imports, connections, caches, and room for a batch in which each call is new.
    asyncio.run(_open(url, _BATCH, 4, "warm"))
    return asyncio.run(_open(url, calls, chunks, "open"))


async def _open(url: str, calls: int, chunks: int, mark: str) -> dict[str, Any]:
    store = RedisStore.from_url(url)
    await store.connect()
    pipeline = Pipeline(store)
    empty, resident = await _used(store), _resident()
    objects = sys.getallocatedblocks()
    raw = pieces = 0
    traffic = Traffic(calls=calls, chunks=chunks, open_at_once=calls, mark=mark)
    opened: Iterator[Message] = (message for message in traffic.messages() if not message.last)
    while taken := await _take(pipeline, opened, pieces):
        raw += taken[0]
        pieces += taken[1]
    used = await _used(store) - empty
    grown = _resident() - resident
    kept = sys.getallocatedblocks() - objects
    await store.aclose()
    return {
        "calls": calls,
        "pieces_a_call": round(pieces / calls, 1),
        "raw_bytes_a_call": raw // calls,
        "redis_bytes_a_call": used // calls,
        "redis_of_raw": round(used / raw, 3),
        "objects_kept": kept,
        "process_MB_grown": round(grown, 1),
    }


async def _take(pipeline: Pipeline, opened: Iterator[Message], first: int) -> tuple[int, int] | None:
    """One batch; its raw bytes and pieces. Nothing of it is left when this returns but what the pipeline keeps."""
    inbound = [
        Inbound.at(Source("t", 0, offset, 1_790_000_000_000_000 + offset), message.value)
        for offset, message in enumerate(islice(opened, _BATCH), first)
    ]
    if not inbound:
        return None
    made = await pipeline.process(inbound)
    assert not made.records and not made.dead_letters
    return sum(len(each.value or b"") for each in inbound), len(inbound)


def run(options: argparse.Namespace, folder: Path) -> None:
    """All sizes."""
    server = RedisServer(folder)
    server.start()
    table = Table(title="open calls", title_justify="left")
    names = (
        "calls",
        "pieces a call",
        "raw bytes a call",
        "Redis bytes a call",
        "of raw",
        "objects kept",
        "process grew, MB",
    )
    for name in names:
        table.add_column(name, justify="right")
    made = []
    try:
        for calls, chunks in _QUICK if options.quick else _SIZES:
            server.flush()
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
                made.append(process.submit(measure, server.url, calls, chunks).result())
            table.add_row(*(f"{each:,}" for each in made[-1].values()))
    finally:
        server.kill()
    CONSOLE.print(table)
    summary(bench="memory", runs=made)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(options, Path(folder))


if __name__ == "__main__":
    main()
