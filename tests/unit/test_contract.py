"""The contract files are found in a checkout and in the wheel, where they are the same."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headrace import contract
from headrace.contract import all_schemas, contract_path, mapping_text
from headrace.errors import SettingsError

ROOT = Path(__file__).resolve().parents[2]

LISTING = """
from headrace.contract import all_schemas, contract_path
from headrace.kafka.manifests import load_manifests
print(contract_path("schemas").parent)
print(sorted(name for name, _ in all_schemas()))
print([manifest.name for manifest in load_manifests()])
"""


def listing(source: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTING], env={"PYTHONPATH": str(source)}, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_wheel_holds_the_contract(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "installed")
    in_wheel, in_checkout = listing(tmp_path / "installed"), listing(ROOT / "worker")
    assert in_wheel[0] == str(tmp_path / "installed" / "headrace" / "_contract")
    assert in_checkout[0] == str(ROOT)
    assert in_wheel[1:] == in_checkout[1:]
    assert "canonical_record" in in_wheel[1]


def test_released_schemas_come_before_current_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = tmp_path / "schemas" / "released" / "thing"
    released.mkdir(parents=True)
    (released / "1.0.0.avsc").write_text('{"type":"record","name":"Thing","fields":[]}')
    (tmp_path / "schemas" / "thing.avsc").write_text('{"type":"record","name":"Thing","fields":[],"doc":"now"}')
    monkeypatch.setattr(contract, "_PACKAGE", tmp_path / "worker" / "headrace")
    assert [(name, "doc" in schema) for name, schema in all_schemas()] == [("thing", False), ("thing", True)]


def test_installation_without_contract_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "_PACKAGE", tmp_path / "worker" / "headrace")
    with pytest.raises(SettingsError) as missing:
        contract_path("topics")
    assert missing.value.code == "no_contract"


def test_mapping_is_found_by_name_or_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "topics" / "mappings"
    shipped.mkdir(parents=True)
    (shipped / "gateway.yaml").write_text("shipped: true\n")
    (tmp_path / "own.yaml").write_text("shipped: false\n")
    monkeypatch.setattr(contract, "_PACKAGE", tmp_path / "worker" / "headrace")
    assert mapping_text("gateway") == "shipped: true\n"
    assert mapping_text(str(tmp_path / "own.yaml")) == "shipped: false\n"
    with pytest.raises(SettingsError) as missing:
        mapping_text("gatewy")
    assert missing.value.code == "no_mapping"
    assert missing.value.fix.endswith("one of: gateway")
