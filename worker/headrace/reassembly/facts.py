"""What captures say of a call, and what neighbouring pieces of its stream mostly have in common.

Schemas of msgspec, which are read at run time: the code that works with them is compiled elsewhere.
"""

from __future__ import annotations

import msgspec

from headrace.capture.model import Http


class CallFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the captures said of the call itself, kept once a fragment. The first known value of a fact wins."""

    call_id: str
    protocol: str | None = None
    provider: str | None = None
    task_id: str | None = None
    request_version: str | None = None
    tenant: str | None = None
    http: Http | None = None
    origin: str | None = None
    side: str | None = None
    attempt: int | None = None
    truncated: bool | None = None
    fidelity: str | None = None

    def merged(self, other: CallFacts) -> CallFacts:
        """These facts, with the gaps filled from ``other``."""
        if self == other:
            return self
        gaps = {
            name: getattr(other, name)
            for name in self.__struct_fields__
            if getattr(self, name) is None and getattr(other, name) is not None
        }
        return msgspec.structs.replace(self, **gaps) if gaps else self


class Trait(msgspec.Struct, frozen=True, array_like=True, gc=False, omit_defaults=True):
    """Where a piece lies and of what sort it is. Pieces that are alike share one.

    kind: "stream", "end" or "error". form: "json" (the payload is one event) or "bytes" (a slice of the body).
    direction: Live only. count, outcome, message: of "end" and "error" pieces.
    """

    topic: str
    partition: int
    kind: str
    form: str
    direction: str | None = None
    count: int | None = None
    outcome: str | None = None
    message: str | None = None


class Columns(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A fragment as it is stored: each column of its pieces by itself, which is smaller and quicker than row by row.

    traits: the different ones. which: of each piece the place of its trait there; empty when there is one.
    Each number but the first is how much it is more than the one before it; in seqs and captured only where none is
    None.
    """

    facts: CallFacts
    traits: list[Trait]
    which: list[int]
    offsets: list[int]
    timestamps: list[int]
    seqs: list[int | None]
    captured: list[int | None]
    payloads: list[bytes]
