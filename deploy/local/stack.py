"""The local stack: one Apache Kafka and one Redis on free ports of 127.0.0.1.

    python3 deploy/local/stack.py up       start what is not running; print the settings
    python3 deploy/local/stack.py env      print the settings of the running stack
    python3 deploy/local/stack.py status   say what runs, where, and where its log is
    python3 deploy/local/stack.py down     stop; data is kept unless --wipe

Settings are lines for a shell: KAFKA_BOOTSTRAP_SERVERS=… and REDIS_URL=…. A variable that is set already wins:
that server is yours, and none is started for it. Standard library only, so it runs before any virtualenv exists.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from broker import KafkaBroker
from process import StackError, is_running
from redis_server import RedisServer

KAFKA_VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"
REDIS_VARIABLE = "REDIS_URL"

_RUN = Path(__file__).resolve().parent / "run"


class Stack:
    """A Kafka broker and a Redis server that keep data, logs and state in one folder."""

    def __init__(self, folder: Path, *, owned: bool) -> None:
        """owned: the servers die with this process. Else a state file lets later processes find them."""
        self.folder = folder
        known = _read_state(self._state_file)
        self.kafka = KafkaBroker(folder / "kafka", owned=owned, **known.get("kafka", {}))
        self.redis = RedisServer(folder / "redis", owned=owned, **known.get("redis", {}))

    @property
    def _state_file(self) -> Path:
        return self.folder / "stack.json"

    def up(self) -> None:
        """Start each server that the environment does not name; raises StackError."""
        with self._locked():
            try:
                for server, variable in ((self.kafka, KAFKA_VARIABLE), (self.redis, REDIS_VARIABLE)):
                    if not os.environ.get(variable):
                        server.move_to_free_port()
                        server.start()
            finally:
                self._write_state()

    def down(self, *, wipe: bool = False) -> None:
        """Stop both servers; wipe: delete their data too."""
        with self._locked():
            for server in (self.kafka, self.redis):
                server.stop()
                if wipe:
                    server.wipe()
            self._write_state()

    def settings(self) -> dict[str, str]:
        """The settings of what runs here or is named by the environment."""
        here = {
            KAFKA_VARIABLE: self.kafka.bootstrap_servers if self.kafka.running else "",
            REDIS_VARIABLE: self.redis.url if self.redis.running else "",
        }
        named = {variable: os.environ.get(variable) or value for variable, value in here.items()}
        return {variable: value for variable, value in named.items() if value}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write_state(self) -> None:
        kafka = {"port": self.kafka.port, "controller_port": self.kafka.controller_port, "pid": self.kafka.pid}
        redis = {"port": self.redis.port, "pid": self.redis.pid}
        write_whole(self._state_file, json.dumps({"kafka": kafka, "redis": redis}))


def _read_state(file: Path) -> dict[str, dict[str, Any]]:
    """Each server's ports and pid, as its constructor takes them; {} before the first start."""
    try:
        state: dict[str, dict[str, Any]] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise StackError(f"{file} is damaged. Fix: end its servers by hand and delete it") from None
    return state


def write_whole(file: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    part = file.with_name(file.name + ".part")
    part.write_text(text)
    part.rename(file)


def hold(folder: Path, pid: int, settings: Path) -> None:
    """Run a throw-away stack for as long as process ``pid`` lives; its settings go to a file as JSON."""
    stack = Stack(folder, owned=True)
    stack.up()
    write_whole(settings, json.dumps(stack.settings()))
    while is_running(pid):
        time.sleep(0.2)
    stack.kafka.kill()
    stack.redis.kill()
    # Logs stay for whoever asks why the tests failed; data is of no use.
    shutil.rmtree(folder / "kafka" / "data", ignore_errors=True)


def _print_settings(stack: Stack) -> None:
    for variable, value in stack.settings().items():
        print(f"{variable}={value}")


def _print_status(stack: Stack) -> None:
    servers = ((stack.kafka, KAFKA_VARIABLE), (stack.redis, REDIS_VARIABLE))
    for server, variable in servers:
        name = type(server).__name__
        if os.environ.get(variable):
            print(f"{name}: yours, {variable}={os.environ[variable]}")
        elif server.running:
            health = "ready" if server.answers() else "not answering"
            print(f"{name}: {health}, 127.0.0.1:{server.port}, pid {server.pid}, log {server.log}")
        else:
            print(f"{name}: stopped")


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit status (1: not possible, the reason is on stderr)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("up", help="start what is not running; print the settings")
    commands.add_parser("env", help="print the settings of the running stack")
    commands.add_parser("status", help="say what runs, where, and where its log is")
    commands.add_parser("down", help="stop").add_argument("--wipe", action="store_true", help="delete the data too")
    held = commands.add_parser("hold", help="run a throw-away stack for as long as a process lives")
    held.add_argument("--pid", type=int, required=True)
    held.add_argument("--folder", type=Path, required=True)
    held.add_argument("--settings", type=Path, required=True)
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "hold":
            hold(asked.folder, asked.pid, asked.settings)
            return 0
        stack = Stack(_RUN, owned=False)
        if asked.command == "up":
            stack.up()
        elif asked.command == "down":
            stack.down(wipe=asked.wipe)
        if asked.command == "status":
            _print_status(stack)
        elif asked.command != "down":
            _print_settings(stack)
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
