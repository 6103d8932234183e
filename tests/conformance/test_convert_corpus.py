"""Every request and response of the traffic in every protocol: nothing silent, valid to the SDKs, streams that fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types import message_create_params as anthropic_params
from google.genai import types as google
from openai._models import construct_type
from openai._types import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses import response_create_params as responses_params
from pydantic import BaseModel, TypeAdapter

from headrace.canonical.reading import Reading
from headrace.convert import CODES, Conversion, convert
from headrace.errors import HeadraceError
from headrace.json_text import dumps
from headrace.protocols import codec
from tests.support import own
from tests.support.shared import PROTOCOLS, corpus
from tests.support.traffic import events_of, is_stream

PAIRS = [(source, target) for source in PROTOCOLS for target in PROTOCOLS if source != target]
OWN = [value for value in vars(own).values() if isinstance(value, dict) and "protocol" in value]


def exchanges(protocol: str) -> Iterator[dict[str, Any]]:
    """Our own exchanges, then the recorded ones."""
    yield from (exchange for exchange in OWN if exchange["protocol"] == protocol)
    yield from corpus(protocol)


def records(protocol: str) -> Iterator[dict[str, Any]]:
    """The request and response records of a protocol's exchanges that are messages of it at all."""
    reader = codec(protocol)
    for exchange in exchanges(protocol):
        name = exchange["id"]
        if exchange["request"] is not None:
            try:
                request: Any = reader.read_request(exchange["request"], Reading(name, "request"))
            except HeadraceError:
                continue
            yield request | {"record_type": "request", "protocol": protocol, "call_id": name, "record_id": name}
        yield from (
            one | {"protocol": protocol, "call_id": name, "record_id": name} for one in responses(exchange, reader)
        )


def responses(exchange: dict[str, Any], reader: Any) -> Iterator[Any]:
    """The response records of an exchange."""
    name = exchange["id"]
    if not is_stream(exchange):
        try:
            yield reader.read_response(exchange["response"], Reading(name, "response"), None) | {
                "record_type": "response"
            }
        except HeadraceError:
            return
        return
    frames = exchange.get("frames")
    events = [{"from": one["from"], "frame": one["frame"]} for one in frames] if frames else events_of(exchange)
    for folded in reader.fold(events):
        reading = Reading(name, folded.record_type)
        if folded.record_type == "request":
            yield reader.read_request(folded.body, reading) | {"record_type": "request"}
        else:
            yield reader.read_response(folded.body, reading, folded.layout) | {"record_type": "response"}


@cache
def conversions(source: str, target: str) -> tuple[tuple[Any, Conversion], ...]:
    """Every record of a protocol, written in another."""
    return tuple((record, convert(record, target, policy="lossy")) for record in records(source))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_nothing_is_silently_lost(source: str, target: str) -> None:
    counts: Counter[str] = Counter()
    written = 0
    for record, made in conversions(source, target):
        counts.update(made.counts)
        unlisted = [loss.path for loss in made.losses if loss.code == "not_carried"]
        assert unlisted == [], record["call_id"]
        assert made.refused is None
        assert (made.body is None) != (made.events is None)
        written += 1
    assert written > 0
    print(f"{source} -> {target}: {written} written, 0 unlisted; {dict(sorted(counts.items()))}")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_strict_refuses_what_loses_meaning_and_nothing_else(source: str, target: str) -> None:
    refused = 0
    for record, lossy in conversions(source, target):
        grave = any(CODES[loss.code].severity == "meaning" for loss in lossy.losses)
        if grave and refused > 3:
            continue
        strict = convert(record, target, policy="strict")
        assert strict.refused == ("unsupported_content" if grave else None), record["call_id"]
        assert strict.losses == lossy.losses
        assert (strict.body, strict.events) == ((None, None) if grave else (lossy.body, lossy.events))
        refused += grave


# The SDKs' own types

REQUESTS: dict[str, Any] = {
    "openai.chat": TypeAdapter(chat_params.CompletionCreateParamsNonStreaming),
    "openai.responses": TypeAdapter(responses_params.ResponseCreateParamsNonStreaming),
    "anthropic.messages": TypeAdapter(anthropic_params.MessageCreateParamsNonStreaming),
}
ANTHROPIC_EVENTS: Any = TypeAdapter(RawMessageStreamEvent)
OPENAI_EVENTS: Any = TypeAdapter(ResponseStreamEvent)
RESPONSES: dict[str, Any] = {
    "openai.chat": ChatCompletion,
    "openai.responses": Response,
    "anthropic.messages": Message,
    "gemini.generate_content": google.GenerateContentResponse,
}


def walked(value: Any) -> Any:
    """The value with its lazy lists read to the end: only then are their elements checked."""
    if isinstance(value, dict):
        return {key: walked(held) for key, held in value.items()}
    if isinstance(value, str | bytes | int | float | BaseModel) or value is None:
        return value
    return [walked(held) for held in value]


def is_unfinished(made: Conversion) -> bool:
    """Whether the source had no end, which Chat's type cannot say: its finish_reason is null."""
    return made.target == "openai.chat" and made.counts["unfinished"] + made.counts["finish_reason"] > 0


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[1] in RESPONSES])
def test_what_is_written_is_valid_to_the_targets_sdk(source: str, target: str) -> None:
    checked = 0
    for record, made in conversions(source, target):
        body = deepcopy(made.body or {})
        if made.record_type == "request":
            if target in REQUESTS:
                body.pop("stream", None)
                walked(REQUESTS[target].validate_python({"model": "m", **body}))
                checked += 1
        elif "error" not in record and not is_unfinished(made):
            RESPONSES[target].model_validate(body)
            checked += 1
    assert checked > 0
    print(f"{source} -> {target}: {checked} valid to the SDK")


def test_written_gemini_requests_are_valid_to_the_sdk() -> None:
    checked = 0
    for source in PROTOCOLS:
        if source == "gemini.generate_content":
            continue
        for _, made in conversions(source, "gemini.generate_content"):
            body = made.body or {}
            if made.record_type == "request":
                for content in body.get("contents", ()):
                    google.Content.model_validate(content)
                for tool in body.get("tools", ()):
                    google.Tool.model_validate(tool)
                if "generationConfig" in body:
                    google.GenerationConfig.model_validate(body["generationConfig"])
                if "toolConfig" in body:
                    google.ToolConfig.model_validate(body["toolConfig"])
                checked += 1
    assert checked > 0


def test_written_live_frames_are_valid_to_the_sdk() -> None:
    checked = 0
    for source in PROTOCOLS:
        if source == "gemini.live":
            continue
        for _, made in conversions(source, "gemini.live"):
            for event in made.events or ():
                kind = google.LiveClientMessage if event["from"] == "client" else google.LiveServerMessage
                if "error" not in event["frame"]:
                    kind.model_validate(event["frame"])
                    checked += 1
    assert checked > 0


# Streams


@pytest.mark.parametrize("target", PROTOCOLS)
def test_every_written_stream_folds_to_the_body_it_came_from(target: str) -> None:
    folded = 0
    reader = codec(target)
    for source in PROTOCOLS:
        for _, made in conversions(source, target) if source != target else ():
            if made.record_type == "response" and made.body is not None:
                (again,) = reader.fold(reader.unfold(made.body))
                assert again.body == made.body, made.call_id
                folded += 1
    print(f"{target}: {folded} streams folded to their bodies")


def chat_message(events: list[Any]) -> Any:
    state = ChatCompletionStreamState()
    for event in events:
        if event != "[DONE]":
            state.handle_chunk(construct_type(type_=ChatCompletionChunk, value=deepcopy(event)))
    return state.current_completion_snapshot.to_dict(mode="json")


def test_written_chat_streams_fold_to_the_same_message_in_openais_sdk() -> None:
    checked = 0
    for source in PROTOCOLS:
        for record, made in conversions(source, "openai.chat") if source != "openai.chat" else ():
            if made.record_type != "response" or made.body is None or "error" in record or is_unfinished(made):
                continue
            if '"type":"custom"' in dumps(made.body):
                # The SDK's chunk type has no custom calls (catalogue, section 2.4).
                continue
            theirs = chat_message(codec("openai.chat").unfold(made.body))
            for mine, choice in zip(made.body["choices"], theirs["choices"], strict=True):
                assert choice["finish_reason"] == mine["finish_reason"], made.call_id
                assert (choice["message"].get("content") or None) == (mine["message"].get("content") or None)
                calls = [
                    (call["id"], call["function"]["name"], call["function"]["arguments"])
                    for call in choice["message"].get("tool_calls") or ()
                ]
                assert calls == [
                    (call["id"], call["function"]["name"], call["function"]["arguments"])
                    for call in mine["message"].get("tool_calls", ())
                    if call["type"] == "function"
                ]
            checked += 1
    assert checked > 0
    print(f"{checked} streams folded by ChatCompletionStreamState")


def test_written_responses_streams_fold_to_the_same_response_in_openais_sdk() -> None:
    checked = 0
    for source in PROTOCOLS:
        for record, made in conversions(source, "openai.responses") if source != "openai.responses" else ():
            if made.record_type != "response" or made.body is None or "error" in record:
                continue
            events = codec("openai.responses").unfold(made.body)
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            state: Any = ResponseStreamState(text_format=omit, input_tools=omit)
            for event in events:
                state.handle_event(OPENAI_EVENTS.validate_python(event))
            if made.body["status"] == "completed":
                theirs = [item.to_dict(mode="json") for item in state._completed_response.output]
                assert [item["type"] for item in theirs] == [item["type"] for item in made.body["output"]]
                assert [item["id"] for item in theirs if "id" in item] == [
                    item["id"] for item in made.body["output"] if "id" in item
                ]
                checked += 1
    assert checked > 0
    print(f"{checked} streams folded by ResponseStreamState")


def test_written_anthropic_streams_fold_to_the_same_message_in_anthropics_sdk() -> None:
    checked = 0
    for source in PROTOCOLS:
        for record, made in conversions(source, "anthropic.messages") if source != "anthropic.messages" else ():
            if made.record_type != "response" or made.body is None or "error" in record:
                continue
            snapshot: Any = None
            buffers: dict[int, bytes] = {}
            for event in codec("anthropic.messages").unfold(made.body):
                snapshot = accumulate_event(
                    event=ANTHROPIC_EVENTS.validate_python(event), current_snapshot=snapshot, json_bufs=buffers
                )
            mine = Message.model_validate(made.body).to_dict(mode="json")
            theirs = snapshot.to_dict(mode="json")
            assert theirs["content"] == mine["content"], made.call_id
            assert theirs["stop_reason"] == mine["stop_reason"]
            assert theirs["usage"]["output_tokens"] == mine["usage"]["output_tokens"]
            checked += 1
    assert checked > 0
    print(f"{checked} streams folded by the SDK's accumulate_event")
