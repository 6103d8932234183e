"""Records of a log, as a consumer polls them -> the pipeline's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.capture.model import Inbound, Source


def inbound(records: Iterable[Any], clock: int, *, start: int = 0, end: int = 1 << 60) -> list[Inbound]:
    """The messages of records with offsets from ``start`` to before ``end``.

    records: aiokafka's, or what has their fields. clock: now, microseconds. The log's milliseconds become microseconds.
    A time in the future would end the patience of every open call, so it is taken for now; so is none at all.
    """
    messages: list[Inbound] = []
    for record in records:
        offset: int = record.offset
        if not start <= offset < end:
            continue
        timestamp: int = record.timestamp * 1000
        source = Source(record.topic, record.partition, offset, timestamp if 0 <= timestamp <= clock else clock)
        headers = record.headers
        messages.append(Inbound(source, record.value, record.key, tuple(headers) if headers else ()))
    return messages


def latest(messages: Iterable[Inbound], floor: int) -> int:
    """The newest time of the messages, microseconds; ``floor`` where none is later."""
    newest = floor
    for message in messages:
        newest = max(newest, message.source.timestamp)
    return newest


def size(records: Iterable[Any]) -> int:
    """Bytes of keys and values."""
    total = 0
    for record in records:
        total += record.serialized_value_size + record.serialized_key_size
    return total
