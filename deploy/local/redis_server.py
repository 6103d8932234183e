"""A Redis server on 127.0.0.1 for development and tests. Standard library only."""

from __future__ import annotations

import shutil
from pathlib import Path

from process import end, exchange, find_program, free_port, is_running, spawn, wait_ready


class RedisServer:
    """One redis-server whose data outlives a stop or a kill (append-only file) until ``wipe``."""

    def __init__(self, folder: Path, *, port: int = 0, pid: int = 0, owned: bool = True) -> None:
        """folder: where data and log live; pid: a server already running there; owned: dies with this process."""
        self.folder = folder
        self.port = port or free_port()
        self.pid = pid
        self.owned = owned
        self.log = folder / "redis.log"

    @property
    def url(self) -> str:
        """What ``REDIS_URL`` is set to."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return bool(self.pid) and is_running(self.pid, self._mark)

    @property
    def _mark(self) -> str:
        # redis-server rewrites its own command line; the port is in the old one and in the new one.
        return str(self.port)

    def start(self, timeout: float = 20) -> None:
        """Start and wait for PONG; does nothing when it runs. Raises StackError."""
        if self.running:
            return
        program = find_program("redis-server", "redis-server")
        self.folder.mkdir(parents=True, exist_ok=True)
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            # The store must notice a full Redis, not lose open calls to eviction.
            "maxmemory-policy": "noeviction",
        }
        arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
        self.pid = spawn([program, *arguments], self.log, owned=self.owned)
        try:
            wait_ready("redis-server", self.answers, lambda: self.running, self.log, timeout)
        except BaseException:
            # Half a start would leave a process that nobody knows of.
            self.kill()
            raise

    def move_to_free_port(self) -> None:
        """Take another port when something else listens on this one; does nothing while the server runs."""
        if not self.running:
            self.port = free_port(self.port)

    def answers(self) -> bool:
        """Whether the server answers PING (not while it still loads its data)."""
        return exchange(self.port, b"PING\r\n", 5).startswith(b"+PONG")

    def stop(self) -> None:
        """End it politely: pending writes reach the append-only file."""
        self._end(grace=10)

    def kill(self) -> None:
        """SIGKILL, as a crash or the out-of-memory killer would."""
        self._end(grace=0)

    def _end(self, grace: float) -> None:
        if self.pid:
            end(self.pid, self._mark, grace=grace)
        self.pid = 0

    def restart(self) -> None:
        """Stop when running, then start on the same port with the same data."""
        self.stop()
        self.start()

    def flush(self) -> None:
        """Forget everything (FLUSHALL) while clients stay connected."""
        exchange(self.port, b"FLUSHALL\r\n", 5)

    def wipe(self) -> None:
        """Delete the data of a stopped server: the next start comes up empty, like a failover that lost memory."""
        shutil.rmtree(self.folder, ignore_errors=True)
