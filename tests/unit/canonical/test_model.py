"""The frozen classes: what they check, what they parse lazily, and what cannot be changed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from headrace.canonical.avro import decode_dead_letter, encode_dead_letter
from headrace.canonical.model import CanonicalRecord, DeadLetter, Message, TextPart, ToolCall, ToolCallPart, UnknownPart
from headrace.errors import FramingError, SchemaError

SHAPE = {
    "record_id": "r1",
    "messages": [
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "text",
                    "text": "Calling.",
                    "citations": [{"type": "url_citation", "url": "https://a.example"}],
                },
                {"type": "tool_call", "tool_call": {"id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"type": "unknown", "raw": '{"type":"hologram"}'},
            ],
        }
    ],
    "usage": {"input_tokens": 12, "cost": 0.5},
}


def test_a_shape_becomes_small_classes_and_comes_back_equal() -> None:
    record = CanonicalRecord.from_shape(SHAPE)
    text, call, unknown = record.messages[0].parts
    assert isinstance(text, TextPart)
    assert isinstance(call, ToolCallPart)
    assert isinstance(unknown, UnknownPart)
    assert text.citations[0].url == "https://a.example"
    assert record.to_shape() == SHAPE


def test_json_text_is_parsed_when_asked_for() -> None:
    call = ToolCall(id="c1", arguments='{"city":"Oslo"}')
    assert call.arguments == '{"city":"Oslo"}'
    assert call.arguments_value == {"city": "Oslo"}
    assert call.arguments_value is call.arguments_value
    assert call.caller_value is None
    assert call == ToolCall(id="c1", arguments='{"city":"Oslo"}')


def test_json_text_that_does_not_parse_fails_only_when_asked_for() -> None:
    call = ToolCall(arguments="{")
    with pytest.raises(FramingError):
        _ = call.arguments_value


def test_classes_built_by_hand_give_a_shape_with_their_type() -> None:
    message = Message(role="user", parts=(TextPart(text="Hi", citations=()), UnknownPart(raw="1", signature=None)))
    assert message.to_shape() == {
        "role": "user",
        "parts": [{"type": "text", "text": "Hi"}, {"type": "unknown", "raw": "1"}],
    }


def test_nothing_can_be_changed() -> None:
    record = CanonicalRecord.from_shape(SHAPE)
    with pytest.raises(ValidationError, match="frozen"):
        record.record_id = "r2"  # type: ignore[misc]
    assert isinstance(record.messages, tuple)


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ({"modell": "m"}, "$.modell"),
        ({"chunk_count": "3"}, "$.chunk_count"),
        ({"chunk_count": True}, "$.chunk_count"),
        ({"messages": [{"parts": [{"type": "text", "text": 3}]}]}, "$.messages[0].parts[0].text"),
        ({"messages": [{"parts": [{"type": "text", "raw": "{}"}]}]}, "$.messages[0].parts[0].raw"),
        ({"messages": [{}, {"parts": [{"type": "hologram"}]}]}, "$.messages[1].parts[0]"),
        ({"parameters": {"stop": ["a", None]}}, "$.parameters.stop[1]"),
        (
            {"messages": [{"parts": [{"type": "tool_result", "tool_result": {"content": [{"json": {}}]}}]}]},
            "$.messages[0].parts[0].tool_result.content[0].json",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(shape: dict[str, object], place: str) -> None:
    with pytest.raises(SchemaError) as caught:
        CanonicalRecord.from_shape(shape)
    assert caught.value.code == "bad_shape"
    assert caught.value.place == place


def test_an_error_never_shows_content() -> None:
    with pytest.raises(SchemaError) as caught:
        CanonicalRecord.from_shape({"messages": [{"parts": [{"type": "text", "text": ["a private word"]}]}]})
    assert "private" not in str(caught.value)


def test_a_dead_letter_keeps_its_bytes() -> None:
    shape = {
        "dead_letter_id": "d1",
        "code": "bad_capture",
        "message": "not JSON",
        "value": b"\xff\x00",
        "headers": [{"name": "h", "value": b"\x80"}],
        "schema_version": "1.0.0",
        "normalizer": "n",
    }
    assert DeadLetter.from_shape(shape).to_shape() == shape
    assert decode_dead_letter(encode_dead_letter(shape)) == shape  # type: ignore[arg-type]
