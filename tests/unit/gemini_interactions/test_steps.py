"""Every step type: what part it becomes, and that it is written back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.gemini_interactions.wire import (
    CONTENTS,
    STEPS,
    TEXT,
    messages_of,
    part_of,
    read_response,
    unknown_in,
)

BUILT_IN = sorted(
    kind for kind in STEPS if kind.endswith(("_call", "_result")) and not kind.startswith(("function", "mcp"))
)


def test_there_are_23_step_types() -> None:
    assert len(STEPS) == 23


@pytest.mark.parametrize("kind", sorted(STEPS))
def test_every_step_is_known_and_written_back_exactly(kind: str) -> None:
    messages = messages_of(STEPS[kind])
    assert unknown_in({"steps": [STEPS[kind]]}) == {}
    held = json.dumps(messages)
    assert '"raw"' not in held
    assert '"extras"' not in held


@pytest.mark.parametrize(
    ("kind", "role", "part_types"),
    [
        ("user_input", "user", ["text", "media"]),
        ("model_output", "assistant", ["text", "media", "media", "media", "media"]),
        ("thought", "assistant", ["reasoning"]),
        ("function_call", "assistant", ["tool_call"]),
        ("function_result", "tool", ["tool_result"]),
        ("google_search_result", "assistant", ["tool_result"]),
    ],
)
def test_roles_and_parts(kind: str, role: str, part_types: list[str]) -> None:
    (message,) = messages_of(STEPS[kind])
    assert message["role"] == role
    assert [part["type"] for part in message["parts"]] == part_types


def test_a_turn_of_the_model_is_one_message_in_order() -> None:
    (message,) = messages_of(
        STEPS["thought"],
        {"type": "model_output", "content": [TEXT]},
        STEPS["google_search_call"],
        STEPS["function_call"],
    )
    assert [part["type"] for part in message["parts"]] == ["reasoning", "text", "tool_call", "tool_call"]
    assert "wire" not in json.dumps(message["parts"]).replace("wire_type", "")
    assert [part["tool_call"]["index"] for part in message["parts"][2:]] == [0, 1]


def test_a_result_of_the_user_stands_between_two_turns() -> None:
    messages = messages_of(
        STEPS["function_call"], STEPS["function_result"], {"type": "model_output", "content": [TEXT]}
    )
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]


def test_a_function_call() -> None:
    call = part_of(STEPS["function_call"])["tool_call"]
    assert call == {
        "id": "fc1",
        "provider_id": "fc1",
        "kind": "function",
        "wire_type": "function_call",
        "name": "weather",
        "arguments": '{"city":"Oslo"}',
        "index": 0,
    }


def test_a_call_without_an_id_gets_a_stable_one_of_its_own() -> None:
    step = {"type": "function_call", "name": "weather", "arguments": {}}
    first, second = (part["tool_call"]["id"] for part in messages_of(step, step)[0]["parts"])
    assert first != second
    assert [part["tool_call"]["id"] for part in messages_of(step, step)[0]["parts"]] == [first, second]
    assert "provider_id" not in part_of(step)["tool_call"]


def test_two_calls_with_one_id_stay_two() -> None:
    (message,) = messages_of(STEPS["function_call"], STEPS["function_call"])
    assert [part["tool_call"]["id"] for part in message["parts"]] == ["fc1", "fc1"]


def test_arguments_that_broke_off_are_kept_as_text() -> None:
    call = part_of({"type": "function_call", "id": "a", "name": "f", "arguments": '{"city":"Os'})["tool_call"]
    assert "arguments" not in call
    assert call["raw_arguments"] == '{"city":"Os'
    assert call["arguments_error"]


@pytest.mark.parametrize("arguments", ["", '{"a":1}', None, [], [1], 7, "null", "\ud800"])
def test_arguments_of_odd_types_come_back(arguments: Any) -> None:
    part_of({"type": "function_call", "id": "a", "name": "f", "arguments": arguments})


def test_a_signature_on_a_call_must_go_back() -> None:
    part = part_of({**STEPS["function_call"], "signature": "c2ln"})
    assert (part["signature"], part["continuation"]) == ("c2ln", ["signature"])
    assert "continuation" not in part_of({**STEPS["function_call"], "signature": ""})


@pytest.mark.parametrize("kind", BUILT_IN)
def test_built_in_tools_run_at_the_server(kind: str) -> None:
    part = part_of(STEPS[kind])
    held: Any = part.get("tool_call") or part["tool_result"]
    assert (held["kind"], held["wire_type"]) == ("server", kind)
    assert held["name"] == kind.removesuffix("_call").removesuffix("_result")
    if kind.endswith("_result"):
        assert part["tool_result"]["tool_call_id"] == STEPS[kind]["call_id"]


def test_a_tool_of_an_mcp_server() -> None:
    call = part_of(STEPS["mcp_server_tool_call"])["tool_call"]
    assert (call["kind"], call["name"], call["server_name"]) == ("mcp", "issues", "tracker")
    result = part_of(STEPS["mcp_server_tool_result"])["tool_result"]
    assert (result["kind"], result["server_name"], result["tool_call_id"]) == ("mcp", "tracker", "x1")
    assert result["content"] == [{"type": "json", "json": '{"count":3}'}]


def test_what_kind_of_search_it_was() -> None:
    assert part_of(STEPS["google_search_call"])["detail"] == '{"search_type":"web_search"}'
    assert part_of(STEPS["retrieval_call"])["detail"] == '{"retrieval_type":"rag_store"}'


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("ok", [{"type": "text", "text": "ok"}]),
        ("", [{"type": "text", "text": ""}]),
        ({"a": 1}, [{"type": "json", "json": '{"a":1}'}]),
        ({}, [{"type": "json", "json": "{}"}]),
        (7, [{"type": "json", "json": "7"}]),
        ([TEXT], [{"type": "text", "text": TEXT["text"]}]),
        (
            ["a", None, {"type": "hologram"}],
            [{"type": "json", "json": j} for j in ('"a"', "null", '{"type":"hologram"}')],
        ),
        ([], None),
        (None, None),
        ("\ud800", [{"type": "json", "json": '"\\ud800"'}]),
    ],
)
def test_results_of_every_form(result: Any, content: Any) -> None:
    part = part_of({"type": "function_result", "call_id": "a", "result": result})
    assert part["tool_result"].get("content") == content


def test_a_result_with_media_and_unknown_fields_of_media() -> None:
    part = part_of({"type": "function_result", "call_id": "a", "result": [{**CONTENTS["image"], "new": 1}]})
    (content,) = part["tool_result"]["content"]
    assert (content["media"]["mime_type"], content["extras"]) == ("image/png", '{"new":1}')


def test_a_result_without_a_call_references_none() -> None:
    assert part_of({"type": "function_result", "result": "x"})["tool_result"]["tool_call_id"] == ""
    assert part_of({"type": "function_result", "call_id": "", "result": "x"})["tool_result"]["tool_call_id"] == ""


def test_function_response_is_read_leniently() -> None:
    (message,) = messages_of({"type": "function_response", "call_id": "a", "result": "x"})
    assert message["role"] == "tool"
    assert message["parts"][0]["tool_result"]["wire_type"] == "function_response"


def test_a_thought() -> None:
    part = part_of(STEPS["thought"])
    assert part["reasoning"] == {"signature": "c2ln", "summary": ["First.", "Then."]}
    assert part["continuation"] == ["signature"]


def test_a_thought_with_only_a_signature() -> None:
    assert part_of({"type": "thought", "signature": "c2ln"})["reasoning"] == {"signature": "c2ln"}


@pytest.mark.parametrize(
    "summary",
    [
        [TEXT, CONTENTS["image"]],
        [{**TEXT, "annotations": []}],
        [{"type": "text"}],
        ["x", {}, TEXT],
        [None],
        [],
        None,
        "text",
        {},
    ],
)
def test_summaries_of_every_form(summary: Any) -> None:
    part = part_of({"type": "thought", "summary": summary})
    texts = [one for one in summary or () if isinstance(one, dict) and one.get("text") == TEXT["text"]]
    assert len(part["reasoning"].get("summary", [])) == len(texts)


def test_indices_of_annotations_count_bytes() -> None:
    part = messages_of(STEPS["model_output"])[0]["parts"][0]
    url, file, place, speech, word = part["citations"]
    assert (url["start_index"], url["end_index"], url["unit"]) == (0, 7, "byte")
    assert (file["url"], file["filename"], file["file_id"]) == ("files/1", "a.pdf", "m1")
    assert (place["title"], json.loads(place["detail"])["place_id"]) == ("Cafe", "p1")
    assert json.loads(speech["detail"]) == {"speaker": "A", "style": "calm"}
    assert (word["cited_text"], "unit" in word) == ("Oslo", False)


@pytest.mark.parametrize("annotations", [[], None, "x", [7, {"type": "url_citation", "url": "u"}], [{}], [{"type": 3}]])
def test_annotations_of_odd_forms_come_back(annotations: Any) -> None:
    part_of({"type": "model_output", "content": [{"type": "text", "text": "a", "annotations": annotations}]})


def test_media() -> None:
    image, audio, video, document = (part["media"] for part in messages_of(STEPS["model_output"])[0]["parts"][1:])
    assert image == {"kind": "image", "mime_type": "image/png", "data": "iVBORw==", "detail": "high"}
    assert (audio["sample_rate"], audio["channels"]) == (24000, 1)
    assert (video["uri"], video["filename"]) == ("https://v.example/1", "clip")
    assert json.loads(video["metadata"]) == {"processing": {"type": "static", "fps": 1.5}}
    assert document["mime_type"] == "application/pdf"


def test_the_old_name_of_the_sample_rate() -> None:
    part = part_of({"type": "model_output", "content": [{"type": "audio", "data": "AA==", "rate": 16000}]})
    assert part["media"]["sample_rate"] == 16000


@pytest.mark.parametrize(
    "content", [None, [], "plain", {}, TEXT, 5, [None], ["x"], [[]], [{"type": "hologram", "a": 1}]]
)
@pytest.mark.parametrize("kind", ["model_output", "user_input"])
def test_contents_of_every_form_come_back(kind: str, content: Any) -> None:
    read_response({"steps": [{"type": kind, "content": content}, {"type": kind}]})


def test_neighbouring_outputs_stay_apart() -> None:
    output = {"type": "model_output", "content": [TEXT]}
    (message,) = messages_of(output, output, {"type": "model_output"}, {"type": "model_output", "content": []}, output)
    assert [part["type"] for part in message["parts"] if part["type"] == "text"] == ["text"] * 3


def test_the_error_of_an_output_is_told_before_its_contents() -> None:
    step = {"type": "model_output", "content": [TEXT], "error": {"code": 13, "message": "internal", "details": []}}
    (message,) = messages_of(step)
    header, text = message["parts"]
    assert (header["type"], header["wire_type"], text["type"]) == ("data", "model_output", "text")
    assert json.loads(header["data"])["error"]["code"] == 13


def test_unknown_types_keep_their_place_and_are_counted() -> None:
    steps: list[Any] = [
        STEPS["thought"],
        {"type": "hologram", "frames": [1]},
        {"type": "model_output", "content": [{"type": "smell"}, TEXT]},
        {"type": 7},
        "garbage",
        None,
    ]
    messages = messages_of(*steps)
    assert unknown_in({"steps": steps}) == {
        ("step", "hologram"): 1,
        ("part", "smell"): 1,
        ("step", "(none)"): 3,
    }
    assert [part["type"] for part in messages[0]["parts"]] == [
        "reasoning",
        "unknown",
        "unknown",
        "text",
        "unknown",
        "unknown",
        "unknown",
    ]


def test_fields_nobody_knows_stay_with_their_step() -> None:
    steps = [{**step, "new_field": {"a": [1]}, "id2": None} for step in STEPS.values()]
    for message in messages_of(*steps):
        for part in message["parts"]:
            assert part["type"] != "unknown"
