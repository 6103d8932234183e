"""`headrace normalize`: the same records from any input form, in any output form, with one process or several."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from headrace.canonical.avro import load_schema, record_format
from headrace.capture.envelope import read_captures, write_avro
from headrace.capture.inbound import Inbound, Source
from headrace.cli import app
from headrace.kafka.wire import SingleObject
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES

_RUNNER = CliRunner()


def _lines(copies: int = 40) -> list[bytes]:
    """Calls of all protocols, interleaved, one of them cut short, and two lines that are no captures."""
    rng = random.Random(3)
    calls = [
        traffic.encode(traffic.lines_of(exchange, f"call-{copy}-{number}"))
        for copy in range(copies)
        for number, exchange in enumerate(OWN_EXCHANGES)
    ]
    calls[0] = calls[0][:-3]
    lines: list[bytes] = []
    while calls:
        call = rng.choice(calls[:9])
        lines.append(call.pop(0))
        if not call:
            calls.remove(call)
    return [*lines[:50], b"not json", *lines[50:], b'{"call_id":"x","kind":"dance"}']


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture file."""
    path = tmp_path_factory.mktemp("offline") / "captures.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in _lines()))
    return path


def _normalize(source: Path, output: Path, *options: str, code: int = 3) -> bytes:
    result = _RUNNER.invoke(app, ["normalize", str(source), "-o", str(output), "--quiet", *options])
    assert result.exit_code == code, result.output
    return output.read_bytes()


def _content(rows: bytes) -> list[dict[str, Any]]:
    """Records without their coordinates: line numbers and file names differ between input forms."""
    return [{**json.loads(line), "sources": None} for line in rows.splitlines()]


def test_processes_do_not_change_a_byte(captures: Path, tmp_path: Path) -> None:
    one = _normalize(captures, tmp_path / "one.jsonl")
    three = _normalize(captures, tmp_path / "three.jsonl", "--workers", "3")
    assert one == three
    letters = (tmp_path / "one.jsonl.dead-letters.jsonl").read_bytes()
    assert letters == (tmp_path / "three.jsonl.dead-letters.jsonl").read_bytes()
    assert sorted(json.loads(line)["code"] for line in letters.splitlines()) == ["bad_capture", "bad_capture"]


def test_a_small_memory_budget_does_not_change_a_byte(captures: Path, tmp_path: Path) -> None:
    roomy = _normalize(captures, tmp_path / "roomy.jsonl")
    assert _normalize(captures, tmp_path / "tight.jsonl", "--memory", "1") == roomy


def test_every_call_is_there_once_and_the_cut_one_says_so(captures: Path, tmp_path: Path) -> None:
    records = _content(_normalize(captures, tmp_path / "out.jsonl"))
    assert len({record["record_id"] for record in records}) == len(records)
    cut = [record for record in records if record.get("status_reason") == "no_terminal_event"]
    assert [record["call_id"] for record in cut] == ["call-0-0"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files(captures: Path, tmp_path: Path, suffix: str) -> None:
    compress = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[suffix]
    packed = tmp_path / f"captures.jsonl{suffix}"
    packed.write_bytes(compress(captures.read_bytes()))
    plain = _content(_normalize(captures, tmp_path / "plain.jsonl"))
    assert _content(_normalize(packed, tmp_path / "packed.jsonl")) == plain


def test_avro_containers_of_captures(captures: Path, tmp_path: Path) -> None:
    source = tmp_path / "captures.avro"
    good = [line for line in captures.read_bytes().splitlines() if line.startswith(b"{") and b'"dance"' not in line]
    framed = [write_avro(read_captures(Inbound.at(Source("f", 0, 1, 0), line)).captures[0]) for line in good]
    bodies = [SingleObject.decode(value)[1] for value in framed]
    schema = fastavro.parse_schema(load_schema("raw_capture"))
    with source.open("wb") as out:
        fastavro.writer(out, schema, [fastavro.schemaless_reader(io.BytesIO(body), schema, None) for body in bodies])
    plain = _content(_normalize(captures, tmp_path / "plain.jsonl"))
    assert _content(_normalize(source, tmp_path / "out.jsonl", code=0)) == plain


def test_avro_and_parquet_hold_what_json_lines_hold(captures: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in _normalize(captures, tmp_path / "out.jsonl").splitlines()]
    _normalize(captures, tmp_path / "out.avro", "--format", "avro")
    layout = record_format("canonical_record")
    with (tmp_path / "out.avro").open("rb") as container:
        blocks = fastavro.block_reader(container)
        assert sum(block.num_records for block in blocks) == len(rows)
    with (tmp_path / "out.avro").open("rb") as container:
        read = [record["record_id"] for record in fastavro.reader(container)]
    assert read == [row["record_id"] for row in rows]
    _normalize(captures, tmp_path / "out.parquet", "--format", "parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("record_id").to_pylist() == [row["record_id"] for row in rows]
    calls = [
        part["tool_call"]["name"]
        for messages in table.column("messages").to_pylist()
        for message in messages
        for part in message["parts"]
        if part["tool_call"]
    ]
    expected = [
        part["tool_call"]["name"]
        for row in rows
        for message in row.get("messages", [])
        for part in message.get("parts", [])
        if "tool_call" in part
    ]
    assert calls == expected
    assert layout.decode(layout.encode(rows[0])) == rows[0]


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    result = _RUNNER.invoke(app, ["normalize", str(tmp_path / "none.jsonl"), "-o", str(tmp_path / "out.jsonl")])
    assert result.exit_code == 1
    assert "none.jsonl" in str(result.exception)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_dash_is_standard_output(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = _RUNNER.invoke(app, ["normalize", str(captures), "-o", "-", "--quiet"])
    assert result.stdout_bytes == _normalize(captures, tmp_path / "out.jsonl")
    assert (tmp_path / "dead-letters.jsonl").exists()
