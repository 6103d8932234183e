"""Requests: contents, settings, tools and their choice, ids of calls, and both spellings."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import loads
from headrace.protocols.gemini_generate import CODEC
from headrace.protocols.google.grammar import REQUEST as GRAMMAR
from tests.unit.gemini_generate.samples import PARTS, REQUEST, TOOLS, in_snake_case


def read(body: Any) -> Any:
    return CODEC.read_request(body, Reading("call", "request"))


def round_trip(body: Any) -> Any:
    record = read(body)
    assert CODEC.write_request(record) == body
    return record


def test_a_full_request_is_carried_in_named_fields() -> None:
    record = round_trip(REQUEST)
    assert "extras" not in record
    assert [message["role"] for message in record["messages"]] == ["system", "user", "assistant", "user", "user"]
    assert record["parameters"] == {
        "temperature": 0.5,
        "top_p": 1,
        "top_k": 40,
        "n": 2,
        "max_output_tokens": 64,
        "stop": ["END"],
        "logprobs": True,
        "top_logprobs": 3,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "seed": 7,
        "modalities": ["TEXT"],
        "reasoning_budget": -1,
        "reasoning_effort": "low",
        "safety_settings": '[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]',
        "cached_content": "cachedContents/c1",
        "service_tier": "flex",
        "store": False,
        "response_format": record["parameters"]["response_format"],
        "other": record["parameters"]["other"],
    }
    assert loads(record["parameters"]["other"])["generationConfig"] == {
        "thinkingConfig": {"includeThoughts": True},
        "speechConfig": {"voiceConfig": {}},
    }
    assert loads(record["metadata"]) == {"team_name": "rivers"}
    assert record["continuation"] == ["cachedContent"]


def test_snake_case_gives_the_same_record_but_for_its_spelling() -> None:
    snaked = in_snake_case(REQUEST, GRAMMAR)
    assert "system_instruction" in snaked
    assert "thought_signature" in snaked["contents"][1]["parts"][1]
    record, camel = round_trip(snaked), read(REQUEST)
    assert "some_thing" in record["parameters"]["response_format"]
    assert record.pop("wire") != camel.pop("wire", None)
    assert record == camel


def test_mixed_spelling_comes_back_place_by_place() -> None:
    round_trip(
        {
            "contents": [
                {"parts": [{"function_call": {"name": "a", "will_continue": True}, "thought_signature": "c2ln"}]},
                {"parts": [{"functionCall": {"name": "a", "willContinue": False}, "thoughtSignature": "c2ln"}]},
                {"parts": [{"functionCall": {"name": "a"}, "function_call": {"name": "b"}}]},
            ],
            "generation_config": {"topK": 1, "top_p": 1.0},
            "generationConfig": {"topP": 0.5},
        }
    )


@pytest.mark.parametrize(
    "contents",
    [
        "Hi",
        {"parts": [{"text": "Hi"}]},
        ["Hi"],
        [{"parts": "Hi"}],
        [{"parts": {"text": "Hi"}}],
        [{"role": "user", "parts": [{"text": "Hi"}]}],
        [{"role": "user", "parts": ["Hi"]}],
    ],
)
def test_text_is_text_however_it_is_wrapped(contents: Any) -> None:
    record = round_trip({"contents": contents})
    assert record["messages"][0]["role"] == "user"
    assert record["messages"][0]["parts"][0]["text"] == "Hi"


@pytest.mark.parametrize("contents", [None, [], {}, 7, [None], [7, {"parts": []}], [{}], [{"role": None}]])
def test_odd_contents_come_back(contents: Any) -> None:
    round_trip({"contents": contents, "tools": []})


def test_an_old_role_of_results_is_the_role_tool() -> None:
    record = round_trip({"contents": [{"role": "function", "parts": [PARTS["functionResponse"]]}]})
    assert record["messages"][0]["role"] == "tool"


def test_a_system_message_among_the_contents_stays_there() -> None:
    body = {"contents": [{"role": "user", "parts": []}, {"role": "system", "parts": [{"text": "Be kind."}]}]}
    assert round_trip(body)["messages"][1]["role"] == "system"


def test_several_system_messages_are_one_instruction() -> None:
    record: Any = {
        "messages": [
            {"role": "system", "parts": [{"type": "text", "text": "a"}]},
            {"role": "user", "parts": [{"type": "text", "text": "c"}]},
            {"role": "system", "parts": [{"type": "text", "text": "b"}]},
        ]
    }
    assert CODEC.write_request(record) == {
        "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]},
        "contents": [{"role": "user", "parts": [{"text": "c"}]}],
    }


def test_the_model_of_the_url_is_not_written_into_the_body() -> None:
    record = read({"contents": "Hi"})
    record["model"] = "gemini-test"
    assert CODEC.write_request(record) == {"contents": "Hi"}
    assert round_trip({"contents": "Hi", "model": "models/gemini-test"})["model"] == "models/gemini-test"


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"setup": {}}, [], "x"])
def test_what_is_no_request_is_refused(body: Any) -> None:
    with pytest.raises(WireError) as refused:
        read(body)
    assert refused.value.fix


# Ids of calls


def _calls(record: Any) -> list[str]:
    return [
        part["tool_call"]["id"] for message in record["messages"] for part in message["parts"] if "tool_call" in part
    ]


def _answers(record: Any) -> list[str]:
    parts = [part for message in record["messages"] for part in message["parts"]]
    return [part["tool_result"]["tool_call_id"] for part in parts if "tool_result" in part]


def call(name: str, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **fields}}


def answer(name: str, **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {}, **fields}}


def test_calls_without_ids_get_stable_ones_even_when_they_are_alike() -> None:
    body = {"contents": [{"role": "model", "parts": [call("f"), call("f")]}]}
    first, again = _calls(read(body)), _calls(read(copy.deepcopy(body)))
    assert first == again
    assert len(set(first)) == 2


def test_the_nth_result_of_a_name_answers_its_nth_call() -> None:
    record = round_trip(
        {
            "contents": [
                {"role": "model", "parts": [call("f"), call("g"), call("f")]},
                {"role": "user", "parts": [answer("f"), answer("f"), answer("g")]},
            ]
        }
    )
    f1, g, f2 = _calls(record)
    assert _answers(record) == [f1, f2, g]


def test_a_call_nobody_answered_does_not_shift_later_turns() -> None:
    record = round_trip(
        {
            "contents": [
                {"role": "model", "parts": [call("f"), call("f")]},
                {"role": "user", "parts": [answer("f")]},
                {"role": "model", "parts": [call("f")]},
                {"role": "user", "parts": [answer("f"), answer("f")]},
            ]
        }
    )
    first, second, third = _calls(record)
    assert _answers(record) == [first, third, second]


def test_ids_on_the_wire_are_the_ids_and_may_answer_in_any_order() -> None:
    record = round_trip(
        {
            "contents": [
                {"role": "model", "parts": [call("f", id="a"), call("f", id="b"), call("f")]},
                {"role": "user", "parts": [answer("f", id="b"), answer("f"), answer("f", id="a")]},
            ]
        }
    )
    a, b, derived = _calls(record)
    assert (a, b) == ("a", "b")
    assert _answers(record) == ["b", "a", "a"]
    assert derived not in ("a", "b")


def test_a_result_that_goes_on_leaves_its_call_open() -> None:
    record = round_trip(
        {
            "contents": [
                {"role": "model", "parts": [call("f"), call("f")]},
                {"role": "user", "parts": [answer("f", willContinue=True), answer("f"), answer("f")]},
            ]
        }
    )
    first, second = _calls(record)
    assert _answers(record) == [first, first, second]


def test_a_result_without_a_call_names_none() -> None:
    assert _answers(round_trip({"contents": [{"role": "user", "parts": [answer("f")]}]})) == [""]


# Tools


#: Sample -> (kind, wire type) of each canonical tool.
TOOLS_BECOME: dict[str, list[tuple[str, str]]] = {
    "functions": [("function", "functionDeclarations")] * 2,
    "googleSearch": [("search", "googleSearch")],
    "googleSearchRetrieval": [("search", "googleSearchRetrieval")],
    "googleMaps": [("server", "googleMaps")],
    "urlContext": [("server", "urlContext")],
    "codeExecution": [("code", "codeExecution")],
    "fileSearch": [("search", "fileSearch")],
    "computerUse": [("computer", "computerUse")],
    "mcpServers": [("mcp", "mcpServers")],
    "retrieval": [("server", "retrieval")],
    "enterpriseWebSearch": [("search", "enterpriseWebSearch")],
    "parallelAiSearch": [("search", "parallelAiSearch")],
    "exaAiSearch": [("search", "exaAiSearch")],
    "several": [("search", "googleSearch"), ("function", "functionDeclarations"), ("server", "urlContext")],
    "unknown": [("unknown", "teleport")],
    "null": [("search", "googleSearch")],
    "no functions": [("unknown", "functionDeclarations")],
    "functions and what is none": [
        ("function", "functionDeclarations"),
        ("unknown", "functionDeclarations"),
        ("unknown", "functionDeclarations"),
    ],
    "empty": [("unknown", "")],
}


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_one_canonical_tool(name: str) -> None:
    record = round_trip({"contents": "Hi", "tools": [TOOLS[name]]})
    assert [(tool["kind"], tool.get("wire_type", "")) for tool in record["tools"]] == TOOLS_BECOME[name]


@pytest.mark.parametrize("first", TOOLS)
@pytest.mark.parametrize("second", ["functions", "several", "urlContext", "empty"])
def test_tools_come_back_in_the_objects_they_were_in(first: str, second: str) -> None:
    round_trip({"contents": "Hi", "tools": [TOOLS[first], TOOLS[second], TOOLS[first]]})


def test_schemas_of_both_kinds_are_parameters() -> None:
    tools = round_trip({"contents": "Hi", "tools": [TOOLS["functions"]]})["tools"]
    assert loads(tools[0]["parameters"])["type"] == "OBJECT"
    assert loads(tools[1]["parameters"])["type"] == "object"
    assert loads(tools[1]["config"]) == {"behavior": "NON_BLOCKING"}


def test_a_function_of_another_protocol_is_declared_by_its_json_schema() -> None:
    tool = {"kind": "function", "wire_type": "function", "name": "f", "parameters": '{"type":"object"}'}
    record: Any = {"messages": [], "tools": [tool, {**tool, "name": "g"}]}
    assert CODEC.write_request(record) == {
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "f", "parametersJsonSchema": {"type": "object"}},
                    {"name": "g", "parametersJsonSchema": {"type": "object"}},
                ]
            }
        ]
    }


#: functionCallingConfig -> tool choice.
CHOICES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"mode": "AUTO"}, {"mode": "auto"}),
    ({"mode": "ANY"}, {"mode": "required"}),
    ({"mode": "NONE"}, {"mode": "none"}),
    ({"mode": "VALIDATED"}, {"mode": "validated"}),
    ({"mode": "auto"}, {"mode": "auto", "wire": '{"mode":"auto"}'}),
    ({"mode": "MODE_UNSPECIFIED"}, {"mode": "MODE_UNSPECIFIED"}),
    ({"mode": "ANY", "allowedFunctionNames": ["f"]}, {"mode": "tool", "name": "f", "kind": "function"}),
    (
        {"mode": "ANY", "allowedFunctionNames": ["f", "g"]},
        {"mode": "allowed", "allowed_mode": "required", "allowed": ["f", "g"]},
    ),
    (
        {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
        {"mode": "allowed", "allowed_mode": "validated", "allowed": ["f"]},
    ),
    ({"allowedFunctionNames": ["f"]}, {"mode": "allowed", "allowed": ["f"]}),
    (
        {"streamFunctionCallArguments": True},
        {"config": '{"toolConfig":{"functionCallingConfig":{"streamFunctionCallArguments":true}}}'},
    ),
]


@pytest.mark.parametrize(("config", "choice"), CHOICES)
def test_choices_of_tools(config: dict[str, Any], choice: dict[str, Any]) -> None:
    record = round_trip({"contents": "Hi", "toolConfig": {"functionCallingConfig": config}})
    assert record["tool_choice"] == choice


def test_an_effort_is_lower_case_and_written_in_upper_case() -> None:
    assert CODEC.write_request({"parameters": {"reasoning_effort": "high"}}) == {
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}
    }
    body = {"contents": "Hi", "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}
    assert round_trip(body)["parameters"]["reasoning_effort"] == "low"
