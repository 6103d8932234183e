"""Fragments as bytes for a store.

Packed form: one byte that names a dictionary of this package, then the msgpack of `Columns`, compressed with it by
zstd. A fragment of one piece is small, and like most others of its protocol: with the dictionary it shrinks to less
than half of what it does without, in a quarter of the time.
"""

from __future__ import annotations

from importlib import resources
from typing import cast

import msgspec
import zstandard

from headrace.reassembly.facts import Columns, Trait
from headrace.reassembly.pieces import Fragment, Pieces


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
    pieces.seqs = _summed_if_all(columns.seqs)
    pieces.captured = _summed_if_all(columns.captured)
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
        _differences_if_all(pieces.seqs),
        _differences_if_all(pieces.captured),
        pieces.payloads,
    )


def _differences(numbers: list[int]) -> list[int]:
    """Each number less the one before it: neighbours are near each other, and small numbers take few bytes."""
    before = 0
    steps: list[int] = []
    for number in numbers:
        steps.append(number - before)
        before = number
    return steps


def _summed(steps: list[int]) -> list[int]:
    """The numbers again."""
    total = 0
    numbers: list[int] = []
    for step in steps:
        total += step
        numbers.append(total)
    return numbers


def _differences_if_all(numbers: list[int | None]) -> list[int | None]:
    """`_differences` of a column without gaps; one with gaps stays as it is, which the gaps tell."""
    return numbers if None in numbers else cast("list[int | None]", _differences(cast("list[int]", numbers)))


def _summed_if_all(steps: list[int | None]) -> list[int | None]:
    return steps if None in steps else cast("list[int | None]", _summed(cast("list[int]", steps)))
