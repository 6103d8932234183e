"""Model calls made up by number: the same number always gives the same captures, and no two calls are alike."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_START = 1_790_000_000_000_000
_WORDS = ("river", "wheel", "sluice", "gate", "mill", "weir", "stone", "leat", "ärger", "水", "🙂", "…", "a\nb", '"q"')


@dataclass(frozen=True)
class Message:
    """One message for a raw topic. route: which of the call's partitions it goes to, as a fraction below 1."""

    call_id: str
    kind: str
    value: bytes
    route: float


@dataclass(frozen=True)
class Mix:
    """How the traffic is disturbed: shares of all messages, or of all calls, below 1.

    late_by: how many messages later a duplicate may come, at most.
    """

    duplicates: float = 0.02
    reordered: float = 0.3
    spread: float = 0.2
    late_by: int = 400


def messages_of(number: int, chunks: int, *, spread: bool = False) -> list[Message]:
    """All captures of one call in the order they were seen. chunks: about how many pieces a stream has."""
    rng = random.Random(number)
    call_id = f"call-{number:06}"
    kind = _KINDS[number % len(_KINDS)]
    home = (zlib.crc32(call_id.encode()) % 9973) / 9973
    lines = kind(call_id, number, max(1, chunks + rng.randint(-chunks // 3, chunks // 3)), rng)
    numbered = all("seq" in line for line in lines if line["kind"] == "stream")
    made = []
    for line in lines:
        route = rng.random() if spread and numbered and line["kind"] == "stream" else home
        made.append(Message(call_id, line["kind"], json.dumps(line, ensure_ascii=False).encode(), route))
    return made


def traffic(
    numbers: Sequence[int], chunks: int, *, seed: int = 0, open_at_once: int = 60, mix: Mix | None = None
) -> Iterator[Message]:
    """The calls' messages as a busy gateway writes them: interleaved, some twice, some out of order, some spread."""
    mix = mix or Mix()
    rng = random.Random(seed)
    waiting = iter(numbers)
    open_calls: list[list[Message]] = []
    again: list[tuple[int, Message]] = []
    count = 0
    while True:
        while len(open_calls) < open_at_once and (number := next(waiting, None)) is not None:
            call = messages_of(number, chunks, spread=rng.random() < mix.spread)
            if rng.random() < mix.reordered:
                _reorder(call, rng)
            open_calls.append(call[::-1])
        if not open_calls:
            break
        place = rng.randrange(len(open_calls))
        message = open_calls[place].pop()
        if not open_calls[place]:
            open_calls[place] = open_calls[-1]
            open_calls.pop()
        yield message
        count += 1
        if rng.random() < mix.duplicates and bears_repeating(message):
            again.append((count + rng.randint(1, mix.late_by), message))
        while again and again[0][0] <= count:
            yield again.pop(0)[1]
    for _, message in again:
        yield message


def bears_repeating(message: Message) -> bool:
    """Whether a reader can know a second copy for one: a piece without a number is as good as new."""
    return message.kind != "stream" or b'"seq"' in message.value


def _reorder(call: list[Message], rng: random.Random) -> None:
    """Swap neighbours, numbered pieces only: those without numbers have no order but the log's."""
    for at in range(len(call) - 1):
        if all(b'"seq"' in each.value and each.kind == "stream" for each in call[at : at + 2]) and rng.random() < 0.4:
            call[at], call[at + 1] = call[at + 1], call[at]


# The kinds of calls


def _head(call_id: str, kind: str, protocol: str, url: str) -> dict[str, Any]:
    head = {"call_id": call_id, "kind": kind, "protocol": protocol, "captured_at": _START, "http": {"url": url}}
    return head if kind == "request" else {**head, "http": {"url": url, "status": 200}}


def _text(number: int, at: int) -> str:
    return f"{_WORDS[(number * 7 + at) % len(_WORDS)]} {number}/{at} "


_CHAT_URL = "https://api.openai.com/v1/chat/completions"
_MESSAGES_URL = "https://api.anthropic.com/v1/messages"
_GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"


def _chat_request(call_id: str, number: int) -> dict[str, Any]:
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": f"question {number}"}], "stream": True}
    return {**_head(call_id, "request", "openai.chat", _CHAT_URL), "body": body}


def _chat_events(number: int, chunks: int) -> list[Any]:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "gpt-5.4"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if number % 3:
        deltas += [{"content": _text(number, at)} for at in range(chunks)]
        reason = "stop"
    else:
        tool = {
            "index": 0,
            "id": f"tool-{number}",
            "type": "function",
            "function": {"name": "look", "arguments": '{"q":"'},
        }
        deltas.append({"tool_calls": [tool]})
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": f"{number}.{at} "}}]} for at in range(chunks)]
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]})
        reason = "tool_calls"
    events: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    usage = {"prompt_tokens": 9, "completion_tokens": chunks, "total_tokens": 9 + chunks}
    return [*events, {**head, "choices": [], "usage": usage}, "[DONE]"]


def _chat(call_id: str, number: int, chunks: int, _: random.Random) -> list[dict[str, Any]]:
    """One JSON event a piece, numbered."""
    head = _head(call_id, "stream", "openai.chat", _CHAT_URL)
    pieces = [{**head, "seq": seq, "body": event} for seq, event in enumerate(_chat_events(number, chunks))]
    return [_chat_request(call_id, number), *pieces]


def _chat_unnumbered(call_id: str, number: int, chunks: int, _: random.Random) -> list[dict[str, Any]]:
    """One JSON event a piece, ordered by the log alone."""
    head = _head(call_id, "stream", "openai.chat", _CHAT_URL)
    return [_chat_request(call_id, number), *({**head, "body": event} for event in _chat_events(number, chunks))]


def _chat_aborted(call_id: str, number: int, chunks: int, _: random.Random) -> list[dict[str, Any]]:
    """The client went away: no last event, and an `end` that says so."""
    events = _chat_events(number, chunks)[: chunks // 2 + 1]
    head = _head(call_id, "stream", "openai.chat", _CHAT_URL)
    pieces = [{**head, "seq": seq, "body": event} for seq, event in enumerate(events)]
    end = {**_head(call_id, "end", "openai.chat", _CHAT_URL), "count": len(events), "outcome": "aborted"}
    return [_chat_request(call_id, number), *pieces, end]


def _chat_whole(call_id: str, number: int, chunks: int, _: random.Random) -> list[dict[str, Any]]:
    """No stream: the whole body at once."""
    message = {"role": "assistant", "content": "".join(_text(number, at) for at in range(chunks))}
    body = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "gpt-5.4",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }
    return [_chat_request(call_id, number), {**_head(call_id, "response", "openai.chat", _CHAT_URL), "body": body}]


def _anthropic(call_id: str, number: int, chunks: int, rng: random.Random) -> list[dict[str, Any]]:
    """SSE text cut anywhere, numbered."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, block]
    for at in range(chunks):
        delta = {"type": "text_delta", "text": _text(number, at)}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "content_block_stop", "index": 0})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": chunks}}, {"type": "message_stop"}]
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    cuts = sorted(rng.sample(range(1, len(text)), min(chunks, len(text) - 1)))
    parts = [text[low:high] for low, high in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    head = _head(call_id, "stream", "anthropic.messages", _MESSAGES_URL)
    body = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": f"q {number}"}]}
    request = {**_head(call_id, "request", "anthropic.messages", _MESSAGES_URL), "body": body}
    return [request, *({**head, "seq": seq, "body_text": part} for seq, part in enumerate(parts))]


def _gemini(call_id: str, number: int, chunks: int, _: random.Random) -> list[dict[str, Any]]:
    """A stream that only its `end` closes."""
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": _text(number, at)}], "role": "model"}, "index": 0}]}
        for at in range(chunks)
    ]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    usage = {"promptTokenCount": 5, "candidatesTokenCount": chunks, "totalTokenCount": 5 + chunks}
    events[-1] |= {"usageMetadata": usage, "modelVersion": "gemini-3-flash", "responseId": f"r{number}"}
    head = _head(call_id, "stream", "gemini.generate_content", _GEMINI_URL)
    body = {"contents": [{"role": "user", "parts": [{"text": f"q {number}"}]}]}
    request = {**_head(call_id, "request", "gemini.generate_content", _GEMINI_URL), "body": body}
    end = {
        **_head(call_id, "end", "gemini.generate_content", _GEMINI_URL),
        "count": len(events),
        "outcome": "completed",
    }
    return [request, *({**head, "seq": seq, "body": event} for seq, event in enumerate(events)), end]


_Kind = Callable[[str, int, int, random.Random], list[dict[str, Any]]]
_KINDS: tuple[_Kind, ...] = (_chat, _anthropic, _chat_unnumbered, _gemini, _chat, _chat_whole, _chat_aborted)
