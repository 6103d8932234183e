"""Streams to fold: synthetic ones of any length and number of parallel tool calls, and real ones from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_WORDS = "the quick brown fox jumps over a lazy dog and then some more words follow ".split(" ")


def chat(chunks: int, calls: int) -> list[bytes]:
    """A Chat Completions stream: half text, half interleaved argument deltas of ``calls`` tool calls."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    texts = chunks // 2 if calls else chunks
    deltas += [{"content": _WORDS[place % len(_WORDS)] + " "} for place in range(texts)]
    if calls:
        deltas += [
            {"tool_calls": [{"index": one, "id": f"call_{one}", "type": "function",
                             "function": {"name": f"tool_{one}", "arguments": '{"text":"'}}]}
            for one in range(calls)
        ]  # fmt: skip
        pieces = max(0, chunks - len(deltas) - calls - 1)
        deltas += [
            {"tool_calls": [{"index": place % calls, "function": {"arguments": _WORDS[place % len(_WORDS)] + " "}}]}
            for place in range(pieces)
        ]
        deltas += [{"tool_calls": [{"index": one, "function": {"arguments": '"}'}}]} for one in range(calls)]
    events = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    events.append(_chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]))
    return [json.dumps(event).encode() for event in events]


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "bench",
        "choices": choices,
    }


def messages(chunks: int, calls: int) -> list[bytes]:
    """An Anthropic Messages stream: one text block, then ``calls`` tool_use blocks, deltas shared among them."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench",
                                              "content": [], "stop_reason": None, "stop_sequence": None,
                                              "usage": {"input_tokens": 1, "output_tokens": 1}}}
    ]  # fmt: skip
    per_block = chunks // (calls + 1)
    events += _block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": w} for w in _cycle(per_block)])
    for one in range(calls):
        opening = {"type": "tool_use", "id": f"toolu_{one}", "name": f"tool_{one}", "input": {}}
        parts = ['{"text": "', *_cycle(per_block), '"}']
        events += _block(one + 1, opening, [{"type": "input_json_delta", "partial_json": part} for part in parts])
    events.append(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": chunks}}
    )  # fmt: skip
    events.append({"type": "message_stop"})
    return [json.dumps(event).encode() for event in events]


def _cycle(count: int) -> list[str]:
    return [_WORDS[place % len(_WORDS)] + " " for place in range(count)]


def _block(index: int, opening: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


SYNTHETIC = {"openai.chat": chat, "anthropic.messages": messages}


def recorded(folder: Path, protocol: str) -> list[list[bytes]]:
    """The real streams of one protocol in a folder of exchanges (one JSON object a line, ``sse`` or ``ndjson_chunks``)."""
    from headrace.capture.sse import parse_events

    streams = []
    with (folder / f"{protocol}.jsonl").open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            exchange = json.loads(line)
            if exchange.get("ndjson_chunks"):
                events = [json.dumps(chunk).encode() for chunk in exchange["ndjson_chunks"] if isinstance(chunk, dict)]
            elif exchange.get("sse"):
                events = [event.data for event in parse_events(exchange["sse"].encode()) if event.data[:1] == b"{"]
            else:
                continue
            streams.append(events)
    return streams
