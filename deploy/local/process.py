"""Start, find and end the processes of the local stack. Standard library only.

A server is known by its pid and a ``mark``, a string that only its own command line holds, because pids are
used again. An owned server (a test's) dies with the process that started it, whatever ends that process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


class StackError(Exception):
    """The local stack cannot do what was asked; the message says why and how to fix it."""


def find_program(name: str, debian_package: str) -> str:
    """Absolute path of a program; raises StackError naming the Debian package that has it."""
    found = shutil.which(name)
    if found is None:
        raise StackError(f"{name} is not installed. Fix: apt-get install -y {debian_package}")
    return found


# Below the kernel's ephemeral range, so that no outgoing connection sits on the port when a server restarts.
_PORTS = range(20_000, 32_000)


def free_port(wanted: int = 0, *, besides: int = 0) -> int:
    """``wanted`` if nothing listens there, else some free port of 127.0.0.1 that is not ``besides``."""
    candidates = [wanted, *random.sample(_PORTS, 200)]
    for port in (port for port in candidates if port and port != besides):
        with socket.socket() as probe:
            # As servers do: a port in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise StackError("no free port between 20000 and 32000 on 127.0.0.1. Fix: end what holds them")


def exchange(port: int, request: bytes, at_least: int) -> bytes:
    """Send bytes to a local server and return its first bytes, b"" when it does not answer yet."""
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(request)
        while len(answer) < at_least:
            received = connection.recv(65_536)
            if not received:
                break
            answer += received
    return answer


def spawn(command: list[str], log: Path, *, owned: bool, env: Mapping[str, str] | None = None) -> int:
    """Start a server in its own session, output appended to ``log``; returns its pid.

    owned: it is killed when this process dies, even by SIGKILL (Linux; elsewhere only by ``end``).
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    return _spawner.submit(_spawn, command, log, owned, env).result()


# The kernel's parent-death signal fires when the *thread* that forked ends, so one thread forks all servers and
# lives as long as the process.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="spawner")


def _spawn(command: list[str], log: Path, owned: bool, env: Mapping[str, str] | None) -> int:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(env or {})},
            preexec_fn=_die_with_parent if owned and _prctl else None,
        )
    _children[process.pid] = process
    return process.pid


_children: dict[int, subprocess.Popen[bytes]] = {}
_prctl = getattr(ctypes.CDLL(None), "prctl", None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    assert _prctl is not None
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def is_running(pid: int, mark: str = "") -> bool:
    """Whether ``pid`` is alive and its command line holds ``mark``."""
    if pid in _children:
        # Ours, so the pid cannot be another's; and a server that rewrites its command line may have none for a moment.
        return _children[pid].poll() is None
    command = _command_line(pid)
    return bool(command) and mark in command


def _command_line(pid: int) -> str:
    """The arguments of a live process, joined by spaces; "" for a dead or defunct one."""
    if Path("/proc/self/cmdline").exists():
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    shown = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return shown.stdout


def end(pid: int, mark: str, *, grace: float) -> None:
    """End a server and wait until it is gone: SIGTERM, then SIGKILL after ``grace`` seconds (0: at once)."""
    deadline = time.monotonic() + grace
    asked = False
    while is_running(pid, mark):
        with contextlib.suppress(ProcessLookupError):
            if time.monotonic() >= deadline:
                os.kill(pid, signal.SIGKILL)
            elif not asked:
                os.kill(pid, signal.SIGTERM)
                asked = True
        time.sleep(0.02)
    _children.pop(pid, None)


def wait_ready(name: str, ready: Callable[[], bool], alive: Callable[[], bool], log: Path, timeout: float) -> None:
    """Poll until ``ready``; raises StackError with the log's end when the server dies or ``timeout`` (s) is up."""
    deadline = time.monotonic() + timeout
    while not ready():
        died = not alive()
        if died or time.monotonic() > deadline:
            what = "ended while starting" if died else f"did not answer within {timeout:.0f} s"
            raise StackError(f"{name} {what}. The end of its log, {log}:\n{log_tail(log)}")
        time.sleep(0.05)


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log file, indented."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
