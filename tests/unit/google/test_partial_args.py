"""Paths of streamed arguments, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.protocols.google.partial_args import PartialArgs, parse_path


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.a", ["a"]),
        ("$.a[0].b", ["a", 0, "b"]),
        ("$['a b'][\"c\"]", ["a b", "c"]),
        ("$.größe", ["größe"]),
        ("$", None),
        ("a", None),
        ("$.a[", None),
        ("$.a[-1]", None),
        ("$..a", None),
        ("", None),
        (None, None),
    ],
)
def test_paths(path: Any, steps: list[str | int] | None) -> None:
    assert parse_path(path) == steps


def test_a_string_that_is_done_is_replaced_by_the_next_one() -> None:
    args = PartialArgs()
    assert args.add({"jsonPath": "$.a", "stringValue": "x"})
    assert args.add({"jsonPath": "$.a", "stringValue": "y"})
    assert args.args() == {"a": "y"}


def test_strings_may_come_in_turns() -> None:
    args = PartialArgs()
    for path, value in (("$.a", "1"), ("$.b", "x"), ("$.a", "2"), ("$.b", "y")):
        assert args.add({"jsonPath": path, "stringValue": value, "willContinue": True})
    assert args.args() == {"a": "12", "b": "xy"}


def test_a_number_after_a_string_wins() -> None:
    args = PartialArgs()
    assert args.add({"jsonPath": "$.a", "stringValue": "x", "willContinue": True})
    assert args.add({"jsonPath": "$.a", "numberValue": 3})
    assert args.args() == {"a": 3}


def test_a_fragment_without_a_value_says_nothing() -> None:
    args = PartialArgs()
    assert args.add({"jsonPath": "$.a", "willContinue": True})
    assert args.args() is None


def test_two_values_in_one_fragment_are_refused() -> None:
    assert not PartialArgs().add({"jsonPath": "$.a", "numberValue": 1, "boolValue": True})


def test_whole_arguments_are_a_start_and_are_not_changed() -> None:
    whole = {"a": {"b": [1]}}
    args = PartialArgs()
    args.merge(whole)
    assert args.add({"jsonPath": "$.a.b[1]", "numberValue": 2})
    assert args.args() == {"a": {"b": [1, 2]}}
    assert whole == {"a": {"b": [1]}}
