"""A whole message -> the events that the provider would stream it as. fold(unfold(body)) == body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.json_text import Json, dumps
from headrace.protocols.anthropic_messages.calls import KINDS as CALLS

#: Characters a text delta holds, about as the provider cuts them.
_CHUNK = 24
#: Figures that only the closing message_delta brings; service tier, geography and the like come at the start.
_LATE_USAGE = ("server_tool_use", "iterations", "output_tokens_details", "fallback_credit")
_CLOSING_USAGE = (
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"),
    *_LATE_USAGE,
)
_STOP = ("stop_reason", "stop_sequence", "stop_details")
_ERROR = ("error", "request_id")
_CLOSING = ("context_management", "input_transformations")


def unfold(body: dict[str, Json]) -> list[Json]:
    """Events of a message; an error body is its one error event, a message that broke off ends with one."""
    if body.get("type") == "error" or ("error" in body and "content" not in body and body.get("type") != "message"):
        return [body]
    events = [_start(body)]
    content = body.get("content")
    for index, block in enumerate(content if type(content) is list else ()):
        events += _block(index, block)
    if _closes(body):
        events.append(_delta(body))
    if body.get("error") is not None:
        error = {key: body[key] for key in _ERROR if key in body}
        return [*events, {"type": "error", **error}]
    return [*events, {"type": "message_stop"}]


def _closes(body: dict[str, Json]) -> bool:
    """Whether a message_delta comes; a message that broke off has none, so all that is known came at the start."""
    return body.get("error") is None or body.get("stop_reason") is not None


def _start(body: dict[str, Json]) -> Json:
    apart = _ERROR if body.get("error") is not None else ()
    message = {key: value for key, value in body.items() if key not in apart}
    if type(message.get("content")) is list:
        message["content"] = []
    if _closes(body):
        _hold_back(message)
    return {"type": "message_start", "message": message}


def _hold_back(message: dict[str, Json]) -> None:
    """Take out of the start what message_delta brings."""
    for key in _CLOSING:
        message.pop(key, None)
    for key in _STOP:
        if key in message:
            message[key] = None
    if type(message.get("container")) is dict:
        del message["container"]
    usage = message.get("usage")
    if type(usage) is dict:
        message["usage"] = {key: value for key, value in usage.items() if key not in _LATE_USAGE}
        if type(usage.get("output_tokens")) is int:
            message["usage"]["output_tokens"] = min(usage["output_tokens"], 1)


def _delta(body: dict[str, Json]) -> Json:
    delta = {key: body[key] for key in _STOP if key in body}
    if type(body.get("container")) is dict:
        delta["container"] = body["container"]
    if "model" in body and _served(body) not in (None, body["model"]):
        delta["model"] = body["model"]
    event = {"type": "message_delta", "delta": delta}
    usage = body.get("usage")
    if type(usage) is dict:
        event["usage"] = {key: usage[key] for key in _CLOSING_USAGE if key in usage}
    return {**event, **{key: body[key] for key in _CLOSING if key in body}}


def _served(body: dict[str, Json]) -> Json:
    """The model that the last fallback block hands over to, which the fold makes the message's model."""
    content = body.get("content")
    served = None
    for block in content if type(content) is list else ():
        if type(block) is dict and block.get("type") == "fallback" and type(block.get("to")) is dict:
            served = block["to"].get("model", served)
    return served


def _block(index: int, block: Json) -> Iterator[Json]:
    started, deltas = _split(block)
    yield {"type": "content_block_start", "index": index, "content_block": started}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _split(block: Json) -> tuple[Json, list[Json]]:
    """A block as it starts, and the deltas that make the rest of it."""
    kind = block.get("type") if type(block) is dict else None
    if kind == "text":
        return _split_text(block)
    if kind == "thinking":
        return _split_thinking(block)
    if type(kind) is str and kind in CALLS and block.get("input"):
        arguments = ["", *_cut(dumps(block["input"]))]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in arguments]
    if kind == "compaction" and "content" in block:
        delta = {key: block[key] for key in ("content", "encrypted_content") if key in block}
        return {**block, **dict.fromkeys(delta)}, [{"type": "compaction_delta", **delta}]
    return block, []


def _split_text(block: dict[str, Json]) -> tuple[Json, list[Json]]:
    started, deltas = dict(block), []
    if type(block.get("citations")) is list:
        started["citations"] = []
        deltas = [{"type": "citations_delta", "citation": citation} for citation in block["citations"]]
    if type(block.get("text")) is str:
        started["text"] = ""
        deltas += [{"type": "text_delta", "text": text} for text in _cut(block["text"])]
    return started, deltas


def _split_thinking(block: dict[str, Json]) -> tuple[Json, list[Json]]:
    started, deltas = dict(block), []
    if type(block.get("thinking")) is str:
        started["thinking"] = ""
        deltas = [{"type": "thinking_delta", "thinking": text} for text in _cut(block["thinking"])]
    if type(block.get("signature")) is str and block["signature"]:
        started["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return started, deltas


def _cut(text: str) -> list[str]:
    return [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]


def sse(events: Sequence[Json]) -> str:
    """Events as the provider writes them: each with its type as the event's name; there is no terminator."""
    return "".join(_frame(event) for event in events)


def _frame(event: Json) -> str:
    if type(event) is str:
        return f"data: {event}\n\n"
    kind = event.get("type") if type(event) is dict else None
    name = f"event: {kind}\n" if type(kind) is str else ""
    return f"{name}data: {dumps(event)}\n\n"
