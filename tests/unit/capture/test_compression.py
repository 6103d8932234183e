"""Compressed bodies are told by content, bounded, and read as far as they go."""

from __future__ import annotations

import gzip
import json
import os
import zlib

import brotli
import pytest
import zstandard

from headrace.capture.body import read_body
from headrace.capture.compression import decompress
from headrace.errors import FramingError

EVENTS = [{"n": n, "text": f"word {n * 7919 % 1000}"} for n in range(400)]
BODY = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS).encode()


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw-deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("hint", [None, "the right one", "gzip", "identity", "br"])
def test_the_content_tells_the_encoding_whatever_the_header_says(name: str, hint: str | None) -> None:
    header = name.removeprefix("raw-") if hint == "the right one" else hint
    plain = decompress(ENCODERS[name](BODY), header)
    assert plain.data == BODY and plain.encodings == (name,) and not plain.truncated


@pytest.mark.parametrize("hint", ["gzip", "br", "deflate", "zstd"])
def test_a_body_that_a_gateway_already_opened_stays(hint: str) -> None:
    for body in (BODY, b'{"a": 1}', b"[]", b" {}", b"<html>", b"", b"x^2 is a square", "žluťoučký".encode()):
        plain = decompress(body, hint)
        assert plain.data == body and plain.encodings == () and not plain.truncated


def test_encodings_one_inside_another() -> None:
    both = brotli.compress(gzip.compress(BODY))
    assert decompress(both, "gzip, br").encodings == ("br", "gzip")
    assert decompress(both).data == BODY
    assert decompress(gzip.compress(zstandard.compress(BODY))).encodings == ("gzip", "zstd")


def test_concatenated_members_and_frames() -> None:
    half = len(BODY) // 2
    assert decompress(gzip.compress(BODY[:half]) + gzip.compress(BODY[half:])).data == BODY
    assert decompress(gzip.compress(BODY) + b"\0" * 512).data == BODY
    assert decompress(zstandard.compress(BODY[:half]) + zstandard.compress(BODY[half:])).data == BODY


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw-deflate", "br"])
def test_a_truncated_stream_gives_what_was_there(name: str) -> None:
    compressed = ENCODERS[name](BODY)
    plain = decompress(compressed[: len(compressed) * 3 // 4], name.removeprefix("raw-"))
    assert plain.truncated and BODY.startswith(plain.data) and len(plain.data) > len(BODY) // 3
    framed = read_body(compressed[: len(compressed) * 3 // 4], name.removeprefix("raw-"))
    assert framed.truncated and framed.values == EVENTS[: len(framed.values)] and len(framed.values) > 100


def test_a_truncated_zstd_stream_gives_its_whole_blocks() -> None:
    compressor = zstandard.ZstdCompressor().compressobj()
    blocks = compressor.compress(BODY) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    rest = compressor.compress(BODY) + compressor.flush()
    plain = decompress(blocks + rest[: len(rest) // 2])
    assert plain.truncated and plain.data == BODY


def test_a_damaged_stream_gives_what_came_before() -> None:
    compressed = bytearray(gzip.compress(BODY))
    middle = len(compressed) // 2
    compressed[middle : middle + 200] = b"\xff" * 200
    plain = decompress(bytes(compressed))
    assert plain.truncated and len(plain.data) > len(BODY) // 4
    assert plain.data[: len(BODY) // 4] == BODY[: len(BODY) // 4]


@pytest.mark.parametrize("name", ENCODERS)
def test_a_bomb_is_refused(name: str) -> None:
    bomb = ENCODERS[name](b"[" + b" " * 30_000_000 + b"]")
    with pytest.raises(FramingError) as caught:
        decompress(bomb, name.removeprefix("raw-"), max_bytes=10_000_000)
    assert caught.value.code == "body_too_large"
    with pytest.raises(FramingError) as caught:
        decompress(bomb, name.removeprefix("raw-"), max_ratio=100)
    assert caught.value.code == "body_too_large"


def test_a_bomb_inside_a_bomb_is_refused() -> None:
    bomb = gzip.compress(gzip.compress(gzip.compress(b" " * 50_000_000)))
    with pytest.raises(FramingError) as caught:
        decompress(bomb)
    assert caught.value.code == "body_too_large"


def test_a_plain_body_over_the_limit_is_refused() -> None:
    with pytest.raises(FramingError) as caught:
        decompress(b"{" + b" " * 1000 + b"}", max_bytes=100)
    assert caught.value.code == "body_too_large"


def test_small_bodies_may_compress_well() -> None:
    assert decompress(gzip.compress(b"[" + b" " * 500_000 + b"]")).data.strip(b"[] ") == b""


def test_a_compressed_body_of_which_nothing_is_left_is_an_error_not_an_empty_body() -> None:
    with pytest.raises(FramingError):
        read_body(gzip.compress(os.urandom(64))[:11])


def test_random_bytes_are_no_compressed_body() -> None:
    noise = bytes(range(128, 256)) * 3
    assert decompress(noise).data == noise
