"""Streams: what is joined, what is not, what wins, and what ends one."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import dumps
from headrace.protocols.gemini_generate import CODEC
from headrace.protocols.stretches import Stretch, read
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT
from tests.unit.gemini_generate.samples import ERRORS, GROUNDING, RESPONSE, SIGNATURE, chunk, parts_of


def fold(*events: Any) -> Any:
    """The one response of some events."""
    kept = copy.deepcopy(events)
    (folded,) = CODEC.fold(events)
    assert events == kept
    return folded


def folded_parts(*groups: list[Any]) -> Any:
    return parts_of(fold(*(chunk(*parts) for parts in groups), chunk(finishReason="STOP")).body)


def test_text_of_neighbouring_chunks_is_one_part() -> None:
    assert folded_parts([{"text": "Ri"}], [{"text": "vers"}], [{"text": " run."}]) == [{"text": "Rivers run."}]


def test_thoughts_and_answers_are_not_joined() -> None:
    thought = {"text": "Hm", "thought": True}
    joined = [{"text": "HmHm", "thought": True}, {"text": "AB"}]
    assert folded_parts([thought], [thought], [{"text": "A"}], [{"text": "B"}]) == joined


def test_signed_text_is_joined_with_nothing() -> None:
    signed = {"text": "b", "thoughtSignature": SIGNATURE}
    assert folded_parts([{"text": "a"}], [signed], [{"text": "c"}]) == [{"text": "a"}, signed, {"text": "c"}]


def test_an_empty_part_that_holds_a_signature_is_kept() -> None:
    signed = {"text": "", "thoughtSignature": SIGNATURE}
    assert folded_parts([{"text": "a"}], [{"text": "b"}], [signed]) == [{"text": "ab"}, signed]


def test_an_empty_text_alone_in_its_chunk_adds_nothing() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    assert folded_parts([call], [{"text": ""}]) == [call]
    assert folded_parts([{"text": ""}], [{"text": ""}]) == [{"text": ""}]


def test_parts_of_one_chunk_stay_parts() -> None:
    assert folded_parts([{"text": "a"}, {"text": "b"}], [{"text": "c"}]) == [{"text": "a"}, {"text": "bc"}]


def test_equal_calls_in_one_chunk_and_over_chunks_are_calls() -> None:
    call = {"functionCall": {"name": "f", "args": {"x": 1}}}
    folded = fold(chunk(call, call), chunk(call, finishReason="STOP"))
    assert parts_of(folded.body) == [call, call, call]
    record = CODEC.read_response(folded.body, Reading("call", "response"), None)
    ids = [part["tool_call"]["id"] for part in record["messages"][0]["parts"]]
    assert len(set(ids)) == 3
    assert [part["tool_call"]["index"] for part in record["messages"][0]["parts"]] == [0, 1, 2]
    assert record["finish_reason"] == "tool_calls"


def test_candidates_are_told_apart_by_their_index() -> None:
    def both(*texts: str, **fields: Any) -> Any:
        return {
            "candidates": [
                {"index": at, "content": {"parts": [{"text": text}]}, **fields} for at, text in enumerate(texts)
            ]
        }

    one = {"candidates": [{"index": 1, "content": {"parts": [{"text": "!"}]}}]}
    body = fold(both("a", "x"), one, both("b", "y", finishReason="STOP")).body
    assert [candidate["content"]["parts"] for candidate in body["candidates"]] == [[{"text": "ab"}], [{"text": "x!y"}]]


def test_usage_is_a_running_total_by_field() -> None:
    first = {
        **chunk({"text": "a"}),
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 10, "trafficType": "T"},
    }
    second = {**chunk({"text": "b"}), "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 12}}
    nulls = {**chunk({"text": "c"}), "usageMetadata": {"promptTokenCount": None}}
    body = fold(first, second, nulls, chunk(finishReason="STOP")).body
    assert body["usageMetadata"] == {"promptTokenCount": 9, "totalTokenCount": 12, "trafficType": "T"}


def test_metadata_grows_and_nothing_empties_it() -> None:
    more = {**GROUNDING, "webSearchQueries": ["río", "agua"]}
    body = fold(
        chunk({"text": "a"}, groundingMetadata={}),
        chunk({"text": "b"}, groundingMetadata=GROUNDING),
        chunk({"text": "c"}, groundingMetadata=more, finishReason="STOP"),
        chunk(groundingMetadata={"groundingChunks": []}),
    ).body
    assert body["candidates"][0]["groundingMetadata"] == more


def test_a_list_that_goes_on_is_one_list() -> None:
    token = {"token": "a"}
    other = {"token": "b"}
    body = fold(
        chunk(logprobsResult={"chosenCandidates": [token]}),
        chunk(logprobsResult={"chosenCandidates": [other]}, finishReason="STOP"),
    ).body
    assert body["candidates"][0]["logprobsResult"] == {"chosenCandidates": [token, other]}


# Arguments that stream


def fragment(*args: Any, **call: Any) -> list[Any]:
    return [{"functionCall": {**call, **({"partialArgs": list(args)} if args else {})}}]


def text(path: str, value: str, more: bool = False) -> Any:
    return {"jsonPath": path, "stringValue": value, **({"willContinue": True} if more else {})}


def test_fragments_of_arguments_are_one_call() -> None:
    opening = fragment(name="f", willContinue=True)
    opening[0]["thoughtSignature"] = SIGNATURE
    parts = folded_parts(
        opening,
        fragment(text("$.items[0].name", "ap", True), willContinue=True),
        fragment(text("$.items[0].name", "ple", True), text("$.items[0].name", ""), willContinue=True),
        fragment({"jsonPath": "$.items[1]['na.me']", "numberValue": 0.5}, willContinue=True),
        fragment({"jsonPath": "$.ok", "boolValue": False}, {"jsonPath": "$.no", "nullValue": "NULL_VALUE"}),
        fragment(name="g", willContinue=True),
        fragment(),
    )
    args = {"items": [{"name": "apple"}, {"na.me": 0.5}], "ok": False, "no": None}
    signed = {"functionCall": {"name": "f", "args": args}, "thoughtSignature": SIGNATURE}
    assert parts == [signed, {"functionCall": {"name": "g"}}]


def test_snake_case_fragments_are_the_same() -> None:
    parts = folded_parts(
        [{"function_call": {"name": "f", "will_continue": True}}],
        [{"function_call": {"partial_args": [{"json_path": "$.a", "string_value": "b"}]}}],
    )
    assert parts == [{"functionCall": {"name": "f", "args": {"a": "b"}}}]


def test_a_call_whose_stream_broke_off_is_cut() -> None:
    folded = fold(
        chunk(*fragment(name="f", willContinue=True)), chunk(*fragment(text("$.a", "x", True), willContinue=True))
    )
    assert not folded.complete
    record = CODEC.read_response(folded.body, Reading("call", "response"), None)
    call = record["messages"][0]["parts"][0]["tool_call"]
    assert call["raw_arguments"] == '{"a":"x"}'
    assert "arguments" not in call


@pytest.mark.parametrize(
    "odd",
    [
        text("no path", "x"),
        text("$", "x"),
        text("$.a[999999999]", "x"),
        text("$.a.b.c", "x"),
        {"jsonPath": "$.b", "structValue": {}},
        {"jsonPath": 7, "stringValue": "x"},
        "x",
        None,
    ],
)
def test_a_fragment_that_fits_nowhere_is_kept_raw(odd: Any) -> None:
    parts = folded_parts(fragment(text("$.a", "x"), name="f", willContinue=True), fragment(odd))
    assert parts == [{"functionCall": {"name": "f", "args": {"a": "x"}, "partialArgs": [odd]}}]


# Several responses, errors, strays


def test_chunks_of_several_response_ids_are_several_responses() -> None:
    other = {**chunk({"text": "x"}, finishReason="STOP"), "responseId": "r2"}
    first, second = CODEC.fold([chunk({"text": "a"}), chunk({"text": "b"}, finishReason="STOP"), other])
    assert (parts_of(first.body), first.events) == ([{"text": "ab"}], 2)
    assert (parts_of(second.body), second.events) == ([{"text": "x"}], 1)


def test_a_chunk_without_an_id_belongs_to_the_response_before() -> None:
    anonymous = chunk({"text": "b"})
    del anonymous["responseId"]
    assert parts_of(fold(anonymous, chunk({"text": "a"}), anonymous).body) == [{"text": "bab"}]


def test_an_error_in_the_middle_keeps_what_came() -> None:
    folded = fold(chunk({"text": "a"}), chunk({"text": "b"}), [ERRORS["google"]])
    assert folded.complete
    record = CODEC.read_response(folded.body, Reading("call", "response"), None)
    assert record["messages"][0]["parts"] == [{"type": "text", "text": "ab"}]
    assert (record["status"], record["error"]["code"]) == ("failed", "400")


def test_a_stream_in_snake_case_folds_to_snake_case() -> None:
    pieces = [
        {"candidates": [{"content": {"parts": [{"text": word}]}, "finish_reason": end}], "model_version": "m"}
        for word, end in (("a", None), ("b", "STOP"))
    ]
    folded = fold(*pieces)
    assert folded.complete
    assert folded.body["candidates"] == [{"content": {"parts": [{"text": "ab"}]}, "finish_reason": "STOP"}]


def test_a_body_with_a_key_in_both_spellings_unfolds_and_folds_back() -> None:
    body = {**chunk({"text": "a few words that are cut into several chunks"}), "promptFeedback": {"blockReason": "A"}}
    body["prompt_feedback"] = {"blockReason": "B"}
    (one,) = CODEC.fold(CODEC.unfold(body))
    assert (one.body, one.stray) == (body, [])


@pytest.mark.parametrize(
    "odd",
    [
        {**chunk({"text": "c"}), "modelVersion": "m2"},
        {**chunk({"text": "c"}), "candidates": {"0": 1}},
        {**chunk({"text": "c"}), "usageMetadata": None},
        {**chunk({"text": "c"}), "usageMetadata": "none"},
        {**chunk({"text": "c"}), "note": 1},
        chunk({"text": "c", "thought": True}),
        chunk({"text": 1}),
        chunk({"text": "c"}, {"text": "d"}),
        chunk({"text": "c"}, index=False),
        chunk({"text": "c"}, index=1.0),
        chunk({"text": "c"}, tokenCount=True),
    ],
)
def test_an_odd_chunk_among_like_ones_counts_as_it_does_alone(odd: Any) -> None:
    like = [{**chunk({"text": text}), "usageMetadata": {"totalTokenCount": at}} for at, text in enumerate("abefg")]
    events = [*like[:3], odd, *like[3:]]
    changing = [{**event, f"x{at}": 0} if event is not odd else event for at, event in enumerate(events)]
    (one, *more), (other, *others) = CODEC.fold(events), CODEC.fold(changing)
    added = [f"x{at}" for at in range(len(events))]
    assert dumps(one.body) == dumps({key: value for key, value in other.body.items() if key not in added})
    assert (one.stray, one.events, one.complete) == (other.stray, other.events, other.complete)
    assert [each.body for each in more] == [each.body for each in others]


def test_a_time_that_comes_back_after_a_stretch_is_the_last_one() -> None:
    events = [{**chunk({"text": f"{at} "}), "createTime": f"t{at}"} for at in range(150)]
    *_, stretch = read([dumps(event).encode() for event in events])
    assert type(stretch) is Stretch
    events.append({**chunk({"text": "end"}), "createTime": stretch.event["createTime"]})
    # With another spelling of the same the stretch ends before it.
    values = read([*(dumps(event).encode() for event in events[:-1]), dumps(events[-1]).replace('":', '": ').encode()])
    assert [type(value) is Stretch for value in values[-2:]] == [True, False]
    (one,) = CODEC.fold(values)
    (other,) = CODEC.fold(events)
    assert one == other
    assert one.body["createTime"] == stretch.event["createTime"]


def test_what_no_response_can_take_is_stray() -> None:
    strays = ["half a chu", 7, {"type": "ping"}, {}]
    folded = fold(chunk({"text": "a"}), *strays, "[DONE]", chunk(finishReason="STOP"))
    assert folded.stray == strays
    assert folded.unknown == [("event", "type"), ("event", "")]
    assert folded.events == 2
    assert CODEC.fold(["x"])[0].stray == ["x"]
    assert CODEC.fold([]) == []


def test_fields_nobody_knows_keep_their_last_value_and_the_others_aside() -> None:
    folded = fold({**chunk({"text": "a"}), "pulse": 1}, {**chunk({"text": "b"}), "pulse": 2}, chunk(mood="fair"))
    assert folded.body["pulse"] == 2
    assert folded.body["candidates"][0]["mood"] == "fair"
    assert folded.stray == [{"superseded": {"pulse": [1]}}]


#: Event -> (whether a response of it is complete, its sign).
ENDINGS: list[tuple[Any, bool, int]] = [
    (chunk({"text": "a"}), False, SIGN_NONE),
    (chunk({"text": "a"}, finishReason=None), False, SIGN_NONE),
    (chunk({"text": "a"}, finishReason="STOP"), True, SIGN_SOFT),
    ({"candidates": [{"finish_reason": "STOP"}]}, True, SIGN_SOFT),
    ({"candidates": [{"finishReason": "STOP"}, {"index": 1}]}, False, SIGN_SOFT),
    ({"promptFeedback": {"blockReason": "SAFETY"}}, True, SIGN_SOFT),
    ({"prompt_feedback": {"block_reason": "SAFETY"}}, True, SIGN_SOFT),
    ({"promptFeedback": {"safetyRatings": []}}, False, SIGN_NONE),
    (ERRORS["google"], True, SIGN_HARD),
    ([ERRORS["google"]], True, SIGN_HARD),
    (chunk({"text": '"finishReason": "STOP"'}), False, SIGN_NONE),
    (chunk({"functionCall": {"name": "f", "args": {"finishReason": "STOP", "error": {}}}}), False, SIGN_NONE),
]


@pytest.mark.parametrize(("event", "complete", "sign"), ENDINGS)
def test_only_the_wire_s_own_evidence_ends_a_response(event: Any, complete: bool, sign: int) -> None:
    assert fold(event).complete is complete
    assert CODEC.sign(dumps(event).encode()) == sign
    assert CODEC.sign(b"data: " + dumps(event).encode() + b"\r\n\r\n") == sign


def test_an_event_that_is_cut_may_still_tell_its_end() -> None:
    text = CODEC.sse([chunk({"text": "a" * 50}, finishReason="STOP")]).encode()
    assert CODEC.sign(text[:30] + text[-90:]) == SIGN_SOFT


# Unfolding


def test_a_whole_response_unfolds_to_chunks_that_fold_back() -> None:
    events = CODEC.unfold(RESPONSE)
    assert len(events) > 2
    assert all(event["responseId"] == "r1" for event in events)
    assert fold(*events).body == RESPONSE


def test_long_text_comes_in_pieces() -> None:
    body = chunk({"text": "Rivers run. " * 30}, {"text": ""}, {"text": "b"}, finishReason="STOP")
    events = CODEC.unfold(body)
    assert len(events) > 4
    assert fold(*events).body == body


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": []},
        {"candidates": None, "modelVersion": "m"},
        {"candidates": ["x", {"content": {}}]},
        {"candidates": [{"content": {}}, {"content": {}}]},
        {"candidates": [{"content": {"parts": [{"text": ""}, {"text": ""}, {"functionCall": {}}]}}]},
        {"candidates": [{"content": {"parts": []}}], "usageMetadata": None},
        ERRORS["google"],
    ],
)
def test_odd_responses_unfold_and_fold_back(body: Any) -> None:
    assert fold(*CODEC.unfold(body)).body == body


def test_text_of_a_stream_has_data_lines_only() -> None:
    assert CODEC.sse([{"candidates": []}]) == 'data: {"candidates":[]}\r\n\r\n'
