"""Who folds a stream: Headrace, bare JSON parsing, and the peers, each from raw event bytes to text and tool calls.

Every contestant does its own JSON parsing, as it would in life. `Content` is what all must agree on. Two peers only
read chunks into types of their own and put nothing together; they are in for comparison and marked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from headrace.protocols import PROTOCOLS, codec
from headrace.protocols.stretches import read

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
    return lambda events: fold(read(events))


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
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        parsed: Any = construct_type_unchecked(value=json.loads(event), type_=RawMessageStreamEvent)
        if parsed.type != "ping":
            snapshot = accumulate_event(event=parsed, current_snapshot=snapshot, json_bufs=buffers)
    return snapshot


# LiteLLM


def _litellm(events: Events) -> Any:
    import litellm
    from litellm.types.utils import ModelResponseStream

    litellm.suppress_debug_info = True
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


# openai-python, Responses


def _openai_responses(events: Events) -> Any:
    from openai import omit
    from openai._models import construct_type_unchecked
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(construct_type_unchecked(value=json.loads(event), type_=ResponseStreamEvent))
    return state._completed_response


def _responses_content(body: dict[str, Any]) -> Content:
    parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
    calls = [item for item in body["output"] if item["type"] == "function_call"]
    return Content(
        "".join(part["text"] for part in parts if part["type"] == "output_text"),
        tuple((call["name"], _arguments(call["arguments"])) for call in calls),
    )


# google-genai: types only, it leaves folding to the caller


def _genai(events: Events) -> Any:
    from google.genai.types import GenerateContentResponse

    return [GenerateContentResponse.model_validate(json.loads(event)) for event in events]


def _genai_content(chunks: Any) -> Content:
    found = [chunk.candidates[0].content.parts for chunk in chunks if chunk.candidates and chunk.candidates[0].content]
    parts = [part for parts in found for part in parts or ()]
    return Content(
        "".join(part.text for part in parts if part.text and not part.thought),
        tuple(
            (part.function_call.name, json.dumps(part.function_call.args or {}, sort_keys=True))
            for part in parts
            if part.function_call
        ),
    )


def _generate_content(body: dict[str, Any]) -> Content:
    parts = [
        part for candidate in body.get("candidates", ())[:1] for part in candidate.get("content", {}).get("parts", ())
    ]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return Content(
        "".join(part.get("text", "") for part in parts if not part.get("thought")),
        tuple((call["name"], json.dumps(call.get("args", {}), sort_keys=True)) for call in calls),
    )


# llm-rosetta: chunk by chunk into its own events, nothing is put together


def _rosetta(converter: str) -> Callable[[Events], Any]:
    def fold(events: Events) -> Any:
        import llm_rosetta
        from llm_rosetta import StreamContext

        reader, context = getattr(llm_rosetta, converter)(), StreamContext()
        return [reader.stream_response_from_provider(json.loads(event), context) for event in events]

    return fold


def _interactions_content(body: dict[str, Any]) -> Content:
    steps = body.get("steps") or body.get("outputs") or []
    texts = [part for step in steps if step["type"] == "model_output" for part in step.get("content", ())]
    calls = [step for step in steps if step["type"] == "function_call"]
    return Content(
        "".join(part.get("text", "") for part in texts),
        tuple((call["name"], json.dumps(call.get("arguments", {}), sort_keys=True)) for call in calls),
    )


_WHOLE: dict[str, Callable[[dict[str, Any]], Content]] = {
    "openai.chat": _chat_content,
    "openai.responses": _responses_content,
    "anthropic.messages": _messages_content,
    "gemini.generate_content": _generate_content,
    "gemini.interactions": _interactions_content,
}


def _folded_content(protocol: str) -> Callable[[Any], Content] | None:
    whole = _WHOLE.get(protocol)
    return (lambda folded: whole(folded[0].body)) if whole else None


def _own(protocol: str) -> tuple[Contestant, ...]:
    return (
        Contestant("orjson.loads alone", protocol, _bare, None),
        Contestant("headrace", protocol, _headrace(protocol), _folded_content(protocol)),
    )


CONTESTANTS = (
    *(contestant for protocol in PROTOCOLS for contestant in _own(protocol)),
    Contestant("openai-python", "openai.chat", _openai, lambda snapshot: _chat_content(snapshot.to_dict())),
    Contestant("litellm", "openai.chat", _litellm, lambda response: _chat_content(response.model_dump())),
    Contestant("langchain-core", "openai.chat", _langchain_openai, _langchain_content),
    Contestant("llm-rosetta (no fold)", "openai.chat", _rosetta("OpenAIChatConverter"), None),
    Contestant("openai-python", "openai.responses", _openai_responses, lambda made: _responses_content(made.to_dict())),
    Contestant("llm-rosetta (no fold)", "openai.responses", _rosetta("OpenAIResponsesConverter"), None),
    Contestant(
        "anthropic", "anthropic.messages", _anthropic, lambda message: _messages_content(message.to_dict(mode="json"))
    ),
    Contestant("llm-rosetta (no fold)", "anthropic.messages", _rosetta("AnthropicConverter"), None),
    Contestant("google-genai (no fold)", "gemini.generate_content", _genai, _genai_content),
    Contestant("llm-rosetta (no fold)", "gemini.generate_content", _rosetta("GoogleGenerateConverter"), None),
)
