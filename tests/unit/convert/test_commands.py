"""`headrace convert` and `headrace check`: captures or records in, one line a record out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.convert.matrix import matrix
from tests.support import own
from tests.support.traffic import encode, lines_of

runner = CliRunner()


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    path = tmp_path / "captures.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in encode(lines_of(own.CHAT, "call-1"))))
    return path


def run(*arguments: object) -> Any:
    return runner.invoke(app, [str(argument) for argument in arguments])


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_captures_become_bodies_of_another_protocol(captures: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = run("convert", captures, "--to", "anthropic.messages", "--policy", "lossy", "--output", output)
    assert done.exit_code == 0, done.output
    request, response = lines(output)
    assert request["body"]["messages"][0]["content"][0]["text"] == "Is it hot in Oslo and in Rome?"
    assert [block["type"] for block in response["body"]["content"]] == ["text", "tool_use", "tool_use"]
    for line in (request, response):
        assert set(line) == {"call_id", "record_type", "target", "body", "losses", "matrix_version"}
        assert line["matrix_version"] == matrix().version
        assert all(set(loss) == {"path", "code", "detail"} for loss in line["losses"])


def test_records_and_captures_give_the_same(captures: Path, tmp_path: Path) -> None:
    records, one, two = tmp_path / "records.avro", tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert run("normalize", captures, "-o", records, "-f", "avro", "-q").exit_code == 0
    for source, output in ((captures, one), (records, two)):
        assert (
            run("convert", source, "-t", "gemini.interactions", "--policy", "lossy", "-o", output, "-q").exit_code == 0
        )
    assert one.read_bytes() == two.read_bytes()


def test_streams_are_event_sequences(captures: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run("convert", captures, "-t", "openai.responses", "--stream", "--policy", "lossy", "-o", output, "-q")
    request, response = lines(output)
    assert "body" in request
    assert [event["sequence_number"] for event in response["events"]] == list(range(len(response["events"])))
    assert response["events"][-1]["type"] == "response.completed"


def test_strict_refuses_and_says_why(tmp_path: Path) -> None:
    path, output = tmp_path / "captures.jsonl", tmp_path / "out.jsonl"
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "logit_bias": {"1": 2}}
    capture = {"call_id": "c", "kind": "request", "protocol": "openai.chat", "body": body}
    path.write_text(json.dumps(capture) + "\n")
    assert run("convert", path, "-t", "anthropic.messages", "-o", output, "-q").exit_code == 3
    (line,) = lines(output)
    assert line["refused"] == "unsupported_content"
    assert "body" not in line
    assert "parameters.other.logit_bias.1" in {loss["path"] for loss in line["losses"]}


def test_bad_lines_are_dead_letters_and_the_rest_goes_on(captures: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    captures.write_bytes(b"not json\n" + captures.read_bytes())
    assert run("convert", captures, "-t", "anthropic.messages", "--policy", "lossy", "-o", output).exit_code == 3
    assert len(lines(output)) == 2
    assert len(lines(tmp_path / "out.jsonl.dead-letters.jsonl")) == 1


def test_an_unknown_target_or_dialect_is_named(captures: Path, tmp_path: Path) -> None:
    done = run("convert", captures, "-t", "nope", "-o", tmp_path / "out.jsonl")
    assert done.exit_code == 1
    assert "openai.chat" in str(getattr(done.exception, "fix", ""))
    done = run("convert", captures, "-t", "openai.chat", "--provider", "nope", "-o", tmp_path / "out.jsonl")
    assert "deepseek" in str(getattr(done.exception, "fix", ""))


def test_check_tells_what_would_be_lost(captures: Path) -> None:
    done = run("check", captures, "--for", "anthropic.messages", "--lines")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {finding["code"] for finding in found} >= {"default_added", "timing"}
    assert set(found[0]) == {"call_id", "record_type", "path", "code", "severity", "detail"}
    assert done.exit_code == (3 if any(finding["severity"] == "meaning" for finding in found) else 0)
    assert "default_added" in run("check", captures, "--for", "anthropic.messages").stdout
