"""Credentials out, before anything is stored, logged or dead-lettered.

Four readers for four places: ``redact_headers``, ``redact_url``, ``redact_body`` / ``redact_payload`` (fields of a
request that its protocol says are secret) and ``redact_bytes`` (anything that could not be parsed). The first
three know where secrets stand and leave content alone: a tool parameter called "authorization", or a text that
talks of one, stays. The last one sees only bytes, so it rather takes too much. Errors quote what they refuse:
``redact_text`` is for their texts.
"""

from __future__ import annotations

from headrace.capture.scrubbing import redact_bytes, redact_text
from headrace.capture.secret_fields import hold_secrets, may_hold_secrets, redact_body, settings_in
from headrace.capture.secret_members import Settings
from headrace.capture.secret_names import REDACTED, redact_headers, redact_url
from headrace.errors import FramingError
from headrace.json_text import dumps, loads

__all__ = [
    "REDACTED",
    "redact_body",
    "redact_bytes",
    "redact_event",
    "redact_headers",
    "redact_payload",
    "redact_settings",
    "redact_text",
    "redact_url",
]


def redact_payload(payload: bytes) -> bytes:
    """A captured body or event as bytes, with secret fields replaced; the same object when it holds none.

    JSON, or an event stream whose `data` lines are JSON. A slice of a body that was cut elsewhere cannot be read
    and stays: request bodies, the ones that carry credentials, do not come in slices.
    """
    if not may_hold_secrets(payload):
        return payload
    if payload.lstrip()[:1] in (b"{", b"["):
        return _redact_json(payload)
    lines = payload.split(b"\n")
    redacted = [_redact_line(line) if line.startswith(b"data:") else line for line in lines]
    return b"\n".join(redacted) if redacted != lines else payload


def redact_event(event: bytes) -> bytes:
    """`redact_payload` of one JSON object; raises msgspec's DecodeError for what is none."""
    settings = settings_in(event)
    return event if settings is None else redact_settings(event, settings)


def redact_settings(event: bytes, settings: Settings) -> bytes:
    """`redact_event` of one that has these settings (`settings_in`)."""
    return _redact_json(event) if hold_secrets(settings) else event


def _redact_line(line: bytes) -> bytes:
    data = line[5:]
    redacted = _redact_json(data)
    return line if redacted is data else b"data: " + redacted


def _redact_json(text: bytes) -> bytes:
    """The JSON text with secret fields replaced; the same object when it has none or is no JSON."""
    try:
        value = loads(text)
    except FramingError:
        return text
    redacted = redact_body(value)
    return text if redacted is value else dumps(redacted).encode()
