"""What lies in deploy/ speaks of this program: its commands, ports, settings, topics and metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from headrace.cli import app
from headrace.kafka.app import create_app
from headrace.kafka.manifests import load_manifests
from headrace.metrics import Metrics
from headrace.settings import COMMON_ENVIRONMENT, Settings, load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
PORT = Settings().web.port


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def manifest(name: str) -> Any:
    return read(KUBERNETES / f"{name}.yaml")


def container() -> Any:
    (only,) = manifest("deployment")["spec"]["template"]["spec"]["containers"]
    return only


def command_exists(arguments: list[str]) -> bool:
    command: Any = typer.main.get_command(app)
    for argument in arguments:
        command = command.commands.get(argument)
        if command is None:
            return False
    return True


def metric_names() -> set[str]:
    """Every series a worker can export."""
    names = set()
    for family in Metrics().registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
    return names


def test_images_and_manifests_run_commands_that_exist() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.M)[-1])
    default = json.loads(re.findall(r"^CMD (.*)$", dockerfile, re.M)[-1])
    services = read(DEPLOY / "compose.yaml")["services"]
    assert entry == ["headrace"]
    assert default == services["worker"]["command"] == container()["args"] == ["worker"]
    for arguments in (default, services["topics"]["command"]):
        assert command_exists(arguments)


def test_one_port_everywhere() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert f"EXPOSE {PORT}\n" in dockerfile
    assert f"http://127.0.0.1:{PORT}/health" in dockerfile
    assert read(DEPLOY / "compose.yaml")["services"]["worker"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert container()["ports"] == [{"name": "http", "containerPort": PORT}]
    assert manifest("service")["spec"]["ports"][0]["port"] == PORT
    assert manifest("networkpolicy")["spec"]["ingress"][0]["ports"][0]["port"] == PORT
    assert manifest("deployment")["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"] == str(PORT)


def test_probes_ask_pages_that_the_worker_serves(tmp_path: Path) -> None:
    pages = set(create_app(Settings(), str(tmp_path)).web.views)
    probes = [container()[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    scraped = manifest("deployment")["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"]
    assert {probe["path"] for probe in probes} | {scraped} <= pages


def test_environment_is_settings_that_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    in_image = re.findall(r"(HEADRACE_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text())
    services = read(DEPLOY / "compose.yaml")["services"]
    for environment in (services["worker"]["environment"], services["topics"]["environment"]):
        assert set(environment) <= set(COMMON_ENVIRONMENT)
    for name, value in [*in_image, *manifest("configmap")["data"].items(), *services["worker"]["environment"].items()]:
        monkeypatch.setenv(name, value)
    settings = load()
    # Listening on loopback alone, a container could not be probed.
    assert (settings.web.host, settings.web.port, settings.log.format) == ("0.0.0.0", PORT, "json")
    assert settings.kafka.bootstrap_servers == "kafka:29092"
    assert settings.state.redis_url is not None
    assert settings.state.redis_url.get_secret_value() == "redis://redis:6379/0"


def test_containers_run_as_nobody_in_particular_and_write_nowhere_else() -> None:
    pod = manifest("deployment")["spec"]["template"]["spec"]
    uid = pod["securityContext"]["runAsUser"]
    assert f"USER {uid}\n" in (DEPLOY / "Dockerfile").read_text()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    mounted = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounted)
    assert re.findall(r"^WORKDIR (.*)$", (DEPLOY / "Dockerfile").read_text(), re.M)[-1] in mounted.values()


def test_pods_get_time_to_commit_before_they_are_killed() -> None:
    session_seconds = Settings().kafka.session_timeout_ms / 1000
    assert manifest("deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > session_seconds
    assert read(DEPLOY / "compose.yaml")["services"]["worker"]["stop_grace_period"] == "60s"


def test_every_manifest_is_applied_and_selects_the_workers_pods() -> None:
    files = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(manifest("kustomization")["resources"]) == files
    labels = manifest("deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        manifest("deployment")["spec"]["selector"]["matchLabels"],
        manifest("service")["spec"]["selector"],
        manifest("poddisruptionbudget")["spec"]["selector"]["matchLabels"],
        manifest("networkpolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    assert all(selector == labels for selector in selectors)


def test_scaling_follows_the_lag_of_every_raw_topic() -> None:
    scaled = manifest("scaledobject")["spec"]
    assert scaled["scaleTargetRef"]["name"] == manifest("deployment")["metadata"]["name"]
    triggers = [trigger["metadata"] for trigger in scaled["triggers"]]
    assert {trigger["topic"] for trigger in triggers} == set(Settings().topics.raw)
    assert {trigger["consumerGroup"] for trigger in triggers} == {Settings().kafka.group}
    raw = [one for one in load_manifests() if one.name in Settings().topics.raw]
    assert scaled["maxReplicaCount"] <= sum(one.partitions for one in raw)
    assert "replicas" not in manifest("deployment")["spec"]


def test_redis_refuses_to_evict_open_calls() -> None:
    command = read(DEPLOY / "compose.yaml")["services"]["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_containers_and_the_local_stack_run_the_same_kafka() -> None:
    version = re.search(r"<kafka\.version>(.*)</kafka\.version>", (DEPLOY / "local" / "pom.xml").read_text())
    assert version is not None
    assert read(DEPLOY / "compose.yaml")["services"]["kafka"]["image"] == f"apache/kafka:{version[1]}"


def test_dashboards_show_metrics_that_exist() -> None:
    dashboards = sorted((DEPLOY / "dashboards").glob("*.json"))
    assert dashboards
    for path in dashboards:
        panels = json.loads(path.read_text())["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        for panel in panels:
            assert panel["description"]
            for target in panel["targets"]:
                assert used_metrics(target["expr"]) <= metric_names()
                assert used_metrics(target["expr"])


def test_dashboard_shows_every_metric() -> None:
    shown = used_metrics((DEPLOY / "dashboards" / "headrace.json").read_text())
    families = {family.name for family in Metrics().registry.collect()}
    assert {name for name in families if not any(one.startswith(name) for one in shown)} == set()


def test_alerts_watch_metrics_that_exist() -> None:
    (group,) = read(DEPLOY / "alerts.yaml")["groups"]
    for rule in group["rules"]:
        assert used_metrics(rule["expr"])
        assert used_metrics(rule["expr"]) <= metric_names()
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]


def used_metrics(expression: str) -> set[str]:
    return set(re.findall(r"headrace_\w+", expression))
