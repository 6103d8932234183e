"""Every error Headrace raises on purpose.

An error carries a stable ``code`` (the reason code of a dead letter, an exit message, a metric label), the
``place`` in the input it speaks of, and the ``fix`` a person can make. Codes are data that users alert on:
never rename one, add another.
"""

from __future__ import annotations


class HeadraceError(Exception):
    """Base of all typed errors.

    code: stable machine-readable reason, ``snake_case``.
    place: where in the input, for instance ``line 3``, ``$.http.status`` or ``topic/0@17``.
    fix: one sentence that tells what to change.
    """

    code = "error"

    def __init__(self, message: str, *, place: str = "", fix: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.fix = fix
        if code:
            self.code = code

    def __str__(self) -> str:
        where = f" (at {self.place})" if self.place else ""
        hint = f" Fix: {self.fix}" if self.fix else ""
        return f"{self.code}: {self.message}{where}.{hint}"


class CaptureError(HeadraceError):
    """A raw message is not a capture that can be read: bad JSON, bad Avro, a missing or contradictory field."""

    code = "bad_capture"


class FramingError(HeadraceError):
    """The bytes of a body cannot be turned into JSON events: wrong compression, bad JSON, too large, too deep."""

    code = "bad_body"


class DetectionError(HeadraceError):
    """The protocol is neither named nor told by URL or shape, or more than one fits."""

    code = "unknown_protocol"


class WireError(HeadraceError):
    """A body is valid JSON but not a message of its protocol."""

    code = "bad_message"


class SchemaError(HeadraceError):
    """An Avro schema is missing, unknown or incompatible with a released version."""

    code = "bad_schema"


class StoreError(HeadraceError):
    """The state store answered wrongly or not at all."""

    code = "store_unavailable"


class SettingsError(HeadraceError):
    """Configuration that cannot work."""

    code = "bad_settings"
