"""Interactions against the official SDK's types and against real traffic, where that lies beside the checkout.

The SDK has no accumulator of interaction streams, so folded streams are held against its resource type and against
the whole answers of the same kind that were recorded beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.genai._gaos.types import interactions as sdk
from google.genai._gaos.types.interactions import (
    annotation,
    content,
    interaction,
    interactionsseevent,
    step,
    stepdeltadata,
    tool,
)

from headrace.json_text import loads
from headrace.protocols.entry_points import Folded
from headrace.protocols.gemini_interactions.contents import ANNOTATION_TYPES
from headrace.protocols.gemini_interactions.finish import STATUSES
from tests.support.shared import corpus, traps
from tests.unit.gemini_interactions.test_stream import DELTAS
from tests.unit.gemini_interactions.wire import (
    CODEC,
    CONTENTS,
    INTERACTION,
    REQUEST,
    STEPS,
    TOOLS,
    USAGE,
    read_request,
    read_response,
)

PROTOCOL = "gemini.interactions"


def variants(module: Any) -> set[str]:
    """Discriminators of the union that a module of the SDK defines."""
    (found,) = (value for name, value in vars(module).items() if name.endswith("_VARIANTS") and name[0] == "_")
    return set(found)


def test_all_types_of_the_sdk_are_known() -> None:
    assert variants(step) == STEPS.keys()
    assert variants(stepdeltadata) == DELTAS.keys()
    assert variants(content) == CONTENTS.keys()
    assert variants(annotation) == ANNOTATION_TYPES
    assert variants(tool) == TOOLS.keys()
    assert set(sdk.Usage.model_fields) == USAGE.keys() <= CODEC.usage_paths


@pytest.mark.parametrize("event_type", sorted(variants(interactionsseevent)))
def test_all_events_of_the_sdk_are_known(event_type: str) -> None:
    (folded,) = CODEC.fold([{"event_type": event_type, "index": 0, "step": {}, "delta": {"type": "text", "text": "x"}}])
    assert (folded.unknown, folded.stray, folded.events) == ([], [], 1)


def test_all_fields_of_the_sdk_s_requests_and_interactions_are_named() -> None:
    requests = {*sdk.CreateModelInteraction.model_fields, *sdk.CreateAgentInteraction.model_fields}
    odd = dict.fromkeys(requests - REQUEST.keys(), "x") | REQUEST
    del odd["agent"]
    assert "extras" not in read_request(odd)
    resource = interaction.Interaction.model_fields.keys() - {"agent", "input", "errors"}
    body = {name: value for name, value in {**REQUEST, **INTERACTION}.items() if name in {*resource, "object"}}
    del body["environment_id"]
    assert "extras" not in read_response(body | {"output_video": {}, "output_image": {}, "output_audio": {}})


def test_all_statuses_of_the_sdk_are_known() -> None:
    literal = interaction.InteractionStatus.__args__[0]  # type: ignore[attr-defined]
    assert set(literal.__args__) == STATUSES.keys()


def streams() -> Iterator[tuple[str, list[Any]]]:
    """Our own stream, then the recorded ones."""
    yield "ours", CODEC.unfold(INTERACTION)
    for exchange in corpus(PROTOCOL):
        if exchange["ndjson_chunks"] is not None:
            yield exchange["id"], exchange["ndjson_chunks"]


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Our own body, the recorded ones, and those folded from the streams."""
    yield "ours", INTERACTION
    for exchange in corpus(PROTOCOL):
        if exchange["response"] is not None:
            yield exchange["id"], exchange["response"]
    for name, events in streams():
        yield f"folded: {name}", fold_one(events).body


def fold_one(events: list[Any]) -> Folded:
    (folded,) = CODEC.fold(events)
    assert folded.complete
    assert folded.unknown == folded.stray == []
    return folded


def test_every_body_comes_back_and_folds_from_its_events() -> None:
    for name, body in bodies():
        record = read_response(body)
        assert record["status"] == "completed", name
        assert fold_one(CODEC.unfold(body)).body == body, name
        (again,) = CODEC.fold(
            [loads(line[6:]) for line in CODEC.sse(CODEC.unfold(body)).split("\n") if line[:7] == "data: {"]
        )
        assert again.body == body, name


def test_every_request_comes_back() -> None:
    for exchange in corpus(PROTOCOL):
        if exchange["request"] is not None:
            read_request(exchange["request"])
    assert read_request(REQUEST)["model"] == REQUEST["model"]


def test_folded_streams_are_interactions_to_the_sdk() -> None:
    for name, events in streams():
        body = fold_one(events).body
        parsed = interaction.Interaction.model_validate(body)
        assert [one.type for one in parsed.steps or ()] == [one["type"] for one in body["steps"]], name


#: Folded streams have the form of the whole answer recorded under the same name. Keys that differ, and why.
DIFFERENCES = {
    # Stateless answers have no id; their streams have an empty one.
    "multi-turn-stateless-turn1": {"id"},
    "multi-turn-stateless-turn2": {"id"},
    # The start event of a call has an empty signature beside its empty arguments.
    "tool-call-step1": {"steps[1].signature"},
}


def _form(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {inner for key, held in value.items() for inner in _form(held, f"{path}.{key}" if path else key)}
    if isinstance(value, list):
        return {inner for index, held in enumerate(value) for inner in _form(held, f"{path}[{index}]")}
    return {path}


def test_folded_streams_have_the_form_of_whole_answers() -> None:
    whole = {name.removesuffix(".json"): body for name, body in bodies() if name.endswith(".json")}
    for name, events in streams():
        twin = whole.get(name.removesuffix(".chunks.txt"))
        if twin is not None:
            differing = _form(fold_one(events).body) ^ _form(twin)
            assert differing == DIFFERENCES.get(name.rpartition("/")[2].removesuffix(".chunks.txt"), set()), name


def test_totals_are_input_plus_output() -> None:
    for name, body in bodies():
        usage = read_response(body)["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"], name


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list) and value:
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _hatches(value: Any) -> int:
    """Leaf values in the escape hatches of a record: extras and raw parts."""
    if isinstance(value, list):
        return sum(map(_hatches, value))
    if not isinstance(value, dict):
        return 0
    hidden = sum(_leaves(loads(value[key])) for key in ("extras", "raw") if key in value)
    return hidden + sum(_hatches(held) for held in value.values() if not isinstance(held, str))


def test_named_fields_carry_what_the_wire_says() -> None:
    wire = hatched = 0
    for _, body in bodies():
        record = read_response(body)
        usage = loads(record["usage"].pop("raw"))
        wire += _leaves(body)
        hatched += _hatches(record) + sum(_leaves(held) for key, held in usage.items() if key not in CODEC.usage_paths)
    share = 1 - hatched / wire
    print(f"{share:.2%} of {wire} leaf values in named fields")
    assert share >= 0.97


def test_shared_faults_do_not_happen() -> None:
    for trap in traps():
        if trap["protocol"] == PROTOCOL and trap["kind"] == "stream reassembly":
            assert _in_trap_words(trap["input"]["events"]) == trap["expected"]["result"], trap["id"]


def _in_trap_words(events: list[Any]) -> dict[str, Any]:
    record = read_response(fold_one(events).body)
    parts = [part for message in record["messages"] for part in message["parts"]]
    return {
        "status": {"completed": "complete"}[record["status"]],
        "stop": record["finish_reason"],
        "tool_calls": [
            {key: call[key] for key in ("id", "name")} | {"arguments": loads(call["arguments"])}
            for call in (part["tool_call"] for part in parts if part["type"] == "tool_call")
        ],
        "reasoning": [
            {
                "kind": "thinking",
                "text": "".join(part["reasoning"].get("summary", [])),
                "signature": part["reasoning"]["signature"],
            }
            for part in parts
            if part["type"] == "reasoning"
        ],
    }


def test_a_thought_s_signature_goes_back_before_its_call() -> None:
    thought = {"type": "thought", "signature": "c2ln"}
    body = {"id": "a", "status": "requires_action", "steps": [thought, STEPS["function_call"]]}
    messages = read_response(fold_one(CODEC.unfold(body)).body)["messages"]
    assert CODEC.write_request({"model": "m", "messages": messages})["input"] == [thought, STEPS["function_call"]]
