"""Prometheus metrics of a worker."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as _generate_latest

from headrace.pipeline import Batch

_BATCH_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """All metrics, in a registry of their own. docs/operations.md explains each."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.consumed = Counter("headrace_consumed", "Messages read.", ["topic"], registry=self.registry)
        self.produced = Counter("headrace_produced", "Messages written.", ["topic"], registry=self.registry)
        self.duplicates = Counter("headrace_duplicates", "Pieces and bodies that came again.", registry=self.registry)
        self.dead_letters = Counter("headrace_dead_letters", "Dead letters by code.", ["code"], registry=self.registry)
        self.unknown_types = Counter(
            "headrace_unknown_types",
            "Wire types carried raw.",
            ["provider", "model", "kind", "type"],
            registry=self.registry,
        )
        self.retries = Counter("headrace_batch_retries", "Batches tried again.", ["cause"], registry=self.registry)
        self.open_calls = Gauge("headrace_open_calls", "Calls whose pieces wait for more.", registry=self.registry)
        self.batch_seconds = Histogram(
            "headrace_batch_seconds", "Time of one batch.", buckets=_BATCH_BUCKETS, registry=self.registry
        )
        self.lag = Gauge(
            "headrace_consumer_lag",
            "Messages behind the partition's end.",
            ["topic", "partition"],
            registry=self.registry,
        )

    def count(self, topic: str, batch: Batch) -> None:
        """Count a published batch of one input topic."""
        self.consumed.labels(topic).inc(batch.consumed)
        self.duplicates.inc(batch.duplicates)
        for _, letter in batch.dead_letters:
            self.dead_letters.labels(letter["code"]).inc()
        for labels, count in batch.unknown.items():
            self.unknown_types.labels(*labels).inc(count)

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return _generate_latest(self.registry)
