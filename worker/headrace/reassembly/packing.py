"""Fragments as bytes for a store.

Packed form: one byte that names a dictionary of this package, then the msgpack of `Columns`, compressed with it by
zstd. A fragment of one piece is small, and like most others of its protocol: with the dictionary it shrinks to less
than half of what it does without, in a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any, TypeVar

import msgspec
import zstandard

from headrace.reassembly.facts import Columns, Trait
from headrace.reassembly.pieces import Fragment, Pieces

_Number = TypeVar("_Number", int, int | None)


def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    """A dictionary of this package (``python -m bench.dictionary`` makes new ones)."""
    folder = resources.files("headrace.reassembly") / "dictionaries"
    return zstandard.ZstdCompressionDict((folder / f"{number}.zdict").read_bytes())


_NEWEST = 2
_MARK = bytes([_NEWEST])
#: Whatever a state may still be held in.
_decompressors = {bytes([each]): zstandard.ZstdDecompressor(dict_data=_dictionary(each)) for each in (_NEWEST,)}


def _compressor() -> zstandard.ZstdCompressor:
    dictionary = _dictionary(_NEWEST)
    dictionary.precompute_compress(level=1)
    return zstandard.ZstdCompressor(level=1, dict_data=dictionary, write_dict_id=False)


_compress = _compressor().compress
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Columns).decode


def pack(fragment: Fragment) -> bytes:
    """Fragment -> bytes for a store."""
    return _MARK + _compress(_encode(columns_of(fragment)))


def unpack(packed: bytes) -> Fragment:
    """Bytes from a store -> fragment; raises msgspec.DecodeError or zstandard.ZstdError on foreign bytes."""
    decompressor = _decompressors.get(packed[:1])
    if decompressor is None:
        raise msgspec.DecodeError(f"a fragment of a newer worker: it names dictionary {packed[:1].hex()}")
    columns = _decode(decompressor.decompress(packed[1:]))
    pieces = Pieces()
    pieces.offsets = _summed(columns.offsets)
    pieces.timestamps = _summed(columns.timestamps)
    pieces.seqs = _summed(columns.seqs)
    pieces.captured = _summed(columns.captured)
    pieces.payloads = columns.payloads
    traits = columns.traits
    pieces.traits = [traits[place] for place in columns.which] if columns.which else traits * len(pieces)
    return Fragment(columns.facts, pieces)


def columns_of(fragment: Fragment) -> Columns:
    """A fragment as it is packed."""
    pieces = fragment.pieces
    trait = pieces.trait()
    places: dict[Trait, int] = {}
    which: list[int] = []
    if trait is None:
        which = [places.setdefault(each, len(places)) for each in pieces.traits]
    else:
        places[trait] = 0
    return Columns(
        fragment.facts,
        list(places),
        which,
        _differences(pieces.offsets),
        _differences(pieces.timestamps),
        _differences(pieces.seqs),
        _differences(pieces.captured),
        pieces.payloads,
    )


def _differences(numbers: Sequence[_Number]) -> list[_Number]:
    """Each number less the one before it: neighbours are near each other, and small numbers take few bytes."""
    before = 0
    steps: list[Any] = []
    for number in numbers:
        if number is None:
            steps.append(None)
        else:
            steps.append(number - before)
            before = number
    return steps


def _summed(steps: Sequence[_Number]) -> list[_Number]:
    """The numbers again."""
    total = 0
    numbers: list[Any] = []
    for step in steps:
        if step is None:
            numbers.append(None)
        else:
            total += step
            numbers.append(total)
    return numbers
