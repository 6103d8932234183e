"""A whole response -> the chunks of a stream that folds to it again.

As OpenAI streams: the role first, then reasoning, content, tool calls (name first, then pieces of the arguments),
the finish reason, and usage on a chunk of its own, then the terminator. Fields of a choice's message that no piece
carries go with the first delta. ``tool_calls[].index`` is where a stream puts a call, so it is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from headrace.json_text import Json
from headrace.protocols.openai_chat import errors
from headrace.protocols.openai_chat.order import ORDER

_WORDS = re.compile(r"\s*\S{1,24}|\s+")
_LONG, _LONG_PIECE = 1 << 16, 1 << 13
_OBJECT = "chat.completion.chunk"
_TRAILERS = ("usage", "moderation")
#: The object that holds a call's name and text, and the key of the text.
_HOLDERS = {"function": "arguments", "custom": "input"}


def unfold(body: dict[str, Json]) -> list[Json]:
    """The events of a whole body, the terminator last; an error body is one event without a terminator."""
    choices = body.get("choices")
    if type(choices) is not list:
        return [body]
    failed = errors.form_of(body) in ("object", "text", "value")
    trailers = [key for key in _TRAILERS if type(body.get(key)) is dict]
    apart = {"choices", *trailers, *(("error",) if failed else ())}
    envelope = {key: value for key, value in body.items() if key not in apart}
    if envelope.get("object") == "chat.completion":
        envelope["object"] = _OBJECT
    events: list[Json] = [{**envelope, "choices": chunks} for chunks in _chunks(choices)]
    events += [{**envelope, "choices": [], key: body[key]} for key in trailers]
    if not events:
        events.append({**envelope, "choices": []})
    return [*events, {"error": body["error"]}] if failed else [*events, "[DONE]"]


def _chunks(choices: list[Json]) -> Iterator[list[Json]]:
    """The choices of each chunk; choices that no index tells apart come whole, in one chunk."""
    indexes = [choice.get("index") if type(choice) is dict else None for choice in choices]
    told = all(type(index) is int for index in indexes) and len(set(indexes)) == len(indexes)
    if not told and choices != [] and (len(choices) > 1 or type(choices[0]) is not dict):
        yield [_whole(choice) for choice in choices]
        return
    for step in zip_longest(*(list(_choice_chunks(choice)) for choice in choices)):
        for chunk in step:
            if chunk is not None:
                yield [chunk]


def _whole(choice: Json) -> Json:
    if type(choice) is not dict or type(choice.get("message")) is not dict:
        return choice
    return {("delta" if key == "message" else key): value for key, value in choice.items()}


def _choice_chunks(choice: dict[str, Json]) -> Iterator[dict[str, Json]]:
    message = choice.get("message")
    if type(message) is not dict:
        yield choice
        return
    nulls: dict[str, Json] = {key: None for key in ("logprobs", "finish_reason") if key in choice}
    start = {"index": choice["index"]} if "index" in choice else {}
    for delta in _deltas(message):
        yield {**start, "delta": delta, **nulls}
    yield {**_whole(choice), "delta": {}}


def _deltas(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    streamed = [key for key in ORDER if _streams(key, message.get(key))]
    opening = {key: value for key, value in message.items() if key not in streamed}
    if "content" in streamed and type(message["content"]) is str:
        opening["content"] = ""
    yield opening
    for key in streamed:
        value = message[key]
        if type(value) is str:
            for piece in _pieces(value):
                yield {key: piece}
        elif key == "tool_calls":
            for at, call in enumerate(value):
                for fragment in _call_fragments(at, call):
                    yield {key: [fragment]}
        elif key == "function_call":
            for fragment in _text_fragments(value, "arguments"):
                yield {key: fragment}
        else:
            yield {key: value}


def _streams(key: str, value: Json) -> bool:
    """Whether a value comes after the first delta: anything that is content."""
    if key == "function_call":
        return type(value) is dict
    return type(value) in (str, list, dict) and bool(value)


def _call_fragments(at: int, call: Json) -> Iterator[Json]:
    if type(call) is not dict:
        yield call
        return
    fragment = {**call, "index": at}
    holder = next((key for key in _HOLDERS if type(call.get(key)) is dict and call[key].get(_HOLDERS[key])), None)
    if holder is None:
        yield fragment
        return
    for inner in _text_fragments(call[holder], _HOLDERS[holder]):
        yield {**fragment, holder: inner}
        fragment = {"index": at}


def _text_fragments(inner: dict[str, Json], key: str) -> Iterator[dict[str, Json]]:
    """The object with its text empty, then the pieces of the text; whole where there is no text."""
    text = inner.get(key)
    if type(text) is not str:
        yield inner
        return
    yield {**inner, key: ""}
    for piece in _pieces(text):
        yield {key: piece}


def _pieces(text: str) -> Iterator[str]:
    if len(text) > _LONG:
        yield from (text[at : at + _LONG_PIECE] for at in range(0, len(text), _LONG_PIECE))
    else:
        yield from _WORDS.findall(text)
