"""Making a cluster agree with the topic manifests.

`plan` compares and changes nothing; `apply` carries a plan out. Neither ever deletes a topic or a partition: what
would need that is a note in the plan, for a person to decide.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from headrace.errors import HeadraceError
from headrace.kafka.manifests import TopicManifest

_MOST_REPLICAS = 3
_VISIBLE_SECONDS = 30.0
# Kafka's ConfigSource.DYNAMIC_TOPIC_CONFIG: set on the topic itself, not a default it inherits.
_SET_ON_TOPIC = 1


class TopicError(HeadraceError):
    """The cluster cannot be asked, or refused a change."""

    code = "topic_admin_failed"


@dataclass(frozen=True, slots=True)
class Create:
    """A topic that is missing."""

    manifest: TopicManifest
    replicas: int

    def __str__(self) -> str:
        one = self.manifest
        config = ", ".join(f"{name}={value}" for name, value in sorted(one.kafka_config().items()))
        return f"create    {one.name}: {one.partitions} partitions, {self.replicas} replicas, {config}"


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic with too few partitions."""

    topic: str
    have: int
    want: int

    def __str__(self) -> str:
        return (
            f"grow      {self.topic}: {self.have} -> {self.want} partitions "
            "(keys move to other partitions: let open calls finish first)"
        )


@dataclass(frozen=True, slots=True)
class Configure:
    """A topic whose configuration differs; ``changes`` is name -> (now, wanted)."""

    topic: str
    changes: Mapping[str, tuple[str | None, str]]

    def __str__(self) -> str:
        changes = ", ".join(f"{name}: {now} -> {wanted}" for name, (now, wanted) in sorted(self.changes.items()))
        return f"configure {self.topic}: {changes}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What would make the cluster agree with the manifests. ``notes`` is what `apply` leaves to a person."""

    creates: list[Create] = field(default_factory=list)
    grows: list[Grow] = field(default_factory=list)
    configures: list[Configure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def changes(self) -> list[Create | Grow | Configure]:
        """Everything `apply` would do, in its order."""
        return [*self.creates, *self.grows, *self.configures]

    def lines(self) -> list[str]:
        """The plan for a person to read, one change or note a line; [] when there is nothing to do or say."""
        return [str(change) for change in self.changes] + [f"note      {note}" for note in self.notes]


async def plan(client: Mapping[str, Any], manifests: Iterable[TopicManifest]) -> Plan:
    """Compare the manifests with the cluster; changes nothing.

    client: aiokafka's connection options (bootstrap_servers, security). Raises TopicError.
    """
    made = Plan()
    wanted = list(manifests)
    async with _admin(client) as admin:
        brokers = len((await admin.describe_cluster())["brokers"])
        partitions = await _partition_counts(admin)
        present = [manifest for manifest in wanted if manifest.name in partitions]
        configs = await _configs(admin, [manifest.name for manifest in present])
    made.creates.extend(
        Create(manifest, min(_MOST_REPLICAS, brokers)) for manifest in wanted if manifest.name not in partitions
    )
    for manifest in present:
        _compare(made, manifest, partitions[manifest.name], configs[manifest.name])
    return made


def _compare(made: Plan, manifest: TopicManifest, have: int, config: Mapping[str, _Setting]) -> None:
    if have < manifest.partitions:
        made.grows.append(Grow(manifest.name, have, manifest.partitions))
    elif have > manifest.partitions:
        made.notes.append(
            f"{manifest.name} has {have} partitions, the manifest says {manifest.partitions}. Kafka cannot remove "
            f"partitions: set partitions: {have} in the manifest, or make a new topic and move its readers."
        )
    changes: dict[str, tuple[str | None, str]] = {}
    for name, wanted in manifest.kafka_config().items():
        now = config[name].value if name in config else None
        if now is None or not _same(name, now, wanted):
            changes[name] = (now, wanted)
    if changes:
        made.configures.append(Configure(manifest.name, changes))


def _same(name: str, now: str, wanted: str) -> bool:
    if name == "cleanup.policy":
        return set(now.split(",")) == set(wanted.split(","))
    return now == wanted


async def apply(client: Mapping[str, Any], planned: Plan) -> None:
    """Carry out a plan and wait until the cluster shows it; what is there already is no fault.

    Raises TopicError with the refusals of all topics, after everything else was done.
    """
    refusals: list[str] = []
    async with _admin(client) as admin:
        refusals += await _create(admin, planned.creates)
        refusals += await _grow(admin, planned.grows)
        refusals += await _configure(admin, planned.configures)
        if refusals:
            raise TopicError("; ".join(refusals), fix="correct the manifest or the rights, and plan again")
        await _until_visible(admin, planned)


async def _create(admin: AIOKafkaAdminClient, creates: list[Create]) -> list[str]:
    if not creates:
        return []
    topics = [
        NewTopic(one.manifest.name, one.manifest.partitions, one.replicas, topic_configs=one.manifest.kafka_config())
        for one in creates
    ]
    answer = await admin.create_topics(topics)
    already_there = 36
    return [
        f"cannot create {name}: {message or for_code(code).__name__}"
        for name, code, message in answer.topic_errors
        if code not in (0, already_there)
    ]


async def _grow(admin: AIOKafkaAdminClient, grows: list[Grow]) -> list[str]:
    refusals = []
    for one in grows:
        try:
            await admin.create_partitions({one.topic: NewPartitions(one.want)})
        except KafkaError as error:
            refusals.append(str(error))
    return refusals


async def _configure(admin: AIOKafkaAdminClient, configures: list[Configure]) -> list[str]:
    if not configures:
        return []
    now = await _configs(admin, [one.topic for one in configures])
    resources = []
    for one in configures:
        # The request replaces all that is set on the topic, so what others set goes along.
        kept = {
            name: setting.value
            for name, setting in now[one.topic].items()
            if setting.on_topic and setting.value is not None
        }
        wanted = {name: value for name, (_, value) in one.changes.items()}
        resources.append(ConfigResource(ConfigResourceType.TOPIC, one.topic, kept | wanted))
    refusals = []
    for answer in await admin.alter_configs(resources):
        for code, message, _, topic in answer.resources:
            if code:
                refusals.append(f"cannot configure {topic}: {message or for_code(code).__name__}")
    return refusals


async def _until_visible(admin: AIOKafkaAdminClient, planned: Plan) -> None:
    """The controller answers before every broker knows: a client that begins now would miss a topic."""
    wanted = {one.manifest.name: 1 for one in planned.creates} | {one.topic: one.want for one in planned.grows}
    deadline = time.monotonic() + _VISIBLE_SECONDS
    while wanted:
        have = await _partition_counts(admin)
        wanted = {topic: count for topic, count in wanted.items() if have.get(topic, 0) < count}
        if wanted and time.monotonic() > deadline:
            raise TopicError(f"not visible after {_VISIBLE_SECONDS:.0f} s: {', '.join(wanted)}", fix="plan again")
        if wanted:
            await asyncio.sleep(0.05)


@dataclass(frozen=True, slots=True)
class _Setting:
    """A topic's configuration value. on_topic: set on the topic, not inherited from the broker."""

    value: str | None
    on_topic: bool


async def _configs(admin: AIOKafkaAdminClient, topics: list[str]) -> dict[str, dict[str, _Setting]]:
    """Topic -> name -> setting."""
    if not topics:
        return {}
    found: dict[str, dict[str, _Setting]] = {}
    for answer in await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics]):
        for code, message, _, topic, entries in answer.resources:
            if code:
                raise TopicError(
                    f"cannot read the configuration: {message or for_code(code).__name__}",
                    place=topic,
                    fix="grant DESCRIBE_CONFIGS on the topic",
                )
            found[topic] = {entry[0]: _Setting(entry[1], entry[3] == _SET_ON_TOPIC) for entry in entries}
    return found


async def _partition_counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    # All topics: asking for one by name can create it, where the broker creates topics by itself.
    return {one["topic"]: len(one["partitions"]) for one in await admin.describe_topics()}


@asynccontextmanager
async def _admin(client: Mapping[str, Any]) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client)
    try:
        await admin.start()
        yield admin
    except KafkaError as error:
        raise TopicError(
            f"{type(error).__name__}: {error}",
            place=str(client.get("bootstrap_servers", "")),
            fix="check kafka.bootstrap_servers, the security settings and the rights of the user",
        ) from error
    finally:
        await admin.close()
