"""`topics plan` and `topics apply` against a real broker: idempotent, and never destructive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from headrace.kafka.manifests import TopicManifest, load_manifests
from headrace.kafka.topics import Plan, TopicError, apply, plan


def manifest(name: str, **changes: Any) -> TopicManifest:
    return TopicManifest.model_validate(
        {
            "name": name,
            "doc": "A test's topic.",
            "key": {"form": "utf-8", "doc": "id"},
            "value": {"schema": "canonical_record", "forms": ["avro"]},
            "partitions": 3,
            "retention": "2d",
            "cleanup": "delete",
            **changes,
        }
    )


async def config_of(bootstrap: str, topic: str) -> dict[str, str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}
    finally:
        await admin.close()


async def test_shipped_manifests_apply_once_and_then_agree(kafka: str, unique: Callable[[str], str]) -> None:
    client = {"bootstrap_servers": kafka}
    names = {one.name: unique(one.name) for one in load_manifests()}
    manifests = load_manifests(names=names)
    first = await plan(client, manifests)
    assert [create.manifest.name for create in first.creates] == sorted(names.values())
    assert first.notes == []
    await apply(client, first)
    second = await plan(client, manifests)
    assert second == Plan()
    assert second.lines() == []
    # Two operators at once: what the other made is no fault.
    await apply(client, first)


async def test_missing_topic_gets_partitions_and_configuration(kafka: str, unique: Callable[[str], str]) -> None:
    topic = unique("made")
    client = {"bootstrap_servers": kafka}
    wanted = [manifest(topic, config={"max.message.bytes": 2_000_000})]
    made = await plan(client, wanted)
    assert made.lines() == [
        f"create    {topic}: 3 partitions, 1 replicas, "
        "cleanup.policy=delete, max.message.bytes=2000000, retention.ms=172800000"
    ]
    await apply(client, made)
    config = await config_of(kafka, topic)
    assert config["retention.ms"] == "172800000"
    assert config["max.message.bytes"] == "2000000"
    assert await plan(client, wanted) == Plan()


async def test_growth_and_configuration_leave_the_rest_alone(kafka: str, unique: Callable[[str], str]) -> None:
    topic = unique("grown")
    client = {"bootstrap_servers": kafka}
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "1000", "segment.ms": "777777"})])
    await admin.close()
    wanted = [manifest(topic, cleanup="compact,delete")]
    made = await plan(client, wanted)
    assert [str(change).split()[0] for change in made.changes] == ["grow", "configure"]
    assert "1 -> 3 partitions" in str(made.grows[0])
    assert made.configures[0].changes == {
        "retention.ms": ("1000", "172800000"),
        "cleanup.policy": ("delete", "compact,delete"),
    }
    await apply(client, made)
    assert await plan(client, wanted) == Plan()
    assert (await config_of(kafka, topic))["segment.ms"] == "777777"


async def test_shrinking_is_a_note_and_changes_nothing(kafka: str, unique: Callable[[str], str]) -> None:
    topic = unique("wide")
    client = {"bootstrap_servers": kafka}
    await apply(client, await plan(client, [manifest(topic, partitions=5)]))
    made = await plan(client, [manifest(topic, partitions=2)])
    assert made.changes == []
    (note,) = made.notes
    assert f"{topic} has 5 partitions, the manifest says 2" in note
    assert "cannot remove partitions" in note
    await apply(client, made)
    assert (await plan(client, [manifest(topic, partitions=5)])) == Plan()


async def test_one_refused_topic_does_not_stop_the_others(kafka: str, unique: Callable[[str], str]) -> None:
    good, bad = unique("good"), unique("bad")
    client = {"bootstrap_servers": kafka}
    made = await plan(client, [manifest(good), manifest(bad, config={"max.message.bytes": "many"})])
    with pytest.raises(TopicError, match=f"cannot create {bad}: .*max.message.bytes") as refused:
        await apply(client, made)
    assert good not in refused.value.message
    assert await plan(client, [manifest(good)]) == Plan()


async def test_unreachable_cluster_is_a_typed_error() -> None:
    with pytest.raises(TopicError) as unreachable:
        await plan({"bootstrap_servers": "127.0.0.1:1"}, [manifest("any")])
    assert unreachable.value.place == "127.0.0.1:1"
    assert "kafka.bootstrap_servers" in unreachable.value.fix
