"""What is remembered of texts that producers write has a bound, in number and in size."""

from __future__ import annotations

import gc
import json
import tracemalloc

from headrace.capture.inbound import Source
from headrace.capture.json_form import read_json
from headrace.capture.providers import provider_of
from headrace.capture.remembered import remembered
from tests.support.work import is_linear


def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    asked: list[str] = []

    @remembered(2, longest=3)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [upper(text) for text in ("abc", "abc", "long", "long", "d", "e", "abc")] == [
        "ABC", "ABC", "LONG", "LONG", "D", "E", "ABC"
    ]  # fmt: skip
    assert asked == ["abc", "long", "long", "d", "e", "abc"]


def test_captures_with_large_http_facts_leave_nothing_behind() -> None:
    def read(at: int) -> None:
        http = {"url": f"https://{at}.example/{'x' * 200_000}", "headers": {f"{at}-{'h' * 200_000}": "v"}}
        capture = {"call_id": "c", "kind": "request", "http": http, "body": {}}
        made = read_json(json.dumps(capture).encode(), Source("t", 0, at, 0))
        assert made.http is not None
        provider_of(made.http.url or "")

    read(0)
    tracemalloc.start()
    for at in range(1, 20):
        read(at)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 400_000


def test_a_host_of_very_many_labels_is_looked_up_at_once() -> None:
    assert provider_of("https://" + "a." * 200_000 + "api.openai.com/v1") == provider_of("https://api.openai.com/v1")
    assert is_linear(lambda labels: lambda: provider_of("https://" + "a." * labels + "api.openai.com/v1"))
