"""The manifests that ship are whole, and a wrong one is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.contract import all_schemas
from headrace.errors import SettingsError
from headrace.kafka.manifests import load_manifests, milliseconds
from headrace.settings import TopicSettings
from tests.support.shared import PROTOCOLS

GOOD = """
name: things
doc: Things.
key: { form: utf-8, doc: "id" }
value: { schema: canonical_record, forms: [avro] }
partitions: 3
retention: 12h
cleanup: delete
config: { max.message.bytes: 1048576, preallocate: true }
"""


def test_every_topic_that_headrace_uses_has_a_manifest() -> None:
    assert {manifest.name for manifest in load_manifests()} == {
        "llm.raw.requests",
        "llm.raw.responses",
        "llm.raw.chunks",
        "llm.canonical",
        "llm.dead-letters",
        *(f"llm.reserialized.{protocol}" for protocol in PROTOCOLS),
    }


def test_the_settings_default_names_are_manifests() -> None:
    names = {manifest.name for manifest in load_manifests()}
    topics = TopicSettings()
    assert {*topics.raw, topics.canonical, topics.dead_letters} <= names


def test_every_value_schema_is_in_the_contract() -> None:
    schemas = {name for name, _ in all_schemas()}
    assert {manifest.value.schema_name for manifest in load_manifests()} <= schemas


def test_a_call_is_one_partition_number_in_all_raw_topics() -> None:
    raw = [manifest for manifest in load_manifests() if manifest.name.startswith("llm.raw.")]
    assert len({manifest.partitions for manifest in raw}) == 1


def test_dead_letters_hold_the_largest_raw_message() -> None:
    limits = {one.name: int(one.config.get("max.message.bytes", 1048588)) for one in load_manifests()}
    largest_raw = max(limit for name, limit in limits.items() if name.startswith("llm.raw."))
    assert limits["llm.dead-letters"] > largest_raw


def test_manifest_becomes_kafkas_configuration(tmp_path: Path) -> None:
    (tmp_path / "things.yaml").write_text(GOOD)
    (manifest,) = load_manifests(tmp_path, {"things": "my-things"})
    assert manifest.name == "my-things"
    assert manifest.kafka_config() == {
        "cleanup.policy": "delete",
        "retention.ms": "43200000",
        "max.message.bytes": "1048576",
        "preallocate": "true",
    }


@pytest.mark.parametrize(("duration", "expected"), [("90m", 5_400_000), ("7d", 604_800_000), ("forever", -1)])
def test_durations(duration: str, expected: int) -> None:
    assert milliseconds(duration) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("retention: 12h", "retention: 12 hours"),
        ("partitions: 3", "partitions: 0"),
        ("cleanup: delete", "cleanup: shred"),
        ("name: things", "name: things/of mine"),
        ("doc: Things.", "comment: Things."),
        (GOOD, "- a\n- list\n"),
        (GOOD, "a: [b\n"),
        (GOOD, ""),
    ],
)
def test_wrong_manifest_is_refused_with_its_file(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "things.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(SettingsError) as refused:
        load_manifests(tmp_path)
    assert refused.value.code == "bad_manifest"
    assert refused.value.place == str(tmp_path / "things.yaml")


def test_template_makes_one_manifest_of_each_value(tmp_path: Path) -> None:
    text = GOOD.replace("name: things", "name: things.{x}.{y}\nfor_each: { x: [a, b], y: [c] }")
    (tmp_path / "things.yaml").write_text(text.replace("Things.", "Things of {x}."))
    assert [(one.name, one.doc) for one in load_manifests(tmp_path)] == [
        ("things.a.c", "Things of a."),
        ("things.b.c", "Things of b."),
    ]
