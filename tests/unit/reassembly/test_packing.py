"""Fragments as a store holds them: small even when they hold one piece, and readable for ever."""

from __future__ import annotations

import hashlib
from importlib import resources

import msgspec
import pytest
import zstandard

from headrace.capture.model import Http
from headrace.reassembly.facts import CallFacts, Trait
from headrace.reassembly.packing import columns_of, pack, unpack
from headrace.reassembly.pieces import Fragment, Pieces

#: A shipped dictionary never changes: states may still be held in it.
SHIPPED = {"2.zdict": "02b139317bd2a2d1d786a2d43382ca6203eec76dd715d9077123143e1429f65e"}


def fragment(events: list[bytes]) -> Fragment:
    headers = {"content-type": "text/event-stream", "x-request-id": "req_1"}
    http = Http(method="POST", url="https://api.openai.com/v1/chat/completions", status=200, headers=headers)
    pieces, trait = Pieces(), Trait("raw", 3, "stream", "json")
    for seq, event in enumerate(events):
        pieces.add(trait, 40 + seq, 1_800_000, seq, None, event)
    return Fragment(CallFacts(call_id="call-1", protocol="openai.chat", http=http), pieces)


def mixed() -> Fragment:
    """Pieces that differ in all they can."""
    pieces = Pieces()
    pieces.add(Trait("raw", 3, "stream", "json", "client"), 7, 1_000, None, 2_000, b"{}")
    pieces.add(Trait("other", 0, "stream", "bytes"), 0, 3_000, 2**53 - 1, None, b"\xff")
    pieces.add(Trait("raw", 3, "end", "bytes", None, 2**63 - 1, "aborted", "gone"), 8, 1_000, None, None, b"")
    pieces.add(Trait("raw", 3, "stream", "json", "client"), 9, 1_000, None, 2_000, b"[]")
    return Fragment(CallFacts(call_id="call-1"), pieces)


ONE = fragment(
    [b'{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}']
)


@pytest.mark.parametrize("whole", [ONE, fragment([]), fragment([b"\xff\x00" * 40, b""]), mixed()])
def test_what_was_packed_comes_back(whole: Fragment) -> None:
    back = unpack(pack(whole))
    assert back.facts == whole.facts
    for column in ("traits", "offsets", "timestamps", "seqs", "captured", "payloads"):
        assert getattr(back.pieces, column) == getattr(whole.pieces, column)


def test_a_fragment_of_one_piece_shrinks_to_less_than_half() -> None:
    raw = msgspec.msgpack.encode(columns_of(ONE))
    assert len(pack(ONE)) < 0.5 * len(raw)
    assert len(zstandard.compress(raw, 1)) > 0.8 * len(raw)


def test_a_fragment_of_a_newer_worker_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError, match="newer worker"):
        unpack(b"\xfe" + pack(ONE)[1:])


def test_shipped_dictionaries_are_as_they_were() -> None:
    folder = resources.files("headrace.reassembly") / "dictionaries"
    hashes = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}
    assert hashes == SHIPPED
