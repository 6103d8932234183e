"""The protocol of lanes, store and Kafka, walked through exhaustively; and each rule, left out, is missed."""

from __future__ import annotations

import pytest

from tests.support.protocol_model import RULES, Model, walk


@pytest.mark.parametrize("logs", [("a", "b"), ("ab", "b")], ids="/".join)
def test_every_world_keeps_the_promises(logs: tuple[str, ...]) -> None:
    found = walk(Model(logs))
    print(f"\n{logs}: {found.worlds:,} worlds")
    assert found.broken == ""
    assert found.worlds > 50_000


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_is_needed(rule: str) -> None:
    found = walk(Model(("ab", "b"), without=rule))
    print(f"\nwithout {rule}: {found.broken} after {found.worlds:,} worlds")
    assert found.broken
