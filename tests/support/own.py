"""Our own small exchanges, one or two a protocol, in the layout of the shared corpus.

Each shows something a pipeline gets wrong: parallel tool calls whose pieces interleave, signatures, several
choices, a stream that is only an error.
"""

from __future__ import annotations

from typing import Any

_CHAT = "https://api.openai.com/v1/chat/completions"
_MESSAGES = "https://api.anthropic.com/v1/messages"
_RESPONSES = "https://api.openai.com/v1/responses"
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
_INTERACTIONS = "https://generativelanguage.googleapis.com/v1beta/interactions"
_LIVE = "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


def _exchange(name: str, protocol: str, url: str, request: Any, chunks: list[Any], status: int = 200) -> dict[str, Any]:
    return {
        "id": f"own/{name}",
        "protocol": protocol,
        "provider": "own",
        "url": url,
        "request": request,
        "status": status,
        "content_type": "text/event-stream",
        "ndjson_chunks": chunks,
    }


def _chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {
        "id": "chatcmpl-own",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "gpt-own",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def _call(index: int, arguments: str, **opening: Any) -> dict[str, Any]:
    name = opening.pop("name", None)
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"tool_calls": [{"index": index, **opening, "function": function}]}


_HOT = {"role": "user", "content": "Is it hot in Oslo and in Rome?"}

CHAT = _exchange(
    "chat-two-interleaved-calls",
    "openai.chat",
    _CHAT,
    {"model": "gpt-own", "stream": True, "messages": [_HOT]},
    [
        _chunk({"role": "assistant", "content": "Let me look, "}),
        _chunk({"content": "both at once. ☀️"}),
        _chunk(_call(0, "", id="call_oslo", type="function", name="temperature")),
        _chunk(_call(1, '{"ci', id="call_rome", type="function", name="temperature")),
        _chunk(_call(0, '{"city":"Os')),
        _chunk(_call(1, 'ty":"Rome"}')),
        _chunk(_call(0, 'lo"}')),
        _chunk({}, "tool_calls"),
        {
            "id": "chatcmpl-own",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": "gpt-own",
            "choices": [],
            "usage": {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50},
        },
        "[DONE]",
    ],
)

CHAT_TWO_CHOICES = _exchange(
    "chat-two-choices",
    "openai.chat",
    _CHAT,
    {"model": "gpt-own", "n": 2, "stream": True, "messages": [{"role": "user", "content": "Heads or tails?"}]},
    [
        _chunk({"role": "assistant", "content": "He"}),
        _chunk({"role": "assistant", "content": "Ta"}, index=1),
        _chunk({"content": "ads"}),
        _chunk({"content": "ils"}, index=1),
        _chunk({}, "stop", index=1),
        _chunk({}, "stop"),
        "[DONE]",
    ],
)

MESSAGES = _exchange(
    "messages-thinking-and-two-calls",
    "anthropic.messages",
    _MESSAGES,
    {"model": "claude-own", "max_tokens": 100, "stream": True, "messages": [_HOT]},
    [
        {
            "type": "message_start",
            "message": {
                "id": "msg_own",
                "type": "message",
                "role": "assistant",
                "model": "claude-own",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 20, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Two cities."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "toolu_oslo", "name": "temperature", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"city": "Os'},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": 'lo"}'}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "toolu_now", "name": "now", "input": {}},
        },
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 40},
        },
        {"type": "message_stop"},
    ],
)

RESPONSES = _exchange(
    "responses-text-and-call",
    "openai.responses",
    _RESPONSES,
    {"model": "gpt-own", "stream": True, "input": "Is it hot in Oslo?"},
    [
        {"type": kind, "sequence_number": number, **rest}
        for number, (kind, rest) in enumerate(
            [
                (
                    "response.created",
                    {
                        "response": {
                            "id": "resp_own",
                            "object": "response",
                            "created_at": 1790000000,
                            "status": "in_progress",
                            "model": "gpt-own",
                            "output": [],
                        }
                    },
                ),
                (
                    "response.output_item.added",
                    {
                        "output_index": 0,
                        "item": {
                            "type": "function_call",
                            "id": "fc_own",
                            "call_id": "call_oslo",
                            "name": "temperature",
                            "arguments": "",
                            "status": "in_progress",
                        },
                    },
                ),
                (
                    "response.function_call_arguments.delta",
                    {"item_id": "fc_own", "output_index": 0, "delta": '{"city":'},
                ),
                (
                    "response.function_call_arguments.delta",
                    {"item_id": "fc_own", "output_index": 0, "delta": '"Oslo"}'},
                ),
                (
                    "response.output_item.done",
                    {
                        "output_index": 0,
                        "item": {
                            "type": "function_call",
                            "id": "fc_own",
                            "call_id": "call_oslo",
                            "name": "temperature",
                            "arguments": '{"city":"Oslo"}',
                            "status": "completed",
                        },
                    },
                ),
                (
                    "response.completed",
                    {
                        "response": {
                            "id": "resp_own",
                            "object": "response",
                            "created_at": 1790000000,
                            "status": "completed",
                            "model": "gpt-own",
                            "output": [
                                {
                                    "type": "function_call",
                                    "id": "fc_own",
                                    "call_id": "call_oslo",
                                    "name": "temperature",
                                    "arguments": '{"city":"Oslo"}',
                                    "status": "completed",
                                }
                            ],
                            "usage": {"input_tokens": 9, "output_tokens": 12, "total_tokens": 21},
                        }
                    },
                ),
            ]
        )
    ],
)

GEMINI = _exchange(
    "gemini-thought-and-same-call-twice",
    "gemini.generate_content",
    _GEMINI,
    {"contents": [{"role": "user", "parts": [{"text": "Is it hot in Oslo and in Rome?"}]}]},
    [
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "Two cities.", "thought": True}]}, "index": 0}
            ],
            "modelVersion": "gemini-own",
            "responseId": "own",
        },
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {
                                "functionCall": {"name": "temperature", "args": {"city": "Oslo"}},
                                "thoughtSignature": "c2ln",
                            },
                            {"functionCall": {"name": "temperature", "args": {"city": "Rome"}}},
                        ],
                    },
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 14, "totalTokenCount": 23},
            "modelVersion": "gemini-own",
            "responseId": "own",
        },
    ],
)

INTERACTIONS = _exchange(
    "interactions-thought-and-call",
    "gemini.interactions",
    _INTERACTIONS,
    {"model": "gemini-own", "stream": True, "input": "Is it hot in Oslo?"},
    [
        {
            "event_type": "interaction.created",
            "interaction": {"id": "v1_own", "status": "in_progress", "object": "interaction", "model": "gemini-own"},
        },
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2ln"}},
        {"event_type": "step.stop", "index": 0},
        {
            "event_type": "step.start",
            "index": 1,
            "step": {"type": "function_call", "id": "fc_own", "name": "temperature", "arguments": {}},
        },
        {"event_type": "step.delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": '{"city":'}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": '"Oslo"}'}},
        {"event_type": "step.stop", "index": 1},
        {
            "event_type": "interaction.completed",
            "interaction": {
                "id": "v1_own",
                "status": "requires_action",
                "object": "interaction",
                "usage": {
                    "total_input_tokens": 9,
                    "total_output_tokens": 9,
                    "total_thought_tokens": 3,
                    "total_tokens": 21,
                },
            },
        },
    ],
)

LIVE: dict[str, Any] = {
    "id": "own/live-call-over-two-turns",
    "protocol": "gemini.live",
    "provider": "own",
    "url": _LIVE,
    "request": None,
    "status": 101,
    "content_type": "application/json",
    "frames": [
        {
            "from": "client",
            "frame": {"setup": {"model": "models/gemini-own", "generationConfig": {"temperature": 0.5}}},
        },
        {"from": "server", "frame": {"setupComplete": {}}},
        {
            "from": "client",
            "frame": {
                "clientContent": {
                    "turns": [{"role": "user", "parts": [{"text": "Hot in Oslo?"}]}],
                    "turnComplete": True,
                }
            },
        },
        {
            "from": "server",
            "frame": {
                "toolCall": {"functionCalls": [{"id": "fc_own", "name": "temperature", "args": {"city": "Oslo"}}]}
            },
        },
        {
            "from": "client",
            "frame": {
                "toolResponse": {
                    "functionResponses": [{"id": "fc_own", "name": "temperature", "response": {"celsius": -3}}]
                }
            },
        },
        {"from": "server", "frame": {"serverContent": {"modelTurn": {"parts": [{"text": "No, "}]}}}},
        {"from": "server", "frame": {"serverContent": {"modelTurn": {"parts": [{"text": "it is cold."}]}}}},
        {"from": "server", "frame": {"serverContent": {"generationComplete": True}}},
        {
            "from": "server",
            "frame": {
                "serverContent": {"turnComplete": True},
                "usageMetadata": {"promptTokenCount": 12, "responseTokenCount": 6, "totalTokenCount": 18},
            },
        },
    ],
}

OWN_EXCHANGES: list[dict[str, Any]] = [CHAT, CHAT_TWO_CHOICES, MESSAGES, RESPONSES, GEMINI, INTERACTIONS, LIVE]
