"""What docs/ and README say of commands, settings, metrics and packages is what there is."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from headrace.cli import app
from headrace.metrics import Metrics
from headrace.protocols import PROTOCOLS
from headrace.settings import Settings
from tests.docs.blocks import DOCUMENTS, ROOT, blocks, inline_code, matches

DOCS = ROOT / "docs"
COMMANDS = typer.main.get_command(app)


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_stand_in_blocks_that_are_run(document: Path) -> None:
    for block in blocks(document):
        assert block.language in {"console", "text", "yaml", "json"}, f"line {block.line}"
        if block.language != "console":
            assert not re.search(r"^(\$ |headrace |make )", block.body, re.MULTILINE), f"line {block.line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_running_text_exist_with_their_options(document: Path) -> None:
    for code in inline_code(document):
        words = shlex.split(code)
        if words[0] == "headrace" and len(words) > 1:
            command, rest = found(words[1:])
            options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            used = {word.partition("=")[0] for word in rest if word.startswith("-")}
            assert used <= options | {"--help"}, code


def found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name, and the words after it."""
    command: Any = COMMANDS
    while hasattr(command, "commands") and words and words[0] != "COMMAND" and not words[0].startswith("-"):
        assert words[0] in command.commands, f"no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for part, inner in command.commands.items():
            yield from leaves(inner, f"{name} {part}".strip())
    else:
        yield name, command


def test_the_command_line_page_has_every_command_and_option() -> None:
    page = text("command-line.md")
    commands = dict(leaves(COMMANDS, ""))
    assert {"normalize", "topics apply", "demo"} <= commands.keys()
    for name, command in commands.items():
        assert f"headrace {name}" in page, name
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert any(re.search(rf"{re.escape(option)}\b", page) for option in parameter.opts), (
                    name,
                    parameter.opts,
                )


def test_operations_has_every_metric_and_every_alert() -> None:
    page = text("operations.md")
    for family in Metrics().registry.collect():
        assert f"`{family.name}" in page, family.name
    rules = yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text())["groups"]
    named = {rule["alert"] for group in rules for rule in group["rules"]}
    assert named == set(re.findall(r"`(Headrace\w+)`", page))


def test_settings_that_pages_name_exist() -> None:
    known = {
        f"{section}.{name}"
        for section, field in Settings.model_fields.items()
        for name in getattr(field.annotation, "model_fields", {})
    }
    sections = "|".join(Settings.model_fields)
    for document in DOCUMENTS:
        for code in inline_code(document):
            for setting in re.findall(rf"(?<![\w.])(?:{sections})\.[a-z_]+\b(?!\.)", code):
                assert setting in known or setting.endswith((".yaml", ".py")), (document.name, setting)


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]}  # type: ignore[index]
    assert set(re.findall(r"^\| `([\w.-]+)`", text("dependencies.md"), re.MULTILINE)) == needed


def test_pages_name_every_protocol() -> None:
    page = text("how-it-works.md")
    assert all(f"`{protocol}`" in page for protocol in PROTOCOLS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if target.startswith("http"):
            continue
        file = document.parent / target if target else document
        assert file.exists(), link
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_pages_name_exist(document: Path) -> None:
    for code in inline_code(document):
        if re.fullmatch(r"(schemas|topics|deploy|docs|worker|tests)/[\w./-]*", code):
            assert (ROOT / code).exists(), code


def test_outputs_are_compared_but_for_times() -> None:
    shown = "a 2026-11-30 10:00:00.000Z took 1.000 s\nrest ..."
    assert matches(shown, "a 2027-01-01 00:00:00Z took 0.123 s  \nrest of it\n")
    assert not matches(shown, "b 2027-01-01 00:00:00Z took 0.123 s\nrest of it\n")
    assert not matches(shown, "a 2027-01-01 00:00:00Z took 0.123 s\nrest of it\nmore\n")
