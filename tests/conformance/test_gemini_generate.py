"""generateContent against google-genai's types and against real traffic, where that lies beside the checkout."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from google.genai import types
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from headrace.canonical.reading import Reading
from headrace.capture.body import read_body
from headrace.json_text import loads
from headrace.protocols.gemini_generate import CODEC, finish
from headrace.protocols.google import grammar
from headrace.protocols.google.keys import Node
from headrace.protocols.google.parts import FORMS
from headrace.protocols.google.tools import BUILT_IN
from headrace.protocols.google.usage import USAGE_PATHS
from tests.support.shared import corpus, traps
from tests.support.traffic import events_of, is_stream
from tests.unit.gemini_generate.samples import ERRORS, REQUEST, RESPONSE, chunk

PROTOCOL = "gemini.generate_content"


def reading(record_type: str) -> Reading:
    return Reading("call-1", record_type)


def requests() -> Iterator[tuple[str, Any]]:
    """Our own request, then the recorded ones."""
    yield "ours", REQUEST
    for exchange in corpus(PROTOCOL):
        if exchange["request"] is not None:
            yield exchange["id"], exchange["request"]


def bodies() -> Iterator[tuple[str, Any]]:
    """Our own response bodies, then the recorded ones."""
    yield "ours", RESPONSE
    yield "ours: error", ERRORS["google"]
    for exchange in corpus(PROTOCOL):
        if exchange["response"] is not None:
            yield exchange["id"], exchange["response"]


def streams() -> Iterator[tuple[str, list[Any]]]:
    """Our own streams, then the recorded ones."""
    yield "ours", CODEC.unfold({**RESPONSE, "candidates": RESPONSE["candidates"][:1]})
    for exchange in corpus(PROTOCOL):
        if is_stream(exchange):
            yield exchange["id"], events_of(exchange)


# Round trips


def test_every_request_comes_back_with_nothing_unknown() -> None:
    for name, body in requests():
        known = reading("request")
        assert CODEC.write_request(CODEC.read_request(body, known)) == body, name
        assert not known.unknown, name


def test_every_response_comes_back_with_nothing_unknown() -> None:
    for name, body in bodies():
        known = reading("response")
        record = CODEC.read_response(body, known, None)
        assert CODEC.write_response(record) == body, name
        assert not known.unknown, name
        assert ("error" in record) == ("error" in body), name


def test_every_stream_folds_and_comes_back() -> None:
    for name, events in streams():
        (folded,) = CODEC.fold(events)
        assert folded.complete, name
        assert folded.events == len(events), name
        assert not folded.stray, name
        known = reading("response")
        record = CODEC.read_response(folded.body, known, folded.layout)
        assert CODEC.write_response(record) == folded.body, name
        assert not known.unknown, name


def test_unfolding_and_folding_gives_every_body_again() -> None:
    folded = [(name, one.body) for name, events in streams() for one in CODEC.fold(events)]
    for name, body in [*bodies(), *folded]:
        (again,) = CODEC.fold(CODEC.unfold(body))
        assert again.body == body, name
        assert not again.stray, name


def test_every_form_of_a_streamed_body_folds_alike() -> None:
    for name, events in streams():
        (folded,) = CODEC.fold(events)
        texts = [
            CODEC.sse(events).encode(),
            ("[" + ",\r\n".join(CODEC.sse([event])[6:-4] for event in events) + "]").encode(),
            "\n".join(CODEC.sse([event])[6:-4] for event in events).encode(),
        ]
        for text in texts:
            (again,) = CODEC.fold(read_body(text).values)
            assert again.body == folded.body, name


def leaves(value: Any) -> int:
    """Scalars, nulls and empty containers."""
    if isinstance(value, dict):
        return sum(map(leaves, value.values())) or 1
    if isinstance(value, list):
        return sum(map(leaves, value)) or 1
    return 1


def escaped_leaves(shape: Any) -> int:
    """Leaves that only extras and raw JSON carry, raw usage but for its named paths included."""
    if isinstance(shape, list):
        return sum(map(escaped_leaves, shape))
    if not isinstance(shape, dict):
        return 0
    hidden = sum(leaves(loads(shape[key])) for key in ("extras", "raw") if key in shape and key != "raw")
    if "raw" in shape:
        raw = loads(shape["raw"])
        is_usage = "type" not in shape
        hidden += sum(leaves(item) for key, item in raw.items() if key not in USAGE_PATHS) if is_usage else leaves(raw)
    return hidden + sum(escaped_leaves(item) for item in shape.values())


def test_named_fields_carry_nearly_every_leaf_of_the_wire() -> None:
    pairs = [
        *((body, CODEC.read_request(body, reading("request"))) for _, body in requests()),
        *((body, CODEC.read_response(body, reading("response"), None)) for _, body in bodies()),
        *((one.body, CODEC.read_response(one.body, reading("response"), None)) for _, events in streams()
          for one in CODEC.fold(events)),
    ]  # fmt: skip
    total = sum(leaves(body) for body, _ in pairs)
    share = 1 - sum(escaped_leaves(record) for _, record in pairs) / total
    print(f"{PROTOCOL}: named fields carry {share:.2%} of {total} leaves")
    assert share >= 0.97


# Usage


def test_tokens_add_up_in_every_usage_of_the_wire() -> None:
    usages = [body["usageMetadata"] for _, body in bodies() if body.get("usageMetadata")]
    usages += [event["usageMetadata"] for _, events in streams() for event in events if "usageMetadata" in event]
    for wire in usages:
        usage = CODEC.read_response({"usageMetadata": wire}, reading("response"), None)["usage"]
        if "totalTokenCount" in wire:
            assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"] == wire["totalTokenCount"]


# The official types


#: Wire fields seen in traffic that google-genai's types do not have.
NOT_IN_THE_TYPES = {
    "usageMetadata.serviceTier": "the Gemini API sends it, the type has it for Live only",
    "usageMetadata.pydantic_ai_gateway": "a gateway's own addition",
}


def as_typed(body: Any) -> types.GenerateContentResponse:
    """A body as the SDK reads it, without the fields that its types lack."""
    usage = body.get("usageMetadata") or {}
    lacking = {path.partition(".")[2] for path in NOT_IN_THE_TYPES}
    known = {key: value for key, value in usage.items() if key not in lacking}
    return types.GenerateContentResponse.model_validate({**body, **({"usageMetadata": known} if usage else {})})


def test_what_is_written_is_valid_for_the_official_types() -> None:
    written = [CODEC.write_response(CODEC.read_response(body, reading("response"), None)) for _, body in bodies()]
    written += [one.body for _, events in streams() for one in CODEC.fold(events)]
    for body in written:
        if "error" not in body:
            assert as_typed(body).model_dump(mode="json", by_alias=True, exclude_none=True).keys() >= {"candidates"}


def test_a_folded_stream_says_what_the_sdk_reads_in_its_chunks() -> None:
    for name, events in streams():
        (folded,) = CODEC.fold(events)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole, chunks = as_typed(folded.body), [as_typed(event) for event in events]
            assert (whole.text or "") == "".join(one.text or "" for one in chunks), name
        candidates = [candidate for one in chunks for candidate in one.candidates or []]
        parts = [part for one in candidates for part in (one.content.parts if one.content else None) or []]
        named = [part.function_call.name for part in parts if part.function_call and part.function_call.name]
        assert [call.name for call in whole.function_calls or []] == named, name
        thoughts = "".join(part.text or "" for part in parts if part.thought)
        assert thoughts == "".join(p.text or "" for p in whole.candidates[0].content.parts if p.thought), name
        signatures = [part.thought_signature for part in parts if part.thought_signature]
        assert [p.thought_signature for p in whole.candidates[0].content.parts if p.thought_signature] == signatures


#: Whole answers of the same kind as a stream, and how a stream's answer differs by nature.
PAIRS = {
    "ours": "nothing",
    "ver/google/src/google-tool-call": "nothing",
    "ver/google/src/google-reasoning": "the signature comes in an empty last part",
    "ver/google/src/google-reasoning-gemini3": "the signature comes in an empty last part",
}


def form(part: Any) -> Any:
    """The keys of a part, two levels deep."""
    return {key: sorted(value) if isinstance(value, dict) else None for key, value in part.items()}


def test_a_folded_stream_has_the_form_of_the_whole_answer() -> None:
    whole = {name.removesuffix(".json"): body for name, body in bodies()}
    for name, events in streams():
        pair = whole.get(name.removesuffix(".chunks.txt"))
        if pair is None:
            continue
        (folded,) = CODEC.fold(events)
        ours, theirs = (body["candidates"][0] for body in (folded.body, pair))
        assert theirs.keys() - ours.keys() <= {"finishMessage"}, "streams do not send it"
        given, expected = ([form(part) for part in one["content"]["parts"]] for one in (ours, theirs))
        if PAIRS[name.removesuffix(".chunks.txt")] != "nothing":
            signature = given.pop()
            assert signature == {"text": None, "thoughtSignature": None}
            given[-1] |= signature
        assert given == expected, name


def _fields(model: type[BaseModel]) -> set[str]:
    return {to_camel(name) for name in model.model_fields}


#: Fields of the SDK's types that are no wire fields.
SDK_ONLY = {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}
GRAMMARS: list[tuple[type[BaseModel], Node]] = [
    (types.GenerateContentResponse, grammar.RESPONSE),
    (types.Candidate, grammar.CANDIDATE),
    (types.Content, grammar.CONTENT),
    (types.Part, grammar.PART),
    (types.Blob, grammar.BLOB),
    (types.FileData, grammar.FILE),
    (types.FunctionCall, grammar.FUNCTION_CALL),
    (types.FunctionResponse, grammar.FUNCTION_RESPONSE),
    (types.Transcription, grammar.TRANSCRIPTION),
    (types.Tool, grammar.TOOL),
    (types.FunctionDeclaration, grammar.FUNCTION_DECLARATION),
    (types.ToolConfig, grammar.TOOL_CONFIG),
    (types.GenerationConfig, grammar.GENERATION_CONFIG),
    (types.GenerateContentResponseUsageMetadata, grammar.USAGE),
    (types.UsageMetadata, grammar.USAGE),
    (types.GroundingMetadata, grammar.GROUNDING),
]


@pytest.mark.parametrize(("model", "node"), GRAMMARS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_grammar_has_every_field_of_the_sdk_s_type(model: type[BaseModel], node: Node) -> None:
    _check_grammar(model, node)


def _check_grammar(model: type[BaseModel], node: Node) -> None:
    assert _fields(model) - SDK_ONLY <= node.names.keys()
    for name, field in model.model_fields.items():
        child = node.names.get(to_camel(name), (None, None))[1]
        inner = next(iter(_models(field.annotation)), None)
        if child is not None and inner is not None:
            _check_grammar(inner, child)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def test_every_setting_part_tool_and_reason_of_the_sdk_has_a_place() -> None:
    config = dict.fromkeys(_fields(types.GenerationConfig), 1)
    config |= dict.fromkeys(("responseMimeType", "mediaResolution"), "x")
    config |= {"stopSequences": ["x"], "responseModalities": ["TEXT"], "responseLogprobs": True, "thinkingConfig": {}}
    record = CODEC.read_request({"contents": [], "generationConfig": config}, reading("request"))
    assert "extras" not in record
    data_members = _fields(types.Part) - set(FORMS)
    assert data_members == {
        "thought",
        "thoughtSignature",
        "videoMetadata",
        "mediaResolution",
        "mediaProcessing",
        "partMetadata",
        "speechMetadata",
        "documentMetadata",
        "spreadsheetMetadata",
        "audioMetadata",
    }
    assert _fields(types.Tool) - set(BUILT_IN) == {"functionDeclarations", "mcpServers"}
    assert {reason.value for reason in types.FinishReason} == finish.REASONS.keys()


# Real faults


OUR_TRAP: dict[str, Any] = {
    "id": "ours",
    "input": {
        "chunks": [chunk({"text": "a"}), chunk({"functionCall": {"name": "f", "args": {}}}, finishReason="STOP")]
    },
    "expected": {
        "result": {
            "status": "complete",
            "stop": "tool_calls",
            "text": "a",
            "tool_calls": [{"id": None, "name": "f", "arguments": {}, "index": 0}],
        }
    },
}
TRAPS = [
    trap
    for trap in traps()
    if trap["kind"] == "stream reassembly" and trap["protocol"].split(" ")[0] == "gemini.generateContent"
]
WORDS = {"completed": "complete", "incomplete": "truncated"}


@pytest.mark.parametrize("trap", [OUR_TRAP, *TRAPS], ids=lambda trap: trap["id"])
def test_real_faults_of_streams_do_not_happen(trap: dict[str, Any]) -> None:
    given = trap["input"]
    events = given["chunks"] if "chunks" in given else read_body("".join(given["reads"]).encode()).values
    (folded,) = CODEC.fold(events)
    record: Any = CODEC.read_response(folded.body, reading("response"), folded.layout)
    assert folded.complete
    parts = record["messages"][0]["parts"]
    ids = [part["tool_call"]["id"] for part in parts if part["type"] == "tool_call"]
    assert len(set(ids)) == len(ids)
    found = vocabulary(record)
    assert {key: found[key] for key in trap["expected"]["result"]} == trap["expected"]["result"]


def vocabulary(record: Any) -> dict[str, Any]:
    """A record in the words that traps.jsonl uses."""
    parts = record["messages"][0]["parts"]
    calls = [part["tool_call"] for part in parts if part["type"] == "tool_call"]
    usage = record.get("usage", {})
    return {
        "status": WORDS.get(record["status"], record["status"]),
        "stop": record["finish_reason"],
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "tool_calls": [
            {
                "id": call.get("provider_id"),
                "name": call["name"],
                "arguments": loads(call["arguments"]),
                "index": call["index"],
            }
            for call in calls
        ],
        "reasoning": [
            {"kind": "thinking", **one} for one in (part["reasoning"] for part in parts if part["type"] == "reasoning")
        ],
        "part_signature": next((part["signature"] for part in parts if "signature" in part), None),
        "usage": {
            "prompt": usage.get("input_tokens"),
            "completion": usage.get("output_tokens"),
            "total": usage.get("total_tokens"),
        },
    }
