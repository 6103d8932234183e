"""RFC 3339 times as Google writes them <-> microseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from headrace.canonical.fields import Kind
from headrace.json_text import Json

_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _micros(value: str) -> int:
    return (datetime.fromisoformat(value) - _EPOCH) // _MICROSECOND


def _text(micros: int) -> str:
    """Google writes no fraction, three or six digits: as few as the time needs."""
    fraction = micros % 1_000_000
    spec = "seconds" if not fraction else "microseconds" if fraction % 1000 else "milliseconds"
    moment = _EPOCH + micros * _MICROSECOND
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def _is_exact(value: Json) -> bool:
    """A time that comes back letter by letter; one with nanoseconds or an offset stays as it is."""
    if type(value) is not str or _FORM.fullmatch(value) is None:
        return False
    try:
        return _text(_micros(value)) == value
    except ValueError:
        return False


TIMESTAMP = Kind(_is_exact, _micros, _text)
