"""Fixtures for every suite. Helpers that are not fixtures live in ``tests/support``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.shared import shared_folder

#: A gate must give the same answer for the same code; new examples are looked for where people work.
settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("gate")


@pytest.fixture(scope="session")
def shared() -> Path | None:
    """The folder of real traffic beside the checkout, or None; iterate it by ``tests.support.shared``."""
    return shared_folder()
