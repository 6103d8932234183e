"""Chat completions against real traffic, real faults and the official SDK's accumulator.

Every reader of the shared folder yields nothing where it is absent; the tests then rest on the small fixtures here.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from headrace.canonical.reading import Reading
from headrace.capture.body import read_body
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_chat import CODEC
from tests.support.shared import corpus, traps

PROTOCOL = "openai.chat"

#: Exchanges whose body is no chat completion: an echo service's answer, and a reranking.
NO_MESSAGE = {"pai/test_openai/test_invalid_response#0", "ver/togetherai/src/reranking/togetherai-reranking.1.json"}


def chunk(delta: dict[str, Json], finish: str | None = None, **more: Json) -> dict[str, Json]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "m-1",
        "choices": [choice],
        **more,
    }


OWN_STREAM: list[Json] = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": "It "}),
    chunk({"content": "rains."}),
    chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
    chunk({}, "tool_calls"),
    {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
    "[DONE]",
]
OWN_REQUEST = {"model": "m-1", "messages": [{"role": "user", "content": "Weather?"}], "temperature": 0.5}
OWN_EXCHANGE = {"id": "own", "request": OWN_REQUEST, "response": CODEC.fold(OWN_STREAM)[0].body}


def exchanges() -> list[dict[str, Any]]:
    return [OWN_EXCHANGE, *corpus(PROTOCOL)]


def events_of(exchange: dict[str, Any]) -> list[Json]:
    if exchange.get("ndjson_chunks"):
        chunks: list[Json] = exchange["ndjson_chunks"]
        return chunks
    return read_body(exchange["sse"].encode()).values


def streams() -> Iterator[tuple[str, list[Json]]]:
    yield "own", OWN_STREAM
    for exchange in corpus(PROTOCOL):
        if exchange.get("sse") or exchange.get("ndjson_chunks"):
            yield exchange["id"], events_of(exchange)


def reading(kind: str = "response") -> Reading:
    return Reading("call", kind)


def differences(left: Json, right: Json, path: str = "") -> Iterator[tuple[str, Json, Json]]:
    """(path, left, right) of every place where two JSON values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() | right.keys():
            yield from differences(left.get(key, MISSING), right.get(key, MISSING), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            yield from differences(one, other, f"{path}[]")
    elif left != right:
        yield path, left, right


MISSING = "(missing)"


# Round trips


def test_every_exchange_comes_back_as_it_was() -> None:
    refused = set()
    for exchange in exchanges():
        request, response = exchange.get("request"), exchange.get("response")
        if request is not None:
            assert CODEC.write_request(CODEC.read_request(request, reading("request"))) == request, exchange["id"]
        if response is None:
            continue
        try:
            record = CODEC.read_response(response, reading(), None)
        except WireError:
            refused.add(exchange["id"])
            continue
        assert CODEC.write_response(record) == response, exchange["id"]
    assert refused <= NO_MESSAGE


def test_named_fields_carry_what_the_wire_says() -> None:
    leaves, left = 0, Counter[str]()
    for exchange in exchanges():
        for kind, read in (("request", CODEC.read_request), ("response", read_response)):
            body = exchange.get(kind)
            if body is None or exchange["id"] in NO_MESSAGE:
                continue
            leaves += len(list(leaf_paths(body)))
            left.update(unnamed(read(body, reading(kind)), kind))
    share = 1 - left.total() / leaves
    print(f"named fields carry {share:.2%} of {leaves} leaf values; the rest: {left.most_common(10)}")
    assert share >= 0.99


def read_response(body: dict[str, Json], reading: Reading) -> Any:
    return CODEC.read_response(body, reading, None)


def leaf_paths(value: Json, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaf_paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for item in value:
            yield from leaf_paths(item, f"{path}[]")
    else:
        yield path


def unnamed(shape: Any, path: str) -> Iterator[str]:
    """Leaf values in ``extras`` and ``raw``, and of usage those that no named field or detail carries."""
    if isinstance(shape, list):
        for item in shape:
            yield from unnamed(item, f"{path}[]")
    if not isinstance(shape, dict):
        return
    for key, value in shape.items():
        if key in ("extras", "raw"):
            for leaf in leaf_paths(json.loads(value)):
                if not (path.endswith(".usage") and carried(leaf)):
                    yield f"{path}.{key}:{leaf}"
        else:
            yield from unnamed(value, f"{path}.{key}")


def carried(leaf: str) -> bool:
    return any(leaf == known or leaf.startswith((f"{known}.", f"{known}[")) for known in CODEC.usage_paths)


def test_usage_adds_up() -> None:
    unbalanced = {}
    for exchange in exchanges():
        bodies = [exchange["response"]] if isinstance(exchange.get("response"), dict) else []
        if exchange.get("sse") or exchange.get("ndjson_chunks"):
            bodies = [folded.body for folded in CODEC.fold(events_of(exchange))]
        for body in bodies:
            if exchange["id"] in NO_MESSAGE:
                continue
            usage = CODEC.read_response(body, reading(), None).get("usage", {})
            total = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
            if total != usage.get("total_tokens", 0):
                unbalanced[exchange["id"]] = usage["total_tokens"] - total
    # Google's compatible endpoint counts its thoughts in the total and names them nowhere.
    assert all(name.startswith("pai/test_openai/test_compatible_api_with_tool_calls_without_id") for name in unbalanced)


# Streams


def test_every_stream_folds_to_one_finished_body_that_comes_back() -> None:
    for name, events in streams():
        before = deepcopy(events)
        (folded,) = CODEC.fold(events)
        assert events == before, f"{name}: folding changed its input"
        assert folded.complete and folded.stray == [] and folded.unknown == [], name
        record = CODEC.read_response(folded.body, reading(), folded.layout)
        assert CODEC.write_response(record) == folded.body, name


def test_unfolded_bodies_fold_to_themselves() -> None:
    bodies = [(name, folded.body) for name, events in streams() for folded in CODEC.fold(events)]
    bodies += [(e["id"], e["response"]) for e in exchanges() if e.get("response") and e["id"] not in NO_MESSAGE]
    for name, body in bodies:
        (folded,) = CODEC.fold(CODEC.unfold(body))
        # A call's index is where a stream puts it: a whole body may repeat it, a folded one does not.
        found = [path for path, _, _ in differences(body, folded.body) if path != CALL_INDEX]
        assert found == [], name
        assert folded.complete and folded.layout is None and folded.stray == [], name


CALL_INDEX = ".choices[].message.tool_calls[].index"

#: Where the SDK's accumulator gives something else, by path: why ours stays.
SDK_DIFFERENCES = {
    CALL_INDEX: "a stream's address: whole bodies of OpenAI have none",
    ".choices[].message.role": "the SDK joins a role that is sent again: assistantassistant",
    ".choices[].message.channel": "the same, for Groq's channel",
    ".choices[].message.token_id": "the SDK adds token ids up; they are no amounts",
    ".choices[].message.index": "Mistral repeats the choice's index in its deltas",
    ".choices[].message.content": "the SDK drops a list once a string comes (Mistral's thinking)",
    ".choices[].message.executed_tools[].arguments": "Groq sends a tool again with its result; the SDK joins both",
    ".choices[].native_finish_reason": "the SDK keeps a choice's other fields as its first chunk has them",
    ".choices[].seed": "the same",
    ".choices[].text": "the same",
    ".choices[].token_ids": "the same",
    ".choices[].stop_reason": "the same",
    ".service_tier": "the SDK keeps a body's other fields as the first chunk has them",
    ".usage": "the SDK takes the last chunk's usage even when it has none; Groq's is wrapped",
    ".usage_breakdown": "Groq's whole bodies have it beside usage; the stream wraps it",
    ".x_groq": "the rest of that wrapper",
    ".error": "an error frame is no chunk for the SDK",
    ".object": "the SDK adds it where a server leaves it out",
}


def test_folding_equals_the_sdks_accumulator() -> None:
    compared, found = 0, Counter[str]()
    for name, events in streams():
        expected = sdk_completion(events)
        if expected is None:
            assert name == "ver/mistral/src/mistral-reasoning.chunks.txt"
            continue
        compared += 1
        (folded,) = CODEC.fold(events)
        for path, _, _ in differences(without_nulls(expected), without_nulls(folded.body)):
            found[path] += 1
    explained = {re.match(r"\.x_groq|\.error|\.usage_breakdown|\.usage|.*", path)[0] for path in found}  # type: ignore[index]
    print(f"{compared} streams compared; differences by path: {dict(found)}")
    assert explained <= SDK_DIFFERENCES.keys()


def sdk_completion(events: list[Json]) -> dict[str, Json] | None:
    """The SDK's accumulated completion; None where it raises."""
    state = ChatCompletionStreamState()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for event in events:
                if isinstance(event, dict) and "choices" in event:
                    state.handle_chunk(ChatCompletionChunk.construct(**deepcopy(event)))
            completion = state.get_final_completion().model_dump(mode="json", exclude={"choices": {"__all__": PARSED}})
        except RuntimeError:
            return None
    return completion


PARSED: Any = {"message": {"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}}


def without_nulls(value: Json) -> Json:
    """The SDK fills what is absent with null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_signs_tell_the_end_of_real_streams() -> None:
    for name, events in streams():
        signs = [CODEC.sign(json.dumps(event).encode()) for event in events]
        assert max(signs) > 0, name
        ended = next(at for at, sign in enumerate(signs) if sign == max(signs))
        later = [event for event in events[ended + 1 :] if isinstance(event, dict) and event["choices"]]
        assert later == [], f"{name}: content after the end"
        assert CODEC.sign(CODEC.sse(events).encode()) == max(signs), name


# Real faults


def trap_cases() -> list[Any]:
    kinds = [trap for trap in traps() if trap["kind"] == "stream reassembly" and trap["protocol"] == PROTOCOL]
    return [pytest.param(trap, id=trap["id"]) for trap in kinds]


OWN_TRAP = {
    "input": {"type": "stream", "chunks": OWN_STREAM[:5], "done_sentinel": False},
    "expected": {
        "result": {
            "status": "truncated",
            "text": "It rains.",
            "tool_calls": [{"id": "c1", "name": "f", "arguments": None, "arguments_raw": '{"a":'}],
        }
    },
}


@pytest.mark.parametrize("trap", [pytest.param(OWN_TRAP, id="own"), *trap_cases()])
def test_real_faults_come_out_right(trap: dict[str, Any]) -> None:
    (folded,) = CODEC.fold(trap_events(trap["input"]))
    record = CODEC.read_response(folded.body, reading(), folded.layout)
    assert CODEC.write_response(record) == folded.body
    result = outcome(folded, record)
    for key, expected in trap["expected"]["result"].items():
        found = result[key]
        if key in ("tool_calls", "reasoning"):
            assert len(found) == len(expected)
            found = [{name: one[name] for name in wanted} for one, wanted in zip(found, expected, strict=True)]
        assert found == expected, key


def trap_events(given: dict[str, Any]) -> list[Json]:
    if given["type"] == "raw_sse":
        return read_body("".join(given["reads"]).encode()).values
    return [*given["chunks"], *(["[DONE]"] if given["done_sentinel"] else [])]


def outcome(folded: Folded, record: Any) -> dict[str, Any]:
    """A record in the words of the traps."""
    status = "complete" if record["status"] == "completed" else record["status"]
    (message,) = record.get("messages", [{}])
    parts = message.get("parts", [])
    usage = json.loads(record["usage"]["raw"]) if "usage" in record else None
    error = record.get("error", {})
    code = error.get("code")
    return {
        "status": status if folded.complete else "truncated",
        "stop": record.get("finish_reason"),
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "tool_calls": [call_words(part["tool_call"]) for part in parts if part["type"] == "tool_call"],
        "reasoning": [reasoning_words(at, part) for at, part in enumerate(parts) if part["type"] == "reasoning"],
        "usage": usage,
        "error": {
            "type": error.get("type"),
            "message": error.get("message"),
            "code": int(code) if code is not None and code.isdigit() else code,
        },
    }


def call_words(call: dict[str, Any]) -> dict[str, Any]:
    whole = "arguments" in call
    return {
        "id": call["id"],
        "type": call["kind"],
        "name": call["name"],
        "arguments": json.loads(call["arguments"]) if whole else None,
        "arguments_raw": call.get("raw_arguments"),
        "complete": whole,
    }


def reasoning_words(at: int, part: dict[str, Any]) -> dict[str, Any]:
    reasoning = part["reasoning"]
    return {
        "kind": part["wire_type"].removeprefix("reasoning."),
        "text": reasoning.get("text", "".join(reasoning.get("summary", []))),
        "data": reasoning.get("encrypted"),
        "id": part.get("provider_item_id"),
        "index": at,
    }


def test_text_around_calls_keeps_its_place() -> None:
    """The record behind trap b40: text before, between and after calls stays where the stream had it."""
    given = next((trap["input"] for trap in traps() if trap["id"] == "b40"), None)
    second = {"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}
    own = [*OWN_STREAM[:6], chunk({"content": "\n"}), chunk({"tool_calls": [second]}), chunk({"content": "Done."})]
    for events in [own, *([trap_events(given)] if given else [])]:
        (folded,) = CODEC.fold(events)
        record = CODEC.read_response(folded.body, reading(), folded.layout)
        parts = record["messages"][0]["parts"]
        assert [part["type"] for part in parts] == ["text", "tool_call", "text", "tool_call", "text"]
        assert [part["text"] for part in parts if part["type"] == "text"][1:] == ["\n", "Done."]
        assert CODEC.write_response(record) == folded.body
