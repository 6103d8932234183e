"""One capture: one observed thing on the wire, whatever envelope it came in.

Everything after the envelope readers works on these classes; nothing here knows Kafka, files or a clock. There are
many of them and none is ever part of a cycle, so the garbage collector need not look at them (``gc=False``).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from headrace.capture.inbound import Source
from headrace.errors import CaptureError

Kind = Literal["request", "response", "stream", "end", "error"]
KINDS: frozenset[str] = frozenset({"request", "response", "stream", "end", "error"})

#: How ``Capture.payload`` is to be read. ``json``: one JSON value (a whole body or one stream event).
#: ``bytes``: a slice of the body as it was on the wire (SSE text, compressed bytes, anything).
Form = Literal["json", "bytes"]


#: The largest sequence number that every store keeps exactly: an integer of a double.
LARGEST_SEQ = 2**53 - 1
#: What a record's fields hold.
_LARGEST = 2**63 - 1


class Http(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the gateway saw of HTTP; credentials are already gone. Header names are lower case."""

    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: dict[str, str] = {}


class Capture(msgspec.Struct, gc=False):
    """A raw capture (design section 3).

    call_id: one attempt at one model call. task_id: stable across retries.
    seq: place in the stream from 0; None means arrival order, (partition, offset), decides.
    captured_at: microseconds since the epoch, as the gateway's clock said; None where it did not say.
    payload: the body; empty for ``end``. count, outcome, message: of an ``end`` or ``error`` capture.
    side, attempt, truncated, fidelity, origin: what the source mapping knows about how this was seen.
    """

    call_id: str
    kind: Kind
    source: Source
    payload: bytes = b""
    form: Form = "bytes"
    protocol: str | None = None
    provider: str | None = None
    task_id: str | None = None
    request_version: str | None = None
    tenant: str | None = None
    direction: str | None = None
    seq: int | None = None
    captured_at: int | None = None
    http: Http | None = None
    count: int | None = None
    outcome: str | None = None
    message: str | None = None
    origin: str | None = None
    side: str | None = None
    attempt: int | None = None
    truncated: bool | None = None
    fidelity: str | None = None

    def __post_init__(self) -> None:
        """Numbers past `LARGEST_SEQ` would lose their order in stores; clocks are no sequence numbers."""
        if self.seq is not None and not 0 <= self.seq <= LARGEST_SEQ:
            raise _out_of_range("seq", self.seq, "number the pieces of a stream from 0")
        if self.count is not None and not 0 <= self.count <= _LARGEST:
            raise _out_of_range("count", self.count, "write the number of pieces")
        if self.attempt is not None and not 0 <= self.attempt <= _LARGEST:
            raise _out_of_range("attempt", self.attempt, "number the attempts at a call from 0 or 1")


def _out_of_range(name: str, number: int, fix: str) -> CaptureError:
    return CaptureError(f"{name} {str(number)[:30]} is out of range", place=f"$.{name}", fix=fix)
