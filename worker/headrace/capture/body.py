"""A captured body -> its events: compression undone, then cut by its own form."""

from __future__ import annotations

from headrace.capture.compression import DEFAULT_MAX_BYTES, DEFAULT_MAX_RATIO, decompress
from headrace.capture.framing import Framed, frame
from headrace.errors import FramingError


def read_body(
    payload: bytes,
    content_encoding: str | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_ratio: int = DEFAULT_MAX_RATIO,
) -> Framed:
    """Decompress and frame; raises FramingError (`body_too_large`, `bad_body`).

    content_encoding: the header's value, a hint only (see `compression`). The slices of a stream go through
    `framing.join_pieces` first.
    """
    plain = decompress(payload, content_encoding, max_bytes=max_bytes, max_ratio=max_ratio)
    if plain.truncated and not plain.data:
        raise FramingError(
            f"the {plain.encodings[-1]} body is cut off or damaged before anything in it can be read",
            fix="capture the whole body",
        )
    framed = frame(plain.data)
    framed.truncated = framed.truncated or plain.truncated
    return framed
