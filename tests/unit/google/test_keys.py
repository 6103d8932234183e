"""One grammar, two spellings."""

from __future__ import annotations

import copy
from itertools import permutations
from typing import Any

import pytest

from headrace.protocols.google.keys import Node, snake, to_camel, to_spelled

GRAMMAR = Node("id userData", longName=Node("shortName", deepOne=Node("lastKey")))


@pytest.mark.parametrize(("camel", "spelled"), [("id", "id"), ("userData", "user_data"), ("aB", "a_b")])
def test_snake(camel: str, spelled: str) -> None:
    assert snake(camel) == spelled


#: Body -> the paths that are noted.
SPELLINGS: list[tuple[Any, list[str]]] = [
    ({"longName": {"shortName": 1}}, []),
    ({"long_name": {"shortName": 1}}, ["longName"]),
    ({"long_name": {"short_name": 1}}, ["longName", "longName.shortName"]),
    ({"longName": [{"short_name": 1}, {"short_name": 2}]}, ["longName.shortName"]),
    ({"longName": [{"short_name": 1}, {"shortName": 2}]}, ["longName.0.shortName"]),
    ({"long_name": [{"deep_one": [{"last_key": 1}]}, {"deepOne": {"lastKey": 2}}]}, None),
    ({"long_name": 1, "longName": 2}, []),
    ({"long_name": {"short_name": 1}, "longName": {"short_name": 2}}, ["longName.shortName"]),
    ({"user_data": {"my_own": {"long_name": 1}}}, ["userData"]),
    ({"stranger_key": {"short_name": 1}}, []),
    ({"long_name": [[{"short_name": 1}], "x", None]}, ["longName"]),
]


@pytest.mark.parametrize(("body", "paths"), SPELLINGS)
def test_what_was_spelled_with_underscores_is_noted_and_comes_back(body: Any, paths: list[str] | None) -> None:
    kept = copy.deepcopy(body)
    camel, noted = to_camel(body, GRAMMAR)
    assert body == kept
    if paths is not None:
        assert noted == paths
    written = copy.deepcopy(camel)
    to_spelled(written, noted)
    assert written == body


def test_data_of_the_user_is_not_touched() -> None:
    camel, _ = to_camel({"user_data": {"long_name": 1}, "long_name": {"other_thing": 2}}, GRAMMAR)
    assert camel == {"userData": {"long_name": 1}, "longName": {"other_thing": 2}}


def test_a_body_in_camel_case_is_not_copied() -> None:
    body = {"longName": {"shortName": 1}}
    assert to_camel(body, GRAMMAR)[0] is body


def test_keys_that_are_made_up_are_not_remembered() -> None:
    node = Node("firstKey second", third=Node("inner"))
    for number in range(5_000):
        assert node.inner((f"made up {number}", "third")) == (("third", node.children["third"]),)
    assert node.inner(("third", "first_key")) is None
    assert node.inner(("second", "firstKey")) == ()
    assert len(node._inner) == 1


def test_known_keys_in_ever_new_orders_do_not_pile_up() -> None:
    node = Node("a b c d e f g")
    for keys in permutations("abcdefg"):
        assert node.inner(keys) == ()
        assert len(node._inner) <= 256
