"""What open calls cost: python -m bench.memory [--quick].

Calls are opened and left open: pieces of each arrive in several batches. Measured: bytes of Redis (``used_memory``)
for each open call, against the raw bytes of its captures and of its payloads; and the resident memory of the process
that runs the pipeline, as calls and pieces grow.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table
from tests.support.services import RedisServer

from bench.captures import Message, Traffic
from bench.rounds import CONSOLE, summary
from headrace.capture.model import Inbound, Source
from headrace.pipeline import Pipeline
from headrace.reassembly.redis_store import RedisStore

_BATCH = 5_000
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _resident() -> float:
    """Megabytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6


async def _used(store: RedisStore) -> int:
    return int((await store._link._client.info("memory"))["used_memory"])


async def measure(server: RedisServer, calls: int, chunks: int) -> dict[str, Any]:
    """Open so many calls; all pieces but the last of each arrive."""
    server.flush()
    store = RedisStore.from_url(server.url)
    await store.connect()
    pipeline = Pipeline(store)
    empty, resident = await _used(store), _resident()
    raw = pieces = 0
    traffic = Traffic(calls=calls, chunks=chunks, open_at_once=calls)
    opened: Iterator[Message] = (message for message in traffic.messages() if not message.last)
    while batch := list(islice(opened, _BATCH)):
        inbound = [
            Inbound(Source("t", 0, pieces + at, 1_790_000_000_000_000 + pieces + at), message.value)
            for at, message in enumerate(batch)
        ]
        made = await pipeline.process(inbound)
        assert not made.records and not made.dead_letters
        raw += sum(len(message.value) for message in batch)
        pieces += len(batch)
    await store.append([])
    used = await _used(store) - empty
    grown = _resident() - resident
    await store.aclose()
    return {
        "calls": calls,
        "pieces_a_call": round(pieces / calls, 1),
        "raw_bytes_a_call": raw // calls,
        "redis_bytes_a_call": used // calls,
        "redis_of_raw": round(used / raw, 3),
        "process_MB_grown": round(grown, 1),
    }


async def run(options: argparse.Namespace, folder: Path) -> None:
    """All sizes."""
    server = RedisServer(folder)
    server.start()
    table = Table(title="open calls", title_justify="left")
    names = ("calls", "pieces a call", "raw bytes a call", "Redis bytes a call", "of raw", "process grew, MB")
    for name in names:
        table.add_column(name, justify="right")
    sizes = ((1_000, 50),) if options.quick else ((1_000, 10), (1_000, 50), (1_000, 500), (10_000, 10), (10_000, 50))
    made = []
    try:
        await measure(server, 200, 20)  # imports, connections, caches
        for calls, chunks in sizes:
            made.append(await measure(server, calls, chunks))
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
        asyncio.run(run(options, Path(folder)))


if __name__ == "__main__":
    main()
