"""`headrace demo --embedded`, its traffic, and that its checks can fail."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.demo.embedded import run_embedded
from headrace.demo.outcome import checks
from headrace.demo.tool_calls import tool_calls
from headrace.demo.traffic import Traffic, traffic
from headrace.json_text import loads
from headrace.protocols import PROTOCOLS


def test_the_embedded_demo_shows_everything_and_every_count_holds(cli: CliRunner) -> None:
    result = cli.invoke(app, ["demo", "--embedded"])
    assert result.exit_code == 0, result.output
    for words in ("embedded, because --embedded asks for it", "Records", "Tool calls", "Dead letters", "Metrics"):
        assert words in result.stdout
    counted = [line for line in result.stdout.splitlines() if line.startswith(("ok ", "WRONG "))]
    assert len(counted) == 6
    assert not any(line.startswith("WRONG") for line in counted)
    assert "Nothing lost, nothing twice, no key let out." in result.stdout


def test_without_servers_it_says_so_and_runs_embedded(cli: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    result = cli.invoke(app, ["demo"])
    assert "embedded, because Kafka does not answer at 127.0.0.1:1" in result.stdout
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS")
    result = cli.invoke(app, ["demo"])
    assert "embedded, because KAFKA_BOOTSTRAP_SERVERS is not set" in result.stdout


def test_captures_can_be_written_to_a_file(cli: CliRunner, tmp_path: Path, sent: Traffic) -> None:
    file = tmp_path / "captures.jsonl"
    result = cli.invoke(app, ["demo", "--captures", str(file)])
    assert result.exit_code == 0
    assert file.read_bytes().splitlines() == list(sent.lines)


def test_the_traffic_is_the_same_every_time_and_has_its_faults(sent: Traffic) -> None:
    assert traffic() == sent
    captures = [loads(line) for line in sent.lines if not line.endswith(b"messa")]
    assert {one["protocol"] for one in captures} == set(PROTOCOLS)
    assert len(sent.lines) - len(captures) == sent.poison == 1
    assert len(sent.secrets) == 3
    assert all(any(secret.encode() in line for line in sent.lines) for secret in sent.secrets)
    repeated = Counter((one["call_id"], one["kind"], one.get("seq")) for one in captures)
    assert sorted(key[0] for key, count in repeated.items() if count > 1) == ["research-1", "weather-2"]
    research = [one["seq"] for one in captures if one["call_id"] == "research-1" and one["kind"] == "stream"]
    assert research != sorted(research)


def test_calls_are_joined_with_their_results() -> None:
    outcome = asyncio.run(run_embedded(traffic()))
    joined = {one.call["name"] + "/" + one.call["id"]: one.result for one in tool_calls(outcome.records)}
    assert len(joined) == 7
    height, paint = joined["look_up/toolu_height"], joined["list_events/toolu_paint"]
    assert height is not None and not height.get("is_error")
    assert paint is not None and paint["is_error"]
    assert joined["search_flights/call_flight"] is None


def test_a_lost_or_doubled_record_and_a_leak_fail_their_checks() -> None:
    sent = traffic()
    outcome = asyncio.run(run_embedded(sent))
    assert all(check.holds for check in checks(sent, outcome))
    lost = outcome.records.pop()
    assert len([check for check in checks(sent, outcome) if not check.holds]) == 1
    outcome.records += [lost, lost]
    assert [check.what for check in checks(sent, outcome) if not check.holds][-1] == "record ids, all different"
    outcome.records.pop()
    outcome.metrics += sent.secrets[0]
    assert [check.what for check in checks(sent, outcome) if not check.holds] == ["credentials in what came out"]
