"""Stream pieces and the compressed fragments that state is made of.

State per call is the raw pieces themselves, never a half-folded object: it is exact, keeps events nobody
knows yet, and survives a deploy of new code (design section 5).

A piece is one `stream`, `end` or `error` capture of a call. A fragment is all pieces of one call that one
polled batch held, packed together. Packed form: one byte that names a dictionary of this package, then the msgpack of
(call facts, pieces), compressed with it by zstd. A fragment of one piece is small, and like most others of its
protocol: with the dictionary it shrinks to less than half of what it does without, in a quarter of the time.
"""

from __future__ import annotations

from importlib import resources

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
