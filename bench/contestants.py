"""Who folds a stream: Headrace, bare JSON parsing, and the peers, each from raw event bytes to text and tool calls.

Every contestant does its own JSON parsing, as it would in life. `Content` is what all must agree on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from headrace.json_text import loads
from headrace.protocols import codec

Events = Sequence[bytes]


@dataclass(frozen=True)
class Content:
    """What a fold built: the text, and (name, parsed arguments) of each tool call in order."""

    text: str
    calls: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Contestant:
    """fold: raw events -> whatever it builds (this is timed). content: that -> Content (this is not)."""

    name: str
    protocol: str
    fold: Callable[[Events], Any]
    content: Callable[[Any], Content] | None


def _arguments(text: str | None) -> str:
    return json.dumps(json.loads(text or "{}"), sort_keys=True)


def _chat_content(body: dict[str, Any]) -> Content:
    message = body["choices"][0]["message"] if body.get("choices") else {}
    calls = message.get("tool_calls") or []
    text = message.get("content") or ""
    return Content(
        text if isinstance(text, str) else "",
        tuple((call["function"]["name"], _arguments(call["function"]["arguments"])) for call in calls),
    )


def _messages_content(body: dict[str, Any]) -> Content:
    blocks = body["content"]
    return Content(
        "".join(block["text"] for block in blocks if block["type"] == "text"),
        tuple(
            (block["name"], json.dumps(block["input"], sort_keys=True))
            for block in blocks
            if block["type"] == "tool_use"
        ),
    )


# Headrace and the floor


def _headrace(protocol: str) -> Callable[[Events], Any]:
    fold = codec(protocol).fold
    return lambda events: fold([loads(event) for event in events])


def _bare(events: Events) -> Any:
    return [orjson.loads(event) for event in events]


# openai-python


def _openai(events: Events) -> Any:
    from openai.lib.streaming.chat._completions import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state: Any = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(ChatCompletionChunk.construct(**json.loads(event)))
    return state.current_completion_snapshot


# anthropic


def _anthropic(events: Events) -> Any:
    from anthropic._models import construct_type_unchecked
    from anthropic.lib.streaming._beta_messages import accumulate_event
    from anthropic.types.beta import BetaRawMessageStreamEvent

    snapshot: Any = None
    for event in events:
        parsed: Any = construct_type_unchecked(value=json.loads(event), type_=BetaRawMessageStreamEvent)
        if parsed.type != "ping":
            snapshot = accumulate_event(event=parsed, current_snapshot=snapshot, request_headers=_no_headers())
    return snapshot


def _no_headers() -> Any:
    import httpx

    return httpx.Headers()


# LiteLLM


def _litellm(events: Events) -> Any:
    import litellm
    from litellm.types.utils import ModelResponseStream

    chunks = [ModelResponseStream(**json.loads(event)) for event in events]
    return litellm.stream_chunk_builder(chunks)


# LangChain


def _langchain_openai(events: Events) -> Any:
    from langchain_core.messages import AIMessageChunk
    from langchain_openai.chat_models.base import _convert_delta_to_message_chunk

    total: Any = None
    for event in events:
        chunk = json.loads(event)
        for choice in chunk.get("choices") or []:
            piece = _convert_delta_to_message_chunk(choice["delta"], AIMessageChunk)
            total = piece if total is None else total + piece
    return total


def _langchain_content(message: Any) -> Content:
    text = (
        message.content
        if isinstance(message.content, str)
        else "".join(block.get("text", "") for block in message.content if isinstance(block, dict))
    )
    return Content(text, tuple((call["name"], json.dumps(call["args"], sort_keys=True)) for call in message.tool_calls))


CONTESTANTS = (
    Contestant("orjson.loads alone", "openai.chat", _bare, None),
    Contestant("headrace", "openai.chat", _headrace("openai.chat"), lambda folded: _chat_content(folded[0].body)),
    Contestant("openai-python", "openai.chat", _openai, lambda snapshot: _chat_content(snapshot.to_dict())),
    Contestant("litellm", "openai.chat", _litellm, lambda response: _chat_content(response.model_dump())),
    Contestant("langchain-core", "openai.chat", _langchain_openai, _langchain_content),
    Contestant("orjson.loads alone", "anthropic.messages", _bare, None),
    Contestant(
        "headrace",
        "anthropic.messages",
        _headrace("anthropic.messages"),
        lambda folded: _messages_content(folded[0].body),
    ),
    Contestant(
        "anthropic", "anthropic.messages", _anthropic, lambda message: _messages_content(message.to_dict(mode="json"))
    ),
)
