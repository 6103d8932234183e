"""The demo's captures as a file: small, of all six protocols, with known faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.demo.traffic import Traffic, traffic


@pytest.fixture(scope="session")
def sent() -> Traffic:
    """The demo's traffic."""
    return traffic()


@pytest.fixture
def captures(tmp_path: Path, sent: Traffic) -> Path:
    """The demo's captures, a line each."""
    file = tmp_path / "captures.jsonl"
    file.write_bytes(b"\n".join(sent.lines) + b"\n")
    return file


@pytest.fixture
def cli() -> CliRunner:
    """Runs a command in this process."""
    return CliRunner()
