"""Streams: what each event does, which copy of an item stands, whose event it is, and what nobody knows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from headrace.json_text import dumps
from headrace.protocols.openai_responses import CODEC
from headrace.protocols.openai_responses.events import KNOWN_EVENTS
from headrace.reassembly.pieces import SIGN_HARD
from tests.support.work import is_linear
from tests.unit.openai_responses.samples import ITEMS

OPEN = {"id": "r1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}
CREATED = {"type": "response.created", "response": OPEN}


def added(item: Any, index: int | None = 0) -> dict[str, Any]:
    at = {} if index is None else {"output_index": index}
    return {"type": "response.output_item.added", "item": item, **at}


def done(item: Any, index: int | None = 0) -> dict[str, Any]:
    return {**added(item, index), "type": "response.output_item.done"}


def terminal(name: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", "response": {**OPEN, "status": name, **fields}}


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", **fields}


def numbered(*events: Any) -> list[Any]:
    return [{**one, "sequence_number": number} for number, one in enumerate(events)]


def fold(*events: Any) -> Any:
    (folded,) = CODEC.fold(list(events))
    return folded


def output(*events: Any) -> Any:
    return fold(CREATED, *events).body["output"]


MESSAGE = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
CALL = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "f", "arguments": "", "status": "in_progress"}
TEXT = {"type": "output_text", "text": "", "annotations": []}
AT = {"item_id": "m1", "output_index": 0, "content_index": 0}


# --- each event ----------------------------------------------------------------------------------------------

CITATION = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}
INTERPRETER = {"type": "code_interpreter_call", "id": "ci", "code": "", "status": "in_progress", "container_id": "c"}
SHELL = {"type": "shell_call", "id": "sh", "call_id": "c", "action": {"commands": []}, "status": "in_progress"}
SHELL_OUTPUT = {"type": "shell_call_output", "id": "so", "call_id": "c", "output": []}
EXIT = {"type": "exit", "exit_code": 0}
IMAGE = {"type": "image_generation_call", "id": "ig", "status": "in_progress", "result": None}

#: Event family -> (opening item, events, the item they make of it).
MADE: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "content part and text deltas": (
        MESSAGE,
        [
            event("content_part.added", part=TEXT, **AT),
            event("output_text.delta", delta="Hel", **AT),
            event("output_text.delta", delta="lo", **AT),
        ],
        {**MESSAGE, "content": [{**TEXT, "text": "Hello"}]},
    ),
    "text done replaces": (
        MESSAGE,
        [
            event("content_part.added", part=TEXT, **AT),
            event("output_text.delta", delta="Hxx", **AT),
            event("output_text.done", text="Hello", **AT),
        ],
        {**MESSAGE, "content": [{**TEXT, "text": "Hello"}]},
    ),
    "content part done replaces": (
        MESSAGE,
        [
            event("output_text.delta", delta="Hxx", **AT),
            event("output_text.annotation.added", annotation_index=0, annotation={"type": "old"}, **AT),
            event("content_part.done", part={**TEXT, "text": "Hello", "annotations": [CITATION]}, **AT),
        ],
        {**MESSAGE, "content": [{**TEXT, "text": "Hello", "annotations": [CITATION]}]},
    ),
    "annotations by index": (
        MESSAGE,
        [
            event("content_part.added", part=TEXT, **AT),
            event("output_text.annotation.added", annotation_index=1, annotation=CITATION, **AT),
            event("output_text.annotation.added", annotation_index=0, annotation={"type": "first"}, **AT),
        ],
        {**MESSAGE, "content": [{**TEXT, "annotations": [{"type": "first"}, CITATION]}]},
    ),
    "log probabilities of deltas": (
        MESSAGE,
        [
            event("content_part.added", part=TEXT, **AT),
            event("output_text.delta", delta="a", logprobs=[{"token": "a"}], **AT),
            event("output_text.delta", delta="b", logprobs=[{"token": "b"}], **AT),
        ],
        {**MESSAGE, "content": [{**TEXT, "text": "ab", "logprobs": [{"token": "a"}, {"token": "b"}]}]},
    ),
    "refusal": (
        MESSAGE,
        [event("refusal.delta", delta="No", **AT), event("refusal.done", refusal="No.", **AT)],
        {**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]},
    ),
    "two parts at once": (
        MESSAGE,
        [
            event("output_text.delta", delta="b", **{**AT, "content_index": 1}),
            event("output_text.delta", delta="a", **AT),
            event("output_text.delta", delta="b", **{**AT, "content_index": 1}),
        ],
        {**MESSAGE, "content": [{**TEXT, "text": "a"}, {**TEXT, "text": "bb"}]},
    ),
    "arguments": (
        CALL,
        [
            event("function_call_arguments.delta", item_id="f1", output_index=0, delta='{"a":'),
            event("function_call_arguments.delta", item_id="f1", output_index=0, delta="1}"),
        ],
        {**CALL, "arguments": '{"a":1}'},
    ),
    "arguments done alone": (
        CALL,
        [event("function_call_arguments.done", item_id="f1", output_index=0, arguments='{"a":1}')],
        {**CALL, "arguments": '{"a":1}'},
    ),
    "custom input": (
        {**ITEMS["custom_tool_call"], "input": ""},
        [
            event("custom_tool_call_input.delta", item_id="ctc_1", output_index=0, delta="SELECT "),
            event("custom_tool_call_input.delta", item_id="ctc_1", output_index=0, delta="1"),
        ],
        ITEMS["custom_tool_call"],
    ),
    "mcp arguments and status": (
        {**ITEMS["mcp_call"], "arguments": "", "status": "in_progress"},
        [
            event("mcp_call.in_progress", item_id="mcp_1", output_index=0),
            event("mcp_call_arguments.delta", item_id="mcp_1", output_index=0, delta='{"q":"x"}'),
            event("mcp_call.completed", item_id="mcp_1", output_index=0),
        ],
        ITEMS["mcp_call"],
    ),
    "mcp failed": (
        {**ITEMS["mcp_call"], "status": "in_progress"},
        [event("mcp_call.failed", item_id="mcp_1", output_index=0)],
        {**ITEMS["mcp_call"], "status": "failed"},
    ),
    "mcp tools have no status": (
        ITEMS["mcp_list_tools"],
        [event("mcp_list_tools.completed", item_id="mcpl_1", output_index=0)],
        ITEMS["mcp_list_tools"],
    ),
    "summary": (
        REASONING,
        [
            event(
                "reasoning_summary_part.added",
                item_id="rs",
                output_index=0,
                summary_index=0,
                part={"type": "summary_text", "text": ""},
            ),
            event("reasoning_summary_text.delta", item_id="rs", output_index=0, summary_index=0, delta="First"),
            event("reasoning_summary_text.delta", item_id="rs", output_index=0, summary_index=1, delta="Then"),
        ],
        {**REASONING, "summary": [{"type": "summary_text", "text": "First"}, {"type": "summary_text", "text": "Then"}]},
    ),
    "reasoning text": (
        REASONING,
        [event("reasoning_text.delta", item_id="rs", output_index=0, content_index=0, delta="hm")],
        {**REASONING, "content": [{"type": "reasoning_text", "text": "hm"}]},
    ),
    "code": (
        INTERPRETER,
        [
            event("code_interpreter_call_code.delta", item_id="ci", output_index=0, delta="print"),
            event("code_interpreter_call_code.delta", item_id="ci", output_index=0, delta="(1)"),
            event("code_interpreter_call.interpreting", item_id="ci", output_index=0),
        ],
        {**INTERPRETER, "code": "print(1)", "status": "interpreting"},
    ),
    "shell commands, which name no item": (
        SHELL,
        [
            event("shell_call_command.added", output_index=0, command_index=0, command=""),
            event("shell_call_command.delta", output_index=0, command_index=0, delta="l"),
            event("shell_call_command.delta", output_index=0, command_index=0, delta="s", obfuscation="xx"),
            event("shell_call_command.added", output_index=0, command_index=1, command=""),
            event("shell_call_command.done", output_index=0, command_index=1, command="pwd"),
        ],
        {**SHELL, "action": {"commands": ["ls", "pwd"]}},
    ),
    "shell output": (
        SHELL_OUTPUT,
        [
            event(
                "shell_call_output_content.delta", item_id="so", output_index=0, command_index=0, delta={"stdout": "a"}
            ),
            event(
                "shell_call_output_content.delta",
                item_id="so",
                output_index=0,
                command_index=0,
                delta={"stdout": "b", "stderr": "!"},
            ),
        ],
        {**SHELL_OUTPUT, "output": [{"stdout": "ab", "stderr": "!"}]},
    ),
    "shell output done": (
        SHELL_OUTPUT,
        [
            event(
                "shell_call_output_content.delta", item_id="so", output_index=0, command_index=0, delta={"stdout": "x"}
            ),
            event(
                "shell_call_output_content.done",
                item_id="so",
                output_index=0,
                command_index=0,
                output=[{"stdout": "ab", "stderr": "", "outcome": EXIT}],
            ),
        ],
        {**SHELL_OUTPUT, "output": [{"stdout": "ab", "stderr": "", "outcome": EXIT}]},
    ),
    "image preview": (
        IMAGE,
        [
            event(
                "image_generation_call.partial_image",
                item_id="ig",
                output_index=0,
                partial_image_index=0,
                partial_image_b64="AA",
            ),
            event(
                "image_generation_call.partial_image",
                item_id="ig",
                output_index=0,
                partial_image_index=1,
                partial_image_b64="BB",
                size="1x1",
            ),
        ],
        {**IMAGE, "partial_image_b64": "BB", "size": "1x1"},
    ),
    "search progress": (
        {**ITEMS["web_search_call"], "status": "in_progress"},
        [
            event("web_search_call.searching", item_id="ws_1", output_index=0),
            event("web_search_call.completed", item_id="ws_1", output_index=0),
        ],
        ITEMS["web_search_call"],
    ),
    "compaction progress": (
        ITEMS["compaction"],
        [event("compaction.compacting", item_id="cmp_1", output_index=0)],
        ITEMS["compaction"],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_events_build_the_item_and_a_whole_copy_replaces_it(name: str) -> None:
    opening, events, made = MADE[name]
    assert output(added(opening), *events) == [made]
    assert fold(CREATED, added(opening), *events).unknown == []
    final = {**made, "status": "completed", "new": 1}
    assert output(added(opening), *events, done(final)) == [final]
    assert output(added(opening), *events, done(final), *events) == [final]
    assert output(added(opening), *events, terminal(output=[final])) == [final]


@pytest.mark.parametrize("name", MADE)
def test_events_build_an_item_that_no_event_opened(name: str) -> None:
    opening, events, made = MADE[name]
    if opening["type"] in ("compaction",):
        return
    (item,) = output(*events)
    assert item["type"] == made["type"]
    for key in ("content", "arguments", "input", "summary", "code", "action", "output", "partial_image_b64"):
        if made.get(key) and any(made[key] != opening.get(key) for _ in (0,)):
            assert item[key] == made[key]


def test_every_known_event_is_in_this_table_or_tested_apart() -> None:
    shown = {one["type"] for _, events, _ in MADE.values() for one in events}
    families = {name.rpartition(".")[0] for name in shown}
    apart = {
        "response",
        "response.output_item",
        "response.audio",
        "response.audio.transcript",
        "",
        "response.file_search_call",
    }
    assert {name.rpartition(".")[0] for name in KNOWN_EVENTS} <= families | apart


def test_audio_names_no_item_and_is_kept_beside_the_output() -> None:
    folded = fold(
        CREATED,
        event("audio.delta", delta="AA"),
        event("audio.transcript.delta", delta="hel"),
        event("audio.delta", delta="BB"),
        event("audio.transcript.delta", delta="lo"),
        event("audio.done"),
        event("audio.transcript.done"),
        terminal(),
    )
    assert folded.body["audio"] == {"data": "AABB", "transcript": "hello"}
    assert folded.unknown == []


# --- which copy stands ---------------------------------------------------------------------------------------


def test_the_terminal_response_is_authoritative_for_what_it_carries() -> None:
    streamed = {**ITEMS["reasoning"], "encrypted_content": "streamed"}
    final = {**streamed, "encrypted_content": "again"}
    assert output(added(streamed), done(streamed), terminal(output=[final])) == [final]


@pytest.mark.parametrize("last", [[], None, "absent"])
def test_an_empty_terminal_output_takes_nothing_back(last: Any) -> None:
    end = terminal(output=last)
    if last == "absent":
        del end["response"]["output"]
    final = {**MESSAGE, "status": "completed", "content": [{**TEXT, "text": "Hi"}]}
    folded = fold(
        CREATED,
        added(MESSAGE),
        done(final),
        added(CALL, 1),
        event("function_call_arguments.delta", item_id="f1", delta="{}"),
        end,
    )
    assert folded.complete
    assert folded.body["status"] == "completed"
    assert folded.body["output"] == [final, {**CALL, "arguments": "{}"}]


SPOKEN = {**TEXT, "text": "Hi", "annotations": [CITATION]}
THOUGHT = {**REASONING, "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "ZW5j"}


@pytest.mark.parametrize(
    ("known", "blank"),
    [
        ({**MESSAGE, "content": [SPOKEN]}, {"content": []}),
        ({**MESSAGE, "content": [SPOKEN]}, {"content": None}),
        ({**MESSAGE, "content": [SPOKEN]}, {"content": [TEXT]}),
        ({**MESSAGE, "content": [SPOKEN]}, {"content": [{**SPOKEN, "annotations": []}]}),
        (
            {**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]},
            {"content": [{"type": "refusal", "refusal": ""}]},
        ),
        (THOUGHT, {"summary": []}),
        (THOUGHT, {"encrypted_content": None}),
        ({**REASONING, "content": [{"type": "reasoning_text", "text": "Hm."}]}, {"content": None}),
        ({**CALL, "arguments": '{"x":1}'}, {"arguments": ""}),
        ({**INTERPRETER, "code": "1"}, {"code": None}),
        ({"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "f", "input": "ls"}, {"input": ""}),
    ],
)
@pytest.mark.parametrize("id_too", [True, False])
def test_what_the_terminal_copy_of_an_item_leaves_blank_stands(known: Any, blank: Any, id_too: bool) -> None:
    last = {key: value for key, value in {**known, **blank, "status": "completed"}.items() if id_too or key != "id"}
    assert output(added(known), done(known), terminal(output=[last])) == [
        {**last, **{key: known[key] for key in blank}}
    ]


@pytest.mark.parametrize(
    ("name", "opened", "delta", "last", "expected"),
    [
        ("output_text", {**MESSAGE, "content": None}, "hi", {"content": None}, {"content": [{**TEXT, "text": "hi"}]}),
        ("output_text", MESSAGE, "hi", {"content": []}, {"content": [{**TEXT, "text": "hi"}]}),
        ("output_text", MESSAGE, "hi", {"content": [TEXT]}, {"content": [{**TEXT, "text": "hi"}]}),
        ("function_call_arguments", CALL, '{"a":1}', {"arguments": ""}, {"arguments": '{"a":1}'}),
    ],
)
def test_what_a_done_item_leaves_blank_stands_as_its_deltas_said(
    name: str, opened: Any, delta: str, last: Any, expected: Any
) -> None:
    said = event(f"{name}.delta", item_id=opened["id"], output_index=0, content_index=0, delta=delta)
    ended = {**opened, **last, "status": "completed"}
    assert output(added(opened), said, done(ended), terminal(output=[])) == [{**ended, **expected}]


def test_blank_done_events_take_no_text_back() -> None:
    said = [added(MESSAGE), event("content_part.added", **AT, part=TEXT), event("output_text.delta", **AT, delta="hi")]
    blank = [event("output_text.done", **AT, text=""), event("content_part.done", **AT, part=TEXT)]
    for ending in ([blank[0]], [blank[1]], blank):
        (message,) = output(*said, *ending)
        assert message["content"] == [{**TEXT, "text": "hi"}]


def test_a_part_that_opens_anew_begins_blank() -> None:
    opening = event("content_part.added", **AT, part=TEXT)
    (message,) = output(added(MESSAGE), opening, event("output_text.delta", **AT, delta="hi"), opening)
    assert message["content"] == [TEXT]


def test_a_blank_that_was_never_filled_stays_one() -> None:
    texts = {**MESSAGE, "content": [TEXT, TEXT]}
    for item in (MESSAGE, CALL, REASONING, texts):
        assert output(added(item), done(item), terminal(output=[item])) == [item]
    other = {**MESSAGE, "content": [{"type": "refusal", "refusal": ""}]}
    assert output(done({**MESSAGE, "content": [SPOKEN]}), terminal(output=[other])) == [other]


def test_an_item_that_the_terminal_response_lacks_is_put_where_it_was() -> None:
    first, second, third = ({**MESSAGE, "id": name} for name in ("a", "b", "c"))
    events = [added(item, index) for index, item in enumerate((first, second, third))]
    assert output(*events, terminal(output=[first, third])) == [first, second, third]
    assert output(*events, terminal(output=[second])) == [first, second, third]


def test_items_of_the_terminal_response_that_never_streamed_are_kept() -> None:
    assert output(added(CALL, 3), terminal(output=[MESSAGE, CALL])) == [MESSAGE, CALL]
    assert output(added({"id": "x"}), terminal(output=[5, CALL])) == [{"id": "x"}, 5, CALL]


def test_a_stream_that_broke_off_has_what_came_and_is_not_complete() -> None:
    folded = fold(
        CREATED, added(CALL), event("function_call_arguments.delta", item_id="f1", output_index=0, delta='{"a')
    )
    assert not folded.complete
    assert folded.body["output"] == [{**CALL, "arguments": '{"a'}]
    assert folded.body["status"] == "in_progress"


def test_a_resumed_stream_goes_on_from_its_snapshot() -> None:
    snapshot = {**OPEN, "output": [{**MESSAGE, "content": [{**TEXT, "text": "He"}]}]}
    folded = fold({"type": "response.in_progress", "response": snapshot}, added(CALL, 1))
    assert folded.body["output"] == [*snapshot["output"], CALL]


@pytest.mark.parametrize("name", ["completed", "failed", "incomplete", "cancelled"])
def test_a_terminal_event_without_a_response_still_says_how_it_ended(name: str) -> None:
    folded = fold(CREATED, added(MESSAGE), event(name))
    assert folded.complete
    assert folded.body == {**OPEN, "status": name, "output": [MESSAGE]}


def test_a_thin_end_over_websocket_adds_to_the_snapshot_before_it() -> None:
    """Backends of Codex end with `response.done`, which has hardly more than the usage."""
    opened = {**CREATED, "response": {**OPEN, "instructions": "Be brief.", "output": []}}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    last = event("done", response={"id": "r1", "usage": usage})
    folded = fold(opened, added(MESSAGE), event("output_text.delta", delta="Hi", **AT), last)
    assert folded.complete and not folded.unknown
    assert folded.body["usage"] == usage and folded.body["status"] == "completed"
    assert folded.body["instructions"] == "Be brief."
    assert folded.body["output"][0]["content"][0]["text"] == "Hi"
    assert CODEC.sign(dumps(last).encode()) == SIGN_HARD


def test_a_thin_end_after_the_end_takes_nothing_back() -> None:
    whole = terminal(output=[MESSAGE], usage={"input_tokens": 1})
    folded = fold(CREATED, whole, event("done", response={"id": "r1"}))
    assert folded.body == whole["response"] and folded.complete


def test_a_background_response_that_waits_is_no_end() -> None:
    folded = fold({"type": "response.queued", "response": {**OPEN, "status": "queued"}})
    assert not folded.complete
    assert folded.body["status"] == "queued"


# --- whose event it is ---------------------------------------------------------------------------------------


def test_items_without_ids_and_index_are_told_by_call_id() -> None:
    calls = [{"type": "function_call", "call_id": name, "name": "f", "arguments": ""} for name in ("a", "b", "c")]
    deltas = [event("function_call_arguments.delta", item_id=call["call_id"], delta=call["call_id"]) for call in calls]
    assert output(*(added(call, None) for call in calls), *deltas) == [
        {**call, "arguments": call["call_id"]} for call in calls
    ]
    final = [{**call, "arguments": "{}", "status": "completed"} for call in calls]
    assert output(*(added(call, None) for call in calls), *(done(call, None) for call in final), terminal()) == final


def test_interleaved_deltas_of_parallel_calls_stay_apart() -> None:
    events = [added({**CALL, "id": f"f{n}", "call_id": f"c{n}"}, n) for n in range(3)]
    for piece in "abc":
        events += [
            event("function_call_arguments.delta", item_id=f"f{n}", output_index=n, delta=piece * n) for n in range(3)
        ]
    assert [item["arguments"] for item in output(*events)] == ["", "abc", "aabbcc"]


def test_ids_that_change_with_every_event_fall_back_on_the_index() -> None:
    events = [
        added({**MESSAGE, "id": "x1"}),
        event("content_part.added", part=TEXT, **{**AT, "item_id": "x2"}),
        event("output_text.delta", delta="Hel", **{**AT, "item_id": "x3"}),
        event("output_text.delta", delta="lo", **{**AT, "item_id": "x4"}),
    ]
    final = {**MESSAGE, "id": "x5", "status": "completed", "content": [{**TEXT, "text": "Hello"}]}
    last = {**final, "id": "x6"}
    assert output(*events) == [{**MESSAGE, "id": "x1", "content": [{**TEXT, "text": "Hello"}]}]
    assert output(*events, done(final)) == [final]
    assert output(*events, done(final), terminal(id="r9", output=[last])) == [last]


def test_a_call_id_that_changes_between_added_and_done_is_one_call() -> None:
    final = {**CALL, "call_id": "other", "arguments": "{}", "status": "completed"}
    assert output(added(CALL), done(final), terminal(output=[final])) == [final]


def test_one_index_for_all_items_keeps_them_apart() -> None:
    call = {**CALL, "arguments": "{}"}
    events = [
        added(MESSAGE),
        event("output_text.delta", delta="Hi", **AT),
        added(CALL),
        event("function_call_arguments.delta", item_id="f1", output_index=0, delta="{}"),
        event("output_text.delta", delta="!", **AT),
    ]
    assert output(*events) == [{**MESSAGE, "content": [{**TEXT, "text": "Hi!"}]}, call]


def test_one_call_id_for_two_calls_keeps_them_apart() -> None:
    second = {**CALL, "id": "f2"}
    finals = [{**CALL, "arguments": "1"}, {**second, "arguments": "2"}]
    events = [added(CALL, 0), added(second, 1), done(finals[0], 0), done(finals[1], 1)]
    assert output(*events) == finals
    assert output(*events, terminal(output=finals)) == finals
    without_ids = [{key: value for key, value in final.items() if key != "id"} for final in finals]
    opened = [{**item, "arguments": ""} for item in without_ids]
    assert output(*(added(item, None) for item in opened), *(done(item, None) for item in without_ids)) == without_ids


def test_an_index_is_a_key_and_may_leave_gaps() -> None:
    assert output(added(CALL, 7), added(MESSAGE, 2)) == [MESSAGE, CALL]


def test_an_item_may_be_announced_as_null() -> None:
    assert output(added(None, 0), done(MESSAGE, 0)) == [MESSAGE]
    assert output(added(None, 0), terminal(output=[])) == []


def test_several_responses_in_one_body_are_several() -> None:
    second = {**OPEN, "id": "r2"}
    events = [
        *numbered(CREATED, added(MESSAGE), terminal(output=[MESSAGE])),
        *numbered(
            {**CREATED, "response": second}, added(CALL), {**terminal(), "response": {**second, "status": "incomplete"}}
        ),
        "[DONE]",
    ]
    first, last = CODEC.fold(events)
    assert (first.body["id"], first.body["output"], first.complete, first.events) == ("r1", [MESSAGE], True, 3)
    assert (last.body["id"], last.body["output"], last.complete, last.events) == ("r2", [CALL], True, 3)
    assert first.missing == last.missing == first.stray == []


def test_streams_of_one_websocket_are_told_by_their_id() -> None:
    def lane(name: str, text: str) -> list[Any]:
        response = {**OPEN, "id": name}
        events = [{**CREATED, "response": response}, added(MESSAGE), event("output_text.delta", delta=text, **AT)]
        return [{**one, "stream_id": name} for one in events]

    mixed = [one for pair in zip(lane("a", "A"), lane("b", "B"), strict=True) for one in pair]
    folded = CODEC.fold([event("create", model="m"), *mixed, event("steer.accepted", steer={"id": "s"})])
    assert [(one.body["id"], one.body["output"][0]["content"][0]["text"]) for one in folded] == [("a", "A"), ("b", "B")]
    assert [one["type"] for stream in folded for one in stream.stray] == ["response.create", "response.steer.accepted"]


# --- numbers -------------------------------------------------------------------------------------------------


def test_repeats_are_dropped_and_gaps_are_reported() -> None:
    events = numbered(CREATED, added(MESSAGE), *(event("output_text.delta", delta=piece, **AT) for piece in "abcdef"))
    repeated = [*events[:5], events[3], events[2], *events[5:]]
    folded = fold(*repeated)
    assert folded.body["output"][0]["content"][0]["text"] == "abcdef"
    assert folded.missing == []
    assert folded.events == len(events)
    gappy = fold(*events[:3], *events[5:6], *events[7:])
    assert gappy.body["output"][0]["content"][0]["text"] == "adf"
    assert gappy.missing == [(3, 4), (6, 6)]


def test_a_resumed_stream_starts_at_its_own_number_without_a_gap() -> None:
    assert (
        fold(
            *({**one, "sequence_number": one["sequence_number"] + 40} for one in numbered(CREATED, terminal()))
        ).missing
        == []
    )


def test_numbers_that_are_all_the_same_mean_nothing() -> None:
    events = [CREATED, added(MESSAGE), *[event("output_text.delta", delta="a", **AT)] * 3]
    folded = fold(*({**one, "sequence_number": 0} for one in events))
    assert folded.body["output"][0]["content"][0]["text"] == "aaa"
    assert folded.missing == []


# --- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            {"type": "error", "code": "server_error", "message": "boom", "param": None},
            {"code": "server_error", "message": "boom", "param": None},
        ),
        (
            {"type": "error", "error": {"type": "t", "code": "c", "message": "boom"}},
            {"type": "t", "code": "c", "message": "boom"},
        ),
        (
            {"type": "error", "error": {"message": "boom"}, "status": 500, "stream_id": "s"},
            {"message": "boom", "status": 500},
        ),
        ({"error": {"message": "boom"}}, {"message": "boom"}),
        ({"type": "error", "error": "boom"}, "boom"),
        ({"type": "error"}, {"type": "error"}),
    ],
)
def test_an_error_ends_the_stream_and_keeps_what_came(failure: Any, expected: Any) -> None:
    folded = fold(CREATED, added(MESSAGE), event("output_text.delta", delta="Hi", **AT), failure)
    assert folded.complete
    assert folded.body["error"] == expected
    assert folded.body["output"][0]["content"][0]["text"] == "Hi"
    assert fold(failure).body == {"error": expected}
    assert folded.unknown == []


def test_a_failed_response_keeps_its_own_error() -> None:
    folded = fold(
        CREATED, {"type": "error", "message": "early"}, terminal("failed", error={"code": "x", "message": "own"})
    )
    assert folded.body["error"] == {"code": "x", "message": "own"}
    assert folded.body["status"] == "failed"


# --- what nobody knows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(6))
def test_an_unknown_event_is_counted_and_kept_wherever_it_comes(place: int) -> None:
    new = {"type": "response.brand_new.delta", "delta": "x", "output_index": 0}
    events = [
        CREATED,
        added(MESSAGE),
        event("output_text.delta", delta="Hi", **AT),
        done(MESSAGE),
        terminal(output=[MESSAGE]),
    ]
    plain = fold(*events)
    folded = fold(*events[:place], new, *events[place:])
    assert folded.unknown == [("event", "response.brand_new.delta")]
    assert folded.body == {**plain.body, "unknown_events": [new]}
    assert folded.complete


@pytest.mark.parametrize(
    "odd", [{"type": 5}, {"type": None}, {}, {"type": "response.output_text.delta", "delta": 7, **AT}]
)
def test_an_event_that_makes_no_sense_is_counted_and_kept(odd: Any) -> None:
    folded = fold(CREATED, odd, terminal())
    assert len(folded.unknown) == 1
    assert folded.body["unknown_events"] == [odd]


@pytest.mark.parametrize("stray", ["hello", 5, None, ["a"], ": comment"])
def test_what_is_no_event_is_a_stray(stray: Any) -> None:
    folded = fold(CREATED, stray, terminal())
    assert folded.stray == [stray]
    assert fold(stray).stray == [stray]
    assert fold(stray).body == {}


def test_unknown_fields_of_deltas_are_kept_once_and_padding_is_dropped() -> None:
    deltas = [
        event("output_text.delta", delta=piece, obfuscation="p" * n, region="eu", **AT) for n, piece in enumerate("abc")
    ]
    folded = fold(CREATED, added(MESSAGE), *deltas)
    assert folded.body["output"][0]["content"][0]["text"] == "abc"
    assert folded.body["unknown_events"] == [{"type": "response.output_text.delta", "region": "eu"}]
    assert folded.unknown == [("event_field", "response.output_text.delta.region")]


def test_what_stands_beside_the_response_becomes_part_of_it() -> None:
    folded = fold(CREATED, {**terminal(), "copilot_usage": {"total": 1}})
    assert folded.body["copilot_usage"] == {"total": 1}
    assert folded.unknown == []


def test_events_are_not_changed() -> None:
    opening = {**MESSAGE, "content": [dict(TEXT)]}
    events = [CREATED, added(opening), event("output_text.delta", delta="Hi", **AT)]
    assert fold(*events).body["output"][0]["content"][0]["text"] == "Hi"
    assert opening == {**MESSAGE, "content": [TEXT]}
    assert TEXT["text"] == ""


def test_the_terminal_response_s_items_are_found_in_order_whatever_their_call_ids() -> None:
    def calls(*ids: str | None) -> list[Any]:
        named = [{} if one is None else {"call_id": one} for one in ids]
        return [{"type": "function_call", "name": "f", "arguments": "{}", **one} for one in named]

    streamed = [done({**call, "from": "stream"}, place) for place, call in enumerate(calls("a", None, "b", "a"))]
    merged = output(*streamed, terminal(output=calls("x", "a", None)))
    # The first is the second by its call id, the second takes the first that is left, the third the one without.
    assert merged == [*calls("x", "a", None), {**calls("a")[0], "from": "stream"}]


@pytest.mark.parametrize("kind", ["items", "annotations"])
def test_hostile_streams_are_linear_to_fold(kind: str) -> None:
    def events(count: int) -> list[Any]:
        if kind == "annotations":
            return [event("output_text.annotation.added", item_id="m1", annotation={"a": at}) for at in range(count)]
        ends = [[{**CALL, "call_id": f"{when}{at}", "id": f"{when}{at}"} for at in range(count)] for when in "ab"]
        return [*(done(call, place) for place, call in enumerate(ends[0])), terminal(output=ends[1])]

    def work(count: int) -> Callable[[], object]:
        made = events(count)
        return lambda: fold(CREATED, *made)

    assert is_linear(work)


def test_a_delta_without_an_index_goes_where_the_last_index_was_however_many_came_alike() -> None:
    place = {"item_id": "m1", "output_index": 0}
    events = [
        added(MESSAGE),
        event("output_text.delta", delta="a", **place),
        event("output_text.delta", delta="b", **place, content_index=1),
        event("output_text.delta", delta="c", **place),
        event("output_text.delta", delta="d", **place, content_index=0),
        event("output_text.delta", delta="e", **place, content_index=0),
        event("output_text.delta", delta="f", **place),
        event("output_text.annotation.added", annotation=CITATION, **place, content_index=1),
        event("output_text.delta", delta="g", **place),
    ]
    (item,) = output(*events)
    assert [part["text"] for part in item["content"]] == ["adef", "bcg"]


def test_ids_that_change_with_every_delta_hold_no_memory() -> None:
    events: list[Any] = [CREATED, added(MESSAGE)]
    for number in range(4_000):
        events.append(event("output_text.delta", delta="a", **{**AT, "item_id": f"x{number}"}))
    fold(*events)
    tracemalloc.start()
    folded = fold(*events)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert folded.body["output"][0]["content"][0]["text"] == "a" * 4_000
    # A few lists of the events and of their texts.
    assert most < 64 * len(events)


def test_an_empty_item_id_is_none() -> None:
    deltas = [event("output_text.delta", delta=text, item_id="", content_index=at) for text, at in (("a", 0), ("b", 1))]
    (item,) = output(*deltas, *deltas)
    assert [part["text"] for part in item["content"]] == ["aa", "bb"]
