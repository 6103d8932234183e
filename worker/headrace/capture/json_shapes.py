"""What a capture's JSON form holds, as msgspec reads it.

Only shapes: what they mean is read in `json_form`, which is compiled where this, a msgspec schema, cannot be.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from headrace.capture.model import LARGEST_SEQ

ABSENT = msgspec.Raw(b"")
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Seq = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_SEQ)]


class HttpSeen(msgspec.Struct, gc=False, omit_defaults=True):
    method: str | None = None
    url: str | None = None
    status: int | str | None = None
    headers: Any = None


class Envelope(msgspec.Struct, gc=False, omit_defaults=True):
    """The object as it is written. Fields that it does not name are allowed and not read."""

    call_id: str | int
    kind: str
    task_id: str | None = None
    request_version: str | None = None
    tenant: str | None = None
    protocol: str | None = None
    provider: str | None = None
    direction: str | None = None
    seq: Seq | None = None
    captured_at: str | int | float | None = None
    count: Count | None = None
    outcome: str | None = None
    message: str | None = None
    origin: str | None = None
    side: str | None = None
    attempt: Count | None = None
    truncated: bool | None = None
    fidelity: str | None = None
    http: msgspec.Raw = ABSENT
    body: msgspec.Raw = ABSENT
    body_text: str | None = None
    body_base64: str | None = None


class Said(msgspec.Struct, gc=False, kw_only=True, omit_defaults=True, tag_field="kind", tag="stream"):
    """The commonest message of all, one JSON event of a stream, as it is written; the decoder refuses any other.

    With its ``body`` and what else is the event's own blanked, it is what the message says of its call: messages
    that say the same are then equal. `facts_said` tells whether that holds up.
    """

    # First what gateways mostly write, in that order: the decoder looks for each from where it found the last.
    call_id: Annotated[str, msgspec.Meta(min_length=1)]
    seq: Seq | None = None
    protocol: str | None = None
    captured_at: str | int | float | None = None
    http: msgspec.Raw = ABSENT
    body: msgspec.Raw
    provider: str | None = None
    task_id: str | None = None
    request_version: str | None = None
    tenant: str | None = None
    direction: str | None = None
    origin: str | None = None
    side: str | None = None
    attempt: Count | None = None
    truncated: bool | None = None
    fidelity: str | None = None
    # What a stream's event does not have.
    body_text: None = None
    body_base64: None = None
    count: None = None
    outcome: None = None
    message: None = None


class Event(msgspec.Struct, gc=False):
    """One JSON event of a stream. said: what its message says of the call. The rest: as in `Capture`."""

    said: Said
    payload: bytes
    seq: int | None
    captured_at: int | None
    direction: str | None
