"""Writers made of plans: what is kept stays bounded whatever keys come, and a function is as its plan."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import pytest

from headrace.canonical.encoding import MOST_COMPILED, MOST_PLANS, Known, Writers, encoder
from headrace.canonical.primitives import LABELS, VARINTS_KNOWN, Labels
from headrace.canonical.schema_tree import parse
from headrace.errors import SchemaError

_LETTERS = "abcdefghi"
_RECORD = parse(
    {
        "type": "record",
        "name": "Letters",
        "fields": [{"name": name, "type": ["null", "string"], "default": None} for name in _LETTERS],
    }
)
_WORDED = {"type": "record", "name": "Worded", "fields": [{"name": "type", "type": "string"}]}


def _written(writers: Writers, shape: dict[str, Any]) -> bytes:
    out: list[bytes] = []
    writers[tuple(shape)](shape, out)
    return b"".join(out)


@pytest.mark.parametrize(("walks", "most"), [(1, MOST_COMPILED), (1 << 30, MOST_PLANS)])
def test_keys_in_ever_new_orders_do_not_pile_up(walks: int, most: int) -> None:
    writers = Writers(_RECORD, Known(walks))
    fullest = 0
    for order in islice(permutations(_LETTERS), most + 100):
        assert _written(writers, dict.fromkeys(order, "x")) == b"\x02\x02x" * len(_LETTERS)
        fullest = max(fullest, len(writers))
    assert fullest == most
    assert len(writers) <= 101


def test_a_plan_walked_often_becomes_a_function_that_shows_its_source() -> None:
    writers = Writers(_RECORD, Known(walks=3))
    shape = {"b": "one"}
    seen = [(_written(writers, shape), writers["b",].__doc__) for _ in range(4)]
    assert {body for body, _ in seen} == {b"\x00\x02\x06one" + b"\x00" * 7}
    assert [bool(source) for _, source in seen] == [False, False, True, True]
    assert "shape['b']" in str(seen[-1][1])


class _Word(str):
    """Text of a type of its own, as an enumeration's is."""


def test_a_function_takes_and_refuses_what_its_plan_does() -> None:
    listed = parse(
        {
            "type": "record",
            "name": "Listed",
            "fields": [{"name": "parts", "type": {"type": "array", "items": _WORDED}, "default": []}],
        }
    )
    encode = encoder(listed, walks=2)
    for _ in range(4):
        assert encode({"parts": [{"type": "a"}]}) == b"\x02\x02a\x00"
        assert encode({"parts": [{"type": _Word("a")}]}) == b"\x02\x02a\x00"
        for odd in (({"type": "a"},), (), "", "type", {"type": "a"}, [{"type": 1}], [["type"]]):
            with pytest.raises(SchemaError) as refused:
                encode({"parts": odd})
            assert refused.value.code == "bad_shape"


def test_labels_do_not_pile_up_and_long_texts_are_none() -> None:
    labels = Labels()
    for number in range(10_000):
        assert labels[f"label-{number:05d}"] == b"\x16" + f"label-{number:05d}".encode()
    assert len(labels) <= 4096
    before = len(labels)
    long = "é" * VARINTS_KNOWN
    assert labels[long].endswith(long.encode())
    assert len(labels) == before


@pytest.mark.parametrize("odd", [None, 1, b"user", ["user"], {}])
def test_a_label_is_text(odd: Any) -> None:
    with pytest.raises(TypeError):
        LABELS[odd]
