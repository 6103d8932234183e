"""The readers of ../shared yield whole exchanges when it is there and nothing when it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import shared as reader


def test_absent_folder_yields_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader, "_BESIDE_CHECKOUT", tmp_path)
    assert reader.shared_folder() is None
    assert list(reader.corpus("openai.chat")) == []
    assert list(reader.traps()) == []


def test_lines_are_cut_at_newlines_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "openai.chat.jsonl").write_text('{"id":"a\u2028b"}\n\n{"id":"c"}\n', encoding="utf-8")
    monkeypatch.setattr(reader, "_BESIDE_CHECKOUT", tmp_path)
    assert [one["id"] for one in reader.corpus("openai.chat")] == ["a\u2028b", "c"]


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no such protocol 'openai\.chats'"):
        list(reader.corpus("openai.chats"))


def test_present_folder_yields_exchanges_of_every_protocol(shared: Path | None) -> None:
    for protocol in reader.PROTOCOLS:
        exchanges = list(reader.corpus(protocol))
        assert bool(exchanges) == (shared is not None)
        assert all(exchange["protocol"] == protocol for exchange in exchanges)
