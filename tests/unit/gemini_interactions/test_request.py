"""Requests: input in its forms, settings, tools, tool choice, what continues an earlier interaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from tests.unit.gemini_interactions.wire import CODEC, CONTENTS, REQUEST, STEPS, TEXT, TOOLS, read_request


def test_a_whole_request_is_in_named_fields() -> None:
    record = read_request(REQUEST)
    assert "extras" not in record
    assert record["parameters"] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["END"],
        "max_output_tokens": 100,
        "reasoning_effort": "low",
        "reasoning_summary": "auto",
        "store": False,
        "stream": True,
        "background": False,
        "cached_content": "cachedContents/1",
        "response_format": json.dumps(REQUEST["response_format"], separators=(",", ":")),
        "modalities": ["text", "image"],
        "safety_settings": json.dumps(REQUEST["safety_settings"], separators=(",", ":")),
        "service_tier": "flex",
        "other": record["parameters"]["other"],
    }
    assert json.loads(record["parameters"]["other"]).keys() == {
        "generation_config",
        "response_mime_type",
        "webhook_config",
    }
    assert record["model"] == "gemini-test"
    assert record["previous_response_id"] == "v1_0"
    assert record["continuation_token"] == "tok"
    assert json.loads(record["metadata"]) == {"team": "blue"}
    assert json.loads(record["container"]) == {"type": "remote", "environment_id": "e1"}
    assert record["continuation"] == ["previous_interaction_id", "continuation_token", "environment"]


def test_roles_of_a_stateless_history() -> None:
    record = read_request(
        {
            "model": "m",
            "system_instruction": "Be brief.",
            "input": [
                STEPS["user_input"],
                STEPS["thought"],
                STEPS["function_call"],
                STEPS["function_result"],
                STEPS["model_output"],
            ],
        }
    )
    assert [message["role"] for message in record["messages"]] == ["system", "user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("Hello", ["user"]),
        ("", ["user"]),
        (TEXT, ["user"]),
        (CONTENTS["image"], ["user"]),
        ([TEXT, CONTENTS["image"]], ["user"]),
        ([STEPS["user_input"]], ["user"]),
        (STEPS["user_input"], ["user"]),
        ([TEXT, STEPS["model_output"], TEXT], ["user", "assistant", "user"]),
        ([{"role": "user", "content": "Hi"}, {"role": "model", "content": [TEXT]}], ["user", "assistant"]),
        ([{"role": "model", "content": [STEPS["thought"], STEPS["function_call"]]}], ["assistant"]),
        ([{"role": "user", "content": [STEPS["function_result"]]}, {"role": "odd"}], ["user", "odd"]),
        ([{"role": "user", "content": TEXT, "new": 1}], ["user"]),
        ([{"role": "system", "content": "x"}], ["system"]),
        ([{"type": "hologram"}], ["assistant"]),
        ([TEXT, {"type": "hologram"}], ["user"]),
        ([], []),
        (None, []),
        (5, []),
        ({}, []),
        ("\ud800", []),
        (["x", None, [], TEXT], ["assistant", "user"]),
    ],
)
def test_input_in_all_its_forms(given: Any, roles: list[str]) -> None:
    record = read_request({"model": "m", "input": given})
    assert [message["role"] for message in record.get("messages", [])] == roles


@pytest.mark.parametrize("system", ["", None, [], {}, 5, {"parts": []}, "\ud800"])
def test_system_instructions_of_odd_types_come_back(system: Any) -> None:
    read_request({"model": "m", "input": "x", "system_instruction": system})


def test_an_agent_is_the_model_asked_for() -> None:
    record = read_request({"agent": "deep-research", "input": "x", "agent_config": {"type": "deep-research"}})
    assert record["model"] == "deep-research"
    assert json.loads(record["parameters"]["other"]) == {"agent_config": {"type": "deep-research"}}
    read_request({"agent": "a", "model": "m", "input": "x"})


def test_a_stateful_turn_has_no_input_of_its_own_history() -> None:
    record = read_request({"model": "m", "previous_interaction_id": "v1_1", "input": [STEPS["function_result"]]})
    assert record["messages"][0]["parts"][0]["tool_result"]["tool_call_id"] == "fc1"
    assert record["continuation"] == ["previous_interaction_id"]


@pytest.mark.parametrize("kind", sorted(TOOLS))
def test_every_tool_is_in_named_fields(kind: str) -> None:
    (tool,) = read_request({"model": "m", "tools": [TOOLS[kind]]})["tools"]
    assert tool["wire_type"] == kind
    assert tool["name"]
    assert "extras" not in tool


def test_tools_by_kind() -> None:
    kinds = {tool["wire_type"]: tool["kind"] for tool in read_request(REQUEST)["tools"]}
    assert kinds == {
        **dict.fromkeys(TOOLS, "server"),
        "function": "function",
        "mcp_server": "mcp",
        "computer_use": "computer",
    }


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "hologram", "name": "h", "x": 1}],
        [{"name": "untyped"}],
        [{"type": "function"}],
        [{"type": "function", "name": ""}],
        [{"type": "google_search", "name": "g", "new": []}],
        [{"type": "mcp_server"}],
        [{"type": None, "name": None}],
        [{}],
        ["x", None, TOOLS["function"]],
        [],
        None,
        {},
        "x",
    ],
)
def test_tools_of_odd_forms_come_back(tools: Any) -> None:
    read_request({"model": "m", "tools": tools})


@pytest.mark.parametrize(
    ("choice", "shape"),
    [
        ("auto", {"mode": "auto"}),
        ("any", {"mode": "required"}),
        ("none", {"mode": "none"}),
        ("validated", {"mode": "validated"}),
        (
            {"allowed_tools": {"mode": "any", "tools": ["a"]}},
            {"mode": "allowed", "allowed": ["a"], "allowed_mode": "required"},
        ),
        ({"allowed_tools": {"tools": ["a", "b"]}}, {"mode": "allowed", "allowed": ["a", "b"]}),
        ({"allowed_tools": {"mode": "auto"}}, {"mode": "allowed", "allowed_mode": "auto"}),
        ({"allowed_tools": {}}, {"mode": "allowed"}),
        ("required", None),
        ("", None),
        ({}, None),
        (None, None),
        ({"allowed_tools": {"tools": []}}, None),
        ({"allowed_tools": {"tools": [1]}}, None),
        ({"allowed_tools": {"mode": 3}}, None),
        ({"allowed_tools": {"mode": "any", "new": 1}}, None),
        ({"allowed_tools": None}, None),
        (["auto"], None),
    ],
)
def test_tool_choice_in_all_its_forms(choice: Any, shape: Any) -> None:
    record = read_request({"model": "m", "generation_config": {"tool_choice": choice}})
    assert record.get("tool_choice") == shape


@pytest.mark.parametrize(
    "config",
    [
        {"temperature": "hot"},
        {"temperature": None, "seed": 1.5, "stop_sequences": "END"},
        {"stop_sequences": []},
        {"max_output_tokens": 1 << 70},
        {},
        None,
        [],
        {"new": {"deep": [1]}},
    ],
)
def test_settings_of_odd_types_come_back(config: Any) -> None:
    read_request({"model": "m", "generation_config": config})


@pytest.mark.parametrize("body", [{}, {"unrelated": 1}, [], "x", None])
def test_what_is_no_request_is_refused(body: Any) -> None:
    with pytest.raises(WireError):
        CODEC.read_request(body, Reading("call", "request"))


def test_a_record_of_another_protocol_is_written_in_this_one_s_words() -> None:
    body = CODEC.write_request(
        {
            "model": "gemini-test",
            "messages": [
                {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
                {"role": "user", "parts": [{"type": "text", "text": "Weather?"}]},
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "text", "text": "Asking."},
                        {"type": "tool_call", "tool_call": {"id": "c1", "name": "weather", "arguments": "{}"}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "type": "tool_result",
                            "tool_result": {"tool_call_id": "c1", "content": [{"type": "text", "text": "8 °C"}]},
                        },
                        {"type": "text", "text": "And now?"},
                    ],
                },
            ],
            "tools": [{"name": "weather", "parameters": '{"type":"object"}'}],
            "tool_choice": {"mode": "tool", "name": "weather"},
        }
    )
    assert body == {
        "model": "gemini-test",
        "system_instruction": "Be brief.",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
            {"type": "model_output", "content": [{"type": "text", "text": "Asking."}]},
            {"type": "function_call", "id": "c1", "name": "weather", "arguments": {}},
            {"type": "function_result", "call_id": "c1", "result": [{"type": "text", "text": "8 °C"}]},
            {"type": "user_input", "content": [{"type": "text", "text": "And now?"}]},
        ],
        "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}}],
        "generation_config": {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["weather"]}}},
    }
