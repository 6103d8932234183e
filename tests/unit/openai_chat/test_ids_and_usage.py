"""Ids of calls, results that reference them, usage arithmetic, and what other protocols' records are written as."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.protocols.openai_chat import CODEC
from headrace.protocols.openai_chat.usage import read_usage
from tests.unit.openai_chat.samples import CALL, CALLS, response


def read(messages: list[Any]) -> Any:
    body = {"messages": messages}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert CODEC.write_request(record) == body
    return record["messages"]


def test_derived_ids_are_stable_and_unlike() -> None:
    calls = [CALLS["without id"], CALLS["without id"]]
    first, again = (read([{"role": "assistant", "tool_calls": calls}]) for _ in range(2))
    ids = [part["tool_call"]["id"] for part in first[0]["parts"]]
    assert ids == [part["tool_call"]["id"] for part in again[0]["parts"]] and len(set(ids)) == 2


def test_equal_ids_stay_two_calls() -> None:
    (message,) = read([{"role": "assistant", "tool_calls": [CALL, CALL]}])
    assert [(part["tool_call"]["id"], part["tool_call"]["index"]) for part in message["parts"]] == [
        ("call_1", 0),
        ("call_1", 1),
    ]


def test_results_reference_their_calls_by_id() -> None:
    _, result = read(
        [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "call_1", "content": "x"}]
    )
    assert result["role"] == "tool" and result["parts"][0]["tool_result"]["tool_call_id"] == "call_1"


@pytest.mark.parametrize("key", ["name", "tool_name"])
def test_results_without_id_reference_their_calls_by_name_and_order(key: str) -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("f", "g", "f")]
    results = [{"role": "tool", key: name, "content": "x"} for name in ("f", "f", "g")]
    asked, *answers = read([{"role": "assistant", "tool_calls": calls}, *results])
    ids = [part["tool_call"]["id"] for part in asked["parts"]]
    assert [answer["parts"][0]["tool_result"]["tool_call_id"] for answer in answers] == [ids[0], ids[2], ids[1]]


def test_the_deprecated_function_result_references_the_deprecated_call() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    asked, answered = read([call, {"role": "function", "name": "f", "content": "x"}])
    assert answered["role"] == "tool"
    assert answered["parts"][0]["tool_result"]["tool_call_id"] == asked["parts"][0]["tool_call"]["id"]


def test_an_answer_to_nothing_references_nothing() -> None:
    (orphan,) = read([{"role": "tool", "content": "x"}])
    assert "tool_call_id" not in orphan["parts"][0]["tool_result"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 5, 15)),
        ({"prompt_tokens": 10, "completion_tokens": 5}, (10, 5, 15)),
        # xAI: reasoning beside completion tokens.
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 1,
                "total_tokens": 303,
                "completion_tokens_details": {"reasoning_tokens": 290},
            },
            (12, 291, 303),
        ),
        # A gateway that leaves cached tokens out of prompt tokens.
        (
            {
                "prompt_tokens": 7,
                "completion_tokens": 20,
                "total_tokens": 127,
                "prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 10},
            },
            (107, 20, 127),
        ),
        # A gap that nothing explains stays one.
        ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, (35, 12, 109)),
        ({"total_tokens": 9}, (None, None, 9)),
    ],
)
def test_usage_is_one_arithmetic(usage: Any, expected: Any) -> None:
    read = read_usage(usage)
    assert tuple(read.get(key) for key in ("input_tokens", "output_tokens", "total_tokens")) == expected


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 4}}, 4),
        ({"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}, 4),
        ({"cached_tokens": 4}, 4),
        ({"num_cached_tokens": 4}, 4),
        ({"cache_read_input_tokens": 4}, 4),
    ],
)
def test_cached_tokens_have_many_names(usage: Any, cached: int) -> None:
    assert read_usage(usage)["cache_read_tokens"] == cached


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cache_write_tokens": 4}},
        {"prompt_tokens_details": {"cache_creation_tokens": 4}, "cache_creation_input_tokens": 4},
        {"prompt_tokens_details": {"cached_creation_tokens": 4}},
        {"cache_creation_input_tokens": 4, "cache_read_input_tokens": 0},
    ],
)
def test_tokens_written_to_a_cache_have_many_names(usage: Any) -> None:
    assert read_usage(usage)["cache_write_tokens"] == 4


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith("signed")])
def test_a_signed_call_has_its_signature(name: str) -> None:
    (message,) = read([{"role": "assistant", "tool_calls": [CALLS[name]]}])
    (part,) = message["parts"]
    assert part["signature"] == "c2ln" and part["continuation"]


def test_a_function_without_its_object_is_a_function() -> None:
    flat = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    body = {"messages": [], "tools": [flat]}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert CODEC.write_request(record) == body
    (tool,) = record["tools"]
    assert (tool["name"], tool["kind"], tool["parameters"]) == ("f", "function", '{"type":"object"}')


@pytest.mark.parametrize("usage", [None, {}, [], "x", {"prompt_tokens": "10"}, {"new": 1}])
def test_odd_usage_comes_back(usage: Any) -> None:
    body = response({"role": "assistant", "content": "x"}, usage=usage)
    assert CODEC.write_response(CODEC.read_response(body, Reading("call", "response"), None)) == body


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"model": "m", "input": "hi"}])
def test_what_has_no_messages_is_no_request(body: Any) -> None:
    with pytest.raises(WireError, match="messages"):
        CODEC.read_request(body, Reading("call", "request"))


@pytest.mark.parametrize("body", [{}, {"object": "rerank", "results": []}, {"object": "response", "output": []}])
def test_what_has_neither_choices_nor_error_is_no_response(body: Any) -> None:
    with pytest.raises(WireError, match="choices"):
        CODEC.read_response(body, Reading("call", "response"), None)


def test_records_of_other_protocols_are_written_plainly() -> None:
    record: Any = {
        "model": "m",
        "messages": [
            {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
            {
                "role": "user",
                "parts": [{"type": "media", "media": {"kind": "image", "mime_type": "image/png", "data": "AA"}}],
            },
            {
                "role": "assistant",
                "parts": [
                    {"type": "tool_call", "tool_call": {"id": "t1", "name": "f", "kind": "function", "arguments": "{}"}}
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "type": "tool_result",
                        "tool_result": {"tool_call_id": "t1", "content": [{"type": "text", "text": "r"}]},
                    },
                    {"type": "text", "text": "and?"},
                ],
            },
        ],
        "tools": [{"name": "f", "kind": "function", "parameters": '{"type":"object"}'}],
        "tool_choice": {"mode": "required"},
        "parameters": {"max_output_tokens": 5, "stop": ["a"]},
    }
    assert CODEC.write_request(record) == {
        "model": "m",
        "max_completion_tokens": 5,
        "stop": ["a"],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "r"},
            {"role": "user", "content": "and?"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "tool_choice": "required",
    }


def test_a_response_made_elsewhere_is_written_plainly() -> None:
    record: Any = {
        "response_id": "r",
        "served_model": "m",
        "messages": [
            {
                "role": "assistant",
                "choice_index": 0,
                "raw_finish_reason": "stop",
                "parts": [
                    {"type": "reasoning", "reasoning": {"text": "Hm."}},
                    {"type": "text", "text": "a"},
                    {"type": "text", "text": "b"},
                ],
            }
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "cache_read_tokens": 1},
    }
    message = {"role": "assistant", "content": "ab", "reasoning_content": "Hm."}
    assert CODEC.write_response(record) == {
        "id": "r",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 1},
        },
    }
