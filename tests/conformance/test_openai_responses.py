"""Responses against real traffic and the official SDK: round trips, folds, coverage, usage, real faults.

The corpus lies beside a checkout, not in it: without it, the same checks run on our own samples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from openai._models import construct_type
from openai._types import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import (
    ResponseInputContent,
    ResponseInputItem,
    ResponseItem,
    ResponseOutputItem,
    ResponseStreamEvent,
    Tool,
)

from headrace.canonical.avro import record_format
from headrace.canonical.reading import Reading
from headrace.protocols.openai_responses import CODEC
from headrace.protocols.openai_responses.events import KNOWN_EVENTS
from headrace.protocols.openai_responses.item_types import ITEM_TYPES
from headrace.protocols.openai_responses.parts import CONTENT_TYPES
from headrace.protocols.openai_responses.tools import TOOL_KINDS
from tests.support.shared import corpus, traps
from tests.support.traffic import body_text, events_of, is_stream
from tests.unit.openai_responses.samples import REQUEST, RESPONSE

# The SDK's models warn of item types that they took for others; what they keep is right.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

OWN = {"id": "own", "request": REQUEST, "response": RESPONSE}
OWN_STREAM = {"id": "own", "request": REQUEST, "ndjson_chunks": CODEC.unfold(RESPONSE), "protocol": CODEC.protocol}
TERMINAL = ("response.completed", "response.failed", "response.incomplete")

#: Streams whose body has more than its terminal response: what the terminal event says beside it.
BESIDE_TERMINAL = {"copilot_usage"}

#: Fields that no delta carries; they come with `output_item.done` or the terminal response only. Item type -> fields.
NOT_IN_DELTAS = {
    "reasoning": {"encrypted_content"},  # the copy in `added` is another (valid) one, or none
    "compaction": {"encrypted_content"},
    "web_search_call": {"action"},
    "file_search_call": {"queries", "results"},
    "code_interpreter_call": {"outputs"},
    "mcp_call": {"output"},
    "mcp_list_tools": {"tools"},
    "tool_search_call": {"arguments", "call_id"},  # a gateway rotates the call id
    "image_generation_call": {"result", "prompt"},
}
#: Single streams that send even less: id -> fields of an item type.
NOT_IN_DELTAS_OF = {
    # Arguments come in `function_call_arguments.done` alone.
    "ver/open-responses/src/responses/lmstudio-tool-call.2.chunks.txt": {"function_call": {"arguments"}},
    # Every event has another item id.
    "ver/openai/src/responses/github-copilot-id-rotation.1.chunks.txt": {"message": {"id"}, "reasoning": {"id"}},
    # null when the call opens.
    "ver/openai/src/responses/openai-shell-tool.1.chunks.txt": {"shell_call": {"action"}},
}
#: Usage objects whose total is not input plus output: hand-made mocks. (input, output, total)
ODD_TOTALS = {(10, 1, 15)}

#: The SDK refuses these streams: id -> why.
SDK_REFUSES = {
    "ver/openai/src/responses/github-copilot-id-rotation.1.chunks.txt": "identity changed",
    "ver/openai/src/responses/openai-shell-tool.1.chunks.txt": "identity changed",
    "ver/openai/src/responses/openai-client-tool-search.1.chunks.txt": "identity",
}


def discriminators(union: Any, key: str = "type") -> set[str]:
    """The values of ``type`` over all members of a union of SDK models."""
    found: set[str] = set()
    for member in get_args(union) if get_args(union) else (union,):
        if get_args(member):
            found |= discriminators(member)
        elif hasattr(member, "model_fields") and key in member.model_fields:
            found |= {name for name in flat(member.model_fields[key].annotation) if isinstance(name, str)}
    return found


def flat(annotation: Any) -> Iterator[Any]:
    for one in get_args(annotation):
        if get_args(one):
            yield from flat(one)
        else:
            yield one


@pytest.mark.parametrize("union", [ResponseInputItem, ResponseOutputItem, ResponseItem])
def test_every_item_of_the_sdk_is_known(union: Any) -> None:
    names = discriminators(union)
    assert len(names) > 20
    assert names - {"message"} <= ITEM_TYPES.keys()


def test_every_event_of_the_sdk_is_known() -> None:
    names = discriminators(ResponseStreamEvent)
    assert len(names) > 50
    assert names <= KNOWN_EVENTS


def test_every_tool_and_content_part_of_the_sdk_is_known() -> None:
    assert discriminators(Tool) <= TOOL_KINDS.keys()
    assert discriminators(ResponseInputContent) | {"output_text", "refusal"} <= CONTENT_TYPES


def exchanges() -> list[dict[str, Any]]:
    return [OWN, OWN_STREAM, *corpus("openai.responses")]


def streams() -> list[dict[str, Any]]:
    return [exchange for exchange in exchanges() if is_stream(exchange)]


def terminals(events: list[Any]) -> list[Any]:
    return [event["response"] for event in events if event.get("type") in TERMINAL]


def bodies() -> Iterator[tuple[str, str, Any]]:
    """(id, kind, body) of every request and every response, folded ones included."""
    for exchange in exchanges():
        if exchange["request"] is not None:
            yield exchange["id"], "request", exchange["request"]
        if exchange.get("response") is not None:
            yield exchange["id"], "response", exchange["response"]
        if is_stream(exchange):
            for folded in CODEC.fold(events_of(exchange)):
                yield exchange["id"], "response", folded.body


def read(kind: str, body: Any) -> Any:
    if kind == "request":
        return CODEC.read_request(body, Reading("call-1", kind))
    return CODEC.read_response(body, Reading("call-1", kind), None)


def write(kind: str, record: Any) -> Any:
    return (CODEC.write_request if kind == "request" else CODEC.write_response)(record)


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_every_body_round_trips_and_so_does_its_avro() -> None:
    form = record_format("canonical_record")
    different = []
    for name, kind, body in bodies():
        record = read(kind, body)
        decoded = form.decode(form.encode({**record, "call_id": "call-1"}))
        if text(write(kind, record)) != text(body) or write(kind, decoded) != body:
            different.append((name, kind))
    assert different == []


def leaves(value: Any) -> int:
    """Scalars, nulls, and empty containers as one leaf."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(leaves(one) for one in inner) or 1


def leaves_in_escape_hatch(shape: Any) -> int:
    """Leaves in `extras` and `raw` texts; usage.raw counts by the paths that no named field carries."""
    if isinstance(shape, list):
        return sum(leaves_in_escape_hatch(one) for one in shape)
    if not isinstance(shape, dict):
        return 0
    count = 0
    for key, value in shape.items():
        if key == "usage" and isinstance(value, dict):
            count += unnamed(json.loads(value["raw"]) if "raw" in value else {}, "")
        elif key in ("extras", "raw"):
            count += leaves(json.loads(value))
        else:
            count += leaves_in_escape_hatch(value)
    return count


def unnamed(usage: Any, path: str) -> int:
    if any(path == named or path.startswith(f"{named}.") for named in CODEC.usage_paths):
        return 0
    if isinstance(usage, dict) and usage:
        return sum(unnamed(value, f"{path}.{key}".lstrip(".")) for key, value in usage.items())
    return 1 if path else 0


def test_named_fields_carry_nearly_all_of_the_traffic() -> None:
    total = hatch = 0
    for _, kind, body in bodies():
        total += leaves(body)
        hatch += leaves_in_escape_hatch(read(kind, body))
    share = 1 - hatch / total
    print(f"openai.responses: {share:.4%} of {total} leaf values in named fields")
    assert share >= 0.97


def test_streams_fold_to_their_terminal_responses() -> None:
    for exchange in streams():
        events = events_of(exchange)
        folded = CODEC.fold(events)
        assert [one.complete for one in folded] == [True] * len(folded), exchange["id"]
        assert [(one.unknown, one.stray, one.missing) for one in folded] == [([], [], [])] * len(folded)
        kept = [{key: one.body[key] for key in one.body if key not in BESIDE_TERMINAL} for one in folded]
        assert kept == terminals(events), exchange["id"]
        assert sum(one.events for one in folded) == len(events)


def test_deltas_alone_build_the_output_where_they_carry_it() -> None:
    built = 0
    for exchange in streams():
        if exchange["id"] == "own":
            continue
        events = events_of(exchange)
        started = [event for event in events if not event["type"].endswith(".done") and event["type"] not in TERMINAL]
        for folded, terminal in zip(CODEC.fold(started), terminals(events), strict=True):
            assert not folded.complete
            exceptions = NOT_IN_DELTAS_OF.get(exchange["id"], {})
            expected = [carried(item, exceptions) for item in terminal["output"]]
            assert [carried(item, exceptions) for item in folded.body["output"]] == expected, exchange["id"]
            built += 1
    print(f"openai.responses: {built} outputs built from deltas")


def carried(item: Any, exceptions: dict[str, set[str]]) -> Any:
    """The item without its status (only whole copies have the final one) and what deltas do not carry."""
    kind = item["type"]
    left_out = {"status"} | NOT_IN_DELTAS.get(kind, set()) | exceptions.get(kind, set())
    return {key: value for key, value in item.items() if key not in left_out}


def sdk_state(events: list[Any]) -> Any:
    state: Any = ResponseStreamState(text_format=omit, input_tools=omit)
    for event in events:
        state.handle_event(construct_type(type_=ResponseStreamEvent, value=event))
    return state


def test_fold_equals_the_sdk_s_accumulator() -> None:
    compared, refused = 0, {}
    for exchange in streams():
        events = events_of(exchange)
        try:
            state = sdk_state(events)
        except (RuntimeError, AttributeError) as error:
            refused[exchange["id"]] = str(error)
            continue
        completed = state._completed_response.to_dict(mode="json", exclude_unset=True, warnings=False)
        (folded,) = CODEC.fold(events)
        assert without_parsed(completed) == without_parsed(folded.body), exchange["id"]
        compared += 1
    print(f"openai.responses: {compared} streams equal to the SDK's accumulator, it refuses {refused}")
    assert compared >= 1
    assert {name for name in refused if name != "own"} <= SDK_REFUSES.keys()


def test_open_streams_equal_the_sdk_s_snapshot() -> None:
    """Texts and arguments that the SDK has collected before the terminal event are the ones we have."""
    for exchange in streams():
        if exchange["id"] in SDK_REFUSES or exchange["id"] == "own":
            continue
        started = [
            event
            for event in events_of(exchange)
            if event["type"] not in TERMINAL and not event["type"].endswith(".done")
        ]
        snapshot = sdk_state(started)._ResponseStreamState__current_snapshot.to_dict(mode="json", warnings=False)
        (folded,) = CODEC.fold(started)
        assert spoken(folded.body["output"]) == spoken(snapshot["output"]), exchange["id"]


def spoken(output: list[Any]) -> list[Any]:
    """What the SDK accumulates: texts of messages and arguments of functions."""
    return [
        [part.get("text") for part in item["content"]] if item["type"] == "message" else item["arguments"]
        for item in output
        if item["type"] in ("message", "function_call")
    ]


def without_parsed(value: Any) -> Any:
    """The SDK adds parsed content and arguments."""
    if isinstance(value, dict):
        return {key: without_parsed(one) for key, one in value.items() if key not in ("parsed", "parsed_arguments")}
    return [without_parsed(one) for one in value] if isinstance(value, list) else value


def test_bodies_unfold_into_streams_that_fold_back() -> None:
    for exchange in streams():
        for folded in CODEC.fold(events_of(exchange)):
            events = CODEC.unfold(folded.body)
            again = CODEC.fold(events)
            assert [one.body for one in again] == [folded.body], exchange["id"]
            assert again[0].complete
            assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_sign_is_hard_on_terminal_events_and_on_nothing_else() -> None:
    for exchange in streams():
        for event in events_of(exchange):
            expected = 2 if event["type"] in TERMINAL else 0
            assert CODEC.sign(json.dumps(event).encode()) == expected, event["type"]
            assert CODEC.sign(json.dumps(event, sort_keys=True).encode()) == expected, event["type"]
            assert CODEC.sign(CODEC.sse([event]).encode()) == expected, event["type"]
        assert CODEC.sign(body_text(exchange).encode()) == 2


def test_usage_adds_up() -> None:
    odd = set()
    for _, kind, body in bodies():
        usage = read(kind, body).get("usage", {})
        if "total_tokens" not in usage:
            continue
        figures = (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"])
        if figures[0] + figures[1] != figures[2]:
            odd.add(figures)
        assert usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0) <= figures[0]
        assert usage.get("reasoning_tokens", 0) <= figures[1]
    assert odd <= ODD_TOTALS


STATUS_WORDS = {"completed": "complete"}


def result_of(record: Any) -> dict[str, Any]:
    """A record in the words of the fault collection."""
    parts = [part for message in record.get("messages", ()) for part in message.get("parts", ())]
    calls = [part["tool_call"] for part in parts if part["type"] == "tool_call"]
    usage = record.get("usage", {})
    return {
        "status": STATUS_WORDS.get(record["status"], record["status"]),
        "stop": record.get("finish_reason"),
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "tool_calls": [
            {"id": call["id"], "name": call["name"], "arguments": json.loads(call["arguments"])} for call in calls
        ],
        "usage": {key: usage[key] for key in ("input_tokens", "output_tokens") if key in usage},
    }


OWN_FAULT = {
    "id": "own",
    "kind": "stream reassembly",
    "protocol": "openai.responses",
    "input": {
        "events": [
            {"type": "response.output_item.added", "item": {"type": "message", "content": []}, "output_index": 4},
            {"type": "response.output_text.delta", "delta": "Hi", "output_index": 4},
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
        ]
    },
    "expected": {"result": {"status": "complete", "stop": "stop", "text": "Hi"}},
}


@pytest.mark.parametrize(
    "fault",
    [OWN_FAULT, *(one for one in traps() if one["kind"] == "stream reassembly" and one["protocol"] == CODEC.protocol)],
    ids=lambda fault: fault["id"],
)
def test_real_faults_come_out_right(fault: dict[str, Any]) -> None:
    (folded,) = CODEC.fold(fault["input"]["events"])
    assert folded.complete
    result = result_of(read("response", folded.body))
    expected = fault["expected"]["result"]
    assert {key: result[key] for key in expected} == expected
