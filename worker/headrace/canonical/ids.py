"""Stable ids: UUIDv5 of coordinates that are the same on every replay; never random, never a clock."""

from __future__ import annotations

from hashlib import sha1
from uuid import UUID

#: Namespace of all ids Headrace derives. Changing it changes every record_id: never do.
NAMESPACE = UUID("6f1c9f0a-6a4e-5f0e-9a53-2d1f5b6c8e10")
_NAMESPACE_BYTES = NAMESPACE.bytes
#: The first digit of the clock part, with the variant's two bits in it.
_VARIANTS = {f"{digit:x}": f"{digit & 0x3 | 0x8:x}" for digit in range(16)}


def derive(*coordinates: object) -> str:
    """UUIDv5 of the coordinates, in order; each is written with its length, so ("ab","c") is not ("a","bc")."""
    texts = [str(coordinate) for coordinate in coordinates]
    return _uuid5("|".join([f"{len(text)}:{text}" for text in texts]))


def _uuid5(name: str) -> str:
    """``str(uuid.uuid5(NAMESPACE, name))`` (RFC 9562, section 5.5) without its objects: each record needs some."""
    digest = sha1(_NAMESPACE_BYTES + name.encode(), usedforsecurity=False).hexdigest()
    variant = _VARIANTS[digest[16]]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def record_id(tenant: str | None, call_id: str, record_type: str, ordinal: int) -> str:
    """Id of the ``ordinal``-th request or response record of a call."""
    return derive("record", tenant or "", call_id, record_type, ordinal)


def tool_call_id(tenant: str | None, call_id: str, record_type: str, *position: int) -> str:
    """Id of a tool call without one on the wire: (record ordinal, message, part) positions within its record."""
    return derive("tool_call", tenant or "", call_id, record_type, *position)
