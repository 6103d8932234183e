"""A time read where it lies is the time that `micros` reads; what is not read so is left to it."""

from __future__ import annotations

import pytest

from headrace.capture.fields import micros, micros_in

_BEFORE = "2026-11-30T10:00:59.000001Z"


@pytest.mark.parametrize("text", ["2026-11-30T10:00:00.000000Z", "2026-11-30T10:00:59.999999Z", _BEFORE])
def test_a_time_of_the_minute_that_was_read_last(text: str) -> None:
    micros(_BEFORE)
    assert micros_in(b'"' + text.encode() + b'"', 1, len(text)) == micros(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T10:01:00.000000Z",
        "2026-11-30T10:00:60.000000Z",
        "2026-11-30T10:00:00,000000Z",
        "2026-11-30T10:00:00.00000 Z",
        "2026-11-30T10:00:0a.000000Z",
        "2026-11-30T10:00:00.000000z",
        "2026-11-30T10:00:00.00000Z",
        "2026-11-30T10:00:00.000000",
        "",
    ],
)
def test_any_other_is_left(text: str) -> None:
    micros(_BEFORE)
    assert micros_in(text.encode(), 0, len(text)) is None


def test_a_text_that_is_shorter_than_a_time() -> None:
    micros(_BEFORE)
    assert micros_in(_BEFORE[:20].encode(), 0, len(_BEFORE)) is None


def test_a_minute_that_is_not_written_in_ascii() -> None:
    micros("2026-11-30\u203b10:00:59.000001Z")
    text = "2026-11-30\u203b10:00:58.000001Z".encode()
    assert micros_in(text, 0, 27) is None
