"""Every block of the catalogue: what it becomes, and that it is written back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import loads
from headrace.protocols.anthropic_messages.blocks import read_blocks, write_block
from tests.unit.anthropic_messages.samples import BLOCKS, CITATIONS

#: Sample -> (part type, path of a named field, what it holds).
CARRIED: dict[str, tuple[str, str, Any]] = {
    "text": ("text", "text", "hello"),
    "text cached": ("text", "cache_control", '{"type":"ephemeral","ttl":"5m"}'),
    "text cited": ("text", "continuation", ["citations[].encrypted_index"]),
    "text uncited": ("text", "text", ""),
    "image base64": ("media", "media.mime_type", "image/png"),
    "image url": ("media", "media.uri", "https://example.org/a.png"),
    "image file": ("media", "media.file_id", "file_1"),
    "document base64": ("media", "media.metadata", '{"context":"about a","citations":{"enabled":true}}'),
    "document text": ("media", "media.text", "plain"),
    "document content": ("media", "media.kind", "document"),
    "document content string": ("media", "media.metadata", '{"source":{"content":"one"}}'),
    "document url": ("media", "media.uri", "https://example.org/a.pdf"),
    "document file": ("media", "media.file_id", "file_1"),
    "search_result": ("data", "wire_type", "search_result"),
    "thinking": ("reasoning", "reasoning.signature", "SIG"),
    "redacted_thinking": ("reasoning", "reasoning", {"redacted": True, "encrypted": "b3BhcXVl"}),
    "tool_use": ("tool_call", "tool_call.arguments", '{"x":1}'),
    "tool_use called by a program": ("tool_call", "continuation", ["caller.tool_id"]),
    "tool_use of a toolset": ("tool_call", "tool_call.kind", "computer"),
    "tool_result": ("tool_result", "tool_result.content", [{"type": "text", "text": "ok"}]),
    "tool_result of blocks": ("tool_result", "tool_result.is_error", True),
    "tool_result empty": ("tool_result", "tool_result.tool_call_id", "toolu_1"),
    "tool_result absent": ("tool_result", "tool_result.kind", "function"),
    "server_tool_use": ("tool_call", "tool_call.kind", "server"),
    "mcp_tool_use": ("tool_call", "tool_call.server_name", "wiki"),
    "mcp_tool_result": ("tool_result", "tool_result.kind", "mcp"),
    "web_search_tool_result": ("tool_result", "continuation", ["caller.tool_id", "content[].encrypted_content"]),
    "web_search_tool_result error": ("tool_result", "tool_result.error_code", "max_uses_exceeded"),
    "web_fetch_tool_result": ("tool_result", "tool_result.kind", "server"),
    "web_fetch_tool_result error": ("tool_result", "tool_result.error_code", "url_too_long"),
    "code_execution_tool_result": ("tool_result", "tool_result.wire_type", "code_execution_tool_result"),
    "code_execution_tool_result encrypted": ("tool_result", "continuation", ["content.encrypted_stdout"]),
    "code_execution_tool_result error": ("tool_result", "tool_result.is_error", True),
    "bash_code_execution_tool_result": ("tool_result", "tool_result.kind", "server"),
    "bash_code_execution_tool_result error": ("tool_result", "tool_result.error_code", "output_file_too_large"),
    "text_editor view": ("tool_result", "tool_result.tool_call_id", "srvtoolu_1"),
    "text_editor create": ("tool_result", "tool_result.kind", "server"),
    "text_editor str_replace": ("tool_result", "tool_result.kind", "server"),
    "text_editor error": ("tool_result", "tool_result.error_code", "file_not_found"),
    "tool_search_tool_result": ("tool_result", "tool_result.kind", "server"),
    "tool_search_tool_result error": ("tool_result", "tool_result.is_error", True),
    "advisor_tool_result": ("tool_result", "tool_result.kind", "server"),
    "advisor_tool_result redacted": ("tool_result", "continuation", ["content.encrypted_content"]),
    "advisor_tool_result error": ("tool_result", "tool_result.error_code", "overloaded"),
    "container_upload": ("media", "media.file_id", "file_1"),
    "compaction": ("data", "continuation", ["encrypted_content", "signature", "tool_changes"]),
    "compaction failed": ("data", "data", '{"content":null}'),
    "fallback": ("data", "continuation", ["from", "to", "trigger"]),
    "mcp_tool_listing": ("data", "continuation", ["mcp_server_name", "tools"]),
    "tool_addition": ("data", "wire_type", "tool_addition"),
    "tool_removal": ("data", "data", '{"tool":{"type":"mcp_tool_reference","server_name":"wiki","name":"ask"}}'),
}


def reading() -> Reading:
    return Reading("call-1", "request")


def read(block: Any) -> Any:
    return read_blocks([block], reading(), 0)[0]


def at(shape: Any, path: str) -> Any:
    for name in path.split("."):
        shape = shape[name]
    return shape


def test_every_sample_says_how_it_is_carried() -> None:
    assert CARRIED.keys() == BLOCKS.keys()


@pytest.mark.parametrize("name", BLOCKS)
def test_block_is_carried_in_named_fields_and_written_back(name: str) -> None:
    known = reading()
    part = read_blocks([BLOCKS[name]], known, 0)[0]
    kind, path, value = CARRIED[name]
    assert part["type"] == kind
    assert at(part, path) == value
    assert "extras" not in part
    assert not known.unknown
    assert write_block(part) == BLOCKS[name]


@pytest.mark.parametrize("kind", CITATIONS)
def test_citation_has_its_span_and_unit(kind: str) -> None:
    part = read({"type": "text", "text": "x", "citations": [CITATIONS[kind]]})
    citation = part["citations"][0]
    units = {"char_location": "char", "page_location": "page", "web_search_result_location": None}
    assert citation["type"] == kind
    assert citation["cited_text"] == "Rivers run."
    assert citation.get("unit") == units.get(kind, "block")
    assert ("start_index" in citation) == (kind != "web_search_result_location")
    assert "extras" not in citation


def test_odd_citation_does_not_cost_its_siblings() -> None:
    block = {"type": "text", "text": "x", "citations": [7, CITATIONS["page_location"], {"type": "new", "at": 3}]}
    known = reading()
    part = read_blocks([block], known, 0)[0]
    assert [citation.get("type") for citation in part["citations"]] == [None, "page_location", "new"]
    assert known.unknown == {("citation", "(none)"): 1, ("citation", "new"): 1}
    assert write_block(part) == block


@pytest.mark.parametrize("block", [{"type": "connector_text", "x": 1}, {"text": "no type"}, 5, None, "text", []])
def test_unknown_block_is_kept_raw_in_place_and_counted(block: Any) -> None:
    known = reading()
    parts = read_blocks([BLOCKS["text"], block, BLOCKS["thinking"]], known, 0)
    assert [part["type"] for part in parts] == ["text", "unknown", "reasoning"]
    assert loads(parts[1]["raw"]) == block
    assert sum(known.unknown.values()) == 1
    assert write_block(parts[1]) == block


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": 5, "citations": {}, "new": [None]},
        {"type": "text"},
        {"type": "thinking", "thinking": None, "signature": []},
        {"type": "tool_use", "id": 5, "name": None, "input": "x"},
        {"type": "tool_use", "id": "toolu_1", "name": "get", "input": None},
        {"type": "tool_result", "tool_use_id": None, "content": 7, "is_error": "yes"},
        {"type": "tool_result", "tool_use_id": "t", "content": {"type": "text", "text": "bare"}},
        {"type": "tool_result", "tool_use_id": "t", "content": ["bare", {"type": "new"}, {"type": "text"}, None]},
        {"type": "image", "source": "data:…", "cache_control": None},
        {"type": "image"},
        {"type": "document", "source": {"type": "cloud", "bucket": "b"}},
        {"type": "document", "source": {"type": "url"}},
        {"type": "document", "source": {"type": "base64", "data": None}},
        {"type": "text", "text": "half a pair \ud83d"},
        {"type": "compaction", "new": 1, "cache_control": {}},
    ],
)
def test_odd_values_in_known_blocks_come_back(block: dict[str, Any]) -> None:
    assert write_block(read(block)) == block


def test_call_without_an_id_gets_a_stable_one_that_is_not_written() -> None:
    block = {"type": "tool_use", "name": "get", "input": {}}
    first, second = read_blocks([block, block], reading(), 3)
    again = read_blocks([block, block], reading(), 3)
    assert first["tool_call"]["id"] != second["tool_call"]["id"]
    assert [part["tool_call"]["id"] for part in again] == [first["tool_call"]["id"], second["tool_call"]["id"]]
    assert "provider_id" not in first["tool_call"]
    assert write_block(first) == block


def test_calls_with_one_id_stay_two_and_count_among_calls_only() -> None:
    call = BLOCKS["tool_use"]
    parts = read_blocks([BLOCKS["text"], call, BLOCKS["text"], call], reading(), 0)
    calls = [part["tool_call"] for part in parts if part["type"] == "tool_call"]
    assert [call["id"] for call in calls] == ["toolu_1", "toolu_1"]
    assert [call["index"] for call in calls] == [0, 1]


def test_arguments_keep_integers_past_64_bits() -> None:
    block = {"type": "tool_use", "id": "t", "name": "n", "input": {"big": 2**80, "small": -(2**80), "float": 1e300}}
    assert write_block(read(block)) == block


def test_redacted_and_clear_thinking_keep_their_own_place_and_signature() -> None:
    blocks = [
        {"type": "thinking", "thinking": "alpha", "signature": "S1"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "thinking", "thinking": "", "signature": "S2"},
    ]
    parts = read_blocks(blocks, reading(), 0)
    assert [part["continuation"] for part in parts] == [["signature"], ["data"], ["signature"]]
    assert [write_block(part) for part in parts] == blocks
