"""Normalizing files: one pipeline, or one per process with the calls divided among them.

The calls of a file are divided by call id, so each process sees every message of its calls in order. Input goes
out in blocks; the results of a block are put together in the order of its lines. One process or many, the
output is the same, byte for byte.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from multiprocessing.queues import Queue
from typing import Any

import msgspec

from headrace.capture.inbound import Inbound
from headrace.capture.mapping import Mapping as SourceMapping
from headrace.errors import HeadraceError, SchemaError
from headrace.offline.inputs import Reader
from headrace.offline.normalizer import BLOCK, Normalizer
from headrace.offline.outputs import Format, Writer, encoder
from headrace.pipeline import Batch
from headrace.records import dead_letter_instead


@dataclass(slots=True)
class Summary:
    """What a run did."""

    messages: int = 0
    duplicates: int = 0
    records: Counter[str] = field(default_factory=Counter)
    errors: int = 0
    incomplete: int = 0
    dead_letters: Counter[str] = field(default_factory=Counter)
    unknown: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, other: Summary) -> None:
        """Add another part's counts."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            else:
                setattr(self, name, mine + theirs)


@dataclass(slots=True)
class _Made:
    """A block's encoded rows with their sort keys, and its counts."""

    records: list[tuple[Any, bytes]] = field(default_factory=list)
    dead_letters: list[tuple[Any, bytes]] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)


class _Part:
    """One pipeline with its encoders: the whole run, or one process's part of it."""

    def __init__(self, format_name: Format, mapping: SourceMapping | None, memory_bytes: int) -> None:
        self._normalizer = Normalizer(mapping, memory_bytes)
        self._encode = encoder(format_name, "canonical_record")
        self._encode_letter = encoder("jsonl", "dead_letter")

    async def block(self, numbered: Sequence[tuple[int, Inbound]]) -> _Made:
        """Normalize one block of (place in block, message)."""
        batch = await self._normalizer.block([message for _, message in numbered])
        places = [place for place, _ in numbered]
        return self._made(batch, lambda index, _: (places[index],))

    async def end(self) -> _Made:
        """Emit what is still open at the end of the input."""
        made = _Made()
        while (batch := await self._normalizer.end()) is not None:
            part = self._made(batch, _where)
            made.records += part.records
            made.dead_letters += part.dead_letters
            made.summary.add(part.summary)
        return made

    def _made(self, batch: Batch, key: Callable[[int, Any], Any]) -> _Made:
        summary = Summary(messages=batch.consumed, duplicates=batch.duplicates, unknown=batch.unknown)
        made = _Made(summary=summary)
        for index, record in batch.records:
            summary.records[record["record_type"]] += 1
            summary.errors += "error" in record
            summary.incomplete += record.get("status") == "incomplete"
            try:
                row = self._encode(record)
            except SchemaError as error:
                batch.dead_letters.append((index, dead_letter_instead(record, error)))
                continue
            made.records.append(
                ((*key(index, record), record["call_id"], record["ordinal"], record["record_type"]), row)
            )
        for index, letter in batch.dead_letters:
            summary.dead_letters[letter["code"]] += 1
            made.dead_letters.append(((*key(index, letter), letter["dead_letter_id"]), self._encode_letter(letter)))
        return made


def _where(_: int, shape: Mapping[str, Any]) -> tuple[str, int]:
    """Where the input of a call that never ended begins."""
    first = shape["sources"][0]
    return (first["topic"], first["first_offset"])


def run(
    reader: Reader,
    records: Writer,
    dead_letters: Writer,
    *,
    format_name: Format = "jsonl",
    mapping: SourceMapping | None = None,
    workers: int = 1,
    memory_bytes: int = 256 << 20,
    progress: Callable[[], None] = lambda: None,
) -> Summary:
    """Normalize all of ``reader``; the writers get rows in input order.

    memory_bytes: open calls beyond this spill to a temporary file. progress: called after every block.
    """
    blocks = _blocks(reader.messages())
    parts = _in_processes if workers > 1 and mapping is None else _in_process
    summary = Summary()
    for made in parts(blocks, format_name, mapping, workers, memory_bytes):
        for _, row in sorted(made.records):
            records.write(row)
        for _, row in sorted(made.dead_letters):
            dead_letters.write(row)
        summary.add(made.summary)
        progress()
    return summary


def _blocks(messages: Iterable[Inbound]) -> Iterator[list[tuple[int, Inbound]]]:
    rest = iter(messages)
    while block := list(islice(rest, BLOCK)):
        yield list(enumerate(block))


def _in_process(
    blocks: Iterable[list[tuple[int, Inbound]]],
    format_name: Format,
    mapping: SourceMapping | None,
    _workers: int,
    memory_bytes: int,
) -> Iterator[_Made]:
    part = _Part(format_name, mapping, memory_bytes)
    with asyncio.Runner() as runner:
        for block in blocks:
            yield runner.run(part.block(block))
        yield runner.run(part.end())


# Several processes


class _CallOf(msgspec.Struct):
    call_id: str = ""
    tenant: str | None = None


_call_of = msgspec.json.Decoder(_CallOf).decode


def _shard(message: Inbound, workers: int) -> int:
    """Which process has the message's call; what cannot be read goes to the first, which dead-letters it."""
    try:
        call = _call_of(message.value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0
    return zlib.crc32(f"{call.tenant or ''}|{call.call_id}".encode()) % workers


def _in_processes(
    blocks: Iterable[list[tuple[int, Inbound]]],
    format_name: Format,
    _mapping: SourceMapping | None,
    workers: int,
    memory_bytes: int,
) -> Iterator[_Made]:
    context = multiprocessing.get_context("spawn")
    lanes = [_Lane(context, format_name, memory_bytes // workers) for _ in range(workers)]
    try:
        yield from _exchange(blocks, lanes)
    finally:
        for lane in lanes:
            lane.stop()


class _Lane:
    """One process: blocks go in through a queue (whose thread writes, so nobody waits for the other), results come
    back through a pipe."""

    def __init__(self, context: SpawnContext, format_name: Format, memory_bytes: int) -> None:
        self.blocks: Queue[bytes] = context.Queue()
        self._results, theirs = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_serve, args=(self.blocks, theirs, format_name, memory_bytes), daemon=True
        )
        self._process.start()
        theirs.close()

    def result(self) -> _Made:
        """The next block's result; raises what the process raised."""
        try:
            made: _Made | BaseException = self._results.recv()
        except EOFError:
            self._process.join()
            raise HeadraceError(
                f"a worker process ended with exit code {self._process.exitcode}",
                code="worker_died",
                fix="give it more memory, or use fewer --workers",
            ) from None
        if isinstance(made, BaseException):
            raise made
        return made

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.blocks.close()
        self._results.close()
        self._process.terminate()
        self._process.join(timeout=10)


def _exchange(blocks: Iterable[list[tuple[int, Inbound]]], lanes: Sequence[_Lane]) -> Iterator[_Made]:
    """Send block after block, one ahead of the one that is received, so that no process waits."""
    waiting = 0
    for block in blocks:
        divided: list[list[tuple[int, Inbound]]] = [[] for _ in lanes]
        for place, message in block:
            divided[_shard(message, len(lanes))].append((place, message))
        for lane, part in zip(lanes, divided, strict=True):
            lane.blocks.put(_packed(part))
        waiting += 1
        if waiting > 1:
            yield _gather(lanes)
            waiting -= 1
    for lane in lanes:
        lane.blocks.put(_END)
    for _ in range(waiting + 1):
        yield _gather(lanes)


def _gather(lanes: Sequence[_Lane]) -> _Made:
    whole = _Made()
    for lane in lanes:
        made = lane.result()
        whole.records += made.records
        whole.dead_letters += made.dead_letters
        whole.summary.add(made.summary)
    return whole


_END = b""
_Headers = tuple[tuple[str, bytes | None], ...]
_rows_of = msgspec.msgpack.Decoder(
    list[tuple[int, tuple[str, int, int, int], bytes | None, bytes | None, _Headers]]
).decode


def _packed(block: Sequence[tuple[int, Inbound]]) -> bytes:
    """A block on its way to another process."""
    rows = []
    for place, message in block:
        source = (message.topic, message.partition, message.offset, message.timestamp)
        rows.append((place, source, message.value, message.key, message.headers))
    return msgspec.msgpack.encode(rows)


def _unpacked(packed: bytes) -> list[tuple[int, Inbound]]:
    rows = _rows_of(packed)
    return [(place, Inbound(*source, value, key, headers)) for place, source, value, key, headers in rows]


def _serve(blocks: Queue[bytes], results: Connection, format_name: Format, memory_bytes: int) -> None:
    """One process: blocks in, encoded rows out, until the end."""
    part = _Part(format_name, None, memory_bytes)
    with asyncio.Runner() as runner:
        try:
            while (block := blocks.get()) != _END:
                results.send(runner.run(part.block(_unpacked(block))))
            results.send(runner.run(part.end()))
        except Exception as error:
            results.send(error)
