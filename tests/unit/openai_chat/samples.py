"""Small chat completion bodies and streams, one of each form. Ours, not recorded."""

from __future__ import annotations

from typing import Any

EPHEMERAL = {"type": "ephemeral", "ttl": "5m"}

#: Content parts: the catalogue's (section 2.2) and the dialects'.
PARTS: dict[str, Any] = {
    "text": {"type": "text", "text": "hello"},
    "text, cached by Anthropic's word": {"type": "text", "text": "hello", "cache_control": EPHEMERAL},
    "text, cached by OpenAI's word": {"type": "text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
    "image_url": {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
    "image_url with data": {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    "image_url as a string": {"type": "image_url", "image_url": "data:image/jpeg;base64,BBBB"},
    "input_audio": {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    "input_audio as a string": {"type": "input_audio", "input_audio": "https://example.org/a.mp3"},
    "file with data": {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}},
    "file with bare data": {"type": "file", "file": {"filename": "a.txt", "file_data": "aGk="}},
    "file by id": {"type": "file", "file": {"file_id": "file-1"}},
    "refusal": {"type": "refusal", "refusal": "No."},
    "video_url": {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
    "audio_url": {"type": "audio_url", "audio_url": {"url": "https://example.org/a.ogg"}},
    "file_url": {"type": "file_url", "file_url": {"url": "https://example.org/a.doc"}},
    "document_url": {"type": "document_url", "document_url": "https://example.org/a.pdf", "document_name": "a.pdf"},
    "thinking": {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True},
    "thinking in two": {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m"}]},
    "thinking as a string": {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    "redacted_thinking": {"type": "redacted_thinking", "data": "b3BhcXVl"},
    "reference": {"type": "reference", "reference_ids": [0, 2]},
}

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
CALLS: dict[str, Any] = {
    "function": CALL,
    "custom": {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}},
    "without type": {"id": "call_3", "function": {"name": "f", "arguments": "{}"}, "index": 0},
    "without id": {"type": "function", "function": {"name": "f", "arguments": "{}"}},
    "blank id": {"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    "blank arguments": {"id": "call_4", "type": "function", "function": {"name": "f", "arguments": ""}},
    "null arguments": {"id": "call_5", "type": "function", "function": {"name": "f", "arguments": None}},
    "no arguments": {"id": "call_6", "type": "function", "function": {"name": "f"}},
    "arguments as an object": {"id": "call_7", "type": "function", "function": {"name": "f", "arguments": {"a": [1]}}},
    "arguments as an empty object": {"id": "call_7", "type": "function", "function": {"name": "f", "arguments": {}}},
    "broken arguments": {"id": "call_8", "type": "function", "function": {"name": "f", "arguments": '{"a"'}},
    "builtin_function": {
        "id": "call_9",
        "type": "builtin_function",
        "function": {"name": "$search", "arguments": "{}"},
    },
    "signed by Gemini": {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}},
    "signed by Gemini, behind LiteLLM": {**CALL, "provider_specific_fields": {"thought_signature": "c2ln", "new": 1}},
    "signed by Gemini, in the function": {
        "id": "call_1",
        "type": "function",
        "function": {**CALL["function"], "provider_specific_fields": {"thought_signature": "c2ln"}},
        "provider_specific_fields": {"thought_signature": "c2ln"},
    },
    "both objects": {**CALL, "custom": {"name": "", "input": ""}},
}

DETAILS: dict[str, Any] = {
    "reasoning.summary": {"type": "reasoning.summary", "summary": "Plan", "format": "openai-responses-v1", "index": 0},
    "reasoning.text": {"type": "reasoning.text", "text": "Plan", "signature": "c2ln", "id": "r1", "index": 0},
    "reasoning.encrypted": {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "index": 0},
}

#: Claude's thinking as LiteLLM passes it on.
BLOCKS: list[Any] = [
    {"type": "thinking", "thinking": "Hm. ", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZW5j"},
    {"type": "thinking", "thinking": "So.", "signature": "c2lnMg=="},
]
URL_CITATION = {
    "type": "url_citation",
    "url_citation": {"url": "https://example.org", "title": "T", "start_index": 0, "end_index": 5},
}
ANNOTATIONS: dict[str, Any] = {
    "url_citation": URL_CITATION,
    "url_citation, flat": {"type": "url_citation", "url": "https://example.org", "title": "T"},
    "file": {"type": "file", "file": {"hash": "ab", "name": "a.pdf", "content": [{"type": "text", "text": "x"}]}},
}

EXECUTED = {
    "index": 0,
    "type": "search",
    "arguments": '{"query":"Oslo"}',
    "output": "sunny",
    "search_results": {"results": [{"url": "https://example.org"}]},
}

ASSISTANTS: dict[str, Any] = {
    "text": {"role": "assistant", "content": "Hi"},
    "null content": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "no content": {"role": "assistant", "tool_calls": [CALL]},
    "blank content": {"role": "assistant", "content": "", "tool_calls": [CALL]},
    "empty list": {"role": "assistant", "content": [], "tool_calls": [CALL], "prefix": False},
    "content list": {"role": "assistant", "content": [PARTS["thinking"], PARTS["text"], PARTS["refusal"]]},
    "all calls": {"role": "assistant", "content": "Go", "tool_calls": list(CALLS.values())},
    "no calls": {"role": "assistant", "content": "Hi", "tool_calls": [], "name": None},
    "function_call": {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    "refusal": {"role": "assistant", "content": None, "refusal": "No."},
    "audio": {"role": "assistant", "audio": {"id": "audio_1"}},
    "reasoning_content": {"role": "assistant", "reasoning_content": "Hm.", "content": "Hi"},
    "reasoning": {"role": "assistant", "reasoning": "Hm.", "content": "Hi"},
    "reasoning_details": {"role": "assistant", "reasoning_details": list(DETAILS.values()), "content": "Hi"},
    "reasoning three times": {
        "role": "assistant",
        "reasoning_content": "Plan",
        "reasoning": "Plan",
        "reasoning_details": [DETAILS["reasoning.summary"]],
        "content": "Hi",
    },
    "two different reasonings": {"role": "assistant", "reasoning": "A", "reasoning_content": "B", "content": "Hi"},
    "reasoning beside encrypted": {
        "role": "assistant",
        "reasoning": "Hm.",
        "reasoning_details": [DETAILS["reasoning.encrypted"]],
        "content": "Hi",
    },
    "thinking_blocks": {"role": "assistant", "thinking_blocks": BLOCKS, "content": "Hi"},
    "thinking_blocks and the same again": {
        "role": "assistant",
        "reasoning_content": "Hm. So.",
        "thinking_blocks": BLOCKS,
        "content": "Hi",
    },
    "redacted thinking_blocks beside a string": {
        "role": "assistant",
        "reasoning_content": "Hm.",
        "thinking_blocks": BLOCKS[1:2],
        "content": None,
    },
    "two lists of reasoning with text": {
        "role": "assistant",
        "reasoning_details": [DETAILS["reasoning.summary"]],
        "thinking_blocks": BLOCKS,
        "content": "Hi",
    },
    "annotations": {"role": "assistant", "content": "Hello", "annotations": list(ANNOTATIONS.values())},
    "annotations without text": {"role": "assistant", "content": None, "annotations": [URL_CITATION]},
    "images": {"role": "assistant", "content": "Here", "images": [{**PARTS["image_url"], "index": 0}]},
    "executed_tools": {"role": "assistant", "content": "Sunny", "executed_tools": [EXECUTED]},
    "signed by Gemini": {
        "role": "assistant",
        "content": "Hi",
        "thought_signature": "c2ln",
        "extra_content": {"google": {"thought": True, "thought_signature": "c2ln"}},
    },
    "signed by Gemini, with calls": {
        "role": "assistant",
        "tool_calls": [CALL],
        "extra_content": {"google": {"thought_signature": "c2ln"}},
    },
    "signed and silent": {"role": "assistant", "extra_content": {"google": {"thought_signature": "c2ln"}}},
    "Snowflake's blanks": {
        "role": "assistant",
        "content": "Hi",
        "refusal": "",
        "annotations": None,
        "audio": {"data": "", "expires_at": 0, "id": "", "transcript": ""},
        "function_call": {"name": "", "arguments": ""},
        "tool_calls": None,
    },
}

TOOL_MESSAGES: dict[str, Any] = {
    "text": {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    "blank": {"role": "tool", "tool_call_id": "call_1", "content": ""},
    "null": {"role": "tool", "tool_call_id": "call_1", "content": None},
    "absent": {"role": "tool", "tool_call_id": "call_1"},
    "named": {"role": "tool", "tool_call_id": "call_1", "name": "get_weather", "content": "sunny"},
    "list": {"role": "tool", "tool_call_id": "call_1", "content": [*PARTS.values(), {"type": "new"}, None]},
    "cached": {"role": "tool", "tool_call_id": "call_1", "content": [PARTS["text, cached by Anthropic's word"]]},
    "without id": {"role": "tool", "name": "f", "content": "x"},
    "named as Ollama does": {"role": "tool", "tool_name": "f", "content": "x"},
    "named twice": {"role": "tool", "name": "f", "tool_name": "g", "content": "x"},
    "function": {"role": "function", "name": "f", "content": "x"},
}

TOOLS: dict[str, Any] = {
    "function": {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
    },
    "function, cached": {"type": "function", "function": {"name": "g"}, "cache_control": EPHEMERAL},
    "function, flat": {"type": "function", "name": "i", "description": "d", "parameters": {"type": "object"}},
    "function without type": {"function": {"name": "h", "description": "", "parameters": {}}},
    "custom": {"type": "custom", "custom": {"name": "shell", "description": "d", "format": {"type": "text"}}},
    "custom with a grammar": {
        "type": "custom",
        "custom": {
            "name": "calc",
            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a/"}},
        },
    },
    "openrouter:web_search": {"type": "openrouter:web_search", "parameters": {"max_uses": 1}},
    "browser_search": {"type": "browser_search"},
    "web_search": {"type": "web_search", "web_search": {"enable": True}},
    "mcp": {"type": "mcp", "server_label": "docs", "server_url": "https://example.org"},
}
TOOL_CHOICES: dict[str, Any] = {
    "none": "none",
    "auto": "auto",
    "required": "required",
    "any": "any",
    "function": {"type": "function", "function": {"name": "f"}},
    "custom": {"type": "custom", "custom": {"name": "shell"}},
    "allowed_tools": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
    },
    "unknown word": "whenever",
    "unknown form": {"type": "new", "x": 1},
}

#: Every setting of the catalogue's section 2.1 with a value, and what dialects call theirs.
SETTINGS: dict[str, Any] = {
    "stream": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "parallel_tool_calls": False,
    "n": 2,
    "stop": ["END"],
    "max_completion_tokens": 100,
    "max_tokens": 90,
    "temperature": 1,
    "top_p": 0.5,
    "presence_penalty": 0.1,
    "frequency_penalty": -0.1,
    "seed": 7,
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 2,
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}},
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "prediction": {"type": "content", "content": "x"},
    "reasoning_effort": "low",
    "verbosity": "low",
    "web_search_options": {"search_context_size": "low"},
    "moderation": {"model": "omni", "policy": {"input": {"mode": "block"}}},
    "metadata": {"team": "a"},
    "store": False,
    "service_tier": "flex",
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "user": "u",
}
DIALECT_SETTINGS: dict[str, Any] = {
    "top_k": 40,
    "random_seed": 7,
    "reasoning": {"effort": "high", "max_tokens": 1000, "exclude": True, "enabled": True, "summary": "auto"},
    "thinking": {"type": "enabled", "budget_tokens": 1024, "clear_thinking": False},
    "enable_thinking": True,
    "thinking_budget": 512,
    "provider": {"order": ["anthropic"]},
    "usage": {"include": True},
    "search_settings": {"include_domains": ["example.org"]},
    "extra_body": {
        "google": {"cached_content": "c", "thinking_config": {"thinking_budget": 1, "include_thoughts": True}}
    },
}

REQUESTS: list[Any] = [
    {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    {
        "model": "m",
        "messages": [
            {"role": "developer", "content": "Be brief.", "name": "boss"},
            {"role": "system", "content": [PARTS["text"]]},
            {"role": "user", "content": list(PARTS.values()), "name": "ann"},
            *ASSISTANTS.values(),
            *TOOL_MESSAGES.values(),
        ],
    },
    {"model": "m", "messages": [], "tools": list(TOOLS.values()), **SETTINGS, "tool_choice": "auto"},
    {"model": "m", "messages": [], "tools": [], "stop": "END", **DIALECT_SETTINGS},
    *({"messages": [], "tool_choice": choice} for choice in TOOL_CHOICES.values()),
    {"messages": [], "functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"}},
    {"messages": [], "functions": [], "function_call": "auto"},
]

USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 20,
    "total_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1, "audio_tokens": 2, "image_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 5,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
LOGPROBS: dict[str, Any] = {
    "content": [{"token": "H", "logprob": -0.1, "bytes": [72], "top_logprobs": []}],
    "refusal": None,
}


def response(message: Any, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """A whole response of one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "m-1",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": message}],
        **more,
    }


AUDIO = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1767229200, "transcript": "Hi"}

RESPONSES: list[Any] = [
    *(response(message) for message in ASSISTANTS.values()),
    response({"role": "assistant", "content": None, "audio": AUDIO, "refusal": None, "annotations": []}, usage=USAGE),
    {
        **response({"role": "assistant", "content": "a"}),
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "logprobs": LOGPROBS,
                "message": {"role": "assistant", "content": "a"},
            },
            {"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": "b"}},
        ],
    },
    {
        **response({"role": "assistant", "content": "a"}, service_tier="default", system_fingerprint=None),
        "moderation": {"input": {"type": "moderation_results", "model": "omni", "results": []}, "output": None},
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
        "metadata": {"a": "b"},
    },
    {
        **response(None),
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "native_finish_reason": "STOP",
                "stop_reason": "END",
                "content_filter_results": {"hate": {"filtered": False}},
                "message": {"role": "assistant", "content": "Hi"},
            }
        ],
        "provider": "Azure",
        "usage": {**USAGE, "cost": 0.1, "is_byok": False},
    },
    {**response({"role": "assistant", "content": "[1]"}), "citations": ["https://example.org"], "search_results": []},
    {**response({"role": "assistant", "content": "Hi"}), "x_groq": {"id": "req_1", "seed": 3}, "usage_breakdown": None},
    {"id": "cmpl-1", "object": "text_completion", "choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]},
    {"id": "c", "choices": [{"index": 0, "text": "Hi", "message": {"role": "assistant", "content": "Hi"}}]},
    {
        "id": "c",
        "choices": [{"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "down"}, "message": {}}],
    },
    {"id": "c", "object": "chat.completion", "choices": [], "usage": {}},
    {"id": "c", "object": "chat.completion", "choices": None, "usage": None},
]

ERRORS: dict[str, Any] = {
    "OpenAI": {"error": {"message": "bad", "type": "invalid_request_error", "param": "messages[0]", "code": None}},
    "code as a number": {"error": {"message": "slow down", "code": 429, "metadata": {"raw": "x"}}, "user_id": "u"},
    "Groq": {"error": {"message": "bad", "code": "tool_use_failed", "failed_generation": "{", "status_code": 400}},
    "text": {"error": "bad"},
    "value": {"error": ["bad", 1]},
    "FastAPI, text": {"detail": "Not Found"},
    "FastAPI, list": {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]},
    "message": {"message": "bad", "type": "invalid", "code": "1"},
    "Mistral": {"object": "error", "message": "bad", "type": "invalid_request_error", "param": None, "code": None},
    "Alibaba": {"code": "InvalidApiKey", "message": "bad", "request_id": "r-1"},
    "empty": {"error": {}},
}


def chunk(delta: Any = None, finish: Any = None, *, index: int = 0, **more: Any) -> dict[str, Any]:
    """A chunk of one choice; without a delta, of none."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "m-1",
        "choices": [] if delta is None else [choice],
        **more,
    }


def stream(*deltas: Any, finish: Any = "stop", done: bool = True) -> list[Any]:
    """The chunks of one choice, a finish chunk and the terminator."""
    ends: list[Any] = [] if finish is None else [chunk({}, finish)]
    return [*(chunk(delta) for delta in deltas), *ends, *(["[DONE]"] if done else [])]


def call_delta(index: Any = None, call_id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> Any:
    """A delta of one tool call fragment; what is None is absent."""
    fragment: dict[str, Any] = {**more}
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    for key, value in (("index", index), ("id", call_id), ("function", function or None)):
        if value is not None:
            fragment[key] = value
    return {"tool_calls": [fragment]}
