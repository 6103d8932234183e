"""`headrace inspect`: any file of ours, told by its content, as a person reads it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.errors import HeadraceError


def lines(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def normalized(cli: CliRunner, captures: Path, name: str, format_name: str = "jsonl") -> Path:
    output = captures.parent / name
    result = cli.invoke(app, ["normalize", str(captures), "-o", str(output), "-f", format_name, "-q"])
    assert result.exit_code == 3, result.output
    return output


def test_the_same_records_come_from_captures_and_from_every_format(cli: CliRunner, captures: Path) -> None:
    shown = cli.invoke(app, ["inspect", str(captures), "--json"])
    from_captures = sorted(shown.stdout.splitlines())
    assert len(from_captures) == 22
    for format_name in ("jsonl", "avro", "parquet"):
        # The name says nothing: the content is what counts.
        file = normalized(cli, captures, f"records-{format_name}.bin", format_name)
        result = cli.invoke(app, ["inspect", str(file), "--json"])
        assert (result.exit_code, sorted(result.stdout.splitlines())) == (0, from_captures), format_name


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_compressed_lines_are_told_by_their_first_bytes(
    cli: CliRunner, captures: Path, compress: object, tmp_path: Path
) -> None:
    plain = normalized(cli, captures, "records.jsonl")
    packed = tmp_path / "packed.bin"
    packed.write_bytes(compress(plain.read_bytes()))  # type: ignore[operator]
    result = cli.invoke(app, ["inspect", str(packed), "--json"])
    assert result.stdout == plain.read_text()


def test_dead_letters_of_captures_and_of_their_file_are_the_same(cli: CliRunner, captures: Path) -> None:
    records = normalized(cli, captures, "records.jsonl")
    of_captures = cli.invoke(app, ["inspect", str(captures), "--dead-letters"])
    of_file = cli.invoke(app, ["inspect", f"{records}.dead-letters.jsonl"])
    assert of_captures.stdout == of_file.stdout
    assert (of_captures.exit_code, of_file.exit_code) == (3, 0)
    assert "bad_capture" in of_file.stdout
    assert '"messa' in of_file.stdout


def test_filters_choose_calls_types_and_numbers(cli: CliRunner, captures: Path) -> None:
    def chosen(*options: str) -> list[tuple[object, object]]:
        result = cli.invoke(app, ["inspect", str(captures), "--json", *options])
        return [(one["call_id"], one["record_type"]) for one in lines(result)]

    assert sorted(chosen("--call", "story-1")) == [("story-1", "request"), ("story-1", "response")]
    assert chosen("--call", "story-1", "--type", "response") == [("story-1", "response")]
    assert len(chosen("--limit", "3")) == 3
    assert chosen("--call", "nobody") == []


def test_a_response_is_shown_in_order_with_what_matters(cli: CliRunner, captures: Path) -> None:
    result = cli.invoke(app, ["inspect", str(captures), "--call", "research-1", "--type", "response"])
    shown = result.stdout.splitlines()
    assert shown[0] == "response  research-1  anthropic.messages · anthropic · claude-sonnet-5-20261015"
    assert "finish tool_calls (wire: tool_use) · 896 in (384 cached) → 139 out tokens · 22 stream events" in shown[1]
    at = [
        next(place for place, line in enumerate(shown) if line.strip().startswith(begin))
        for begin in ("reasoning  signed", "The height changed", "text", "With its new", "cites", "tool call  look_up")
    ]
    assert at == sorted(at)
    assert '      {"topic": "Eiffel Tower height"}' in shown


def test_errors_unknown_types_and_results_are_shown(cli: CliRunner, captures: Path) -> None:
    shown = cli.invoke(app, ["inspect", str(captures)]).stdout
    assert "error 429 tokens rate_limit_exceeded: Rate limit reached" in shown
    assert "unknown block confidence_note, 1 carried raw" in shown
    assert "incomplete (no_terminal_event)" in shown
    assert "tool result  for toolu_paint  error" in shown


def test_a_pipe_gets_plain_whole_lines_and_no_credentials(captures: Path) -> None:
    command = [sys.executable, "-m", "headrace.cli", "inspect", str(captures), "--full"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 3
    assert b"\x1b" not in done.stdout
    assert b"requested 1204." in next(line for line in done.stdout.splitlines() if b"Rate limit" in line)
    assert b"sk-" not in done.stdout
    assert b"AIza" not in done.stdout
    assert done.stderr.startswith(b"1 dead letter")


def test_a_reader_that_leaves_early_is_no_error(captures: Path) -> None:
    piped = f'"{sys.executable}" -m headrace.cli inspect "{captures}" | head -n 1'
    done = subprocess.run(piped, shell=True, capture_output=True, check=False)
    assert done.stdout.startswith(b"request  weather-1")
    assert b"Traceback" not in done.stderr


def test_text_of_strangers_cannot_act_on_the_terminal(cli: CliRunner, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "a\x1b[2Jb\u202ec [red]d[/red]"}]
    body = {"model": "m[bold]", "messages": messages, "new": "\ud83d\x1b"}
    capture = {"call_id": "c\x1b[31m", "kind": "request", "protocol": "openai.chat", "body": body}
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps(capture) + "\n")
    result = cli.invoke(app, ["inspect", str(file)])
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert "a\\u001b[2Jb\\u202ec [red]d[/red]" in result.stdout
    assert '{"new": "\\ud83d\\u001b"}' in result.stdout
    assert "m[bold]" in result.stdout


def test_long_texts_and_arguments_are_shortened_unless_full(cli: CliRunner, tmp_path: Path) -> None:
    arguments = {"rows": [{"n": number, "text": "x" * 20} for number in range(50)]}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    messages = [{"role": "assistant", "content": "word " * 500, "tool_calls": [call]}]
    capture = {
        "call_id": "c",
        "kind": "request",
        "protocol": "openai.chat",
        "body": {"model": "m", "messages": messages},
    }
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps(capture) + "\n")
    short, full = (cli.invoke(app, ["inspect", str(file), *more]).stdout for more in ([], ["--full"]))
    assert "more characters)" in short
    assert "more lines)" in short
    assert full.count("word") == 500
    assert '"n": 49' in full


def test_a_source_mapping_reads_the_log_of_another_producer(cli: CliRunner, tmp_path: Path) -> None:
    mapping = tmp_path / "mine.yaml"
    mapping.write_text(
        "name: mine\nform: json\ncommon: {call_id: $.id, protocol: openai.chat}\n"
        "captures:\n  - {kind: request, body: $.ask}\n"
    )
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"id": "a1", "record_id": 7, "ask": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}\n'
    )
    result = cli.invoke(app, ["inspect", str(log), "--mapping", str(mapping)])
    assert "request  a1  openai.chat · m" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere.jsonl"], "bad_capture", "no such file"),
        (["."], "bad_capture", "folder"),
        (["records.jsonl", "--dead-letters"], "no_dead_letters", "holds records"),
        (["records.jsonl.dead-letters.jsonl", "--coverage"], "no_coverage", "no fields"),
        (["damaged.jsonl"], "bad_shape", ""),
        (["cut.parquet"], "bad_capture", "cannot read"),
        (["cut.avro"], "bad_capture", "cannot read"),
    ],
)
def test_errors_say_what_and_where(
    cli: CliRunner, captures: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str, words: str
) -> None:
    monkeypatch.chdir(captures.parent)
    good = normalized(cli, captures, "records.jsonl").read_text().splitlines()
    Path("damaged.jsonl").write_text("\n".join([good[0], good[1].replace('"call_id"', '"call"')]))
    for name in ("parquet", "avro"):
        whole = normalized(cli, captures, f"whole.{name}", name).read_bytes()
        Path(f"cut.{name}").write_bytes(whole[: len(whole) // 2])
    result = cli.invoke(app, ["inspect", *arguments])
    assert isinstance(result.exception, HeadraceError)
    assert result.exception.code == code
    assert words in result.exception.message
    if arguments == ["damaged.jsonl"]:
        assert result.exception.place.startswith("damaged.jsonl, line 2")


def test_coverage_of_captures_and_of_their_records_agree(cli: CliRunner, captures: Path) -> None:
    records = normalized(cli, captures, "records.parquet", "parquet")
    of_captures = cli.invoke(app, ["inspect", str(captures), "--coverage"]).stdout
    of_records = cli.invoke(app, ["inspect", str(records), "--coverage"]).stdout
    assert of_captures == of_records
    heading, *rows = of_captures.splitlines()
    assert heading.split() == ["protocol", "leaves", "named", "named", "JSON", "nulls", "extras", "raw", "share", "%"]
    assert len(rows) == 6
    assert [row.split()[-2] for row in rows if row.startswith("anthropic")] == ["3"]
