"""Which items make a message, and that they come apart again."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.protocols.openai_responses import CODEC
from tests.unit.openai_responses.samples import ITEMS

MESSAGE, REASONING, CALL = ITEMS["message"], ITEMS["reasoning"], ITEMS["function_call"]
RESULT = ITEMS["function_call_output"]


def shapes(record: Any) -> list[tuple[str, list[str]]]:
    return [
        (message.get("role", ""), [part["type"] for part in message.get("parts", ())]) for message in record["messages"]
    ]


def read_output(*items: Any) -> Any:
    return CODEC.read_response({"id": "r", "output": list(items)}, Reading("call-1", "response"), None)


def read_input(*items: Any) -> Any:
    return CODEC.read_request({"input": list(items)}, Reading("call-1", "request"))


def test_one_turn_of_the_assistant_is_one_message_in_order() -> None:
    record = read_output(REASONING, MESSAGE, CALL)
    assert shapes(record) == [("assistant", ["reasoning", "text", "refusal", "tool_call"])]
    (message,) = record["messages"]
    assert (message["id"], message["phase"], message["status"]) == ("msg_1", "final_answer", "completed")
    assert [part["provider_item_id"] for part in message["parts"]] == ["rs_1", "msg_1", "msg_1", "fc_1"]


def test_a_second_message_item_is_a_second_message_with_its_own_phase() -> None:
    commentary = {**MESSAGE, "id": "msg_0", "phase": "commentary"}
    record = read_output(REASONING, commentary, CALL, MESSAGE)
    assert shapes(record) == [
        ("assistant", ["reasoning", "text", "refusal", "tool_call"]),
        ("assistant", ["text", "refusal"]),
    ]
    assert [message["phase"] for message in record["messages"]] == ["commentary", "final_answer"]


def test_results_are_tool_messages_in_a_request_and_parts_of_the_turn_in_a_response() -> None:
    assert shapes(read_input(CALL, RESULT, CALL)) == [
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["tool_call"]),
    ]
    assert shapes(read_output(CALL, RESULT, CALL)) == [("assistant", ["tool_call", "tool_result", "tool_call"])]


def test_a_user_message_ends_the_turn() -> None:
    record = read_input(CALL, {"role": "user", "content": "go on"}, CALL)
    assert shapes(record) == [("assistant", ["tool_call"]), ("user", ["text"]), ("assistant", ["tool_call"])]
    assert [message["parts"][0]["tool_call"]["index"] for message in record["messages"][::2]] == [0, 0]


@pytest.mark.parametrize("before", [[], [REASONING], [REASONING, CALL]])
@pytest.mark.parametrize("content", [[], "", "text", None, 5, "absent", [{"type": "new"}], {"a": 1}])
@pytest.mark.parametrize("after", [[], [CALL], [{**MESSAGE, "content": []}, CALL]])
def test_a_message_item_with_any_content_stays_where_it_is(before: list[Any], content: Any, after: list[Any]) -> None:
    message = {**MESSAGE, "content": content}
    if content == "absent":
        del message["content"]
    for items in ([*before, message, *after], [*before, {**message, "role": "user"}, *after]):
        assert CODEC.write_request(read_input(*items)) == {"input": items}
        assert CODEC.write_response(read_output(*items)) == {"id": "r", "output": items}


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant", "critic", "tool", "", 7, None])
def test_a_role_of_any_kind_comes_back(role: Any) -> None:
    items = [{"role": role, "content": "x"}, {"type": "message", "role": role, "content": []}]
    assert CODEC.write_request(read_input(*items)) == {"input": items}


def test_a_history_of_another_protocol_is_written_as_items() -> None:
    call = {"id": "call_9", "provider_id": "call_9", "name": "f", "kind": "function", "arguments": '{"a":1}'}
    record: Any = {
        "messages": [
            {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
            {
                "role": "user",
                "parts": [
                    {"type": "text", "text": "hi"},
                    {"type": "media", "media": {"kind": "image", "mime_type": "image/png", "data": "AAAA"}},
                ],
            },
            {
                "role": "assistant",
                "id": "m",
                "parts": [
                    {"type": "text", "text": "a"},
                    {"type": "tool_call", "tool_call": call},
                    {"type": "text", "text": "b"},
                ],
            },
            {
                "role": "tool",
                "parts": [
                    {
                        "type": "tool_result",
                        "tool_result": {"tool_call_id": "call_9", "content": [{"type": "text", "text": "ok"}]},
                    }
                ],
            },
        ]
    }
    assert CODEC.write_request(record)["input"] == [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "hi"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            ],
        },
        {
            "type": "message",
            "id": "m",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "a", "annotations": []}],
        },
        {"type": "function_call", "call_id": "call_9", "name": "f", "arguments": '{"a":1}'},
        {"type": "message", "role": "assistant", "content": "b"},
        {"type": "function_call_output", "call_id": "call_9", "output": "ok"},
    ]


@pytest.mark.parametrize(
    "part", [{"type": "data", "data": "{}", "wire_type": "bookmark"}, {"type": "code", "code": {"code": "1"}}]
)
def test_a_part_that_no_item_can_be_is_refused_by_name(part: Any) -> None:
    with pytest.raises(WireError, match=part["type"]) as refused:
        CODEC.write_request({"messages": [{"role": "assistant", "parts": [part]}]})
    assert refused.value.code == "unwritable_part"
