"""Streams of the typed protocols and of Gemini, in every dialect that was seen: the answer stays the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import loads
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.running import Ran, run
from tests.support.trap_results import calls_of, parts_of, result_of

_TEXT = st.text(min_size=1, max_size=8)
_OBJECT = st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(st.integers(0, 9), st.text(max_size=4)), max_size=2)


def ran_of(protocol: str, events: list[Any], *, ended: bool = True) -> Ran:
    """The events, one a capture, through the pipeline."""
    head = {"call_id": "c", "protocol": protocol}
    lines = [{**head, "kind": "stream", "seq": seq, "body": event} for seq, event in enumerate(events)]
    if ended:
        lines.append({**head, "kind": "end", "count": len(events)})
    return asyncio.run(run(MemoryStore(), traffic.encode(lines)))


def record_of(protocol: str, events: list[Any]) -> CanonicalRecord:
    ran = ran_of(protocol, events)
    assert not ran.dead_letters
    assert len(ran.records) == 1
    return ran.records[0]


def cut(draw: st.DrawFn, text: str) -> list[str]:
    """A text in pieces, some of them empty."""
    at = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


def interleaved(draw: st.DrawFn, lanes: list[list[Any]]) -> list[Any]:
    """The lanes' events mixed; each lane keeps its order and lanes begin in theirs."""
    waiting = [list(lane) for lane in lanes]
    mixed: list[Any] = []
    begun = 0
    while any(waiting):
        choices = [at for at in range(begun) if waiting[at]] + ([begun] if begun < len(waiting) else [])
        at = draw(st.sampled_from(choices))
        begun = max(begun, at + 1)
        mixed.append(waiting[at].pop(0))
    return mixed


# --- Anthropic ----------------------------------------------------------------------------------------------------


@st.composite
def blocks(draw: st.DrawFn, index: int) -> tuple[tuple[str, Any], list[dict[str, Any]]]:
    """((kind, what it says), its events)"""
    kind = draw(st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use"]))
    deltas: list[dict[str, Any]] = []
    if kind == "text":
        said: Any = draw(_TEXT)
        block: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(draw, said)]
    elif kind == "thinking":
        said = (draw(_TEXT), f"SIG-{index}")
        block = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(draw, said[0])]
        deltas.append({"type": "signature_delta", "signature": said[1]})
    elif kind == "redacted_thinking":
        said = f"ZGF0YQ{index}"
        block = {"type": "redacted_thinking", "data": said}
    else:
        said = draw(_OBJECT)
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}}
        if said or draw(st.booleans()):
            text = json.dumps(said) if said else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(draw, text)]
    events = [{"type": "content_block_start", "index": index, "content_block": block}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    if draw(st.integers(0, 4)):
        events.append({"type": "content_block_stop", "index": index})
    return (kind, said), events


def _message_start(name: str) -> dict[str, Any]:
    message = {"id": name, "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "usage": {"input_tokens": 25, "output_tokens": 1}}}


@st.composite
def messages(draw: st.DrawFn, name: str = "msg_1") -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    """(blocks as they should come out, events)"""
    made = [draw(blocks(index)) for index in range(draw(st.integers(1, 5)))]
    lanes = [events for _, events in made]
    body = interleaved(draw, lanes) if draw(st.booleans()) else [event for lane in lanes for event in lane]
    for _ in range(draw(st.integers(0, 3))):
        body.insert(draw(st.integers(0, len(body))), {"type": "ping"})
    totals = sorted(draw(st.lists(st.integers(2, 90), min_size=1, max_size=3)))
    deltas = [{"type": "message_delta", "delta": {}, "usage": {"output_tokens": total}} for total in totals]
    deltas[-1]["delta"] = {"stop_reason": "end_turn", "stop_sequence": None}
    deltas[-1]["usage"] = {"output_tokens": 99}
    return [said for said, _ in made], [_message_start(name), *body, *deltas, {"type": "message_stop"}]


def _said(record: CanonicalRecord) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for part in parts_of(record):
        if part["type"] == "reasoning":
            reasoning = part["reasoning"]
            if reasoning.get("redacted"):
                found.append(("redacted_thinking", reasoning["encrypted"]))
            else:
                found.append(("thinking", (reasoning.get("text", ""), reasoning.get("signature"))))
        elif part["type"] == "tool_call":
            call = part["tool_call"]
            found.append(("tool_use", loads(call["arguments"]) if "arguments" in call else call["raw_arguments"]))
        else:
            found.append(("text", part.get("text", "")))
    return found


@settings(max_examples=150, deadline=None)
@given(messages())
def test_blocks_keep_their_place_text_and_signature(
    message: tuple[list[tuple[str, Any]], list[dict[str, Any]]],
) -> None:
    said, events = message
    record = record_of("anthropic.messages", events)
    assert _said(record) == said
    wanted = {"status": "complete", "stop": "stop", "usage": {"input_tokens": 25, "output_tokens": 99}}
    assert result_of(record, wanted) == wanted


@settings(max_examples=50, deadline=None)
@given(st.lists(messages(), min_size=2, max_size=3))
def test_several_messages_in_one_body_are_several_records(several: list[Any]) -> None:
    events = [
        event if event["type"] != "message_start" else _message_start(f"msg_{at}")
        for at, (_, stream) in enumerate(several)
        for event in stream
    ]
    ran = ran_of("anthropic.messages", events)
    assert [_said(record) for record in ran.records] == [said for said, _ in several]
    assert [record["response_id"] for record in ran.records] == [f"msg_{at}" for at in range(len(several))]


@settings(max_examples=60, deadline=None)
@given(messages(), st.data())
def test_an_error_event_at_any_place_keeps_what_came(
    message: tuple[list[tuple[str, Any]], list[dict[str, Any]]], data: st.DataObject
) -> None:
    _, events = message
    at = data.draw(st.integers(0, len(events) - 1))
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    record = record_of("anthropic.messages", [*events[:at], error])
    wanted = {"status": "failed", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert result_of(record, wanted) == wanted
    if at:
        assert _said(record) == _said(record_of("anthropic.messages", events[:at]))


# --- Responses ----------------------------------------------------------------------------------------------------


@st.composite
def responses(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(calls as they should come out, events): ids and indexes of any dialect, an empty or whole terminal output."""
    count = draw(st.integers(1, 4))
    calls = [{"id": f"call_{at}", "name": "read", "arguments": draw(_OBJECT)} for at in range(count)]
    numbering = draw(st.sampled_from(["index and id", "index", "call id", "rotating"]))
    is_done = draw(st.booleans())
    terminal = draw(st.sampled_from(["whole", "whole", "empty", "null", "without ids"]))
    partial = is_done or terminal in ("whole", "without ids")
    lanes = []
    items = []
    for at, call in enumerate(calls):
        text = json.dumps(call["arguments"])
        item: dict[str, Any] = {"type": "function_call", "call_id": call["id"], "name": "read", "status": "completed"}
        if numbering != "call id":
            item["id"] = f"fc_{at}"
        place = {} if numbering == "call id" else {"output_index": at}

        def named(step: int, at: int = at, call: dict[str, Any] = call) -> dict[str, str]:
            ids = {"index and id": f"fc_{at}", "call id": call["id"], "rotating": f"r{at}_{step}"}
            return {"item_id": ids[numbering]} if numbering in ids else {}

        lane = [
            {"type": "response.output_item.added", **place, "item": {**item, "arguments": "", "status": "in_progress"}}
        ]
        pieces = cut(draw, text)
        shown = pieces[: draw(st.integers(0, len(pieces)))] if partial else pieces
        lane += [
            {"type": "response.function_call_arguments.delta", **place, **named(step), "delta": piece}
            for step, piece in enumerate(shown)
        ]
        if is_done:
            rotated = {"id": f"done_{at}"} if numbering == "rotating" else {}
            lane.append({"type": "response.output_item.done", **place, "item": {**item, **rotated, "arguments": text}})
        lanes.append(lane)
        items.append({**item, "arguments": text})
    body = interleaved(draw, lanes) if draw(st.booleans()) else [event for lane in lanes for event in lane]
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": []}
    bare = [{key: value for key, value in item.items() if key != "id"} for item in items]
    output = {"whole": items, "empty": [], "null": None, "without ids": bare}[terminal]
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        *body,
        {"type": "response.completed", "response": {**response, "status": "completed", "output": output}},
    ]
    if draw(st.booleans()):
        events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return calls, events


@settings(max_examples=200, deadline=None)
@given(responses())
def test_calls_of_a_response_are_the_same_in_every_dialect(
    response: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    calls, events = response
    wanted = {"status": "complete", "stop": "tool_calls", "tool_calls": calls}
    assert result_of(record_of("openai.responses", events), wanted) == wanted


@settings(max_examples=60, deadline=None)
@given(responses(), st.data())
def test_a_response_cut_off_or_failed_is_never_complete(
    response: tuple[list[dict[str, Any]], list[dict[str, Any]]], data: st.DataObject
) -> None:
    _, events = response
    kept = events[: data.draw(st.integers(1, len(events) - 1))]
    assert result_of(record_of("openai.responses", kept), {"status": ""})["status"] == "truncated"
    flat = {"code": "server_error", "message": "boom"}
    for error in ({"type": "error", **flat}, {"type": "error", "error": {"type": "server_error", **flat}}):
        wanted = {"status": "failed", "error": {"message": "boom", "code": "server_error"}}
        assert result_of(record_of("openai.responses", [*kept, error]), wanted) == wanted


# --- Gemini -------------------------------------------------------------------------------------------------------


@st.composite
def gemini(draw: st.DrawFn) -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    """(parts as they should come out, chunks): parts over any chunks, signatures on any, usage on any."""
    parts: list[dict[str, Any]] = []
    said: list[tuple[str, Any]] = []
    for at in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["text", "thought", "call", "empty signed"]))
        if kind == "call":
            arguments = draw(_OBJECT)
            parts.append({"functionCall": {"name": "read", "args": arguments}})
            said.append(("call", arguments))
        elif kind == "empty signed":
            parts.append({"text": "", "thoughtSignature": f"c2ln{at}"})
            said.append(("signature", f"c2ln{at}"))
        else:
            text = draw(_TEXT)
            flags = {"thought": True} if kind == "thought" else {}
            parts += [{"text": piece, **flags} for piece in cut(draw, text) if piece]
            said.append((kind, text))
    chunks: list[dict[str, Any]] = []
    while parts:
        size = draw(st.integers(1, 3))
        content = {"role": "model", "parts": parts[:size]}
        chunks.append({"candidates": [{"index": 0, "content": content}], "modelVersion": "m", "responseId": "r"})
        parts = parts[size:]
    usage = {"promptTokenCount": 10, "candidatesTokenCount": len(chunks), "totalTokenCount": 10 + len(chunks)}
    for at, chunk in enumerate(chunks):
        if draw(st.booleans()):
            chunk["usageMetadata"] = {**usage, "candidatesTokenCount": at, "totalTokenCount": 10 + at}
    last: dict[str, Any] = chunks[-1]
    if draw(st.booleans()):
        last = {"candidates": [{"index": 0, "finishReason": "STOP"}], "modelVersion": "m", "responseId": "r"}
        chunks.append(last)
    last["candidates"][0]["finishReason"] = "STOP"
    last["usageMetadata"] = usage
    return said, chunks


def _gemini_said(record: CanonicalRecord) -> list[tuple[str, Any]]:
    """Neighbouring texts joined, as they may be."""
    found: list[tuple[str, Any]] = []
    for part in parts_of(record):
        if part["type"] == "tool_call":
            found.append(("call", loads(part["tool_call"]["arguments"])))
            continue
        kind = "thought" if part["type"] == "reasoning" else "text"
        text = part["reasoning"].get("text", "") if kind == "thought" else part["text"]
        if part.get("signature"):
            found.append(("signature", part["signature"]))
        elif found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + text)
        else:
            found.append((kind, text))
    return found


def _joined(said: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    joined: list[tuple[str, Any]] = []
    for kind, what in said:
        if joined and joined[-1][0] == kind and kind in ("text", "thought"):
            joined[-1] = (kind, joined[-1][1] + what)
        else:
            joined.append((kind, what))
    return joined


@settings(max_examples=150, deadline=None)
@given(gemini())
def test_parts_signatures_and_usage_of_gemini(stream: tuple[list[tuple[str, Any]], list[dict[str, Any]]]) -> None:
    said, chunks = stream
    record = record_of("gemini.generate_content", chunks)
    assert _gemini_said(record) == _joined(said)
    ids = [call["id"] for call in calls_of(record)]
    assert len(set(ids)) == len(ids)
    assert [call["index"] for call in calls_of(record)] == list(range(len(ids)))
    total = chunks[-1]["usageMetadata"]["totalTokenCount"]
    wanted = {"status": "complete", "stop": "tool_calls" if ids else "stop", "usage": {"prompt": 10, "total": total}}
    assert result_of(record, wanted) == wanted


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=12), st.data())
def test_arguments_that_come_by_path(text: str, data: st.DataObject) -> None:
    pieces = cut(data.draw, text)
    partial = [{"jsonPath": "$.city.name", "stringValue": piece, "willContinue": True} for piece in pieces[:-1]]
    partial.append({"jsonPath": "$.city.name", "stringValue": pieces[-1]})
    partial.append({"jsonPath": "$.days[0]", "numberValue": 3})
    calls: list[dict[str, Any]] = [{"name": "book", "willContinue": True}]
    calls += [{"partialArgs": [one], "willContinue": True} for one in partial] + [{}]
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": call}]}}]} for call in calls]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"  # type: ignore[index]
    (call,) = calls_of(record_of("gemini.generate_content", chunks))
    assert (call["name"], loads(call["arguments"])) == ("book", {"city": {"name": text}, "days": [3]})


# --- Interactions -------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(st.lists(_OBJECT, min_size=1, max_size=4), st.booleans(), st.data())
def test_steps_of_an_interaction_in_any_mix(arguments: list[Any], signed: bool, data: st.DataObject) -> None:
    lanes: list[list[dict[str, Any]]] = []
    if signed:
        lanes.append(
            [
                {"event_type": "step.start", "step": {"type": "thought"}},
                {"event_type": "step.delta", "delta": {"type": "thought_signature", "signature": "c2ln"}},
            ]
        )
    for at, value in enumerate(arguments):
        step = {"type": "function_call", "id": f"fc_{at}", "name": "f", "arguments": {}}
        pieces = cut(data.draw, json.dumps(value)) if value else []
        deltas = [{"type": "arguments_delta", "arguments": piece} for piece in pieces]
        lanes.append(
            [{"event_type": "step.start", "step": step}]
            + [{"event_type": "step.delta", "delta": delta} for delta in deltas]
            + ([{"event_type": "step.stop"}] if data.draw(st.booleans()) else [])
        )
    numbered = [[{**event, "index": index} for event in lane] for index, lane in enumerate(lanes)]
    mixed = interleaved(data.draw, numbered)
    interaction = {"id": "v1_1", "status": "requires_action", "object": "interaction", "model": "m"}
    events = [
        {"event_type": "interaction.created", "interaction": {**interaction, "status": "in_progress"}},
        *mixed,
        {"event_type": "interaction.completed", "interaction": interaction},
    ]
    record = record_of("gemini.interactions", events)
    calls = [{"id": f"fc_{at}", "name": "f", "arguments": value} for at, value in enumerate(arguments)]
    wanted: dict[str, Any] = {"status": "complete", "stop": "tool_calls", "tool_calls": calls}
    wanted["reasoning"] = [{"kind": "thinking", "text": "", "signature": "c2ln"}] if signed else []
    assert result_of(record, wanted) == wanted
