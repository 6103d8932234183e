"""Real servers for integration tests: never a mock, and a missing server fails the test with the fix."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.services import KAFKA_VARIABLE, REDIS_VARIABLE, PrivateStack, shared_stack


@pytest.fixture(scope="session")
def stack_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """``KAFKA_BOOTSTRAP_SERVERS`` and ``REDIS_URL`` of this run: from the environment, else started here."""
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    own = tmp_path_factory.getbasetemp()
    # A worker's folder lies in the run's folder, and a worker's parent is the process that leads the run.
    return shared_stack(own.parent if is_worker else own, os.getppid() if is_worker else os.getpid())


@pytest.fixture(scope="session")
def kafka(stack_settings: dict[str, str]) -> str:
    """Bootstrap servers of a real broker shared by the run; use topic names of your own (``unique``)."""
    return stack_settings[KAFKA_VARIABLE]


@pytest.fixture(scope="session")
def redis_url(stack_settings: dict[str, str]) -> str:
    """URL of a real Redis shared by the run; use keys of your own (``unique``), never FLUSHALL."""
    return stack_settings[REDIS_VARIABLE]


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes a name that no other test of the run has: ``unique("orders")``."""
    mark = uuid.uuid4().hex[:8]
    return lambda name: f"{name}-{mark}"


@pytest.fixture
def private_stack(tmp_path: Path) -> Iterator[Callable[[], PrivateStack]]:
    """Makes stacks for this test alone, whose ``kafka`` and ``redis`` it may kill, wipe and restart."""
    made: list[PrivateStack] = []

    def make() -> PrivateStack:
        made.append(PrivateStack(tmp_path / f"stack-{len(made)}"))
        return made[-1]

    yield make
    for stack in made:
        stack.close()
