"""Writers of records: what they keep stays bounded whatever comes, and what is kept changes nothing."""

from __future__ import annotations

from itertools import islice, pairwise, permutations
from typing import Any

import pytest
from librt.strings import BytesWriter

from headrace.canonical.encoding import MOST_STATES, RecordWriter, encoder
from headrace.canonical.primitives import LONGEST_WORD, MOST_WORDS, VARINTS_KNOWN, WordWriter, Writer, varint
from headrace.canonical.schema_tree import Record, parse
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


def _listed() -> Record:
    parts = {"name": "parts", "type": {"type": "array", "items": _WORDED}, "default": []}
    return parse({"type": "record", "name": "Listed", "fields": [parts]})


def _written(writer: Writer, value: Any) -> bytes:
    out = BytesWriter()
    writer.write(value, out)
    return out.getvalue()


def test_keys_in_ever_new_orders_do_not_pile_up() -> None:
    writer = RecordWriter(_RECORD, {})
    kept = []
    for order in islice(permutations(_LETTERS), MOST_STATES):
        assert _written(writer, dict.fromkeys(order, "x")) == b"\x02\x02x" * len(_LETTERS)
        kept.append(writer.kept())
    assert max(kept) == MOST_STATES
    assert any(after < before for before, after in pairwise(kept))


def test_unknown_keys_are_not_kept() -> None:
    writer = RecordWriter(_RECORD, {})
    for number in range(100):
        with pytest.raises(KeyError):
            _written(writer, {"a": "x", f"unknown {number}": "x"})
    assert writer.kept() == 2


def test_the_same_keys_take_the_same_states_in_every_order_they_come() -> None:
    writer = RecordWriter(_RECORD, {})
    shapes = [{"a": "1", "c": "2"}, {"c": "2", "a": "1"}, {"a": "1"}, {"".join(["a", ""]): "1", "c": "2"}, {}]
    none = b"\x00"
    for _ in range(3):
        for shape in shapes:
            ends = [b"\x02\x02" + shape[name].encode() if name in shape else none for name in _LETTERS]
            assert _written(writer, shape) == b"".join(ends)
    assert writer.kept() == 5


class _Word(str):
    """Text of a type of its own, as an enumeration's is."""


def test_what_is_kept_lets_nothing_through_that_does_not_fit() -> None:
    encode = encoder(_listed())
    for _ in range(4):
        assert encode({"parts": [{"type": "a"}]}) == b"\x02\x02a\x00"
        assert encode({"parts": [{"type": _Word("a")}]}) == b"\x02\x02a\x00"
        for odd in (({"type": "a"},), (), "", "type", {"type": "a"}, [{"type": 1}], [["type"]], [{}], [{1: "a"}]):
            with pytest.raises(SchemaError) as refused:
                encode({"parts": odd})
            assert refused.value.code == "bad_shape"


def test_words_do_not_pile_up_and_long_texts_are_none() -> None:
    words = WordWriter()
    for number in range(3 * MOST_WORDS):
        for _ in range(2):
            assert _written(words, f"label-{number:05d}") == b"\x16" + f"label-{number:05d}".encode()
        assert len(words.known) <= MOST_WORDS
    before = len(words.known)
    for long in ("é" * VARINTS_KNOWN, "x" * (LONGEST_WORD + 1)):
        assert _written(words, long) == varint(len(long.encode())) + long.encode()
    assert len(words.known) == before


@pytest.mark.parametrize("odd", [None, 1, b"user", ["user"], {}])
def test_a_word_is_text(odd: Any) -> None:
    with pytest.raises(TypeError):
        _written(WordWriter(), odd)


def test_a_word_of_half_a_surrogate_pair_is_refused_each_time() -> None:
    words = WordWriter()
    for _ in range(2):
        with pytest.raises(UnicodeEncodeError):
            _written(words, "\ud800")
    assert not words.known
