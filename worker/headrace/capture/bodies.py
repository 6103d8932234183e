"""A body as a log entry holds it -> the bytes that were on the wire, as far as they can be had.

Logs hold bodies as JSON, as text of JSON (escaped, perhaps twice), as text of an event stream, in base64, or in
base64 of compressed bytes. Which one it is, the value itself tells.
"""

from __future__ import annotations

import re

from headrace.capture.compression import Decompressed, decompress, is_readable
from headrace.capture.fields import from_base64, json_bytes
from headrace.errors import CaptureError, FramingError
from headrace.json_text import Json, loads

_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_MAX_WRAPPINGS = 4

#: (payload, form, whether it is cut off).
Body = tuple[bytes, str, bool]


def body_bytes(value: Json) -> Body | None:
    """(payload, "json" | "bytes", cut off) of a logged body; None where there is none."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return json_bytes(value), "json", False
    text, cut = unwrapped(value)
    try:
        loads(text)
    except FramingError:
        return text, "bytes", cut
    return text, "json", cut


def unwrapped(value: str) -> tuple[bytes, bool]:
    """The bytes inside of escaped, base64 or compressed text, and whether compression was cut off."""
    cut = False
    raw = value.encode("utf-8", "surrogatepass")
    for _ in range(_MAX_WRAPPINGS):
        inner = _unwrap_once(raw)
        if inner is None:
            break
        raw, cut = inner.data, cut or inner.truncated
    return raw, cut


def _unwrap_once(raw: bytes) -> Decompressed | None:
    head = raw.lstrip()[:1]
    if head == b'"':
        return _unescaped(raw)
    if raw.startswith((b'{\\"', b'[{\\"')):
        return _unescaped(b'"' + raw + b'"')  # escaped, and the quotes around it are gone
    if head in (b"{", b"[") and is_readable(raw):
        return None
    plain = decompress(raw)
    if plain.encodings:
        return plain
    return None if is_readable(raw) else _from_base64(raw)


def _unescaped(raw: bytes) -> Decompressed | None:
    try:
        inner = loads(raw)
    except FramingError:
        return None
    return Decompressed(inner.encode("utf-8", "surrogatepass")) if isinstance(inner, str) else None


def _from_base64(raw: bytes) -> Decompressed | None:
    """Text in the base64 alphabet, if what it says is a body; a word like "overloaded" is left alone."""
    text = b"".join(raw.split()).decode("ascii", "replace")
    if not _BASE64_TEXT.fullmatch(text):
        return None
    try:
        decoded = from_base64(text, "$")
        plain = decompress(decoded)
    except (CaptureError, FramingError):
        return None
    return plain if plain.encodings or is_readable(decoded) else None
