"""What is compiled is what the project file says, and nothing else; the suite runs with the core in both forms."""

from __future__ import annotations

import os
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pathspec

import headrace

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(headrace.__file__).parent
HOOK: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["hooks"]["mypyc"]
#: `make test-compiled` says so.
COMPILED = os.environ.get("HEADRACE_CORE") == "compiled"
SCHEMA = re.compile(r"^class \w+\((?:msgspec\.Struct|BaseModel|Shaped|_Strict|TypedDict)", re.MULTILINE)


def sources() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "worker").rglob("*.py"))


def matched(patterns: list[str]) -> set[str]:
    return set(pathspec.PathSpec.from_lines("gitignore", patterns).match_files(sources()))


def core() -> set[str]:
    return matched(HOOK["include"]) - matched(HOOK["exclude"])


def test_every_pattern_names_something() -> None:
    for pattern in HOOK["include"] + HOOK["exclude"]:
        assert matched([pattern]), pattern


def test_no_schema_that_is_read_at_run_time_is_compiled() -> None:
    assert [path for path in core() if SCHEMA.search((ROOT / path).read_text())] == []


def test_the_core_runs_in_the_form_that_is_tested() -> None:
    suffixes = {}
    for path in core():
        name = path.removeprefix("worker/").removesuffix(".py").replace("/", ".")
        suffixes[name] = Path(import_module(name).__file__ or "").suffix
    assert len(suffixes) > 100
    assert {name for name, suffix in suffixes.items() if (suffix != ".py") != COMPILED} == set()


def test_what_does_io_is_not_compiled() -> None:
    assert [path for path in core() if path.split("/")[2] in ("kafka", "offline", "commands")] == []
    assert Path(import_module("headrace.kafka.lane").__file__ or "").suffix == ".py"
