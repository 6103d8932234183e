"""`headrace normalize`: counts, exit codes, and what the end of the input means."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.offline.record_files import read_shapes


def unfinished(call: str, text: str) -> str:
    event = {
        "id": "r",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}}],
    }
    return json.dumps({"call_id": call, "kind": "stream", "seq": 0, "protocol": "openai.chat", "body": event}) + "\n"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_calls_open_at_the_end_of_every_file_are_incomplete_records(
    cli: CliRunner, tmp_path: Path, workers: str
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_text(unfinished(f"{name}-1", "one") + unfinished(f"{name}-2", "two"))
    output = tmp_path / "records.out"
    files = [str(tmp_path / f"{name}.jsonl") for name in ("a", "b", "c")]
    result = cli.invoke(app, ["normalize", *files, "-o", str(output), "--workers", workers, "-q"])
    assert result.exit_code == 0, result.output
    records = list(read_shapes(str(output), "records"))
    assert [one["call_id"] for one in records] == ["a-1", "a-2", "b-1", "b-2", "c-1", "c-2"]
    assert {(one["status"], one["status_reason"]) for one in records} == {("incomplete", "no_terminal_event")}


def test_a_request_comes_before_the_response_of_the_same_stream(cli: CliRunner, captures: Path) -> None:
    output = captures.parent / "records.jsonl"
    cli.invoke(app, ["normalize", str(captures), "-o", str(output), "-q"])
    live = [one["record_type"] for one in read_shapes(str(output), "records") if one["call_id"] == "greeting-1"]
    assert live == ["request", "response"]


def test_the_summary_counts_and_names_of_strangers_are_no_markup(cli: CliRunner, tmp_path: Path) -> None:
    block = {"type": "[/red]odd", "x": 1}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [block]}]}
    file = tmp_path / "odd.jsonl"
    file.write_text(
        json.dumps({"call_id": "c", "kind": "request", "protocol": "anthropic.messages", "body": body}) + "\n"
    )
    result = cli.invoke(app, ["normalize", str(file), "-o", str(tmp_path / "out.jsonl")])
    assert result.exit_code == 0, result.output
    assert "[/red]odd carried raw" in result.stderr


def test_an_error_that_quotes_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace.cli", "inspect", str(tmp_path / "[/bold]x.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("bad_capture: there is no such file (")
    assert "[/bold]x.jsonl)" in done.stderr
    assert done.stderr.endswith("Fix: check the path\n")
