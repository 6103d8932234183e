"""What the gateway saw of HTTP: read once for all pieces that repeat it, refused where it stands."""

from __future__ import annotations

import pytest

from headrace.capture.inbound import Source
from headrace.capture.json_form import read_json
from headrace.errors import CaptureError

_SOURCE = Source("t", 0, 1, 0)
_PIECE = b'{"call_id":"c","kind":"stream","seq":0,"body":{},"http":%s}'


def test_facts_are_the_same_however_often_they_are_repeated() -> None:
    text = b'{"status":"200","url":"https://h/v1?key=abc","headers":{"X-Request-Id":"r1","X-Api-Key":"s3cret"}}'
    first, again = (read_json(_PIECE % text, _SOURCE).http for _ in range(2))
    assert first == again
    assert first is not None and first.status == 200 and first.headers["x-request-id"] == "r1"
    assert "s3cret" not in repr(first) and "abc" not in repr(first)


def test_null_and_empty_facts_are_none() -> None:
    assert read_json(_PIECE % b"null", _SOURCE).http is None
    assert read_json(_PIECE % b"{}", _SOURCE).http is None


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        (b'"x"', "$.http"),
        (b'{"status":[]}', "$.http.status"),
        (b'{"status":"x"}', "$.http.status"),
        (b'{"headers":{"x":"\\ud83d"}}', "$.http"),
    ],
)
def test_what_is_no_fact_is_refused_each_time(facts: bytes, place: str) -> None:
    for _ in range(2):
        with pytest.raises(CaptureError) as refused:
            read_json(_PIECE % facts, _SOURCE)
        assert refused.value.place == place
