"""Requests: settings, system, tools, messages."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import loads
from headrace.protocols.anthropic_messages import CODEC
from headrace.protocols.anthropic_messages.tools import KNOWN_TYPES
from tests.unit.anthropic_messages.samples import BLOCKS, REQUEST, TOOLS


def read(body: Any) -> Any:
    return CODEC.read_request(body, Reading("call-1", "request"))


def with_settings(**settings: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 1, "messages": [], **settings}


def test_full_request_is_carried_without_extras_and_written_back() -> None:
    record = read(REQUEST)
    assert CODEC.write_request(record) == REQUEST
    assert "extras" not in record
    assert record["model"] == "claude-test"
    assert record["container"] == '{"id":"container_1","skills":[{"type":"anthropic","skill_id":"pptx"}]}'
    assert record["previous_response_id"] == "msg_0"
    assert record["continuation"] == ["container", "fallback_credit_token", "thread.previous_message_id"]
    parameters = dict(record["parameters"])
    other = loads(parameters.pop("other"))
    assert parameters == {
        "max_output_tokens": 1024,
        "stop": ["END"],
        "stream": True,
        "service_tier": "auto",
        "user": "u-1",
        "reasoning_mode": "enabled",
        "reasoning_budget": 2048,
        "reasoning_summary": "summarized",
        "reasoning_effort": "high",
        "response_format": '{"type":"json_schema","schema":{"type":"object"}}',
        "parallel_tool_calls": False,
    }
    assert other.keys() >= {"speed", "mcp_servers", "context_management", "fallbacks", "cache_control", "betas"}
    assert other["output_config"] == {"task_budget": {"type": "tokens", "total": 5000}}


def test_older_generation_has_sampling() -> None:
    body = with_settings(temperature=0.5, top_p=0.9, top_k=40)
    record = read(body)
    assert {name: record["parameters"][name] for name in ("temperature", "top_p", "top_k")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
    }
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize(
    ("choice", "mode"), [("auto", "auto"), ("any", "required"), ("tool", "tool"), ("none", "none"), ("new", None)]
)
def test_tool_choice_modes(choice: str, mode: str | None) -> None:
    body = with_settings(tool_choice={"type": choice, "name": "get"})
    known = Reading("call-1", "request")
    record = CODEC.read_request(body, known)
    assert record["tool_choice"].get("mode") == mode
    assert record["tool_choice"]["name"] == "get"
    assert bool(known.unknown) == (mode is None)
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("disabled", [True, False, None])
def test_parallel_control_of_tool_choice(disabled: bool | None) -> None:
    body = with_settings(tool_choice={"type": "auto", "disable_parallel_tool_use": disabled})
    record = read(body)
    assert record["parameters"].get("parallel_tool_calls") == (None if disabled is None else not disabled)
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("system", ["Be brief.", "", [], [BLOCKS["text cached"]], [BLOCKS["text"], 5], None, 7, {}])
def test_system_stands_first_and_returns_to_its_place(system: Any) -> None:
    body = with_settings(system=system, messages=[{"role": "user", "content": "q"}])
    record = read(body)
    is_message = isinstance(system, str | list)
    assert [message["role"] for message in record["messages"]] == (["system", "user"] if is_message else ["user"])
    assert CODEC.write_request(record) == body


def test_system_in_mid_conversation_stays_there() -> None:
    turns = [("user", "a"), ("assistant", "b"), ("system", "From now on in JSON."), ("user", "c")]
    body = with_settings(messages=[{"role": role, "content": text} for role, text in turns], system="Be brief.")
    record = read(body)
    assert [message["role"] for message in record["messages"]] == ["system", "user", "assistant", "system", "user"]
    assert CODEC.write_request(record) == body


def test_system_message_first_among_messages_is_not_moved_to_system() -> None:
    body = with_settings(messages=[{"role": "system", "content": "x"}, {"role": "user", "content": "y"}])
    assert CODEC.write_request(read(body)) == body


def test_results_keep_their_place_in_a_user_message() -> None:
    content = [BLOCKS["tool_result"], BLOCKS["text"], BLOCKS["tool_result of blocks"]]
    body = with_settings(messages=[{"role": "user", "content": content}])
    message = read(body)["messages"][0]
    assert message["role"] == "user"
    assert [part["type"] for part in message["parts"]] == ["tool_result", "text", "tool_result"]


@pytest.mark.parametrize("content", ["hi", "", [], [{"type": "text", "text": "hi"}], None, 5, {"type": "text"}])
def test_content_spellings_come_back(content: Any) -> None:
    body = with_settings(messages=[{"role": "user", "content": content}])
    assert CODEC.write_request(read(body)) == body


@pytest.mark.parametrize("messages", [[], None, "x", [5, {"role": "user", "content": "x"}, None], [{}], [{"role": 1}]])
def test_odd_messages_do_not_cost_their_siblings(messages: Any) -> None:
    body = with_settings(messages=messages)
    assert CODEC.write_request(read(body)) == body


@pytest.mark.parametrize("name", TOOLS)
def test_tool_is_carried_in_named_fields(name: str) -> None:
    body = with_settings(tools=[TOOLS[name]])
    known = Reading("call-1", "request")
    record = CODEC.read_request(body, known)
    tool = record["tools"][0]
    assert tool["name"]
    assert tool["kind"] != "unknown"
    assert "extras" not in tool
    assert not known.unknown
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("wire_type", sorted(KNOWN_TYPES))
def test_every_tool_version_has_a_kind(wire_type: str) -> None:
    known = Reading("call-1", "request")
    tool = CODEC.read_request(with_settings(tools=[{"type": wire_type, "name": "x"}]), known)["tools"][0]
    assert tool["kind"] != "unknown"
    assert not known.unknown


def test_a_newer_version_of_a_known_tool_has_its_kind_and_is_counted() -> None:
    known = Reading("call-1", "request")
    body = with_settings(tools=[{"type": "web_search_20270101", "name": "web_search", "depth": 2}])
    record = CODEC.read_request(body, known)
    assert record["tools"][0]["kind"] == "server"
    assert known.unknown == {("tool", "web_search_20270101"): 1}
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize(
    "tools",
    [[], None, {}, [5, TOOLS["custom"]], [{"type": 5}], [{"type": "browser_toolset_20260801", "name": "browser"}]],
)
def test_odd_tools_come_back(tools: Any) -> None:
    body = with_settings(tools=tools)
    assert CODEC.write_request(read(body)) == body


def test_toolset_is_named_as_its_calls_name_it() -> None:
    record = read(with_settings(tools=[TOOLS["computer toolset"], TOOLS["mcp toolset"]]))
    assert [(tool["name"], tool.get("server_name")) for tool in record["tools"]] == [
        ("computer", None),
        ("mcp_toolset", "wiki"),
    ]


def test_platform_request_without_model() -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": []}
    record = read(body)
    assert "extras" not in record
    assert CODEC.write_request(record) == body


def test_batch_line_is_the_request_inside() -> None:
    line = {"custom_id": "a", "params": REQUEST, "note": 1}
    record = read(line)
    assert record["model"] == "claude-test"
    assert loads(record["metadata"]) == {"custom_id": "a", "note": 1}
    assert CODEC.write_request(record) == line


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"prompt": "x"}, {"contents": []}, {"custom_id": "a"}])
def test_other_bodies_are_no_request(body: dict[str, Any]) -> None:
    with pytest.raises(WireError) as refused:
        read(body)
    assert refused.value.place
    assert refused.value.fix
