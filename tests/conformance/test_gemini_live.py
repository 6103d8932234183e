"""Live against google-genai's types and against recorded sessions, where those lie beside the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.genai import types
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from headrace.canonical.reading import Reading
from headrace.json_text import loads
from headrace.protocols.gemini_live import CODEC
from headrace.protocols.gemini_live.finish import REASONS
from headrace.protocols.gemini_live.grammar import FLAGS, FRAME, SETUP, TRANSCRIPTS
from headrace.protocols.gemini_live.request import SESSION_SETTINGS
from headrace.protocols.google.keys import Node
from headrace.protocols.google.keys import to_camel as keys_to_camel
from headrace.protocols.google.usage import USAGE_PATHS
from tests.support.shared import corpus
from tests.unit.gemini_live.samples import DONE, USAGE, audio, client, content, heard, said, server, spoke
from tests.unit.gemini_live.samples import SETUP as OUR_SETUP

PROTOCOL = "gemini.live"
OURS: list[Any] = [
    client(**OUR_SETUP),
    server(setupComplete={}),
    said("Look."),
    heard(b"abc"),
    content(inputTranscription={"text": "Look."}),
    server(toolCall={"functionCalls": [{"id": "c1", "name": "look", "args": {}}]}),
    client(toolResponse={"functionResponses": [{"id": "c1", "name": "look", "response": {"output": "wet"}}]}),
    spoke(audio(b"12")),
    content(outputTranscription={"text": "Wet."}),
    *DONE,
    server(usageMetadata=USAGE),
]


def sessions() -> Iterator[tuple[str, list[Any]]]:
    """Our own session, then the recorded ones."""
    yield "ours", OURS
    for exchange in corpus(PROTOCOL):
        yield exchange["id"], exchange["frames"]


def read(folded: Any, reading: Reading | None = None) -> Any:
    reading = reading or Reading("call", folded.record_type)
    if folded.record_type == "request":
        return CODEC.read_request(folded.body, reading)
    return CODEC.read_response(folded.body, reading, folded.layout)


def test_every_session_is_a_setup_and_turns_that_come_back() -> None:
    for name, events in sessions():
        setup, *turns = CODEC.fold(events)
        assert setup.record_type == "request", name
        assert CODEC.write_request(read(setup)) == setup.body, name
        assert sum(one.events for one in (setup, *turns)) == len(events), name
        for one in turns:
            reading = Reading("call", "response")
            assert CODEC.write_response(read(one, reading)) == one.body, name
            assert not reading.unknown, name
            assert one.complete, name
            assert not one.stray, name


def test_unfolding_and_folding_gives_every_turn_again() -> None:
    for name, events in sessions():
        for one in CODEC.fold(events):
            (again,) = CODEC.fold(CODEC.unfold(one.body))
            assert (again.body, again.record_type) == (one.body, one.record_type), name


def test_nothing_that_was_said_is_missing() -> None:
    for name, events in sessions():
        texts = [part["text"] for one in CODEC.fold(events) for m in read(one).get("messages", ())
                 for part in m["parts"] if part["type"] == "text"]  # fmt: skip
        spoken = "".join(
            event["frame"]["serverContent"]["outputTranscription"].get("text", "")
            for event in events
            if "outputTranscription" in event["frame"].get("serverContent", {})
        )
        assert any(spoken == text for text in texts), name


def test_sizes_of_audio_are_those_of_its_chunks() -> None:
    for name, events in sessions():
        chunks = [
            blob["data"]
            for event in events
            for blob in [keys_to_camel(event["frame"], FRAME)[0].get("realtimeInput", {}).get("audio")]
            if blob
        ]
        heard_bytes = sum(
            part["media"]["size_bytes"]
            for one in CODEC.fold(events)
            for message in read(one).get("messages", ())
            for part in message["parts"]
            if part.get("wire_type") == "realtimeInput.audio"
        )
        assert heard_bytes == sum(len(data.rstrip("=")) * 3 // 4 for data in chunks), name


def test_named_fields_carry_nearly_every_leaf_of_a_turn() -> None:
    total = escaped = 0
    for _, events in sessions():
        for one in CODEC.fold(events):
            total += leaves(one.body)
            escaped += escaped_leaves(read(one))
    print(f"{PROTOCOL}: named fields carry {1 - escaped / total:.2%} of {total} leaves")
    assert escaped / total <= 0.03


def leaves(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if inner is None else sum(map(leaves, inner)) or 1


def escaped_leaves(shape: Any) -> int:
    if isinstance(shape, list):
        return sum(map(escaped_leaves, shape))
    if not isinstance(shape, dict):
        return 0
    hidden = leaves(loads(shape["extras"])) if "extras" in shape else 0
    if "raw" in shape:
        raw = loads(shape["raw"])
        hidden += leaves(raw) if "type" in shape else sum(leaves(raw[key]) for key in raw if key not in USAGE_PATHS)
    return hidden + sum(map(escaped_leaves, shape.values()))


# The official types


def _fields(model: type[BaseModel]) -> set[str]:
    return {to_camel(name) for name in model.model_fields}


CONTENT: Node = FRAME.names["serverContent"][1]  # type: ignore[assignment]
REALTIME: Node = FRAME.names["realtimeInput"][1]  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("model", "node"),
    [
        (types.LiveClientMessage, FRAME),
        (types.LiveServerMessage, FRAME),
        (types.LiveServerContent, CONTENT),
        (types.LiveClientRealtimeInput, REALTIME),
        (types.LiveClientSetup, SETUP),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_grammar_has_every_field_of_the_sdk_s_type(model: type[BaseModel], node: Node) -> None:
    assert _fields(model) <= node.names.keys()


def test_every_field_of_the_sdk_s_types_has_a_place() -> None:
    named = {"model", "generationConfig", "systemInstruction", "tools", "safetySettings", "labels"}
    assert _fields(types.LiveClientSetup) == (named | set(SESSION_SETTINGS)) - {"realtimeInputConfig"}
    assert "realtimeInputConfig" in _fields(types.LiveConnectConfig)
    spoken = {"modelTurn", "groundingMetadata", "urlContextMetadata", *TRANSCRIPTS}
    assert _fields(types.LiveServerContent) == spoken | set(FLAGS)
    reasons = {reason.value for reason in types.TurnCompleteReason}
    assert reasons <= REASONS.keys()


def test_frames_that_are_written_are_valid_for_the_official_types() -> None:
    """But for references to audio, which are ours, so the session is folded with its audio."""
    events = [event for event in OURS if "setup" not in event["frame"]]
    for one in CODEC.fold(events):
        for event in CODEC.unfold(one.body):
            frame = event["frame"]
            if event["from"] == "server" and "inlineData" not in str(frame):
                types.LiveServerMessage.model_validate(frame)
            elif event["from"] == "client" and "realtimeInput" not in frame:
                types.LiveClientMessage.model_validate(frame)
