"""Every command that README, CONTRIBUTING and docs/ show is run, and gives the output that is shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.docs.blocks import DOCUMENTS, ROOT, Block, blocks, matches
from tests.integration.conftest import stack_settings  # noqa: F401

_SECONDS = 120


class Session:
    """Runs one document's blocks in a folder of its own."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._folder = folder
        self._settings = settings
        self._started: list[tuple[subprocess.Popen[bytes], str]] = []

    def run(self, block: Block, where: str) -> None:
        """Do what the block asks; fails the test when it does not give what is shown."""
        if "file" in block.values:
            (self._folder / block.values["file"]).write_text(block.body, encoding="utf-8")
        if block.language == "console":
            for command, expected in block.commands():
                if "make" in block.marks:
                    self._dry_run(command)
                elif "background" in block.marks:
                    self._start(command)
                else:
                    self._command(command, expected, block, where)

    def close(self) -> None:
        """End what runs in the background; it must end in order."""
        for process, command in self._started:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0, f"{command}: exit code {process.returncode}"

    def _command(self, command: str, expected: str, block: Block, where: str) -> None:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self._folder,
            env=self._environment(block),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
        output = done.stdout.decode()
        assert done.returncode == int(block.values.get("exit", "0")), f"{where}: {command}\n{output}"
        assert matches(expected, output), f"{where}: {command}\n--- shown\n{expected}\n--- given\n{output}"

    def _dry_run(self, command: str) -> None:
        program, *targets = command.split()
        assert program == "make"
        done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def _start(self, command: str) -> None:
        """Start a worker; it must become ready and stay so."""
        port = command.partition("web.port=")[2].split()[0]
        environment = self._environment(Block("", frozenset({"stack"}), {}, "", 0))
        process = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=self._folder, env=environment)
        self._started.append((process, command))
        deadline = time.monotonic() + _SECONDS
        while not _is_ready(port):
            assert process.poll() is None, f"{command}: ended with {process.returncode}"
            assert time.monotonic() < deadline, f"{command}: not ready"
            time.sleep(0.2)

    def _environment(self, block: Block) -> dict[str, str]:
        named = ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "SCHEMA_REGISTRY_URL")
        base = {name: value for name, value in os.environ.items() if name not in named and "HEADRACE" not in name}
        base["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{base['PATH']}"
        return base | (self._settings if "stack" in block.marks else {})


def _is_ready(port: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A folder to run a document in; Kafka and Redis are only started for documents that use them."""
    document: Path = request.getfixturevalue("document")
    uses_stack = any("stack" in block.marks for block in blocks(document))
    settings: Any = request.getfixturevalue("stack_settings") if uses_stack else {}
    running = Session(tmp_path, settings)
    yield running
    running.close()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_gives_what_is_shown(document: Path, session: Session) -> None:
    for block in blocks(document):
        session.run(block, f"{document.name}, line {block.line}")
