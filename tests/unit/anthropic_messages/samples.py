"""Small bodies of Anthropic Messages, one of each kind of block, tool and result. Ours, not recorded."""

from __future__ import annotations

from typing import Any

CACHE = {"type": "ephemeral", "ttl": "5m"}
CALLER = {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}

CITATIONS: dict[str, dict[str, Any]] = {
    "char_location": {
        "type": "char_location",
        "cited_text": "Rivers run.",
        "document_index": 0,
        "document_title": "On rivers",
        "start_char_index": 0,
        "end_char_index": 11,
        "file_id": None,
    },
    "page_location": {
        "type": "page_location",
        "cited_text": "Rivers run.",
        "document_index": 1,
        "document_title": None,
        "start_page_number": 2,
        "end_page_number": 3,
    },
    "content_block_location": {
        "type": "content_block_location",
        "cited_text": "Rivers run.",
        "document_index": 0,
        "document_title": "On rivers",
        "start_block_index": 1,
        "end_block_index": 2,
    },
    "web_search_result_location": {
        "type": "web_search_result_location",
        "cited_text": "Rivers run.",
        "url": "https://example.org/rivers",
        "title": "Rivers",
        "encrypted_index": "RU5D",
    },
    "search_result_location": {
        "type": "search_result_location",
        "cited_text": "Rivers run.",
        "source": "wiki",
        "title": "Rivers",
        "search_result_index": 0,
        "start_block_index": 0,
        "end_block_index": 1,
    },
}


def server_result(wire_type: str, content: Any) -> dict[str, Any]:
    """A server tool's result block."""
    return {"type": wire_type, "tool_use_id": "srvtoolu_1", "content": content}


def _execution(name: str) -> dict[str, Any]:
    output = {"type": f"{name}_output", "file_id": "file_1"}
    return {"type": f"{name}_result", "stdout": "1\n", "stderr": "", "return_code": 0, "content": [output]}


_EDITOR = "text_editor_code_execution"
_REFERENCE = {"type": "tool_reference", "tool_name": "get"}
_PAGE = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "page"},
    "title": "Page",
}

#: Blocks, by a name that says what they show. Every wire type of the catalogue has at least one.
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "hello"},
    "text cached": {"type": "text", "text": "hello", "cache_control": CACHE},
    "text cited": {"type": "text", "text": "hello", "citations": list(CITATIONS.values())},
    "text uncited": {"type": "text", "text": "", "citations": None},
    "image base64": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
        "transformations": {"oversized_image": "downsize"},
        "cache_control": CACHE,
    },
    "image url": {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    "image file": {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    "document base64": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
        "title": "A",
        "context": "about a",
        "citations": {"enabled": True},
        "cache_control": CACHE,
    },
    "document text": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "plain"},
    },
    "document content": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "one"}]},
        "title": None,
    },
    "document content string": {"type": "document", "source": {"type": "content", "content": "one"}},
    "document url": {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
    "document file": {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
    "search_result": {
        "type": "search_result",
        "source": "wiki",
        "title": "Rivers",
        "content": [{"type": "text", "text": "Rivers run."}],
        "citations": {"enabled": True},
        "cache_control": CACHE,
    },
    "thinking": {"type": "thinking", "thinking": "hm", "signature": "SIG"},
    "redacted_thinking": {"type": "redacted_thinking", "data": "b3BhcXVl"},
    "tool_use": {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"x": 1}},
    "tool_use called by a program": {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "get",
        "input": {},
        "caller": CALLER,
        "cache_control": CACHE,
    },
    "tool_use of a toolset": {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "screenshot",
        "input": {},
        "toolset_name": "computer",
    },
    "tool_result": {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
    "tool_result of blocks": {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "is_error": True,
        "content": [
            {"type": "text", "text": "ok"},
            {"type": "text", "text": "ok", "cache_control": CACHE},
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "A"},
            {"type": "search_result", "source": "wiki", "title": "R", "content": []},
            {**_REFERENCE, "cache_control": CACHE},
            {
                "type": "browser_state",
                "tabs": [{"tab_id": "1", "title": "A", "url": "https://example.org", "active": True}],
                "state_changes": [{"type": "tab_opened", "tab_id": "1"}],
            },
        ],
        "toolset_name": "browser",
        "cache_control": CACHE,
    },
    "tool_result empty": {"type": "tool_result", "tool_use_id": "toolu_1", "content": []},
    "tool_result absent": {"type": "tool_result", "tool_use_id": "toolu_1"},
    "server_tool_use": {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "rivers"},
        "caller": {"type": "direct"},
    },
    "mcp_tool_use": {
        "type": "mcp_tool_use",
        "id": "mcptoolu_1",
        "name": "ask",
        "server_name": "wiki",
        "input": {"q": "rivers"},
    },
    "mcp_tool_result": {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "run"}],
    },
    "web_search_tool_result": {
        **server_result(
            "web_search_tool_result",
            [
                {
                    "type": "web_search_result",
                    "url": "https://example.org",
                    "title": "Rivers",
                    "encrypted_content": "RU5D",
                    "page_age": None,
                }
            ],
        ),
        "caller": CALLER,
    },
    "web_search_tool_result error": server_result(
        "web_search_tool_result", {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    ),
    "web_fetch_tool_result": server_result(
        "web_fetch_tool_result",
        {"type": "web_fetch_result", "url": "https://example.org", "content": _PAGE, "retrieved_at": None},
    ),
    "web_fetch_tool_result error": server_result(
        "web_fetch_tool_result", {"type": "web_fetch_tool_result_error", "error_code": "url_too_long"}
    ),
    "code_execution_tool_result": server_result("code_execution_tool_result", _execution("code_execution")),
    "code_execution_tool_result encrypted": server_result(
        "code_execution_tool_result",
        {
            "type": "encrypted_code_execution_result",
            "encrypted_stdout": "RU5D",
            "stderr": "",
            "return_code": 0,
            "content": [],
        },
    ),
    "code_execution_tool_result error": server_result(
        "code_execution_tool_result", {"type": "code_execution_tool_result_error", "error_code": "unavailable"}
    ),
    "bash_code_execution_tool_result": server_result(
        "bash_code_execution_tool_result", _execution("bash_code_execution")
    ),
    "bash_code_execution_tool_result error": server_result(
        "bash_code_execution_tool_result",
        {"type": "bash_code_execution_tool_result_error", "error_code": "output_file_too_large"},
    ),
    "text_editor view": server_result(
        f"{_EDITOR}_tool_result",
        {"type": f"{_EDITOR}_view_result", "content": "a", "file_type": "text", "num_lines": 1, "start_line": 1},
    ),
    "text_editor create": server_result(
        f"{_EDITOR}_tool_result", {"type": f"{_EDITOR}_create_result", "is_file_update": False}
    ),
    "text_editor str_replace": server_result(
        f"{_EDITOR}_tool_result", {"type": f"{_EDITOR}_str_replace_result", "lines": ["-a", "+b"], "old_start": 1}
    ),
    "text_editor error": server_result(
        f"{_EDITOR}_tool_result",
        {"type": f"{_EDITOR}_tool_result_error", "error_code": "file_not_found", "error_message": "no a.txt"},
    ),
    "tool_search_tool_result": server_result(
        "tool_search_tool_result", {"type": "tool_search_tool_search_result", "tool_references": [_REFERENCE]}
    ),
    "tool_search_tool_result error": server_result(
        "tool_search_tool_result", {"type": "tool_search_tool_result_error", "error_code": "unavailable"}
    ),
    "advisor_tool_result": server_result(
        "advisor_tool_result", {"type": "advisor_result", "text": "go on", "stop_reason": "end_turn"}
    ),
    "advisor_tool_result redacted": server_result(
        "advisor_tool_result", {"type": "advisor_redacted_result", "encrypted_content": "RU5D"}
    ),
    "advisor_tool_result error": server_result(
        "advisor_tool_result", {"type": "advisor_tool_result_error", "error_code": "overloaded"}
    ),
    "container_upload": {"type": "container_upload", "file_id": "file_1"},
    "compaction": {
        "type": "compaction",
        "content": "so far",
        "encrypted_content": "RU5D",
        "signature": "SIG",
        "tool_changes": [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "get"}}],
    },
    "compaction failed": {"type": "compaction", "content": None},
    "fallback": {
        "type": "fallback",
        "from": {"model": "a"},
        "to": {"model": "b"},
        "trigger": {"type": "refusal", "category": "cyber"},
    },
    "mcp_tool_listing": {
        "type": "mcp_tool_listing",
        "mcp_server_name": "wiki",
        "tools": [{"name": "ask", "input_schema": {"type": "object"}, "description": "Ask."}],
    },
    "tool_addition": {
        "type": "tool_addition",
        "tool": {"type": "tool_definition", "definition": {"name": "get", "input_schema": {"type": "object"}}},
    },
    "tool_removal": {
        "type": "tool_removal",
        "tool": {"type": "mcp_tool_reference", "server_name": "wiki", "name": "ask"},
    },
}

TOOLS: dict[str, dict[str, Any]] = {
    "function": {
        "name": "get",
        "description": "Get it.",
        "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "strict": True,
        "defer_loading": False,
        "eager_input_streaming": True,
        "input_examples": [{"x": 1}],
        "allowed_callers": ["direct"],
        "cache_control": CACHE,
    },
    "custom": {"type": "custom", "name": "get", "input_schema": {"type": "object"}},
    "bash": {"type": "bash_20250124", "name": "bash"},
    "text editor": {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 9000},
    "memory": {"type": "memory_20250818", "name": "memory"},
    "computer": {
        "type": "computer_20251124",
        "name": "computer",
        "display_width_px": 800,
        "display_height_px": 600,
        "display_number": None,
        "enable_zoom": True,
    },
    "computer toolset": {"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}},
    "browser toolset": {"type": "browser_toolset_20260801"},
    "web search": {
        "type": "web_search_20260318",
        "name": "web_search",
        "allowed_domains": ["example.org"],
        "blocked_domains": None,
        "max_uses": 3,
        "user_location": {"type": "approximate", "city": "Basel"},
        "response_inclusion": "excluded",
    },
    "web fetch": {
        "type": "web_fetch_20260318",
        "name": "web_fetch",
        "citations": {"enabled": True},
        "max_content_tokens": 100,
        "url_sources": {"user_input": {"type": "all"}},
        "use_cache": False,
    },
    "code execution": {"type": "code_execution_20260521", "name": "code_execution"},
    "tool search": {"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"},
    "advisor": {
        "type": "advisor_20260301",
        "name": "advisor",
        "model": "b",
        "max_tokens": 100,
        "caching": CACHE,
    },
    "mcp toolset": {
        "type": "mcp_toolset",
        "mcp_server_name": "wiki",
        "configs": {"ask": {"enabled": True}},
        "default_config": {"defer_loading": True},
        "tools": [{"name": "ask", "input_schema": {"type": "object"}}],
    },
}

#: A request with every setting of the current API and its betas.
REQUEST: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 1024,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": CACHE}],
    "messages": [
        {"role": "user", "content": "How far?"},
        {"role": "assistant", "content": [BLOCKS["thinking"], BLOCKS["text"], BLOCKS["tool_use"]]},
        {"role": "user", "content": [BLOCKS["tool_result"], {"type": "text", "text": "and then?"}]},
        {"role": "system", "content": [BLOCKS["tool_removal"]], "clear_at": "next_user_message"},
    ],
    "tools": [TOOLS["function"], TOOLS["web search"], TOOLS["browser toolset"]],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "stop_sequences": ["END"],
    "stream": True,
    "service_tier": "auto",
    "speed": "fast",
    "inference_geo": "eu",
    "metadata": {"user_id": "u-1"},
    "cache_control": CACHE,
    "thinking": {
        "type": "enabled",
        "budget_tokens": 2048,
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    },
    "output_config": {
        "effort": "high",
        "format": {"type": "json_schema", "schema": {"type": "object"}},
        "task_budget": {"type": "tokens", "total": 5000},
    },
    "container": {"id": "container_1", "skills": [{"type": "anthropic", "skill_id": "pptx"}]},
    "mcp_servers": [{"type": "url", "name": "wiki", "url": "https://example.org/mcp"}],
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 3}}]},
    "compaction": {"type": "summarize"},
    "thread": {"type": "continue", "previous_message_id": "msg_0"},
    "diagnostics": {"previous_message_id": "msg_0"},
    "fallbacks": [{"model": "b"}],
    "fallback_credit_token": {"token": "tok", "mode": "strict"},
    "billing_policy": {"type": "billing_policy"},
    "betas": ["mcp-client-2025-11-20"],
}

USAGE: dict[str, Any] = {
    "input_tokens": 7,
    "cache_creation_input_tokens": 500,
    "cache_read_input_tokens": 9500,
    "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"thinking_tokens": 12},
    "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
    "service_tier": "standard",
    "inference_geo": "global",
    "speed": "standard",
    "iterations": [{"type": "compaction", "input_tokens": 90000, "output_tokens": 10}],
    "fallback_credit": {"status": "redeemed"},
}

RESPONSE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [BLOCKS["thinking"], BLOCKS["text cited"], BLOCKS["tool_use"]],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "usage": USAGE,
    "container": {"id": "container_1", "expires_at": "2026-11-30T10:00:00Z"},
    "context_management": {"applied_edits": []},
    "diagnostics": {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 4}},
    "input_transformations": [{"type": "thinking_dropped", "path": "messages.1", "reason": "model_binding_mismatch"}],
}

ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "no", "details": {"error_code": "thread_not_found"}},
    "request_id": "req_1",
}


def start(**fields: Any) -> dict[str, Any]:
    """A message_start event."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    return {"type": "message_start", "message": {**message, **fields}}


def opened(index: int, block: Any) -> dict[str, Any]:
    """A content_block_start event."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    """A content_block_delta event."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> dict[str, Any]:
    """A content_block_stop event."""
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **usage: Any) -> list[dict[str, Any]]:
    """The two events that end a message."""
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 9, **usage},
        },
        {"type": "message_stop"},
    ]
