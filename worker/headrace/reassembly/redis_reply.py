"""Replies of the Lua scripts: a header that says what became of a call, then fragments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from headrace.errors import StoreError
from headrace.reassembly.store import Answer, Position, StateKey


class Header(msgspec.Struct, frozen=True, array_like=True):
    """First element of every script's reply (lua/state.lua, `answer`)."""

    ident: int
    outcome: Literal["open", "ready", "claimed", "duplicate", "wait", "gone", "absent", "closed", "stale"]
    through: int = -1
    limit: int = -1
    emitted: int = 0
    final: bool = False
    numbered: bool = False
    late: tuple[tuple[int, int], ...] = ()
    kept: bool = True
    status: int = 0
    home: str = ""
    claim_offset: int = -1
    claim_round: int = 0
    deadline: int = 0
    again: bool = False
    merge_from: int = -1
    body: bool = False


_decode = msgspec.msgpack.Decoder(Header).decode


def read_header(reply: Sequence[bytes], ident: int) -> Header:
    """The reply's header; raises StoreError if it speaks of another call than the one that was asked about."""
    header = _decode(reply[0])
    if header.ident != ident:
        raise StoreError(
            "a reply of Redis speaks of another call",
            code="store_foreign_state",
            fix="restart the worker: a proxy between it and Redis mixes replies up",
        )
    return header


def answer_of(key: StateKey, header: Header, reply: Sequence[bytes]) -> Answer:
    """The contract's answer that a reply stands for."""
    claim = None
    if header.outcome == "ready":
        topic, _, partition = header.home.rpartition("|")
        claim = Position(topic, int(partition), header.claim_offset, header.claim_round)
    return Answer(
        key=key,
        outcome=header.outcome,  # type: ignore[arg-type]
        fragments=tuple(reply[1:]) if header.outcome == "ready" else (),
        through=header.through,
        limit=header.limit,
        emitted=header.emitted,
        final=header.final,
        body=header.body,
        numbered=header.numbered,
        late=header.late,
        kept=header.kept,
        claim=claim,
    )
