"""Every kind of part: what it becomes, and that it is written back as it was, in both spellings."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import loads
from headrace.protocols.gemini_generate import CODEC
from headrace.protocols.google.grammar import PART
from tests.unit.gemini_generate.samples import PARTS, SIGNATURE, in_snake_case

#: Sample -> (part type, path of a named field, what it holds).
CARRIED: dict[str, tuple[str, str, Any]] = {
    "text": ("text", "text", "Rivers run."),
    "text empty": ("text", "text", ""),
    "text null": ("text", "wire", '{"null":["text"]}'),
    "text signed": ("text", "signature", SIGNATURE),
    "text of a number": ("text", "extras", '{"text":5}'),
    "thought": ("reasoning", "reasoning", {"text": "Which river?"}),
    "thought signed": ("reasoning", "reasoning.signature", SIGNATURE),
    "thought without text": ("reasoning", "reasoning", {"signature": SIGNATURE}),
    "signature alone": ("reasoning", "continuation", ["thoughtSignature"]),
    "signature on empty text": ("text", "continuation", ["thoughtSignature"]),
    "not a thought": ("text", "detail", '{"thought":false}'),
    "inlineData": ("media", "media", {"kind": "image", "mime_type": "image/png", "data": "aGk=", "filename": "river"}),
    "inlineData thought": ("media", "detail", '{"thought":true}'),
    "inlineData empty": ("media", "media", {"kind": "file"}),
    "inlineData audio": ("media", "media.sample_rate", 16000),
    "fileData": ("media", "media", {"kind": "video", "mime_type": "video/mp4", "uri": "gs://b/v.mp4"}),
    "fileData cut": ("media", "media.detail", "MEDIA_RESOLUTION_LOW"),
    "document": ("media", "media.metadata", '{"documentMetadata":{"startPage":2,"endPage":3}}'),
    "audio": ("media", "media.metadata", '{"audioMetadata":{"startOffset":"1s"}}'),
    "spreadsheet": ("media", "media.kind", "document"),
    "partMetadata": ("text", "detail", '{"partMetadata":{"origin":{"page_no":2}}}'),
    "functionCall": ("tool_call", "continuation", ["functionCall.id"]),
    "functionCall signed": ("tool_call", "tool_call.arguments", '{"at":1}'),
    "functionCall bare": ("tool_call", "tool_call.arguments", "{}"),
    "functionCall null args": ("tool_call", "tool_call.arguments", "{}"),
    "functionCall text args": ("tool_call", "tool_call.raw_arguments", '{"at":"river"}'),
    "functionCall list args": ("tool_call", "tool_call.arguments", '["river"]'),
    "functionCall cut": ("tool_call", "tool_call.arguments_error", "the arguments were cut off"),
    "functionResponse": ("tool_result", "tool_result.tool_call_id", "fc_1"),
    "functionResponse failed": ("tool_result", "tool_result.is_error", True),
    "functionResponse text": ("tool_result", "tool_result.content", [{"type": "json", "json": '"wet"'}]),
    "functionResponse null": ("tool_result", "tool_result.name", "look"),
    "functionResponse media": (
        "tool_result",
        "detail",
        '{"functionResponse":{"scheduling":"WHEN_IDLE","willContinue":true}}',
    ),
    "functionResponse no parts": ("tool_result", "tool_result.kind", "function"),
    "executableCode": ("code", "code", {"code": "print(1)", "language": "PYTHON"}),
    "codeExecutionResult": ("code", "code", {"outcome": "OUTCOME_OK", "output": "1\n"}),
    "toolCall": ("tool_call", "continuation", ["toolCall", "thoughtSignature"]),
    "toolResponse": ("tool_result", "continuation", ["toolResponse"]),
    "audioTranscription": ("text", "text", "Rivers run."),
    "unknown": ("unknown", "raw", '{"hologram":{"depth":3}}'),
    "unknown signed": ("unknown", "raw", f'{{"hologram":{{"depth":3}},"thoughtSignature":"{SIGNATURE}"}}'),
    "unknown beside text": ("text", "extras", '{"hologram":{"depth":3}}'),
    "two members": ("tool_call", "extras", '{"text":"Looking."}'),
    "empty": ("unknown", "raw", "{}"),
}


def read(part: Any) -> tuple[Any, Any, Reading]:
    """The canonical part of a wire part in a request, the record and the reading."""
    reading = Reading("call", "request")
    record = CODEC.read_request({"contents": [{"role": "model", "parts": [part]}]}, reading)
    return record["messages"][0]["parts"][0], record, reading


def at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[name]
    return value


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_carried_in_named_fields_and_comes_back(name: str) -> None:
    kind, path, held = CARRIED[name]
    part, record, _ = read(PARTS[name])
    assert part["type"] == kind
    assert at(part, path) == held
    assert CODEC.write_request(record)["contents"][0]["parts"] == [PARTS[name]]


@pytest.mark.parametrize("name", PARTS)
def test_snake_case_says_the_same_and_comes_back_in_snake_case(name: str) -> None:
    wire = in_snake_case(PARTS[name], PART)
    part, record, _ = read(wire)
    if part["type"] != "unknown":
        assert part == read(PARTS[name])[0]
    assert CODEC.write_request(record)["contents"][0]["parts"] == [wire]


def test_unknown_parts_are_counted_by_their_member() -> None:
    _, _, reading = read(PARTS["unknown signed"])
    assert reading.unknown_types() == [{"kind": "part", "type": "hologram", "count": 1}]


@pytest.mark.parametrize("garbage", [None, 7, [], ["x"], "text", "\ud83d"])
def test_what_is_no_object_keeps_its_neighbours(garbage: Any) -> None:
    body = {"contents": [{"parts": [{"text": "a"}, garbage, {"text": "b"}]}]}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert [part.get("text") for part in record["messages"][0]["parts"]][::2] == ["a", "b"]
    assert CODEC.write_request(record) == body


def test_a_cut_call_has_no_arguments_but_what_came_of_them() -> None:
    part, _, _ = read(PARTS["functionCall cut"])
    assert "arguments" not in part["tool_call"]
    assert part["tool_call"]["raw_arguments"] == '{"at":"ri"}'
    assert part["tool_call"]["status"] == "incomplete"


def test_media_of_a_result_follow_its_response() -> None:
    part, _, reading = read(PARTS["functionResponse media"])
    content = part["tool_result"]["content"]
    assert [piece["type"] for piece in content] == ["json", "media", "media", "json"]
    assert content[1]["media"]["data"] == "aGk="
    assert loads(content[3]["json"]) == 7
    assert reading.unknown_types() == [{"kind": "part", "type": "(none)", "count": 1}]


def test_a_result_of_another_protocol_is_wrapped() -> None:
    result = {"tool_call_id": "c1", "name": "look", "content": [{"type": "text", "text": "wet"}]}
    record: Any = {"messages": [{"role": "user", "parts": [{"type": "tool_result", "tool_result": result}]}]}
    wire = CODEC.write_request(record)["contents"][0]["parts"][0]
    assert wire == {"functionResponse": {"id": "c1", "name": "look", "response": {"result": "wet"}}}
    result["is_error"] = True
    wire = CODEC.write_request(record)["contents"][0]["parts"][0]
    assert wire["functionResponse"]["response"] == {"error": "wet"}
