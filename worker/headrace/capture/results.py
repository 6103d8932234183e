"""What reading one input message gives: captures, and the parts of it that are none."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.capture.model import Capture
from headrace.capture.redaction import redact_bytes
from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True)
class Reject:
    """One entry that is no capture. value: its own bytes, credentials already out. error: why."""

    error: HeadraceError
    value: bytes

    @classmethod
    def of(cls, error: HeadraceError, raw: bytes | None) -> Reject:
        """A reject of raw bytes."""
        return cls(error, redact_bytes(raw or b""))


@dataclass(slots=True)
class Read:
    """captures: in order. rejects: entries to dead-letter. ignored: entries that the source mapping leaves out."""

    captures: list[Capture] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    ignored: int = 0
