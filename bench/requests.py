"""Requests with long histories, side by side: python -m bench.requests [--quick].

Headrace reads the JSON body and writes the record's Avro bytes. The peers read the same JSON: into the provider SDK's
types (pydantic, no output), through LiteLLM's transformation to another provider, into llm-rosetta's own model. Every
message, call and result carries a mark; the table says how many of them each one's result still holds.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Callable
from typing import Any

from bench.rounds import race, report, settle, summary
from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.reading import Reading
from headrace.json_text import loads
from headrace.protocols import codec

_LENGTHS = (10, 100, 1_000)
_TEXT = "The quick brown fox jumps over a lazy dog, and some more words follow, as they do in any conversation. " * 3


def history(messages: int) -> list[dict[str, Any]]:
    """A Chat history: a question, a call, its result, an answer, and so on."""
    kinds: list[Callable[[int], dict[str, Any]]] = [
        lambda at: {"role": "user", "content": f"mark-{at:05d} {_TEXT}"},
        lambda at: {"role": "assistant", "content": None, "tool_calls": [_call(at)]},
        lambda at: {"role": "tool", "tool_call_id": f"call_{at - 1}", "content": f"mark-{at:05d} {_TEXT}"},
        lambda at: {"role": "assistant", "content": f"mark-{at:05d} {_TEXT}"},
    ]
    return [{"role": "system", "content": "mark-sys"}, *(kinds[at % 4](at) for at in range(messages - 1))]


def _call(at: int) -> dict[str, Any]:
    arguments = json.dumps({"query": f"mark-{at:05d}", "limit": 10})
    return {"id": f"call_{at}", "type": "function", "function": {"name": "search", "arguments": arguments}}


_TOOL = {"type": "function", "function": {"name": "search", "description": "Search.", "parameters": {"type": "object"}}}


def chat_request(messages: int) -> bytes:
    """A Chat Completions request body."""
    return json.dumps({"model": "bench", "messages": history(messages), "tools": [_TOOL]}).encode()


def messages_request(messages: int) -> bytes:
    """The same as an Anthropic Messages body."""
    turns: list[dict[str, Any]] = []
    for at, message in enumerate(history(messages)[1:]):
        if message["role"] == "tool":
            content: Any = [{"type": "tool_result", "tool_use_id": f"call_{at - 1}", "content": message["content"]}]
        elif "tool_calls" in message:
            call = message["tool_calls"][0]
            block = {"type": "tool_use", "id": call["id"], "name": "search"}
            content = [{**block, "input": json.loads(call["function"]["arguments"])}]
        else:
            content = message["content"]
        turns.append({"role": "user" if message["role"] in ("user", "tool") else "assistant", "content": content})
    tool = {"name": "search", "description": "Search.", "input_schema": {"type": "object"}}
    return json.dumps(
        {"model": "bench", "max_tokens": 9, "system": "mark-sys", "messages": turns, "tools": [tool]}
    ).encode()


def responses_request(messages: int) -> bytes:
    """The same as an OpenAI Responses body."""
    items: list[dict[str, Any]] = []
    for message in history(messages)[1:]:
        if message["role"] == "tool":
            call_id, output = message["tool_call_id"], message["content"]
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        elif "tool_calls" in message:
            call = message["tool_calls"][0]
            items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
        else:
            items.append({"role": message["role"], "content": message["content"]})
    tool = {"type": "function", "name": "search", "description": "Search.", "parameters": {"type": "object"}}
    return json.dumps({"model": "bench", "instructions": "mark-sys", "input": items, "tools": [tool]}).encode()


def generate_request(messages: int) -> bytes:
    """The same as a generateContent body."""
    contents: list[dict[str, Any]] = []
    for message in history(messages)[1:]:
        part: dict[str, Any] = {"text": message["content"]}
        if message["role"] == "tool":
            result = {"id": message["tool_call_id"], "name": "search", "response": {"result": message["content"]}}
            part = {"functionResponse": result}
        elif "tool_calls" in message:
            part = {"functionCall": _google_call(message)}
        role = "model" if message["role"] == "assistant" else "user"
        contents.append({"role": role, "parts": [part]})
    declared = {"functionDeclarations": [{"name": "search", "description": "Search."}]}
    system = {"parts": [{"text": "mark-sys"}]}
    return json.dumps({"systemInstruction": system, "contents": contents, "tools": [declared]}).encode()


def interactions_request(messages: int) -> bytes:
    """The same as an Interactions body."""
    steps: list[dict[str, Any]] = []
    for message in history(messages)[1:]:
        if message["role"] == "tool":
            content = [{"type": "text", "text": message["content"]}]
            call_id = message["tool_call_id"]
            steps.append({"type": "function_result", "call_id": call_id, "name": "search", "result": content})
        elif "tool_calls" in message:
            call = _google_call(message)
            steps.append({"type": "function_call", "id": call["id"], "name": "search", "arguments": call["args"]})
        else:
            kind = "user_input" if message["role"] == "user" else "model_output"
            steps.append({"type": kind, "content": [{"type": "text", "text": message["content"]}]})
    tool = {"type": "function", "name": "search", "description": "Search.", "parameters": {"type": "object"}}
    return json.dumps({"model": "bench", "system_instruction": "mark-sys", "input": steps, "tools": [tool]}).encode()


def _google_call(message: dict[str, Any]) -> dict[str, Any]:
    call = message["tool_calls"][0]
    return {"id": call["id"], "name": "search", "args": json.loads(call["function"]["arguments"])}


#: Protocol -> its body of a number of messages.
BODIES: dict[str, Callable[[int], bytes]] = {
    "openai.chat": chat_request,
    "anthropic.messages": messages_request,
    "openai.responses": responses_request,
    "gemini.generate_content": generate_request,
    "gemini.interactions": interactions_request,
}


def _headrace(protocol: str) -> Callable[[bytes], Any]:
    read = codec(protocol).read_request
    return lambda body: encode_record(
        {**read(loads(body), Reading("bench", "request")), "record_id": "r", "record_type": "request", "call_id": "c"}
    )


def _sdk_chat() -> Callable[[bytes], Any]:
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(list[ChatCompletionMessageParam])
    return lambda body: adapter.validate_python(json.loads(body)["messages"])


def _sdk_messages() -> Callable[[bytes], Any]:
    from anthropic.types import MessageParam
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(list[MessageParam])
    return lambda body: adapter.validate_python(json.loads(body)["messages"])


def _litellm() -> Callable[[bytes], Any]:
    from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt

    def transform(body: bytes) -> Any:
        messages = json.loads(body)["messages"]
        system = [message for message in messages if message["role"] == "system"]
        rest = [message for message in messages if message["role"] != "system"]
        return system, anthropic_messages_pt(rest, model="bench", llm_provider="anthropic")

    return transform


def _rosetta(converter: str) -> Callable[[bytes], Any]:
    import llm_rosetta

    reader = getattr(llm_rosetta, converter)()
    return lambda body: reader.request_from_provider(json.loads(body))


#: Protocol -> llm-rosetta's converter.
_ROSETTA = {
    "openai.chat": "OpenAIChatConverter",
    "anthropic.messages": "AnthropicConverter",
    "openai.responses": "OpenAIResponsesConverter",
    "gemini.generate_content": "GoogleGenerateConverter",
    "gemini.interactions": "GoogleInteractionsConverter",
}


def _contestants(protocol: str) -> dict[str, Callable[[bytes], Any]]:
    found: dict[str, Callable[[bytes], Any]] = {"json.loads alone": json.loads, "headrace": _headrace(protocol)}
    if protocol == "openai.chat":
        found["openai-python types"] = _sdk_chat()
        found["litellm to Anthropic"] = _litellm()
    elif protocol == "anthropic.messages":
        found["anthropic types"] = _sdk_messages()
    found["llm-rosetta"] = _rosetta(_ROSETTA[protocol])
    return found


def _kept(result: Any, messages: int) -> str:
    if isinstance(result, bytes):
        result = decode_record(result)
    text = str(_opened(result))
    marks = ["mark-sys", *(f"mark-{at:05d}" for at in range(messages - 1))]
    return f"{sum(mark in text for mark in marks)}/{len(marks)}"


def _opened(value: Any) -> Any:
    """Lazy iterators of validated content, read."""
    if isinstance(value, dict):
        return {key: _opened(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) or "Iterator" in type(value).__name__:
        return [_opened(each) for each in value]
    return value


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one length, few rounds")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    made: dict[str, Any] = {}
    for protocol, body_of in BODIES.items():
        contestants = _contestants(protocol)
        settle()
        for messages in (1_000,) if options.quick else _LENGTHS:
            body = body_of(messages)
            repeats = max(1, 1_000 // messages)
            notes = {}
            for name, read in contestants.items():
                try:
                    notes[name] = _kept(read(body), messages)
                except Exception as error:
                    notes[name] = type(error).__name__
            runners = {name: _pass(read, body, repeats) for name, read in contestants.items()}
            times = race(runners, 3 if options.quick else options.rounds)
            title = f"{protocol}: {messages:,} messages, {len(body):,} bytes"
            medians = report(title, times, messages * repeats, "message", "headrace", notes)
            rate = len(body) / messages / medians["headrace"]
            made[f"{protocol} {messages}"] = {
                "MB_s": round(rate, 1),
                **{name: round(each / medians["headrace"], 2) for name, each in medians.items()},
            }
    summary(bench="requests", times_headrace=made)


def _pass(read: Callable[[bytes], Any], body: bytes, repeats: int) -> Callable[[], object]:
    def work() -> None:
        for _ in range(repeats):
            read(body)

    return work


if __name__ == "__main__":
    main()
