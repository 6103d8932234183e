"""Stable ids: UUIDv5 of coordinates that are the same on every replay; never random, never a clock."""

from __future__ import annotations

from uuid import UUID, uuid5

#: Namespace of all ids Headrace derives. Changing it changes every record_id: never do.
NAMESPACE = UUID("6f1c9f0a-6a4e-5f0e-9a53-2d1f5b6c8e10")


def derive(*coordinates: object) -> str:
    """UUIDv5 of the coordinates, in order; each is written with its length, so ("ab","c") is not ("a","bc")."""
    texts = [str(coordinate) for coordinate in coordinates]
    return str(uuid5(NAMESPACE, "|".join(f"{len(text)}:{text}" for text in texts)))


def record_id(tenant: str | None, call_id: str, record_type: str, ordinal: int) -> str:
    """Id of the ``ordinal``-th request or response record of a call."""
    return derive("record", tenant or "", call_id, record_type, ordinal)


def tool_call_id(tenant: str | None, call_id: str, record_type: str, *position: int) -> str:
    """Id of a tool call without one on the wire: (record ordinal, message, part) positions within its record."""
    return derive("tool_call", tenant or "", call_id, record_type, *position)
