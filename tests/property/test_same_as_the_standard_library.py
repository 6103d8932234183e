"""Where speed made us write what the standard library has, the standard library is the judge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.canonical import ids
from headrace.capture.fields import micros
from headrace.errors import CaptureError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.lists(st.text()))
def test_derived_ids_are_uuid5(coordinates: list[str]) -> None:
    name = "|".join(f"{len(text)}:{text}" for text in coordinates)
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        return
    assert ids.derive(*coordinates) == str(uuid5(ids.NAMESPACE, name))


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_read_as_datetime_reads_it(moment: datetime) -> None:
    for timespec in ("seconds", "milliseconds", "microseconds"):
        text = moment.isoformat(timespec=timespec).replace("+00:00", "Z")
        assert micros(text) == (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T10:00:60.000000Z",
        "2026-11-30T10:00:99.123456Z",
        "2026-11-30T24:00:00.123456Z",
        "2026-13-30T10:00:00.123456Z",
        "2026-11-30T10:00:0x.123456Z",
        "2026-11-30T10:00:00.12345²Z",
        "2026-11-30T10:00:-1.123456Z",
    ],
)
def test_what_only_looks_like_a_time_is_refused(text: str) -> None:
    with pytest.raises(CaptureError):
        micros(text)
