"""Real Kafka and Redis for the tests, by the same code as ``make up``.

The shared stack is started by whichever test asks first and lives as long as the pytest process that leads the
run, so all xdist workers use one; even SIGKILL of that process leaves no server behind.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TypeVar

import pytest

_LOCAL = Path(__file__).resolve().parents[2] / "deploy" / "local"
sys.path.insert(0, str(_LOCAL))

from broker import KafkaBroker  # noqa: E402
from process import StackError, free_port  # noqa: E402
from redis_server import RedisServer  # noqa: E402
from stack import KAFKA_VARIABLE, REDIS_VARIABLE  # noqa: E402

_Server = TypeVar("_Server", KafkaBroker, RedisServer)

_START_TIMEOUT = 180  # seconds: the first start on a machine fetches the broker's jars


def shared_stack(folder: Path, leader: int) -> dict[str, str]:
    """Settings of the run's one stack, started now if need be; fails the test with the reason and the fix.

    folder: the same one in every worker of the run. leader: pid of the process the stack lives with.
    """
    settings = folder / "stack-settings.json"
    with (folder / "stack.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not settings.exists():
            _start_holder(folder / "stack", leader, settings)
    named: dict[str, str] = json.loads(settings.read_text())
    return named


def _start_holder(folder: Path, leader: int, settings: Path) -> None:
    folder.mkdir(exist_ok=True)
    output = folder / "holder.log"
    command = [sys.executable, str(_LOCAL / "stack.py"), "hold", "--pid", str(leader)]
    with output.open("wb") as log:
        holder = subprocess.Popen(
            [*command, "--folder", str(folder), "--settings", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C must not end the servers before the tests' own clean-up has run.
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_TIMEOUT
    while not settings.exists():
        if holder.poll() is not None or time.monotonic() > deadline:
            holder.kill()
            pytest.fail(f"the tests need Kafka and Redis, which did not start:\n{output.read_text()}", pytrace=False)
        time.sleep(0.05)


class PrivateStack:
    """Servers of one test, which may crash, wipe and restart them. The first use of each starts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kafka: KafkaBroker | None = None
        self._redis: RedisServer | None = None

    @property
    def kafka(self) -> KafkaBroker:
        """A broker of this test alone: ``bootstrap_servers``, ``stop``, ``kill``, ``start``, ``restart``."""
        if self._kafka is None:
            self._kafka = self._started(KafkaBroker(self._folder / "kafka"))
        return self._kafka

    @property
    def redis(self) -> RedisServer:
        """A Redis of this test alone: ``url``, ``flush``, ``stop``, ``kill``, ``wipe``, ``start``, ``restart``."""
        if self._redis is None:
            self._redis = self._started(RedisServer(self._folder / "redis"))
        return self._redis

    @staticmethod
    def _started(server: _Server) -> _Server:
        try:
            server.start()
        except StackError as error:
            pytest.fail(str(error), pytrace=False)
        return server

    def close(self) -> None:
        """End what was started; data goes, logs stay."""
        for server in (self._kafka, self._redis):
            if server is not None:
                server.kill()


__all__ = [
    "KAFKA_VARIABLE",
    "REDIS_VARIABLE",
    "KafkaBroker",
    "PrivateStack",
    "RedisServer",
    "free_port",
    "shared_stack",
]
