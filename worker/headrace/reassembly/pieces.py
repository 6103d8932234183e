"""Stream pieces and the compressed fragments that state is made of.

State per call is the raw pieces themselves, never a half-folded object: it is exact, keeps events nobody
knows yet, and survives a deploy of new code (design section 5).

A piece is one `stream`, `end` or `error` capture of a call. A fragment is all pieces of one call that one
polled batch held, packed together. Packed form: one byte that names a dictionary of this package, then the msgpack of
(call facts, pieces), compressed with it by zstd. A fragment of one piece is small, and like most others of its
protocol: with the dictionary it shrinks to less than half of what it does without, in a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import islice
from operator import lt

import msgspec
import zstandard

from headrace.capture.model import Http

#: A piece that carries its protocol's last event ("hard"), or one after which only trailers come ("soft").
SIGN_NONE, SIGN_SOFT, SIGN_HARD = 0, 1, 2


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One piece of a call's stream.

    seq: the producer's number, or None; then (topic, partition, offset) orders the pieces.
    kind: "stream", "end" or "error". form: "json" (payload is one event) or "bytes" (a slice of the body).
    captured_at: microseconds since the epoch or None. count, outcome, message: of "end" and "error" pieces.
    direction: Live only.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    seq: int | None
    kind: str
    form: str
    payload: bytes
    captured_at: int | None = None
    count: int | None = None
    outcome: str | None = None
    message: str | None = None
    direction: str | None = None

    @property
    def order(self) -> tuple[int, str, int, int]:
        """Sort key: by sequence number where there is one, else by log position."""
        return (self.seq if self.seq is not None else -1, self.topic, self.partition, self.offset)


class CallFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the captures said of the call itself, kept once a fragment. The first known value of a fact wins."""

    call_id: str
    protocol: str | None = None
    provider: str | None = None
    task_id: str | None = None
    request_version: str | None = None
    tenant: str | None = None
    http: Http | None = None
    origin: str | None = None
    side: str | None = None
    attempt: int | None = None
    truncated: bool | None = None
    fidelity: str | None = None

    def merged(self, other: CallFacts) -> CallFacts:
        """These facts, with the gaps filled from ``other``."""
        if self == other:
            return self
        gaps = {
            name: getattr(other, name)
            for name in self.__struct_fields__
            if getattr(self, name) is None and getattr(other, name) is not None
        }
        return msgspec.structs.replace(self, **gaps) if gaps else self


class Fragment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The pieces of one call that one batch held, with what the captures said of the call."""

    facts: CallFacts
    pieces: tuple[Piece, ...]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Fragment).decode


def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    """A dictionary of this package (``python -m bench.dictionary`` makes new ones)."""
    folder = resources.files("headrace.reassembly") / "dictionaries"
    return zstandard.ZstdCompressionDict((folder / f"{number}.zdict").read_bytes())


_NEWEST = 1
_MARK = bytes([_NEWEST])
#: Whatever a state may still be held in.
_decompressors = {bytes([each]): zstandard.ZstdDecompressor(dict_data=_dictionary(each)) for each in (_NEWEST,)}


def _compressor() -> zstandard.ZstdCompressor:
    dictionary = _dictionary(_NEWEST)
    dictionary.precompute_compress(level=1)
    return zstandard.ZstdCompressor(level=1, dict_data=dictionary, write_dict_id=False)


_compress = _compressor().compress


def pack(fragment: Fragment) -> bytes:
    """Fragment -> bytes for a store."""
    return _MARK + _compress(_encode(fragment))


def unpack(packed: bytes) -> Fragment:
    """Bytes from a store -> fragment; raises msgspec.DecodeError or zstandard.ZstdError on foreign bytes."""
    decompressor = _decompressors.get(packed[:1])
    if decompressor is None:
        raise msgspec.DecodeError(f"a fragment of a newer worker: it names dictionary {packed[:1].hex()}")
    return _decode(decompressor.decompress(packed[1:]))


def in_order(fragments: Iterable[Fragment]) -> list[Piece]:
    """All pieces, sorted, each place once.

    Same ``seq`` twice: the first one by log position stays (design section 3). The same log position twice
    is the same message read again.
    """
    return ordered([piece for fragment in fragments for piece in fragment.pieces])


def ordered(pieces: list[Piece]) -> list[Piece]:
    """As `in_order`, of pieces that are in no fragment yet; the same list when it is in order."""
    if _are_in_order(pieces):
        return pieces
    kept: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.order):
        if not kept or not _same_place(kept[-1], piece):
            kept.append(piece)
    return kept


def _are_in_order(pieces: Sequence[Piece]) -> bool:
    """Whether pieces are sorted, each place once; told for all with numbers, and for all without of one partition."""
    seqs = [piece.seq for piece in pieces if piece.seq is not None]
    if seqs:
        return len(seqs) == len(pieces) and _ascend(seqs)
    return len({(piece.topic, piece.partition) for piece in pieces}) == 1 and _ascend([each.offset for each in pieces])


def _ascend(places: Sequence[int]) -> bool:
    return all(map(lt, places, islice(places, 1, None)))


def _same_place(left: Piece, right: Piece) -> bool:
    if left.seq is not None:
        return left.seq == right.seq
    return right.seq is None and left.order == right.order


def reach_of(piece: Piece) -> int:
    """A piece's place in its stream: its number, or its offset."""
    return piece.offset if piece.seq is None else piece.seq


def is_step(piece: Piece, *, numbered: bool) -> bool:
    """Whether a piece is a step of its stream. An unnumbered `end` is none: it may overtake the pieces it ends."""
    return piece.seq is not None if numbered else piece.kind != "end"


def intervals(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted, merged, inclusive intervals of sequence numbers: [3, 1, 2, 7] -> [(1, 3), (7, 7)]."""
    ordered = sorted(set(seqs))
    if ordered and ordered[-1] - ordered[0] + 1 == len(ordered):
        return [(ordered[0], ordered[-1])]
    merged: list[tuple[int, int]] = []
    for seq in ordered:
        if merged and merged[-1][1] == seq - 1:
            merged[-1] = (merged[-1][0], seq)
        else:
            merged.append((seq, seq))
    return merged


def facts_of(fragments: Sequence[Fragment]) -> CallFacts:
    """The call's facts over all its fragments."""
    facts = fragments[0].facts
    for fragment in fragments[1:]:
        facts = facts.merged(fragment.facts)
    return facts
