"""Kinds of canonical fields: which JSON values fit one, and how they are carried both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.json_text import Json, dumps, loads

_INT64 = 1 << 63


def _is_long(value: Json) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _is_double(value: Json) -> bool:
    # An integer past 2^53 has no exact double: it stays JSON.
    return type(value) is float or (type(value) is int and -(1 << 53) <= value <= (1 << 53))


def is_text(value: Json) -> bool:
    """Whether a value is a string that UTF-8 (and so Avro) can carry; a lone surrogate stays JSON, escaped."""
    if type(value) is not str:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_texts(value: Json) -> bool:
    return type(value) is list and bool(value) and all(is_text(item) for item in value)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of canonical field: what fits, and how it is carried both ways."""

    fits: Callable[[Json], bool]
    to_shape: Callable[[Json], Any] | None = None
    to_wire: Callable[[Any], Json] | None = None


#: Seconds since the epoch <-> timestamp-micros, when exact.
def _is_epoch_seconds(value: Json) -> bool:
    return _is_long(value) and 0 <= value < 1 << 40


def _is_epoch_float(value: Json) -> bool:
    return type(value) is float and 0 <= value < 1 << 33 and round(value * 1e6) / 1e6 == value


_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _micros_of(text: str) -> int:
    return (datetime.fromisoformat(text) - _UNIX_EPOCH) // _MICROSECOND


def _time_text(micros: int) -> str:
    """RFC 3339 in UTC with no, three or six digits of fraction: as few as hold the value."""
    moment = _UNIX_EPOCH + micros * _MICROSECOND
    timespec = "microseconds" if micros % 1000 else "milliseconds" if micros % 1_000_000 else "seconds"
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def _is_time_text(value: Json) -> bool:
    if type(value) is not str or not value.endswith("Z") or not value.isascii():
        return False
    try:
        return _time_text(_micros_of(value)) == value
    except (ValueError, OverflowError):
        return False


TEXT = Kind(is_text)
#: For canonical fields that are never null, where "" means absent (role, names, ids): "" on the wire stays JSON.
NAME = Kind(lambda value: is_text(value) and value != "")
LONG = Kind(_is_long)
DOUBLE = Kind(_is_double)
BOOL = Kind(lambda value: type(value) is bool)
TEXTS = Kind(_is_texts)
JSON = Kind(lambda value: True, dumps, loads)
OBJECT = Kind(lambda value: type(value) is dict and bool(value), dumps, loads)
ARRAY = Kind(lambda value: type(value) is list and bool(value), dumps, loads)
EPOCH = Kind(_is_epoch_seconds, lambda value: value * 1_000_000, lambda micros: micros // 1_000_000)
EPOCH_FLOAT = Kind(_is_epoch_float, lambda value: round(value * 1e6), lambda micros: micros / 1e6)
#: RFC 3339 text ("2026-05-15T18:52:17Z") <-> timestamp-micros, when it comes back as it was.
TIME_TEXT = Kind(_is_time_text, _micros_of, _time_text)
#: A number that stands as text in the canonical field (error codes come as both).
NUMBER_AS_TEXT = Kind(_is_long, str, int)
#: One text where the canonical field is a list.
ONE_TEXT = Kind(is_text, lambda value: [value], "".join)
