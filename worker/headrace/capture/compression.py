"""Compressed bodies -> plain bytes: gzip, zlib and raw deflate, brotli, zstd, also one inside another.

What a body is compressed with is told by its first bytes. Brotli and raw deflate have no magic number: they are
tried, the ones that ``Content-Encoding`` names first, on bodies that are neither JSON nor an event stream, and
believed only if the result is. So a body that a gateway already decompressed stays as it is, whatever its headers
still say.

A stream that is cut off or damaged gives all that could be decompressed, marked truncated. Output is bounded, in
bytes and in proportion to the input, so that a bomb costs no more than the bound.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import brotli
import zstandard

from headrace.errors import FramingError

DEFAULT_MAX_BYTES = 256 * 1024 * 1024
DEFAULT_MAX_RATIO = 1000
#: Below this size no ratio counts: a few bytes of JSON white space compress well without being an attack.
_FREE_BYTES = 1024 * 1024

_MAX_LAYERS = 4
_OUTPUT_STEP = 256 * 1024
_INPUT_STEP = 16 * 1024
#: Compressed bytes given at once when the body is known to be damaged: at most so many lose their output.
_CAREFUL_STEP = 16
#: A zstd block of a few bytes can be 128 KiB of output, so input is given in small pieces.
_ZSTD_STEP = 1024

#: How JSON or an event stream begins.
_READABLE = re.compile(rb"""(?:\xef\xbb\xbf)?\s*(?:[{\["]|\)\]\}'|(?:data|event|id|retry)[:\r\n]|:)""")

#: Bytes that neither form holds unescaped. Compressed bytes begin with "[" or "{" often enough to look further.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LOOKED_AT = 256

#: (compressed bytes, how many of them to give at once) -> output piece by piece.
Decoder = Callable[[bytes, int], "Pieces"]
Pieces = Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Decompressed:
    """data: the plain bytes. encodings: what was undone, outermost first. truncated: the end was missing."""

    data: bytes
    encodings: tuple[str, ...] = ()
    truncated: bool = False


class _DamagedError(Exception):
    """The compressed stream stops making sense."""


class _CutOffError(Exception):
    """The compressed stream ends before its end mark."""


def decompress(
    body: bytes,
    content_encoding: str | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_ratio: int = DEFAULT_MAX_RATIO,
) -> Decompressed:
    """Undo the compression of a body; raises FramingError (`body_too_large`).

    content_encoding: the header, a hint only. max_bytes: bound of the plain size. max_ratio: bound of plain
    size to compressed size, once the plain size is over 1 MiB.
    """
    limit = min(max_bytes, max(_FREE_BYTES, max_ratio * len(body)))
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    hints = [name.strip().lower() for name in reversed((content_encoding or "").split(","))]
    encodings: list[str] = []
    truncated = False
    while len(encodings) < _MAX_LAYERS:
        undone = _undo_one(body, hints, limit)
        if undone is None:
            break
        name, body, whole = undone
        encodings.append(name)
        truncated = truncated or not whole
    return Decompressed(body, tuple(encodings), truncated)


def _undo_one(body: bytes, hints: list[str], limit: int) -> tuple[str, bytes, bool] | None:
    """(encoding, plain bytes, whole) of the outermost layer; None when the body is not compressed."""
    for name, magic in _MAGIC.items():
        if magic.match(body):
            data, whole = _run(_DECODERS[name], body, limit)
            if data or name not in _WEAK_MAGIC:
                return name, data, whole
    if not body or is_readable(body):
        return None
    for name, hint in sorted(_UNMARKED.items(), key=lambda item: item[1] not in hints):
        data, whole = _run(_DECODERS[name], body, limit, careful=hint in hints)
        if (whole or hint in hints) and _is_believable(data):
            return name, data, whole
    return None


def is_readable(body: bytes) -> bool:
    """Whether a body begins like JSON or an event stream, and goes on as UTF-8 text."""
    head = body[:_LOOKED_AT]
    if not _READABLE.match(head) or _CONTROL.search(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _is_believable(data: bytes) -> bool:
    """Whether bytes look like a body, or like one that is compressed once more."""
    return is_readable(data) or any(magic.match(data) for name, magic in _MAGIC.items() if name not in _WEAK_MAGIC)


def _run(decoder: Decoder, body: bytes, limit: int, *, careful: bool = True) -> tuple[bytes, bool]:
    """(output, whole). A damaged stream is read again in small steps, to lose as little as may be."""
    output, outcome = _collect(decoder(body, _INPUT_STEP), limit)
    if outcome == "damaged":
        output = _collect(decoder(body, _CAREFUL_STEP), limit)[0] if careful else b""
    return output, outcome == "whole"


def _collect(pieces: Pieces, limit: int) -> tuple[bytes, str]:
    output: list[bytes] = []
    size = 0
    outcome = "whole"
    try:
        for piece in pieces:
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            output.append(piece)
    except _CutOffError:
        outcome = "cut off"
    except _DamagedError:
        outcome = "damaged"
    return b"".join(output), outcome


def _too_large(limit: int) -> FramingError:
    return FramingError(
        f"the body is larger than {limit} bytes when decompressed",
        code="body_too_large",
        fix="raise the limit of body size or ratio if this body is genuine",
    )


def _zlib_pieces(body: bytes, step: int, wbits: int, member: re.Pattern[bytes] | None = None) -> Pieces:
    """zlib in its three wrappings; ``member``: how a further member begins (gzip files may be concatenated)."""
    position = 0
    while True:
        inflater = zlib.decompressobj(wbits)
        while not inflater.eof:
            data = inflater.unconsumed_tail or body[position : position + step]
            if not inflater.unconsumed_tail:
                position += len(data)
            if not data:
                raise _CutOffError
            try:
                piece = inflater.decompress(data, _OUTPUT_STEP)
            except zlib.error:
                raise _DamagedError from None
            if piece:
                yield piece
        position -= len(inflater.unused_data)
        rest = body[position:].lstrip(b"\0")
        if not rest:
            return
        if member is None or not member.match(rest):
            raise _CutOffError  # something else follows: it cannot be read, and the body is not whole
        position = len(body) - len(rest)


def _zstd_pieces(body: bytes, step: int) -> Pieces:
    step = min(step, _ZSTD_STEP)
    rest = body
    while rest:
        inflater = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        position = 0
        while not inflater.eof:
            data = rest[position : position + step]
            if not data:
                raise _CutOffError
            position += len(data)
            try:
                piece = inflater.decompress(data)
            except zstandard.ZstdError:
                raise _DamagedError from None
            if piece:
                yield piece
        rest = rest[position - len(inflater.unused_data) :]
        if rest and not _MAGIC["zstd"].match(rest):
            raise _CutOffError


def _brotli_pieces(body: bytes, step: int) -> Pieces:
    inflater = brotli.Decompressor()
    position = 0
    while not inflater.is_finished():
        data = b"" if not inflater.can_accept_more_data() else body[position : position + step]
        position += len(data)
        if not data and inflater.can_accept_more_data():
            raise _CutOffError
        try:
            piece = inflater.process(data, output_buffer_limit=_OUTPUT_STEP)
        except brotli.error:
            raise _DamagedError from None
        if piece:
            yield piece


_MAGIC: dict[str, re.Pattern[bytes]] = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    # A frame, or a skippable frame before it (RFC 8878, section 3.1).
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    # A 32 KiB window, and the check bits of the four levels (RFC 1950, section 2.2).
    "deflate": re.compile(rb"\x78[\x01\x5e\x9c\xda]"),
}
#: Two bytes that text can begin with too ("x^"): believed only if something comes out.
_WEAK_MAGIC = frozenset({"deflate"})
#: Encodings without a magic number, and the names that hint at them.
_UNMARKED = {"br": "br", "raw-deflate": "deflate"}
_DECODERS: dict[str, Decoder] = {
    "gzip": lambda body, step: _zlib_pieces(body, step, 31, _MAGIC["gzip"]),
    "zstd": _zstd_pieces,
    "deflate": lambda body, step: _zlib_pieces(body, step, 15),
    "br": _brotli_pieces,
    "raw-deflate": lambda body, step: _zlib_pieces(body, step, -15),
}
