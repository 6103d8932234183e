"""Anthropic Messages against the official SDK and against real traffic, where that lies beside the checkout."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types import beta as sdk_types
from pydantic import BaseModel

from headrace.canonical.reading import Reading
from headrace.json_text import loads
from headrace.protocols.anthropic_messages import CODEC, blocks, calls, finish, media, results, stream, tools
from tests.support.shared import corpus, traps
from tests.unit.anthropic_messages.samples import BLOCKS, REQUEST, RESPONSE

PROTOCOL = "anthropic.messages"


def reading(record_type: str) -> Reading:
    return Reading("call-1", record_type)


def events_of(exchange: dict[str, Any]) -> list[Any] | None:
    """The events of a recorded stream; None where the exchange is no stream."""
    if exchange["ndjson_chunks"] is not None:
        return list(exchange["ndjson_chunks"])
    if exchange["sse"] is None:
        return None
    return [loads(line[5:]) for line in exchange["sse"].splitlines() if line.startswith("data:")]


def streams() -> Iterator[tuple[str, list[Any]]]:
    """Our own streams, then the recorded ones."""
    for name, block in BLOCKS.items():
        model = block["to"]["model"] if name == "fallback" else RESPONSE["model"]
        yield f"ours: {name}", CODEC.unfold({**RESPONSE, "content": [block], "model": model})
    yield "ours: several blocks", CODEC.unfold(RESPONSE)
    for exchange in corpus(PROTOCOL):
        events = events_of(exchange)
        if events is not None:
            yield exchange["id"], events


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Our own response bodies, then the recorded ones."""
    yield "ours", RESPONSE
    for exchange in corpus(PROTOCOL):
        if exchange["response"] is not None:
            yield exchange["id"], exchange["response"]


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Our own request, then the recorded ones."""
    yield "ours", REQUEST
    for exchange in corpus(PROTOCOL):
        if exchange["request"] is not None:
            yield exchange["id"], exchange["request"]


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
        assert record["status"] == ("failed" if "error" in body else record["status"])


def test_every_stream_folds_and_comes_back() -> None:
    for name, events in streams():
        folded = CODEC.fold(events)
        assert len(folded) == sum(event["type"] == "message_start" for event in events), name
        assert sum(one.events for one in folded) == len(events), name
        for one in folded:
            known = reading("response")
            record = CODEC.read_response(one.body, known, one.layout)
            assert CODEC.write_response(record) == one.body, name
            assert one.complete, name
            assert not one.stray, name
            assert not known.unknown, name


def test_unfolding_and_folding_gives_every_body_again() -> None:
    folded = [(name, one.body) for name, events in streams() for one in CODEC.fold(events)]
    for name, body in [*bodies(), *folded]:
        (again,) = CODEC.fold(CODEC.unfold(body))
        assert again.body == body, name


def test_named_fields_carry_nearly_every_leaf_of_the_wire() -> None:
    total = escaped = 0
    pairs = [
        *((body, CODEC.read_request(body, reading("request"))) for _, body in requests()),
        *((body, CODEC.read_response(body, reading("response"), None)) for _, body in bodies()),
    ]
    for body, record in pairs:
        total += len(list(leaves(body)))
        escaped += sum(1 for _ in escape_hatch(record))
    print(f"coverage of {PROTOCOL}: {total - escaped} of {total} leaves, {1 - escaped / total:.4%}")
    assert 1 - escaped / total >= 0.99


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Paths of scalars, nulls and empty containers."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items or (isinstance(value, dict | list) and not value):
        yield path
    for key, inner in items:
        yield from leaves(inner, f"{path}.{key}" if path else str(key))


def escape_hatch(shape: Any) -> Iterator[str]:
    """Leaves in ``extras`` and ``raw``; of a usage object only those that no named field carries."""
    for key, value in shape.items() if isinstance(shape, dict) else ():
        if key == "usage":
            yield from (path for path in leaves(loads(value["raw"])) if not _is_named(path))
        elif key in ("extras", "raw"):
            yield from leaves(loads(value))
        elif isinstance(value, dict):
            yield from escape_hatch(value)
        elif isinstance(value, list):
            for element in value:
                yield from escape_hatch(element)


def _is_named(path: str) -> bool:
    return any(path == known or path.startswith(f"{known}.") for known in CODEC.usage_paths)


# The SDK's accumulator. Its models are built unchecked, and warn of that when they are written out.
ignoring_unchecked_models = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

#: Where the SDK's message differs from the folded body, and why.
#: It assigns every field of an event's model, so what the wire left out becomes null.
SDK_WRITES_NULL = {
    "stop_details": "message_delta had none (older API)",
    "stop_sequence": "left out of one recorded body by whoever recorded it",
    "content.encrypted_content": "compaction_delta had none (older API)",
}


def accumulated(events: list[Any]) -> list[dict[str, Any]]:
    """What the SDK makes of the events, one message for each message_start."""
    messages: list[Any] = []
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] == "message_start":
            messages.append(None)
            buffers = {}
        if event["type"] != "ping":
            messages[-1] = accumulate_event(
                event=event, current_snapshot=messages[-1], json_bufs=buffers, request_headers=typing.cast(Any, {})
            )
    return [message.to_dict(mode="json") for message in messages]


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path without list positions, ours, theirs) wherever the two differ; absent is "(absent)"."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            inner = f"{path}.{key}" if path else key
            yield from differences(ours.get(key, "(absent)"), theirs.get(key, "(absent)"), inner)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for our, their in zip(ours, theirs, strict=True):
            yield from differences(our, their, path)
    elif ours != theirs or type(ours) is not type(theirs):
        yield path, ours, theirs


@ignoring_unchecked_models
def test_folded_streams_are_what_the_sdk_accumulates() -> None:
    compared = 0
    for name, events in streams():
        ours = [one.body for one in CODEC.fold(events)]
        for our, their in zip(ours, accumulated(events), strict=True):
            compared += 1
            for path, mine, sdk in differences(our, their):
                assert path in SDK_WRITES_NULL, (name, path, mine, sdk)
                assert (mine, sdk) == ("(absent)", None), (name, path, mine, sdk)
    assert compared > len(BLOCKS)


@ignoring_unchecked_models
def test_the_sdk_reads_our_events_as_the_body_they_came_from() -> None:
    for name, body in bodies():
        if body["type"] == "message":
            (message,) = accumulated(CODEC.unfold(body))
            for path, mine, sdk in differences(body, message):
                assert path in SDK_WRITES_NULL, (name, path, mine, sdk)
                assert (mine, sdk) == ("(absent)", None), (name, path, mine, sdk)


@ignoring_unchecked_models
def test_a_cut_call_is_where_we_mean_to_differ() -> None:
    events = [
        *CODEC.unfold({**RESPONSE, "content": []})[:1],
        {"type": "content_block_start", "index": 0, "content_block": {**BLOCKS["tool_use"], "input": {}}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"n": 10, "city": "Bos'},
        },
    ]
    (folded,) = CODEC.fold(events)
    # The SDK repairs: half an object looks whole. Here nothing is repaired, and the string is kept as it came.
    assert accumulated(events)[0]["content"][0]["input"] == {"n": 10}
    assert folded.body["content"][0]["input"] == {}
    assert folded.layout == {"streamed": {0: '{"n": 10, "city": "Bos'}}


# The SDK's unions


def literals(union: Any, field: str = "type") -> set[str]:
    """All values of the discriminator in a union of the SDK's types."""
    arguments = typing.get_args(union)
    if arguments and typing.get_origin(union) is not typing.Literal:
        if typing.get_origin(union) is typing.Annotated:
            return literals(arguments[0], field)
        return set().union(*(literals(argument, field) for argument in arguments))
    if isinstance(union, type) and issubclass(union, BaseModel):
        return set(_literal_values(union.model_fields[field].annotation))
    return set(_literal_values(typing.get_type_hints(union)[field])) if isinstance(union, type) else set()


def _literal_values(hint: Any) -> Iterator[str]:
    if typing.get_origin(hint) is typing.Literal:
        yield from typing.get_args(hint)
    else:
        for argument in typing.get_args(hint):
            yield from _literal_values(argument)


KNOWN_BLOCKS = {
    "text",
    "thinking",
    "redacted_thinking",
    *media.TYPES,
    *calls.KINDS,
    *results.KINDS,
    *blocks.DATA_BLOCKS,
}


def test_every_block_the_sdk_names_is_known() -> None:
    taken, given = literals(sdk_types.BetaContentBlockParam), literals(sdk_types.BetaContentBlock)
    assert len(taken) >= 24
    assert len(given) >= 18
    assert taken | given <= KNOWN_BLOCKS


def test_every_tool_the_sdk_names_is_known() -> None:
    named = literals(sdk_types.BetaToolUnionParam)
    assert len(named) >= 29
    assert named <= tools.KNOWN_TYPES


def test_every_stop_reason_the_sdk_names_is_known() -> None:
    assert set(_literal_values(sdk_types.BetaStopReason)) == set(finish.REASONS)


def test_every_event_and_delta_the_sdk_names_is_known() -> None:
    assert literals(sdk_types.BetaRawMessageStreamEvent) <= stream._EVENTS.keys()
    for kind in literals(sdk_types.BetaRawContentBlockDelta):
        payload = {"text": "", "partial_json": "", "thinking": "", "signature": "", "citation": {}, "content": ""}
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **payload}}
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
        assert CODEC.fold([start, delta])[0].unknown == []


def _fields(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_field_of_the_sdks_message_and_usage_is_named() -> None:
    named = {path.split(".")[0] for path in CODEC.usage_paths}
    assert _fields(sdk_types.BetaUsage) <= named
    for field in _fields(sdk_types.BetaMessage) - {"content", "usage"}:
        value = "END" if field == "stop_sequence" else RESPONSE[field] or {"type": "refusal"}
        record = CODEC.read_response({**RESPONSE, field: value}, reading("response"), None)
        assert "extras" not in record, field


def test_every_setting_of_the_sdks_request_is_named() -> None:
    settings = typing.get_type_hints(sdk_types.message_create_params.MessageCreateParamsBase).keys()
    assert len(settings) > 25
    for name in settings:
        record = CODEC.read_request({"messages": [], "model": "m", name: REQUEST.get(name)}, reading("request"))
        assert "extras" not in record, name


# Real figures and real faults


_OUR_ITERATIONS: dict[str, Any] = {
    **RESPONSE,
    "usage": {
        "input_tokens": 5,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 0,
        "output_tokens": 9,
        "iterations": [
            {"type": "compaction", "input_tokens": 900, "output_tokens": 80},
            {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 4},
            {"type": "message", "input_tokens": 3, "cache_read_input_tokens": 30, "output_tokens": 5},
        ],
    },
}


def test_total_input_is_the_sum_that_the_iterations_bill() -> None:
    """The wire's totals leave cache out; message iterations, summed with their cache, give the canonical input.

    A compaction is in no sum, and neither is a model that refused without a word before a fallback.
    """
    recorded = [body for name, body in bodies() if name != "ours"]
    for body in [_OUR_ITERATIONS, *recorded]:
        served = [
            one
            for one in body.get("usage", {}).get("iterations", ())
            if one["type"] in ("message", "fallback_message") and one["output_tokens"]
        ]
        if served:
            usage = CODEC.read_response(body, reading("response"), None)["usage"]
            parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            assert usage["input_tokens"] == sum(one.get(part, 0) for one in served for part in parts)
            assert usage["output_tokens"] == sum(one["output_tokens"] for one in served)


_OUR_TRAP: dict[str, Any] = {
    "id": "ours",
    "input": {"events": CODEC.unfold({**RESPONSE, "content": [BLOCKS["text"], BLOCKS["tool_use"]]})},
    "expected": {
        "result": {
            "status": "complete",
            "stop": "tool_use",
            "text": "hello",
            "tool_calls": [{"id": "toolu_1", "name": "get", "arguments": {"x": 1}, "index": 0}],
            "block_order": ["text", "tool_use"],
            "usage": {"input_tokens": 7, "output_tokens": 20},
        }
    },
}
FOLD_TRAPS = [
    trap
    for trap in traps()
    if trap["kind"] == "stream reassembly"
    and trap["protocol"].split(" ")[0] == PROTOCOL
    and "result" in trap["expected"]
]
WORDS = {"completed": "complete", "incomplete": "truncated"}


@pytest.mark.parametrize("trap", [_OUR_TRAP, *FOLD_TRAPS], ids=lambda trap: trap["id"])
def test_real_faults_of_streams_do_not_happen(trap: dict[str, Any]) -> None:
    (folded,) = CODEC.fold(trap["input"]["events"])
    record = CODEC.read_response(folded.body, reading("response"), folded.layout)
    found = vocabulary(record)
    for key, expected in trap["expected"]["result"].items():
        if key == "stop":
            assert expected in (record["finish_reason"], record["raw_finish_reason"])
        elif isinstance(expected, list):
            assert [
                {name: one.get(name) for name in want} if isinstance(want, dict) else one
                for one, want in zip(found[key], expected, strict=True)
            ] == expected
        elif isinstance(expected, dict):
            assert {name: found[key].get(name) for name in expected} == expected
        else:
            assert found[key] == expected


def vocabulary(record: Any) -> dict[str, Any]:
    """A record in the words that traps.jsonl uses."""
    parts = record["messages"][0]["parts"]
    called = [part["tool_call"] for part in parts if part["type"] == "tool_call"]
    client = [
        {"id": call["id"], "name": call["name"], "arguments": loads(call["arguments"]), "index": call["index"]}
        for call in called
        if call["kind"] == "function"
    ]
    return {
        "status": WORDS.get(record["status"], record["status"]),
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "tool_calls": client,
        "client_tool_calls": client,
        "server_tool_use.input": next((loads(call["arguments"]) for call in called if call["kind"] == "server"), None),
        "block_order": [block["type"] for block in CODEC.write_response(record)["content"]],
        "usage": loads(record["usage"]["raw"]),
        "error": record.get("error"),
        "reasoning": [
            {"kind": "redacted", "data": one["encrypted"]}
            if one.get("redacted")
            else {"kind": "thinking", "text": one["text"], "signature": one["signature"]}
            for one in (part["reasoning"] for part in parts if part["type"] == "reasoning")
        ],
        "citations": [
            {**citation, "start": citation.get("start_index"), "end": citation.get("end_index")}
            for part in parts
            for citation in part.get("citations", [])
        ],
    }
