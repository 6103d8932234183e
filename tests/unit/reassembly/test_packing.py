"""Fragments as a store holds them: small even when they hold one piece, and readable for ever."""

from __future__ import annotations

import hashlib
from importlib import resources

import msgspec
import pytest
import zstandard

from headrace.capture.model import Http
from headrace.reassembly.pieces import CallFacts, Fragment, Piece, pack, unpack

#: A shipped dictionary never changes: states may still be held in it.
SHIPPED = {"1.zdict": "c84dcca83a556dd0a8e695f1d283ef5a53895202ec0e3ce4fb752b9ce8ba723e"}


def fragment(events: list[bytes]) -> Fragment:
    headers = {"content-type": "text/event-stream", "x-request-id": "req_1"}
    http = Http(method="POST", url="https://api.openai.com/v1/chat/completions", status=200, headers=headers)
    pieces = [Piece("raw", 3, 40 + seq, 1_800_000, seq, "stream", "json", each) for seq, each in enumerate(events)]
    return Fragment(CallFacts(call_id="call-1", protocol="openai.chat", http=http), tuple(pieces))


ONE = fragment(
    [b'{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}']
)


@pytest.mark.parametrize("whole", [ONE, fragment([]), fragment([b"\xff\x00" * 40, b""])])
def test_what_was_packed_comes_back(whole: Fragment) -> None:
    assert unpack(pack(whole)) == whole


def test_a_fragment_of_one_piece_shrinks_to_less_than_half() -> None:
    raw = msgspec.msgpack.encode(ONE)
    assert len(pack(ONE)) < 0.5 * len(raw)
    assert len(zstandard.compress(raw, 1)) > 0.8 * len(raw)


def test_a_fragment_of_a_newer_worker_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError, match="newer worker"):
        unpack(b"\xfe" + pack(ONE)[1:])


def test_shipped_dictionaries_are_as_they_were() -> None:
    folder = resources.files("headrace.reassembly") / "dictionaries"
    hashes = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}
    assert hashes == SHIPPED
