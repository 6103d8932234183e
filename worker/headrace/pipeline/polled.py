"""Records of a log, as a consumer polls them -> the pipeline's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from headrace.capture.inbound import Inbound

_NO_END = 1 << 60


@final
class Polled:
    """What a poll gave.

    messages: of the records with offsets from ``start`` to before ``end``. newest: the latest time of these, in
    microseconds, or what was the latest before. size: bytes of their keys and values.
    """

    __slots__ = ("messages", "newest", "size")

    def __init__(
        self,
        topic: str,
        partition: int,
        records: Sequence[Any],
        clock: int,
        *,
        newest_before: int = 0,
        start: int = 0,
        end: int = _NO_END,
    ) -> None:
        """Read records of one partition, aiokafka's or what has their fields, in one walk.

        clock: now, microseconds. The log's milliseconds become microseconds. A time in the future would end the
        patience of every open call, so it is taken for now; so is none at all.
        """
        messages: list[Inbound] = []
        newest, size = newest_before, 0
        for record in records:
            offset: int = record.offset
            if not start <= offset < end:
                continue
            timestamp: int = record.timestamp * 1000
            if not 0 <= timestamp <= clock:
                timestamp = clock
            if timestamp > newest:
                newest = timestamp
            value: bytes | None = record.value
            key: bytes | None = record.key
            size += (0 if value is None else len(value)) + (0 if key is None else len(key))
            headers = record.headers
            texts = tuple(headers) if headers else ()
            messages.append(Inbound(topic, partition, offset, timestamp, value, key, texts))
        self.messages = messages
        self.newest = newest
        self.size = size
