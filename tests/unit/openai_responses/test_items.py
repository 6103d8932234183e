"""Every item, part, annotation, tool and tool choice: how it is carried, and that it comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols.openai_responses import CODEC
from headrace.protocols.openai_responses.item_types import ITEM_TYPES
from tests.unit.openai_responses.samples import ITEMS, PARTS, TOOL_CHOICES, TOOLS

#: Item type -> (role in a request, its parts, what must be found in them).
CARRIED: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "message": ("assistant", ["text", "refusal"], {"text": "Paris.", "provider_item_id": "msg_1"}),
    "item_reference": ("assistant", ["data"], {"provider_item_id": "msg_0", "wire_type": "item_reference"}),
    "function_call": ("assistant", ["tool_call"], {"id": "call_1", "kind": "function", "namespace": "geo"}),
    "function_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_1", "mime_type": "image/png"}),
    "custom_tool_call": ("assistant", ["tool_call"], {"kind": "custom", "raw_arguments": "SELECT 1"}),
    "custom_tool_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_2", "text": "1"}),
    "reasoning": ("assistant", ["reasoning"], {"summary": ["First.", "Then."], "text": "a\n\nb", "encrypted": "gAAAA"}),
    "compaction": ("assistant", ["data"], {"wire_type": "compaction", "continuation": ["encrypted_content"]}),
    "compaction_trigger": ("developer", ["data"], {"wire_type": "compaction_trigger"}),
    "configuration_update": ("developer", ["data"], {"wire_type": "configuration_update"}),
    "additional_tools": ("developer", ["data"], {"wire_type": "additional_tools"}),
    "tool_search_call": ("assistant", ["tool_call"], {"id": "tsc_1", "arguments": '{"paths":["geo"]}'}),
    "tool_search_output": ("tool", ["tool_result"], {"kind": "search", "type": "json"}),
    "program": ("assistant", ["tool_call"], {"id": "call_prog", "signature": "fp_opaque", "name": "program"}),
    "program_output": ("tool", ["tool_result"], {"tool_call_id": "call_prog", "text": "rain"}),
    "file_search_call": ("assistant", ["tool_call", "tool_result"], {"arguments": '{"queries":["what","why"]}'}),
    "web_search_call": ("assistant", ["tool_call", "tool_result"], {"name": "web_search", "tool_call_id": "ws_1"}),
    "computer_call": ("assistant", ["tool_call"], {"kind": "computer", "continuation": ["pending_safety_checks"]}),
    "computer_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_3", "data": "BBBB"}),
    "image_generation_call": ("assistant", ["tool_call", "tool_result"], {"data": "aW1n", "kind": "image"}),
    "code_interpreter_call": ("assistant", ["tool_call", "tool_result"], {"text": "1\n", "kind": "code"}),
    "local_shell_call": ("assistant", ["tool_call"], {"id": "call_4", "kind": "shell"}),
    "local_shell_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_4"}),
    "shell_call": ("assistant", ["tool_call"], {"id": "call_5", "caller": '{"type":"direct"}'}),
    "shell_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_5", "type": "json"}),
    "apply_patch_call": ("assistant", ["tool_call"], {"id": "call_6", "kind": "patch"}),
    "apply_patch_call_output": ("tool", ["tool_result"], {"is_error": True, "text": "no such file"}),
    "mcp_list_tools": ("assistant", ["data"], {"wire_type": "mcp_list_tools"}),
    "mcp_approval_request": ("assistant", ["data"], {"wire_type": "mcp_approval_request"}),
    "mcp_approval_response": ("user", ["data"], {"continuation": ["approval_request_id"]}),
    "mcp_call": ("assistant", ["tool_call", "tool_result"], {"server_name": "wiki", "arguments": '{"q":"x"}'}),
    "agent_message": ("assistant", ["data"], {"wire_type": "agent_message"}),
    "multi_agent_call": ("assistant", ["tool_call"], {"name": "spawn_agent", "kind": "agent"}),
    "multi_agent_call_output": ("tool", ["tool_result"], {"tool_call_id": "call_7", "name": "spawn_agent"}),
}


def read_input(*items: Any) -> Any:
    return CODEC.read_request({"input": list(items)}, Reading("call-1", "request"))


def read_output(*items: Any) -> Any:
    return CODEC.read_response({"id": "r", "output": list(items)}, Reading("call-1", "response"), None)


def values(shape: Any, key: str) -> list[Any]:
    """Every value that a key has anywhere in a shape."""
    found = []
    if isinstance(shape, dict):
        found = [shape[key]] if key in shape else []
    for inner in shape.values() if isinstance(shape, dict) else shape if isinstance(shape, list) else ():
        found += values(inner, key)
    return found


def test_every_known_item_is_tested() -> None:
    assert ITEM_TYPES.keys() | {"message"} == CARRIED.keys() == ITEMS.keys()


@pytest.mark.parametrize("name", CARRIED)
def test_an_item_is_carried_in_named_fields_and_comes_back(name: str) -> None:
    role, parts, expected = CARRIED[name]
    reading = Reading("call-1", "request")
    body = {"input": [ITEMS[name]]}
    record = CODEC.read_request(body, reading)
    (message,) = record["messages"]
    assert message["role"] == role
    assert [part["type"] for part in message["parts"]] == parts
    for key, value in expected.items():
        assert value in values(message, key), key
    assert not values(record, "extras")
    assert not values(record, "raw")
    assert reading.unknown == {}
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("name", ITEMS)
def test_an_output_item_comes_back(name: str) -> None:
    record = read_output(ITEMS[name])
    assert CODEC.write_response(record) == {"id": "r", "output": [ITEMS[name]]}
    assert not values(record, "extras")


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("key", ["created_by", "agent", "new_field"])
def test_an_item_keeps_fields_that_it_usually_has_not(name: str, key: str) -> None:
    item = {**ITEMS[name], key: {"agent_name": "a"}}
    record = read_input(item)
    assert CODEC.write_request(record) == {"input": [item]}
    assert len(values(record, "extras")) == (key == "new_field")


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_which_every_field_is_null_or_odd_comes_back(name: str) -> None:
    for odd in (None, 5, [], {}, [None], "x", {"a": 1}):
        for key in ITEMS[name].keys() - {"type", "role"}:
            item = {**ITEMS[name], key: odd}
            assert CODEC.write_request(read_input(item)) == {"input": [item]}, (key, odd)


@pytest.mark.parametrize("name", PARTS)
def test_a_content_part_comes_back(name: str) -> None:
    for role in ("user", "assistant"):
        message = {"type": "message", "role": role, "content": [PARTS[name], PARTS[name]]}
        reading = Reading("call-1", "request")
        record = CODEC.read_request({"input": [message]}, reading)
        assert CODEC.write_request(record) == {"input": [message]}
        assert reading.unknown == {}
        assert not values(record, "extras")


def test_annotations_are_citations_of_their_text() -> None:
    record = read_output({**ITEMS["message"], "content": [PARTS["output_text"]]})
    (part,) = record["messages"][0]["parts"]
    assert [citation["type"] for citation in part["citations"]] == [
        "file_citation",
        "url_citation",
        "container_file_citation",
        "file_path",
    ]
    assert part["citations"][1] == {
        "type": "url_citation",
        "url": "https://example.org",
        "title": "E",
        "start_index": 0,
        "end_index": 5,
        "unit": "char",
    }


@pytest.mark.parametrize("annotations", [None, [], "absent", [None], [{"type": "new", "x": 1}], "odd", [3, {}]])
def test_annotations_of_any_form_come_back(annotations: Any) -> None:
    part = {"type": "output_text", "text": "x", "annotations": annotations}
    if annotations == "absent":
        del part["annotations"]
    item = {**ITEMS["message"], "content": [part]}
    assert CODEC.write_response(read_output(item)) == {"id": "r", "output": [item]}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_comes_back(name: str) -> None:
    reading = Reading("call-1", "request")
    body = {"input": [], "tools": [TOOLS[name], TOOLS["function"]]}
    record = CODEC.read_request(body, reading)
    tool = record["tools"][0]
    assert tool["name"]
    assert tool["wire_type"] == name
    assert reading.unknown == {}
    assert not values(record, "extras")
    assert CODEC.write_request(record) == body


def test_tools_of_a_namespace_are_tools_with_that_namespace() -> None:
    record = CODEC.read_request({"input": [], "tools": [TOOLS["namespace"]]}, Reading("call-1", "request"))
    assert [(tool["name"], tool["kind"], tool.get("namespace")) for tool in record["tools"]] == [
        ("geo", "namespace", None),
        ("near", "function", "geo"),
        ("map", "custom", "geo"),
    ]


#: Tool choice -> (mode, name, kind).
CHOICES = {
    "none": ("none", None, None),
    "auto": ("auto", None, None),
    "required": ("required", None, None),
    "allowed_tools": ("allowed", None, None),
    "function": ("tool", "get_weather", "function"),
    "custom": ("tool", "sql", "custom"),
    "mcp": ("tool", None, "mcp"),
    "file_search": ("tool", "file_search", "search"),
    "web_search_preview": ("tool", "web_search_preview", "search"),
    "web_search_preview_2025_03_11": ("tool", "web_search_preview_2025_03_11", "search"),
    "computer": ("tool", "computer", "computer"),
    "computer_use_preview": ("tool", "computer_use_preview", "computer"),
    "computer_use": ("tool", "computer_use", "computer"),
    "image_generation": ("tool", "image_generation", "image"),
    "code_interpreter": ("tool", "code_interpreter", "code"),
    "programmatic_tool_calling": ("tool", "programmatic_tool_calling", "code"),
    "apply_patch": ("tool", "apply_patch", "patch"),
    "shell": ("tool", "shell", "shell"),
}


@pytest.mark.parametrize("name", TOOL_CHOICES)
def test_a_tool_choice_is_told_and_comes_back(name: str) -> None:
    body = {"input": [], "tool_choice": TOOL_CHOICES[name]}
    reading = Reading("call-1", "request")
    record = CODEC.read_request(body, reading)
    choice = record["tool_choice"]
    assert (choice["mode"], choice.get("name"), choice.get("kind")) == CHOICES[name]
    assert reading.unknown == {}
    assert CODEC.write_request(record) == body


def test_allowed_tools_are_named() -> None:
    body = {"input": [], "tool_choice": TOOL_CHOICES["allowed_tools"]}
    choice = CODEC.read_request(body, Reading("call-1", "request"))["tool_choice"]
    assert choice["allowed"] == ["get_weather", "wiki"]
    assert choice["allowed_mode"] == "required"


#: Where something nobody knows can stand: (kind it is counted under, body with it).
NEW = {"type": "brand_new", "id": "n_1", "payload": {"deep": [1, None]}}
PLACES = {
    "input item": ("item", "request", {"input": [ITEMS["reasoning"], NEW, ITEMS["message"]]}),
    "output item": ("item", "response", {"id": "r", "output": [ITEMS["reasoning"], NEW, ITEMS["message"]]}),
    "user content": ("part", "request", {"input": [{"role": "user", "content": [PARTS["input_text"], NEW]}]}),
    "assistant content": (
        "part",
        "response",
        {"id": "r", "output": [{**ITEMS["message"], "content": [NEW, PARTS["output_text"], NEW]}]},
    ),
    "tool output": (
        "part",
        "request",
        {"input": [{**ITEMS["function_call_output"], "output": [PARTS["input_text"], NEW]}]},
    ),
    "code output": ("part", "response", {"id": "r", "output": [{**ITEMS["code_interpreter_call"], "outputs": [NEW]}]}),
    "summary": (
        "part",
        "response",
        {"id": "r", "output": [{**ITEMS["reasoning"], "summary": [NEW, *ITEMS["reasoning"]["summary"], NEW]}]},
    ),
    "reasoning content": (
        "part",
        "response",
        {"id": "r", "output": [{**ITEMS["reasoning"], "content": [ITEMS["reasoning"]["content"][0], NEW]}]},
    ),
    "annotation": (
        "annotation",
        "response",
        {"id": "r", "output": [{**ITEMS["message"], "content": [{**PARTS["output_text"], "annotations": [NEW]}]}]},
    ),
    "tool": ("tool", "request", {"input": [], "tools": [NEW, TOOLS["function"]]}),
    "tool in namespace": ("tool", "request", {"input": [], "tools": [{**TOOLS["namespace"], "tools": [NEW]}]}),
    "tool choice": ("tool_choice", "request", {"input": [], "tool_choice": NEW}),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_nobody_knows_is_counted_and_comes_back(place: str) -> None:
    kind, side, body = PLACES[place]
    reading = Reading("call-1", side)
    if side == "request":
        record = CODEC.read_request(body, reading)
        assert CODEC.write_request(record) == body
    else:
        record = CODEC.read_response(body, reading, None)
        assert CODEC.write_response(record) == body
    assert reading.unknown[kind, "brand_new"] >= 1
    assert json.dumps(record).count("deep") >= 1


def test_an_unknown_item_with_opaque_state_needs_to_go_back() -> None:
    record = read_input({"type": "brand_new", "id": "n_1", "encrypted_content": "g"})
    (part,) = record["messages"][0]["parts"]
    assert part["type"] == "unknown"
    assert part["continuation"] == ["encrypted_content"]
    assert part["provider_item_id"] == "n_1"


@pytest.mark.parametrize("item", ["text", 5, None, [], {}])
def test_an_item_that_is_no_object_or_has_no_type_comes_back(item: Any) -> None:
    body = {"input": [ITEMS["function_call"], item]}
    assert CODEC.write_request(read_input(*body["input"])) == body


def test_two_calls_with_one_id_stay_two() -> None:
    record = read_output(ITEMS["function_call"], {**ITEMS["function_call"], "id": "fc_2"})
    (message,) = record["messages"]
    assert [(part["tool_call"]["id"], part["tool_call"]["index"]) for part in message["parts"]] == [
        ("call_1", 0),
        ("call_1", 1),
    ]


def test_a_call_without_any_id_gets_one_that_is_not_written() -> None:
    item = {"type": "function_call", "name": "f", "arguments": "{}"}
    record = read_output(item, item)
    calls = [part["tool_call"] for part in record["messages"][0]["parts"]]
    assert calls[0]["id"] != calls[1]["id"]
    assert "provider_id" not in calls[0]
    assert read_output(item, item) == record
    assert CODEC.write_response(record) == {"id": "r", "output": [item, item]}


@pytest.mark.parametrize(
    ("raw", "arguments", "fails"),
    [('{"a": 1}', '{"a":1}', False), ("", "{}", False), ('{"a": ', None, True), ("12345678901234567890", None, False)],
)
def test_arguments_are_parsed_but_never_repaired(raw: str, arguments: str | None, fails: bool) -> None:
    record = read_output({**ITEMS["function_call"], "arguments": raw})
    call = record["messages"][0]["parts"][0]["tool_call"]
    assert call["raw_arguments"] == raw
    assert call.get("arguments") == (arguments if arguments or fails else raw)
    assert ("arguments_error" in call) is fails


def test_results_find_calls_that_they_do_not_name() -> None:
    search = ITEMS["tool_search_call"]
    record = read_output(search, {**search, "id": "tsc_2"}, *[ITEMS["tool_search_output"]] * 2)
    results = [part["tool_result"] for part in record["messages"][0]["parts"] if part["type"] == "tool_result"]
    assert [result["tool_call_id"] for result in results] == ["tsc_1", "tsc_2"]


def test_an_mcp_call_that_failed_has_a_result_that_is_an_error() -> None:
    error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no"}]}
    item = {**ITEMS["mcp_call"], "status": "failed", "output": None, "error": error}
    record = read_output(item)
    result = record["messages"][0]["parts"][1]["tool_result"]
    assert result["is_error"] is True
    assert result["error_code"] == "mcp_tool_execution_error"
    assert CODEC.write_response(record) == {"id": "r", "output": [item]}


def test_an_xai_call_with_an_argument_string_has_arguments_and_comes_back() -> None:
    item = {
        "type": "code_interpreter_call",
        "id": "fc_1",
        "call_id": "",
        "name": "code_execution",
        "arguments": '{"code":"1"}',
        "outputs": [],
        "status": "completed",
    }
    record = read_output(item)
    call = record["messages"][0]["parts"][0]["tool_call"]
    assert (call["id"], call["name"], call["arguments"]) == ("fc_1", "code_execution", '{"code":"1"}')
    assert CODEC.write_response(record) == {"id": "r", "output": [item]}
