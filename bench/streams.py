"""Streams to fold: synthetic ones of any length and number of parallel tool calls, and real ones from files.

``chunks`` is about the number of events a stream has.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "then", "some", "more", "words")


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
        {"type": "message_start", "message": {"id": "msg_bench", "type": "message", "role": "assistant",
                                              "model": "bench", "content": [], "stop_reason": None,
                                              "stop_sequence": None,
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


def responses(chunks: int, calls: int) -> list[bytes]:
    """A Responses stream: a message, then ``calls`` function calls one after another; deltas shared among them."""
    per_item = chunks // (calls + 1)
    whole = {"id": "resp_bench", "object": "response", "created_at": 1790000000, "model": "bench", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**whole, "status": "in_progress"}}]
    output = []
    for at in range(calls + 1):
        words = _cycle(per_item)
        item, place = _message(at, words) if at == 0 else _function_call(at, words)
        output.append(item)
        events += place
    final = {**whole, "status": "completed", "output": output, "usage": _RESPONSES_USAGE}
    events.append({"type": "response.completed", "response": final})
    return [json.dumps({**event, "sequence_number": number}).encode() for number, event in enumerate(events)]


_RESPONSES_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def _message(at: int, words: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    part = {"type": "output_text", "text": "".join(words), "annotations": []}
    item = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    place = {"item_id": "msg_0", "output_index": at}
    text = {**place, "content_index": 0}
    opening = {**item, "status": "in_progress", "content": []}
    return item, [
        {"type": "response.output_item.added", "output_index": at, "item": opening},
        {"type": "response.content_part.added", **text, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **text, "delta": word, "logprobs": []} for word in words),
        {"type": "response.output_text.done", **text, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **text, "part": part},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


def _function_call(at: int, words: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    parts = ['{"text": "', *words, '"}']
    item = {
        "id": f"fc_{at}", "type": "function_call", "status": "completed", "call_id": f"call_{at}",
        "name": f"tool_{at - 1}", "arguments": "".join(parts),
    }  # fmt: skip
    place = {"item_id": f"fc_{at}", "output_index": at}
    opening = {**item, "status": "in_progress", "arguments": ""}
    return item, [
        {"type": "response.output_item.added", "output_index": at, "item": opening},
        *({"type": "response.function_call_arguments.delta", **place, "delta": part} for part in parts),
        {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


def contents(chunks: int, calls: int) -> list[bytes]:
    """A generateContent stream: text in all chunks, then ``calls`` whole function calls, as Gemini sends them."""
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    events = [_candidate([{"text": word}], usage) for word in _cycle(chunks)]
    parts = [{"functionCall": {"name": f"tool_{one}", "args": {"text": "a"}}} for one in range(calls)]
    events.append(_candidate(parts or [{"text": ""}], usage, finishReason="STOP"))
    return [json.dumps(event).encode() for event in events]


def _candidate(parts: list[dict[str, Any]], usage: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0, **more}],
        "usageMetadata": usage,
        "modelVersion": "bench",
        "responseId": "bench",
    }


def interactions(chunks: int, calls: int) -> list[bytes]:
    """An Interactions stream: one output step of text, then ``calls`` function calls, deltas shared among them."""
    per_step = chunks // (calls + 1)
    whole = {"id": "int_bench", "object": "interaction", "model": "bench", "status": "in_progress"}
    events: list[dict[str, Any]] = [{"event_type": "interaction.created", "interaction": whole}]
    for at in range(calls + 1):
        words = _cycle(per_step)
        if at == 0:
            step: dict[str, Any] = {"type": "model_output"}
            deltas = [{"type": "text", "text": word} for word in words]
        else:
            step = {"type": "function_call", "id": f"fc_{at}", "name": f"tool_{at - 1}", "arguments": {}}
            deltas = [{"type": "arguments_delta", "arguments": part} for part in ('{"text": "', *words, '"}')]
        events.append({"event_type": "step.start", "index": at, "step": step})
        events += [{"event_type": "step.delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": at})
    events.append({"event_type": "interaction.completed", "interaction": {**whole, "status": "completed"}})
    return [json.dumps(event).encode() for event in events]


def live(chunks: int, calls: int) -> list[bytes]:
    """Frames of a Live session of one turn: transcribed text, then ``calls`` function calls in one frame."""
    frames: list[tuple[str, dict[str, Any]]] = [
        ("client", {"setup": {"model": "models/bench"}}),
        ("server", {"setupComplete": {}}),
        ("client", {"clientContent": {"turns": [{"role": "user", "parts": [{"text": "go"}]}], "turnComplete": True}}),
    ]
    frames += [("server", {"serverContent": {"modelTurn": {"parts": [{"text": word}]}}}) for word in _cycle(chunks)]
    if calls:
        asked = [{"id": f"fc_{one}", "name": f"tool_{one}", "args": {"text": "a"}} for one in range(calls)]
        frames.append(("server", {"toolCall": {"functionCalls": asked}}))
    frames.append(("server", {"serverContent": {"turnComplete": True}}))
    return [json.dumps({"from": side, "frame": frame}).encode() for side, frame in frames]


SYNTHETIC = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": messages,
    "gemini.generate_content": contents,
    "gemini.interactions": interactions,
    "gemini.live": live,
}


def recorded(folder: Path, protocol: str) -> list[list[bytes]]:
    """The real streams of one protocol in a folder of exchanges: one JSON object a line, with the stream under ``sse``,
    ``ndjson_chunks`` or ``frames``."""
    from headrace.capture.sse import parse_events

    streams = []
    with (folder / f"{protocol}.jsonl").open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            exchange = json.loads(line)
            if exchange.get("ndjson_chunks"):
                events = [json.dumps(chunk).encode() for chunk in exchange["ndjson_chunks"] if isinstance(chunk, dict)]
            elif exchange.get("frames"):
                events = [json.dumps(frame).encode() for frame in exchange["frames"]]
            elif exchange.get("sse"):
                events = [event.data for event in parse_events(exchange["sse"].encode()) if event.data[:1] == b"{"]
            else:
                continue
            streams.append(events)
    return streams
