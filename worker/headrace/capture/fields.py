"""The fields of a capture, as producers spell them: times, HTTP facts, protocol names, bodies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast, final

import pybase64

from headrace.capture.compression import decompress
from headrace.capture.detection import ALIASES, protocol_named
from headrace.capture.model import KINDS, Http, Kind
from headrace.capture.redaction import redact_headers, redact_payload, redact_url
from headrace.errors import CaptureError, FramingError
from headrace.json_text import Json, dumps

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Epoch numbers below the bound are in units of so many microseconds. Seconds reach to the year 5138,
#: milliseconds from 1973 to 5138, and so on.
_UNITS = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*={0,2}")


def known_kind(kind: Json, place: str = "$.kind") -> Kind:
    """The kind, if it is one."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise CaptureError(f"unknown kind {kind!r}", place=place, fix=f"use one of {', '.join(sorted(KINDS))}")
    return cast(Kind, kind)


def known_protocol(name: str | None, place: str = "$.protocol") -> str | None:
    """The protocol's own name for a name or alias; raises DetectionError for any other."""
    if not name:
        return None
    return ALIASES.get(name) or protocol_named(name, place=place)


# --- time ------------------------------------------------------------------------------------------------------


def micros(value: Json, place: str = "$.captured_at") -> int | None:
    """Microseconds since the epoch of a time as producers write it; None for None.

    ISO 8601 text (UTC where it names no zone), an epoch number or numeric text (seconds, milliseconds, microseconds
    or nanoseconds, told apart by magnitude), or ``{"seconds": …, "milliseconds" | "nanos": …}``.
    """
    if value is None or value == "":
        return None
    try:
        if type(value) is str:
            is_date = value[4:5] == "-" or not _NUMBER.fullmatch(value)
            return _of_iso(value) if is_date else _of_number(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _of_number(value)
        if isinstance(value, dict) and "seconds" in value:
            parts = int(value["seconds"]) * 1_000_000 + int(value.get("milliseconds") or 0) * 1_000
            return parts + int(value.get("nanos") or 0) // 1_000
    except (ValueError, OverflowError, TypeError):
        pass
    raise CaptureError(
        f"not a time: {str(value)[:64]!r}", place=place, fix="write ISO 8601, or a number since the epoch"
    )


def _of_iso(text: str) -> int:
    """Of what producers write most, the minute is read once: its seconds and their fraction are the microseconds."""
    if text.endswith("Z") and text[19:20] == ".":
        fraction = text[20:-1]
        within = text[17:19] + (fraction if len(fraction) == 6 else fraction.ljust(6, "0"))
        if fraction and len(within) == 8 and within < "6" and within.isdigit() and within.isascii():
            if not text.startswith(_minute.start):
                _minute.begin(text[:17])
            return _minute.micros + int(within)
    return _of_any_iso(text)


def _of_any_iso(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@final
class _Minute:
    """The minute that was read last, as far as the colon before its seconds. written: as bytes, if it is ASCII."""

    __slots__ = ("micros", "start", "written")

    def __init__(self) -> None:
        self.begin("1970-01-01T00:00:")

    def begin(self, start: str) -> None:
        self.micros = _of_any_iso(start + "00.000000Z")
        self.start = start
        self.written = start.encode() if start.isascii() else None


_minute: Final = _Minute()
#: Of "2026-11-30T10:00:00.123456Z".
_COMMON_SIZE: Final = 27
_ZERO: Final = 48
_NINE: Final = 57
_POINT: Final = 46
_ZULU: Final = 90


def micros_in(text: bytes, at: int, size: int) -> int | None:
    """`micros` of the time that lies there in a text, without its quotes, where it is in the minute that was read last
    and in the commonest form; None for any other, which may be a time, too."""
    written = _minute.written
    if size != _COMMON_SIZE or at + size > len(text) or written is None or not text.startswith(written, at):
        return None
    point, zulu = at + 19, at + 26
    seconds, stop = number_at(text, at + 17, point)
    if stop != point or seconds > 59 or text[point] != _POINT:
        return None
    fraction, stop = number_at(text, point + 1, zulu)
    if stop != zulu or text[zulu] != _ZULU:
        return None
    return _minute.micros + seconds * 1_000_000 + fraction


def number_at(text: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that the digits there write, as far as ``end`` at most, and where they stop."""
    number = 0
    while at < end:
        digit = text[at]
        if digit < _ZERO or digit > _NINE:
            break
        number = number * 10 + digit - _ZERO
        at += 1
    return number, at


def _of_number(value: Json) -> int:
    number = float(value)
    unit = next((unit for bound, unit in _UNITS if abs(number) < bound), None)
    whole = int(value) if not isinstance(value, float) and str(value).lstrip("+-").isdigit() else None
    if not math.isfinite(number):
        raise ValueError
    if unit is None:  # nanoseconds
        result = (whole if whole is not None else int(number)) // 1_000
    else:
        result = whole * unit if whole is not None else round(number * unit)
    _EPOCH + timedelta(microseconds=result)  # a time outside of the calendar is none
    return result


def iso(moment: int) -> str:
    """ISO 8601 text, UTC, of microseconds since the epoch."""
    return (_EPOCH + timedelta(microseconds=moment)).isoformat().replace("+00:00", "Z")


# --- HTTP ------------------------------------------------------------------------------------------------------


_STATUS = re.compile(r"[0-9]{1,3}")


def make_http(method: Json, url: Json, status: Json, headers: Json, place: str = "$.http") -> Http | None:
    """HTTP facts without credentials; None when there are none. status: a number or numeric text."""
    if method is None and url is None and status is None and not headers:
        return None
    return Http(
        method=None if method is None else writable(str(method)),
        url=redact_url(writable(str(url))) if url is not None else None,
        status=_status(status, place),
        headers=redact_headers(headers_of(headers)) if headers else {},
    )


def writable(text: str) -> str:
    """The text; half of a surrogate pair, which UTF-8 cannot carry, becomes its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _status(value: Json, place: str) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, int | str) and not isinstance(value, bool) and _STATUS.fullmatch(str(value)[:64].strip()):
        return int(value)
    raise CaptureError(f"not an HTTP status: {str(value)[:64]!r}", place=f"{place}.status", fix="write a number")


def headers_of(headers: Json) -> dict[str, str]:
    """Header map of what producers write: a map, values perhaps in lists, or a list of name and value pairs."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(headers, Mapping):
        pairs = headers.items()
    elif isinstance(headers, list):
        pairs = (_pair(item) for item in headers)
    else:
        return {}
    collected: dict[str, str] = {}
    for name, value in pairs:
        if name is None or value is None:
            continue
        text = writable(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        key = writable(str(name).lower())
        collected[key] = f"{collected[key]}, {text}" if key in collected else text
    return collected


def _pair(item: Json) -> tuple[Json, Json]:
    """One header of a list: ``[name, value]``, or an object with key or name, and value or raw_value (base64)."""
    if isinstance(item, list) and len(item) == 2:
        return item[0], item[1]
    if not isinstance(item, Mapping):
        return None, None
    name = item.get("key", item.get("name"))
    value = item.get("value")
    if not value and isinstance(item.get("raw_value"), str):
        value = from_base64(item["raw_value"], "$.http.headers").decode("utf-8", "replace")
    return name, value


# --- bodies ----------------------------------------------------------------------------------------------------


def from_base64(text: str | bytes, place: str) -> bytes:
    """Bytes of base64 in either alphabet, padded or not, perhaps with line ends; raises CaptureError."""
    try:
        raw = text.encode("ascii") if isinstance(text, str) else text
        raw = b"".join(raw.split()).translate(bytes.maketrans(b"-_", b"+/"))
        if not _BASE64.fullmatch(raw):
            raise ValueError
        return pybase64.b64decode(raw.rstrip(b"=") + b"=" * (-len(raw.rstrip(b"=")) % 4), validate=True)
    except ValueError:
        raise CaptureError("not base64", place=place, fix="write the bytes in base64 (RFC 4648)") from None


def safe_payload(kind: str, payload: bytes, http: Http | None) -> bytes:
    """The body with secret fields out; the same bytes when it has none.

    A compressed request is opened to look; where there is something to take out, it stays open, because the form
    of a body is told by its content.
    """
    payload = redact_payload(payload)
    if kind != "request" or payload[:1] in (b"{", b"", b"["):
        return payload
    try:
        plain = decompress(payload, http.headers.get("content-encoding") if http else None)
    except FramingError:
        return payload  # whoever reads the body meets the same error, and says it
    redacted = redact_payload(plain.data)
    return payload if redacted is plain.data else redacted


def json_bytes(value: Json) -> bytes:
    """Compact JSON text of a value."""
    return dumps(value).encode()
