"""An input message before its envelope is read, and where it lies."""

from __future__ import annotations

from typing import final


@final
class Source:
    """Coordinates of one input message. Never change one: captures and pieces share it.

    topic: Kafka topic, or the file's name offline. partition: Kafka partition, 0 offline.
    offset: Kafka offset, or the 1-based line (or record) number offline.
    timestamp: stream time in microseconds since the epoch (Kafka's message time; ``captured_at`` offline).
    """

    # No dataclass: what that generates is not compiled with the rest. There is one for every message.
    __slots__ = ("offset", "partition", "timestamp", "topic")

    def __init__(self, topic: str, partition: int, offset: int, timestamp: int) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __repr__(self) -> str:
        return f"Source{self._place()!r}"

    def _place(self) -> tuple[str, int, int, int]:
        return (self.topic, self.partition, self.offset, self.timestamp)


@final
class Inbound:
    """One input message, untouched: Kafka record or file line. Never change one.

    topic, partition, offset, timestamp: as of its `Source`.
    """

    __slots__ = ("headers", "key", "offset", "partition", "timestamp", "topic", "value")

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int,
        value: bytes | None,
        key: bytes | None,
        headers: tuple[tuple[str, bytes | None], ...],
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.value = value
        self.key = key
        self.headers = headers

    @classmethod
    def at(
        cls,
        source: Source,
        value: bytes | None,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> Inbound:
        """The message that lies there."""
        return Inbound(source.topic, source.partition, source.offset, source.timestamp, value, key, headers)

    @property
    def source(self) -> Source:
        """Where it lies."""
        return Source(self.topic, self.partition, self.offset, self.timestamp)
