"""Fixtures for every suite. Helpers that are not fixtures live in ``tests/support``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shared import shared_folder


@pytest.fixture(scope="session")
def shared() -> Path | None:
    """The folder of real traffic beside the checkout, or None; iterate it by ``tests.support.shared``."""
    return shared_folder()
