"""The demo without servers: a log in this process, state in memory, and the worker's own pipeline between them."""

from __future__ import annotations

from collections import defaultdict
from typing import cast

from headrace.canonical.avro import record_format
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.capture.inbound import Inbound, Source
from headrace.contract import all_schemas
from headrace.demo.outcome import Outcome
from headrace.demo.traffic import Traffic
from headrace.kafka.outputs import Outputs
from headrace.kafka.wire import Decoder
from headrace.metrics import Metrics
from headrace.offline.normalizer import Normalizer
from headrace.offline.routing import route
from headrace.pipeline import Batch
from headrace.settings import TopicSettings

#: Messages of one poll: few, so that calls stay open over several.
_POLL = 8


class Log:
    """Topics of one partition each, in memory."""

    def __init__(self) -> None:
        self._topics: defaultdict[str, list[Inbound]] = defaultdict(list)

    def append(self, topic: str, value: bytes, key: bytes | None) -> None:
        """Add a message; its offset is its place."""
        messages = self._topics[topic]
        messages.append(Inbound.at(Source(topic, 0, len(messages), 0), value, key))

    def polls(self) -> list[list[Inbound]]:
        """What a consumer of all topics gets, poll by poll."""
        rest = {topic: list(messages) for topic, messages in self._topics.items()}
        polls = []
        while any(rest.values()):
            for messages in rest.values():
                if messages:
                    polls.append(messages[:_POLL])
                    del messages[:_POLL]
        return polls


async def run_embedded(sent: Traffic) -> Outcome:
    """Send the traffic through the pipeline; what comes out is decoded again from the bytes Kafka would carry."""
    topics, log = TopicSettings(), Log()
    for line in sent.lines:
        topic, key = route(line, topics)
        log.append(topic, line, key)
    worker = _Worker(await Outputs.create(topics.canonical, topics.dead_letters, None), topics)
    normalizer = Normalizer()
    for messages in log.polls():
        worker.publish(messages[0].source.topic, await normalizer.block(messages))
    while (batch := await normalizer.end()) is not None:
        worker.publish(topics.chunks, batch)
    return worker.outcome()


class _Worker:
    """Publishes batches: to an outcome instead of to topics."""

    def __init__(self, outputs: Outputs, topics: TopicSettings) -> None:
        self._outputs = outputs
        self._topics = topics
        self._metrics = Metrics()
        self._decoder = Decoder(schema for _, schema in all_schemas())
        self._outcome = Outcome()

    def publish(self, topic: str, batch: Batch) -> None:
        """One batch's outputs."""
        for output in self._outputs.of(batch):
            take_value(self._outcome, self._decoder, output.value, is_letter=output.topic == self._topics.dead_letters)
            self._metrics.produced.labels(output.topic).inc()
        self._metrics.count(topic, batch)
        self._outcome.consumed += batch.consumed

    def outcome(self) -> Outcome:
        """All of it, with the metrics as they stand."""
        self._outcome.metrics = self._metrics.text().decode()
        return self._outcome


def take_value(outcome: Outcome, decoder: Decoder, value: bytes, *, is_letter: bool) -> None:
    """Decode one output message into an outcome."""
    schema, body = decoder.decode_single_object(value)
    if is_letter:
        outcome.dead_letters.append(cast(DeadLetter, record_format("dead_letter").decode(body, schema)))
    else:
        outcome.records.append(cast(CanonicalRecord, record_format("canonical_record").decode(body, schema)))
