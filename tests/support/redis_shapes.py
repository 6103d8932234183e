"""Redis in other shapes than one server on a quiet wire: a cluster, a Sentinel, a proxy that holds replies back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import redis

from tests.support import services  # noqa: F401  (makes the local stack's modules importable)

from process import end, find_program, free_port, spawn  # isort: skip


class Proxy:
    """Passes bytes between clients and a Redis; ``replies`` can be cleared to hold replies back."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.replies = asyncio.Event()
        self.replies.set()
        self.connections = 0
        self.trips = 0
        self._asking = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError):
            upstream = await asyncio.open_connection("127.0.0.1", self._target)
            for each in (self._pass(reader, upstream[1], False), self._pass(upstream[0], writer, True)):
                self._tasks.add(asyncio.create_task(each))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_reply: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if is_reply:
                    await self.replies.wait()
                elif not self._asking:
                    self.trips += 1
                self._asking = not is_reply
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.contextmanager
def redis_cluster(folder: Path, size: int = 3) -> Iterator[str]:
    """URL of a cluster of primaries."""
    with contextlib.ExitStack() as running:
        ports = [running.enter_context(_server(folder, ["--cluster-enabled", "yes"])) for _ in range(size)]
        clients = [redis.Redis(port=port) for port in ports]
        share = 16_384 // size
        for number, client in enumerate(clients):
            last = 16_383 if number == size - 1 else (number + 1) * share - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", ports[0])
        _wait(lambda: all(b"cluster_state:ok" in _info(client) for client in clients))
        yield f"redis+cluster://127.0.0.1:{ports[0]}"
        for client in clients:
            client.close()


def _info(client: redis.Redis) -> bytes:
    info = client.execute_command("CLUSTER INFO")
    return info if isinstance(info, bytes) else "\n".join(f"{name}:{value}" for name, value in info.items()).encode()


@contextlib.contextmanager
def redis_sentinel(folder: Path, primary: int) -> Iterator[str]:
    """URL of a Sentinel that watches the Redis on port ``primary`` under the name ``open-calls``."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "sentinel.conf"
    config.write_text(f"sentinel monitor open-calls 127.0.0.1 {primary} 1\n")
    with _server(folder, ["--sentinel"], config) as port:
        yield f"redis+sentinel://127.0.0.1:{port}/open-calls/0"


@contextlib.contextmanager
def _server(folder: Path, options: list[str], config: Path | None = None) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    own = folder / str(port)
    own.mkdir()
    program = find_program("redis-server", "redis-server")
    settings = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(own), *options]
    if "--sentinel" not in options:
        settings += ["--save", ""]
    pid = spawn([program, *([str(config)] if config else []), *settings], folder / f"{port}.log", owned=True)
    try:
        _wait(lambda: _pings(port))
        yield port
    finally:
        end(pid, str(port), grace=0)


def _pings(port: int) -> bool:
    with contextlib.suppress(redis.RedisError), contextlib.closing(redis.Redis(port=port)) as client:
        return bool(client.ping())
    return False


def _wait(done: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError("Redis did not come up")
        time.sleep(0.05)
