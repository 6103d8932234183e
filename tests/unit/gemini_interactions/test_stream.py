"""Streams: every delta and event, the older events, replays, several interactions, and what broke off."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from headrace.protocols.entry_points import Folded
from tests.support.work import is_linear
from tests.unit.gemini_interactions.wire import CODEC, CONTENTS, INTERACTION, LEGACY, STEPS, TEXT, USAGE, read_response


def created(**fields: Any) -> dict[str, Any]:
    return {
        "event_type": "interaction.created",
        "interaction": {"id": "v1_1", "object": "interaction", "status": "in_progress", **fields},
    }


def completed(**fields: Any) -> dict[str, Any]:
    return {
        "event_type": "interaction.completed",
        "interaction": {"id": "v1_1", "object": "interaction", "status": "completed", **fields},
    }


def start(index: int, step: Any) -> dict[str, Any]:
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index: int, value: Any) -> dict[str, Any]:
    return {"event_type": "step.delta", "index": index, "delta": value}


def stop(index: int, **fields: Any) -> dict[str, Any]:
    return {"event_type": "step.stop", "index": index, **fields}


def fold_one(*events: Any) -> Folded:
    """The one interaction of these events, which folding must not have changed."""
    given = copy.deepcopy(list(events))
    (folded,) = CODEC.fold(list(events))
    assert list(events) == given
    read_response(folded.body)
    return folded


def step_of(step: Any, *deltas: Any) -> Any:
    """The step that a start and deltas add up to."""
    folded = fold_one(created(), start(0, step), *(delta(0, one) for one in deltas), stop(0), completed())
    assert folded.complete
    return folded.body["steps"][0]


ARGUMENTS = '{"city":"Oslo"}'
#: Delta type -> (step of the start event, deltas, step they add up to).
DELTAS: dict[str, tuple[Any, list[Any], Any]] = {
    "text": (
        {"type": "model_output"},
        [{"type": "text", "text": "Grü"}, {"type": "text", "text": "ße aus Oslo"}],
        {"type": "model_output", "content": [TEXT]},
    ),
    "text_annotation_delta": (
        {"type": "model_output"},
        [
            TEXT,
            {"type": "text_annotation_delta", "annotations": [{"type": "url_citation"}]},
            {"type": "text_annotation_delta", "annotations": [{"type": "file_citation"}]},
            {"type": "text_annotation_delta", "annotations": None},
        ],
        {
            "type": "model_output",
            "content": [{**TEXT, "annotations": [{"type": "url_citation"}, {"type": "file_citation"}]}],
        },
    ),
    **{
        kind: ({"type": "model_output"}, [CONTENTS[kind]], {"type": "model_output", "content": [CONTENTS[kind]]})
        for kind in ("image", "video", "document")
    },
    "audio": (
        {"type": "model_output"},
        [
            {"type": "audio", "data": "AAE="},
            {"type": "audio", "data": "Ag=="},
            {"type": "audio", "data": "Aw==", "rate": 8},
        ],
        {
            "type": "model_output",
            "content": [{"type": "audio", "data": "AAEC"}, {"type": "audio", "data": "Aw==", "rate": 8}],
        },
    ),
    "thought_summary": (
        {"type": "thought"},
        [{"type": "thought_summary", "content": TEXT}, {"type": "thought_summary", "content": CONTENTS["image"]}],
        {"type": "thought", "summary": [TEXT, CONTENTS["image"]]},
    ),
    "thought_signature": (
        {"type": "thought", "signature": ""},
        [{"type": "thought_signature", "signature": "b25l"}, {"type": "thought_signature", "signature": "c2ln"}],
        {"type": "thought", "signature": "c2ln"},
    ),
    "arguments_delta": (
        {"type": "function_call", "id": "fc1", "name": "weather", "arguments": {}},
        [{"type": "arguments_delta", "arguments": piece} for piece in ('{"city":', '"Os', 'lo"}')],
        STEPS["function_call"],
    ),
    "function_result": (
        {"type": "function_result", "call_id": "fc1"},
        [{"type": "function_result", "result": "8", "is_error": False, "name": "weather"}],
        {"type": "function_result", "call_id": "fc1", "result": "8", "is_error": False, "name": "weather"},
    ),
    "file_search_result": (
        {"type": "file_search_result", "call_id": "f1", "signature": "c2ln"},
        [{"type": "file_search_result", "result": [{}], "signature": ""}],
        {"type": "file_search_result", "call_id": "f1", "signature": "c2ln", "result": [{}]},
    ),
    **{
        kind: (
            {key: value for key, value in STEPS[kind].items() if key in ("type", "id", "call_id")} | {"signature": ""},
            [{"signature": "", **{key: value for key, value in STEPS[kind].items() if key not in ("id", "call_id")}}],
            {"signature": "", **STEPS[kind]},
        )
        for kind in STEPS
        if kind.endswith(("_call", "_result"))
        and kind not in ("function_call", "function_result", "file_search_result")
    },
}


def test_there_are_28_delta_types() -> None:
    assert len(DELTAS) == 28


@pytest.mark.parametrize("kind", sorted(DELTAS))
def test_every_delta_adds_up(kind: str) -> None:
    begun, deltas, whole = DELTAS[kind]
    assert any(one["type"] == kind for one in deltas)
    assert step_of(begun, *deltas) == whole


@pytest.mark.parametrize("kind", sorted(DELTAS))
def test_a_step_whose_start_was_lost_is_told_by_its_deltas(kind: str) -> None:
    _, deltas, whole = DELTAS[kind]
    folded = fold_one(*(delta(3, one) for one in deltas))
    assert folded.body["steps"][0]["type"] == whole["type"]
    assert not folded.complete
    assert folded.unknown == []


def test_the_events_of_a_stream() -> None:
    usage = {"total_tokens": 5}
    folded = fold_one(
        created(model="m", service_tier="standard"),
        {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "in_progress"},
        start(0, {"type": "model_output"}),
        delta(0, {"type": "text", "text": "Hi"}) | {"metadata": {"total_usage": {"total_tokens": 3}}},
        stop(0, usage={"total_tokens": 4}, step_usage={"total_tokens": 2}),
        {
            "event_type": "interaction.status_update",
            "interaction_id": "v1_1",
            "status": "requires_continuation",
            "continuation_token": "tok",
            "event_id": "e7",
        },
        completed(usage=usage, status="requires_continuation") | {"event_id": "e8"},
        "[DONE]",
    )
    assert folded == Folded(
        {
            "id": "v1_1",
            "object": "interaction",
            "status": "requires_continuation",
            "model": "m",
            "service_tier": "standard",
            "continuation_token": "tok",
            "event_id": "e8",
            "usage": usage,
            "steps": [
                {"type": "model_output", "content": [{"type": "text", "text": "Hi"}], "step_usage": {"total_tokens": 2}}
            ],
        },
        complete=True,
        events=7,
    )
    record = read_response(folded.body)
    assert record["continuation"] == ["continuation_token", "event_id"]


def test_a_running_total_counts_only_without_a_last_one() -> None:
    events = [created(), delta(0, TEXT) | {"metadata": {"total_usage": {"total_tokens": 3}}}]
    assert fold_one(*events).body["usage"] == {"total_tokens": 3}
    assert fold_one(*events, stop(0, usage={"total_tokens": 4})).body["usage"] == {"total_tokens": 4}
    assert fold_one(*events, completed(usage=USAGE)).body["usage"] == USAGE


def test_an_error_ends_the_stream_and_keeps_what_came() -> None:
    error = {"code": "gateway_timeout", "message": "late"}
    folded = fold_one(
        created(), start(0, {"type": "model_output"}), delta(0, TEXT), {"event_type": "error", "error": error}
    )
    assert folded.complete
    assert folded.body["error"] == error
    record = read_response(folded.body)
    assert (record["status"], record["messages"][0]["parts"][0]["text"]) == ("failed", TEXT["text"])


@pytest.mark.parametrize(
    "event",
    [
        {"event_type": "error"},
        {"event_type": "error", "code": "x", "message": "flat", "more": 1},
        {"event_type": "error", "error": {"message": "m"}, "new": [1], "event_id": "e"},
        {"error": {"code": 503, "message": "no envelope"}},
    ],
)
def test_errors_of_every_form(event: dict[str, Any]) -> None:
    folded = fold_one(created(), event)
    assert folded.complete
    assert read_response(folded.body)["status"] == "failed"
    assert "new" not in event or folded.body["event_extras"] == [{"event_type": "error", "new": [1]}]


def test_a_stream_that_breaks_off_is_not_complete() -> None:
    events = [created(), start(0, STEPS["function_call"] | {"arguments": {}})]
    events += [delta(0, {"type": "arguments_delta", "arguments": '{"city":"Os'})]
    folded = fold_one(*events)
    assert not folded.complete
    call = read_response(folded.body)["messages"][0]["parts"][0]["tool_call"]
    assert (call["raw_arguments"], "arguments" in call) == ('{"city":"Os', False)
    # A relay that writes the terminator all the same is not believed.
    assert not fold_one(*events, "[DONE]").complete


def test_the_terminator_ends_what_has_a_final_status() -> None:
    update = {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "completed"}
    assert not fold_one(created(), update).complete
    assert fold_one(created(), update, "[DONE]").complete
    assert fold_one(created(), update, "done").complete


def test_empty_arguments_are_an_empty_object() -> None:
    begun = {"type": "function_call", "id": "a", "name": "f"}
    assert step_of(begun, {"type": "arguments_delta", "arguments": ""})["arguments"] == {}
    assert step_of({**begun, "arguments": {"x": 1}}, {"type": "arguments_delta", "arguments": ""})["arguments"] == {
        "x": 1
    }


def test_a_start_may_hold_contents_already() -> None:
    begun = {"type": "model_output", "content": [CONTENTS["image"], {"type": "text", "text": "Grüße"}]}
    assert step_of(begun, {"type": "text", "text": " aus Oslo"})["content"] == [CONTENTS["image"], TEXT]
    begun = {"type": "thought", "signature": "old", "summary": [TEXT]}
    assert step_of(begun, {"type": "thought_summary", "content": TEXT})["summary"] == [TEXT, TEXT]


def test_text_after_media_is_a_new_text() -> None:
    contents = step_of({"type": "model_output"}, TEXT, CONTENTS["image"], TEXT, TEXT)["content"]
    assert contents == [TEXT, CONTENTS["image"], {"type": "text", "text": TEXT["text"] * 2}]


def test_audio_that_is_no_base64_is_not_joined() -> None:
    pieces = [{"type": "audio", "data": data} for data in ("AAE=", "!!", "Ag==", None)]
    assert step_of({"type": "model_output"}, *pieces)["content"] == pieces


def test_parallel_calls_may_interleave() -> None:
    events = [created()]
    for index in (0, 1):
        events.append(start(index, {"type": "function_call", "id": f"fc{index}", "name": "f", "arguments": {}}))
    for piece in ('{"n":', "1}"):
        events += [delta(index, {"type": "arguments_delta", "arguments": piece}) for index in (1, 0)]
    steps = fold_one(*events, stop(1), stop(0), completed()).body["steps"]
    assert [(step["id"], step["arguments"]) for step in steps] == [("fc0", {"n": 1}), ("fc1", {"n": 1})]


@pytest.mark.parametrize(("odd", "places"), [(0.0, ["cab"]), (False, ["a", "cb"])])
def test_an_index_is_a_whole_number_wherever_it_comes(odd: Any, places: list[str]) -> None:
    first, second, third = ({"type": "text", "text": text} for text in "abc")
    starts = [start(index, {"type": "model_output"}) for index in (0, 1)]
    deltas = [delta(odd, third), delta(0, first), delta(odd, second)]
    steps = fold_one(created(), *starts, *deltas, completed()).body["steps"]
    assert [step["content"][0]["text"] for step in steps if "content" in step] == places


def test_what_nobody_knows_stays_in_the_order_of_the_wire() -> None:
    fields = {f"field_{place * 7 % 10}": place for place in range(10)}
    step = step_of({"type": "model_output"}, {"type": "text", "text": "a", **fields})
    assert list(step["content"][0]) == ["type", *fields, "text"]
    error = fold_one(created(), {"event_type": "error", **fields}).body["error"]
    assert list(error) == list(fields)


@pytest.mark.parametrize(
    "made",
    [
        lambda at: {"type": "text", "text": "a", "annotations": [{"start_index": at}]},
        lambda at: {"type": "thought_summary", "content": {"type": "text", "text": "a"}},
        lambda at: {"type": "function_call", "arguments": {f"field_{at}": at}},
    ],
)
def test_what_grows_with_every_delta_is_linear_to_fold(made: Any) -> None:
    def work(count: int) -> Callable[[], object]:
        events = [delta(0, made(at)) for at in range(count)]
        return lambda: CODEC.fold(events)

    assert is_linear(work)


def test_steps_are_in_the_order_of_their_indices() -> None:
    steps = fold_one(start(2, STEPS["function_call"]), start(0, STEPS["thought"]), completed()).body["steps"]
    assert [step["type"] for step in steps] == ["thought", "function_call"]


def test_the_last_event_s_steps_are_authoritative_unless_some_are_missing() -> None:
    streamed = [created(), start(0, {"type": "thought"}), start(1, {"type": "model_output"}), delta(1, TEXT)]
    final = [STEPS["thought"], STEPS["model_output"]]
    assert fold_one(*streamed, completed(steps=final)).body["steps"] == final
    assert fold_one(*streamed, completed(steps=[])).body["steps"][1]["content"] == [TEXT]
    assert fold_one(*streamed, completed(steps=final[:1])).body["steps"][1]["content"] == [TEXT]
    assert fold_one(*streamed, completed(steps=None)).body["steps"][1]["content"] == [TEXT]


def test_a_stream_that_goes_on_has_the_steps_of_before() -> None:
    folded = fold_one(
        created(steps=[STEPS["thought"]]), start(1, {"type": "model_output"}), delta(1, TEXT), completed()
    )
    assert folded.body["steps"] == [STEPS["thought"], {"type": "model_output", "content": [TEXT]}]


def test_another_step_under_an_index_takes_nothing_from_the_one_before() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}}
    said = [start(0, {"type": "model_output"}), delta(0, {"type": "text", "text": "a"}), stop(0)]
    called = [start(0, call), stop(0), start(0, {**call, "id": "d"})]
    more = delta(0, {"type": "arguments_delta", "arguments": '{"x": 2}'})
    assert fold_one(created(), *said, *called, more, completed()).body["steps"] == [
        {"type": "model_output", "content": [{"type": "text", "text": "a"}]},
        call,
        {**call, "id": "d", "arguments": {"x": 2}},
    ]


def test_a_replay_from_the_start_is_the_same_interaction() -> None:
    begun = [created(), start(0, {"type": "model_output"}), delta(0, TEXT)]
    folded = fold_one(*begun, *begun, stop(0), completed())
    assert folded.body["steps"] == [{"type": "model_output", "content": [TEXT]}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([created(), completed()], [created(id="v1_2"), completed(id="v1_2")]),
        ([created()], [created(id="v1_2"), completed(id="v1_2")]),
        ([created(), completed()], [created(), completed()]),
        ([created(id=""), completed(id="")], [created(id=""), completed(id="")]),
        ([created(id="")], [created(id=""), completed(id="")]),
        ([created(), {"event_type": "error", "error": {}}], [created(), completed()]),
    ],
)
def test_several_interactions_in_one_body(first: list[Any], second: list[Any]) -> None:
    folded = CODEC.fold([*first, delta(0, TEXT), *second, delta(0, TEXT)])
    assert [one.events for one in folded] == [len(first) + 1, len(second) + 1]
    assert all(one.body["steps"] == [{"type": "model_output", "content": [TEXT]}] for one in folded)
    assert folded[1].complete


def test_the_older_events() -> None:
    folded = fold_one(
        {
            "event_type": "interaction.start",
            "interaction": {"id": "old_1", "object": "interaction", "status": "in_progress"},
        },
        {"event_type": "content.start", "index": 0, "content": {"type": "thought"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "thought_summary", "content": TEXT}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2ln"}},
        {"event_type": "content.stop", "index": 0},
        {"event_type": "content.start", "index": 1, "type": "text"},
        {"event_type": "content.delta", "index": 1, "delta": {"type": "text", "text": "Grüße"}},
        {
            "event_type": "content.delta",
            "index": 1,
            "delta": {"type": "text", "text": " aus Oslo", "annotations": [{"type": "url_citation"}]},
        },
        {"event_type": "content.stop", "index": 1},
        {
            "event_type": "content.delta",
            "index": 2,
            "delta": {"type": "function_call", "id": "fc1", "name": "weather", "arguments": {"city": "Oslo"}},
        },
        {"event_type": "interaction.status_update", "interaction": {"id": "old_1", "status": "requires_action"}},
        {
            "event_type": "interaction.complete",
            "interaction": {"id": "old_1", "status": "requires_action", "outputs": []},
        },
    )
    assert folded.complete
    assert folded.body["outputs"] == [
        {"type": "thought", "summary": [TEXT], "signature": "c2ln"},
        {**TEXT, "annotations": [{"type": "url_citation"}]},
        STEPS["function_call"],
    ]
    assert read_response(folded.body)["finish_reason"] == "tool_calls"


def test_older_events_may_have_their_fields_beside_them() -> None:
    folded = fold_one(
        {"event_type": "interaction.start", "id": "old_1", "status": "in_progress", "model": "m"},
        {"event_type": "content.delta", "delta": {"type": "text", "text": "a"}},
        {"event_type": "content.delta", "delta": {"type": "text", "text": "b"}},
        {"event_type": "interaction.complete", "id": "old_1", "status": "completed", "usage": USAGE},
    )
    assert folded.body == {
        "id": "old_1",
        "status": "completed",
        "model": "m",
        "usage": USAGE,
        "outputs": [{"type": "text", "text": "ab"}],
    }


def test_one_old_content_has_room_for_one_medium() -> None:
    deltas = [
        {"event_type": "content.delta", "index": 0, "delta": CONTENTS[kind]} for kind in ("image", "image", "text")
    ]
    folded = fold_one(*deltas)
    assert folded.body["outputs"] == [{**CONTENTS["image"], "unknown_deltas": [CONTENTS["image"], CONTENTS["text"]]}]


def test_events_that_only_the_migration_guide_names() -> None:
    folded = fold_one(
        created(), {"event_type": "interaction.requires_action", "interaction": {"status": "requires_action"}}
    )
    assert folded.body["status"] == "requires_action"
    cancelled = fold_one(created(), {"event_type": "interaction.cancelled", "usage": USAGE})
    assert (cancelled.body["status"], cancelled.body["usage"], cancelled.complete) == ("cancelled", USAGE, True)


def test_what_nobody_knows_is_kept_and_counted() -> None:
    new_event = {"event_type": "interaction.dreamed", "dream": 1}
    folded = fold_one(
        created(),
        new_event,
        start(0, {"type": "model_output"}) | {"hint": 1},
        delta(0, {"type": "smell", "smell": "x"}),
        delta(0, {"type": "arguments_delta", "arguments": "{}"}),
        delta(0, TEXT) | {"metadata": {"total_usage": {"total_tokens": 1}, "speed": 2}},
        delta(0, "garbage"),
        delta(0, {"type": "google_search_call", "arguments": {}}),
        "not JSON",
        7,
        completed(),
    )
    assert folded.stray == [new_event, "not JSON", 7]
    assert folded.unknown == [
        ("event", "interaction.dreamed"),
        ("delta", "smell"),
        ("delta", "arguments_delta"),
        ("delta", "(none)"),
        ("delta", "google_search_call"),
    ]
    assert folded.body["steps"][0]["content"] == [TEXT]
    assert len(folded.body["steps"][0]["unknown_deltas"]) == 4
    assert folded.body["event_extras"] == [
        {"event_type": "step.start", "index": 0, "hint": 1},
        {"event_type": "step.delta", "index": 0, "metadata": {"total_usage": {"total_tokens": 1}, "speed": 2}},
    ]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event_type": None},
        {"event_type": ["x"], "index": 0, "delta": {}, "y": 1},
        {"event_type": "step.start"},
        {"event_type": "step.start", "index": "0", "step": None},
        {"event_type": "step.start", "index": 0, "step": "text"},
        {"event_type": "step.delta"},
        {"event_type": "step.delta", "index": None, "delta": None},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": ["text"]}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text_annotation_delta", "annotations": 5}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_summary"}},
        {"event_type": "step.stop", "step_usage": 5},
        {"event_type": "interaction.created"},
        {"event_type": "interaction.created", "interaction": "x", "steps": {}},
        {"event_type": "interaction.completed", "interaction": None},
        {"event_type": "content.start", "index": 0, "content": 5},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "model_output"}},
        {"steps": 5, "status": None, "event_type": 5},
    ],
)
def test_odd_events_never_raise_and_lose_nothing_after_them(event: dict[str, Any]) -> None:
    folded = CODEC.fold([event, created(), start(9, {"type": "model_output"}), delta(9, TEXT), completed()])
    assert folded[-1].complete
    held = folded[-1].body.get("steps", folded[-1].body.get("outputs"))
    assert TEXT in (held if isinstance(held, list) else [])[-1]["content"]


def test_a_whole_answer_in_place_of_a_stream() -> None:
    folded = fold_one(INTERACTION)
    assert (folded.body, folded.complete) == (INTERACTION, True)
    assert CODEC.fold([]) == []
    assert CODEC.fold(["[DONE]"]) == []


@pytest.mark.parametrize(
    "body",
    [
        INTERACTION,
        LEGACY,
        {**INTERACTION, "status": "in_progress"},
        {**INTERACTION, "error": {"code": "x"}, "event_id": "e1"},
        {**INTERACTION, "event_id": "e1", "errors": [{"code": "y"}]},
        {"error": {"code": "x"}},
        {"id": "a", "steps": []},
        {"id": "a", "steps": None, "outputs": [TEXT, "x"], "error": None},
        {"id": "", "status": "completed", "steps": [STEPS["user_input"], 5, None, {}, {"type": "new"}]},
        {"steps": [{"type": "model_output", "content": [TEXT, TEXT]}]},
        {"steps": [{"type": "function_call", "arguments": value} for value in ("{", '{"a":1}', None, 5, "")]},
        {"steps": [{"type": "model_output", "content": [{"type": "audio", "data": "AA=="}] * 2}]},
        {"steps": [{"type": "thought", "signature": None, "summary": 5, "new": 1}]},
        {"steps": [{"type": "model_output", "unknown_deltas": [1], "step_usage": {}}], "event_extras": [1]},
    ],
)
def test_unfolded_events_fold_to_the_same_body(body: dict[str, Any]) -> None:
    given = copy.deepcopy(body)
    (folded,) = CODEC.fold(CODEC.unfold(body))
    assert folded.body == body == given
    assert folded.unknown == folded.stray == []


def test_unfolded_events_are_as_the_provider_streams_them() -> None:
    body = {
        "id": "v1_1",
        "object": "interaction",
        "status": "requires_action",
        "model": "m",
        "steps": [
            {"type": "thought", "signature": "c2ln"},
            {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
            STEPS["function_call"],
        ],
        "usage": USAGE,
    }
    assert CODEC.unfold(body) == [
        {
            "event_type": "interaction.created",
            "interaction": {"id": "v1_1", "object": "interaction", "model": "m", "status": "in_progress"},
        },
        {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "in_progress"},
        start(0, {"type": "thought"}),
        delta(0, {"type": "thought_signature", "signature": "c2ln"}),
        stop(0),
        start(1, {"type": "model_output"}),
        delta(1, {"type": "text", "text": "Hi"}),
        stop(1),
        start(2, {"type": "function_call", "id": "fc1", "name": "weather", "arguments": {}}),
        delta(2, {"type": "arguments_delta", "arguments": '{"city":"Oslo"}'}),
        stop(2),
        {
            "event_type": "interaction.completed",
            "interaction": {key: value for key, value in body.items() if key != "steps"},
        },
    ]


def test_event_stream_text() -> None:
    text = CODEC.sse([{"index": 0, "event_type": "step.stop"}, {"error": {}}, "[DONE]"])
    assert text == (
        'event: step.stop\ndata: {"index":0,"event_type":"step.stop"}\n\n'
        'data: {"error":{}}\n\n'
        "event: done\ndata: [DONE]\n\n"
    )
