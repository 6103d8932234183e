"""Folding a stream: blocks, totals, several responses, what is odd, broken off or unknown."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols.anthropic_messages import CODEC
from headrace.protocols.entry_points import Folded
from tests.unit.anthropic_messages.samples import BLOCKS, CITATIONS, closed, delta, end, opened, start

TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {}}


def fold(*events: Any) -> Folded:
    (folded,) = CODEC.fold(events)
    return folded


def content(*events: Any) -> list[Any]:
    """The content of a complete message with these block events."""
    folded = fold(start(), *events, *end())
    assert folded.complete
    blocks: list[Any] = folded.body["content"]
    return blocks


def record(folded: Folded) -> Any:
    shape = CODEC.read_response(folded.body, Reading("call-1", "response"), folded.layout)
    assert CODEC.write_response(shape) == folded.body
    return shape


def text(index: int, *pieces: str) -> list[Any]:
    return [opened(index, TEXT), *(delta(index, "text_delta", text=piece) for piece in pieces), closed(index)]


def arguments(index: int, *pieces: str, call: Any = CALL) -> list[Any]:
    deltas = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [opened(index, call), *deltas, closed(index)]


def test_message_is_what_the_api_answers_without_streaming() -> None:
    folded = fold(start(), *text(0, "Hel", "lo"), {"type": "ping"}, *end())
    assert folded.body == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 9},
    }
    assert folded.complete
    assert folded.events == 8
    assert (folded.unknown, folded.stray) == ([], [])


def test_events_are_not_changed() -> None:
    events = [start(), *text(0, "a"), *arguments(1, "{}"), *end()]
    first = CODEC.fold(events)[0].body
    assert CODEC.fold(events)[0].body == first
    assert events[0]["message"]["content"] == []
    assert events[1]["content_block"] == TEXT


def test_a_message_without_its_last_event_is_not_complete() -> None:
    events = [start(), *text(0, "half"), *end()]
    for cut in range(1, len(events)):
        assert not fold(*events[:cut]).complete


def test_an_open_block_keeps_its_text() -> None:
    folded = fold(start(), opened(0, TEXT), delta(0, "text_delta", text="half"))
    assert folded.body["content"] == [{"type": "text", "text": "half"}]
    assert record(folded)["status"] == "incomplete"


# Arguments


@pytest.mark.parametrize("pieces", [(), ("",), ("", ""), ("{}",), ("{", "}")])
def test_call_without_arguments(pieces: tuple[str, ...]) -> None:
    folded = fold(start(), *arguments(0, *pieces), *end("tool_use"))
    assert folded.body["content"] == [CALL]
    call = record(folded)["messages"][0]["parts"][0]["tool_call"]
    assert call["arguments"] == "{}"
    assert call.get("raw_arguments") == ("".join(pieces) if pieces else None)
    assert "arguments_error" not in call


@pytest.mark.parametrize("started", [None, "", [], {"a": 1}, 0])
def test_odd_input_at_the_start_of_a_call_round_trips(started: Any) -> None:
    for pieces in ((), ("",), ('{"b": 2}',), ('{"b',)):
        folded = fold(start(), *arguments(0, *pieces, call={**CALL, "input": started}), *end("tool_use"))
        call = record(folded)["messages"][0]["parts"][0]["tool_call"]
        assert call.get("arguments_error") is None or pieces == ('{"b',)


def test_exact_argument_string_is_kept_beside_the_value() -> None:
    exact = '{"n": 1.50,  "big": 123456789012345678901234567890}'
    folded = fold(start(), *arguments(0, "", exact[:9], exact[9:]), *end("tool_use"))
    assert folded.body["content"][0]["input"] == {"n": 1.5, "big": 123456789012345678901234567890}
    call = record(folded)["messages"][0]["parts"][0]["tool_call"]
    assert call["raw_arguments"] == exact
    assert call["arguments"] == '{"n":1.5,"big":123456789012345678901234567890}'


@pytest.mark.parametrize("name", ["tool_use", "server_tool_use", "mcp_tool_use"])
def test_arguments_that_were_cut_are_kept_and_not_repaired(name: str) -> None:
    call_block = {**BLOCKS[name], "input": {}}
    folded = fold(start(), *text(0, "x"), *arguments(1, '{"city": "Bos', call=call_block))
    assert folded.body["content"][1]["input"] == {}
    call = record(folded)["messages"][0]["parts"][1]["tool_call"]
    assert call["raw_arguments"] == '{"city": "Bos'
    assert "arguments" not in call
    assert call["arguments_error"]


def test_cut_arguments_of_a_block_nobody_knows_are_kept_in_it() -> None:
    blocks = content(*arguments(0, '{"a', call={"type": "new_tool_use", "id": "x"}))
    assert blocks[0]["unknown_deltas"] == [{"type": "input_json_delta", "partial_json": '{"a'}]


def test_parallel_calls_may_interleave() -> None:
    second = {**CALL, "id": "toolu_2"}
    blocks = content(
        opened(0, CALL),
        opened(1, second),
        delta(1, "input_json_delta", partial_json='{"b"'),
        delta(0, "input_json_delta", partial_json='{"a": 1'),
        delta(1, "input_json_delta", partial_json=": 2}"),
        closed(1),
        delta(0, "input_json_delta", partial_json="}"),
        closed(0),
    )
    assert [(block["id"], block["input"]) for block in blocks] == [("toolu_1", {"a": 1}), ("toolu_2", {"b": 2})]


def test_input_that_came_whole_with_the_start_stays() -> None:
    whole = {**CALL, "input": {"a": 1}}
    assert content(*arguments(0, call=whole)) == [whole]
    assert content(*arguments(0, "", call=whole)) == [whole]


# The other deltas


def test_signature_is_set_and_thinking_appended() -> None:
    blocks = content(
        opened(0, THINKING),
        delta(0, "thinking_delta", thinking="al", estimated_tokens=5),
        delta(0, "thinking_delta", thinking="pha", estimated_tokens=7),
        delta(0, "thinking_delta", thinking="", estimated_tokens=None),
        delta(0, "signature_delta", signature="S1"),
        closed(0),
    )
    assert blocks == [{"type": "thinking", "thinking": "alpha", "signature": "S1", "estimated_tokens": 12}]


@pytest.mark.parametrize("started", [TEXT, {**TEXT, "citations": []}, {**TEXT, "citations": None}])
def test_each_citation_delta_adds_one_before_or_after_the_text(started: Any) -> None:
    first, second = CITATIONS["char_location"], CITATIONS["page_location"]
    blocks = content(
        opened(0, started),
        delta(0, "citations_delta", citation=first),
        delta(0, "text_delta", text="x"),
        delta(0, "citations_delta", citation=second),
        closed(0),
    )
    assert blocks == [{"type": "text", "text": "x", "citations": [first, second]}]


def test_compaction_delta_replaces_and_leaves_the_signature() -> None:
    started = {"type": "compaction", "content": None, "signature": "SIG"}
    blocks = content(
        opened(0, started), delta(0, "compaction_delta", content="so far", encrypted_content="RU5D"), closed(0)
    )
    assert blocks == [{"type": "compaction", "content": "so far", "encrypted_content": "RU5D", "signature": "SIG"}]


def test_a_character_cut_between_two_deltas_is_one_again() -> None:
    assert content(*text(0, "a\ud83d", "\ude00b")) == [{"type": "text", "text": "a\U0001f600b"}]


def test_half_a_character_is_kept() -> None:
    folded = fold(start(), *text(0, "a\ud83d"), *arguments(1, '{"a": "\ud83d"}'), *arguments(2, '{"\ud83d'), *end())
    parts = record(folded)["messages"][0]["parts"]
    assert folded.body["content"][1]["input"] == {"a": "\ud83d"}
    assert parts[1]["tool_call"]["arguments"] == '{"a":"\\ud83d"}'
    assert parts[2]["tool_call"]["arguments_error"]
    assert "\\ud83d" in parts[2]["wire"]


def test_fallback_makes_the_model_the_one_that_served() -> None:
    folded = fold(start(), opened(0, BLOCKS["fallback"]), closed(0), *text(1, "x"), *end())
    assert folded.body["model"] == "b"
    assert [block["type"] for block in folded.body["content"]] == ["fallback", "text"]


@pytest.mark.parametrize("name", [name for name, block in BLOCKS.items() if "tool_result" in block["type"]])
def test_blocks_without_deltas_come_whole(name: str) -> None:
    assert content(opened(0, BLOCKS[name]), closed(0)) == [BLOCKS[name]]


# Totals


def test_totals_are_replaced_not_added_and_null_or_absent_keeps() -> None:
    usage = {"input_tokens": 120, "output_tokens": 1, "cache_read_input_tokens": 5, "service_tier": "standard"}
    folded = fold(
        start(usage=usage),
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50, "input_tokens": 9120}},
        *end("end_turn", cache_read_input_tokens=None, server_tool_use={"web_search_requests": 2}),
    )
    assert folded.body["usage"] == {
        "input_tokens": 9120,
        "output_tokens": 9,
        "cache_read_input_tokens": 5,
        "service_tier": "standard",
        "server_tool_use": {"web_search_requests": 2},
    }
    assert usage["output_tokens"] == 1


def test_message_delta_sets_what_comes_late() -> None:
    late = {
        "type": "message_delta",
        "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END", "container": {"id": "c"}, "mood": "fine"},
        "context_management": {"applied_edits": []},
        "input_transformations": None,
        "usage": {"output_tokens": 2},
    }
    empty = {"type": "message_delta", "delta": {"stop_reason": None, "container": None}, "usage": None}
    body = fold(start(), late, empty, {"type": "message_stop", "metrics": {"ms": 3}}).body
    assert (body["stop_reason"], body["stop_sequence"], body["container"]) == ("stop_sequence", "END", {"id": "c"})
    assert body["context_management"] == {"applied_edits": []}
    assert body["input_transformations"] is None
    assert (body["mood"], body["metrics"]) == ("fine", {"ms": 3})


# Several responses, errors, oddities


def test_several_messages_in_one_body_are_several_responses() -> None:
    first, second = CODEC.fold(
        [start(id="msg_1"), *text(0, "one"), *end(), {"type": "ping"}, start(id="msg_2"), *text(0, "two")]
    )
    assert (first.body["id"], first.complete, first.events) == ("msg_1", True, 7)
    assert (second.body["id"], second.complete, second.events) == ("msg_2", False, 4)
    assert second.body["content"] == [{"type": "text", "text": "two"}]


def test_a_message_start_ends_a_message_that_has_no_end() -> None:
    first, second = CODEC.fold([start(id="msg_1"), *text(0, "one"), start(id="msg_2"), *end()])
    assert (first.complete, second.complete) == (False, True)


def test_error_after_text_keeps_the_text_and_fails() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    folded = fold(start(), opened(0, TEXT), delta(0, "text_delta", text="half"), error)
    shape = record(folded)
    assert shape["status"] == "failed"
    assert shape["error"]["type"] == "overloaded_error"
    assert shape["error"]["request_id"] == "req_1"
    assert shape["messages"][0]["parts"] == [{"type": "text", "text": "half"}]
    assert "finish_reason" not in shape


@pytest.mark.parametrize("before", [[], [{"type": "ping"}]])
def test_error_before_any_message_is_the_error_body(before: list[Any]) -> None:
    error = {"type": "error", "error": {"type": "api_error", "message": "no"}}
    folded = fold(*before, error)
    assert folded.body == error
    assert folded.complete
    assert record(folded)["status"] == "failed"


def test_error_of_a_gateway_without_a_type() -> None:
    folded = fold(start(), *text(0, "half"), {"error": {"message": "upstream gone", "code": 502}})
    assert record(folded)["error"]["code"] == "502"


def test_error_after_the_end_is_a_response_of_its_own() -> None:
    first, second = CODEC.fold([start(), *end(), {"type": "error", "error": {"type": "api_error"}}])
    assert "error" not in first.body
    assert second.body["type"] == "error"


def test_unknown_events_are_stray_and_counted() -> None:
    odd: list[Any] = [{"type": "new_event", "x": 1}, {"no": "type"}, {"type": ["list"]}, "not json", 5, None, ["x"]]
    folded = fold(start(), *odd, *text(0, "x"), *end())
    assert folded.stray == odd
    assert folded.unknown == [("event", "new_event"), ("event", "(none)"), ("event", "(none)")]
    assert folded.body["content"] == [{"type": "text", "text": "x"}]


def test_unknown_deltas_stay_in_their_block() -> None:
    folded = fold(start(), opened(0, TEXT), delta(0, "video_delta", frame=1), delta(0, "text_delta", text="x"), *end())
    assert folded.body["content"] == [
        {"type": "text", "text": "x", "unknown_deltas": [{"type": "video_delta", "frame": 1}]}
    ]
    assert folded.unknown == [("delta", "video_delta")]


def test_unknown_fields_of_events_stay_in_their_block() -> None:
    blocks = content(
        {**opened(0, TEXT), "lane": 1},
        {**delta(0, "text_delta", text="a", p="x"), "lane": 1},
        {**delta(0, "text_delta", text="b", p="y"), "lane": 2},
        {**closed(0), "ms": 7},
    )
    assert blocks == [{"type": "text", "text": "ab", "lane": [1, 2], "p": ["x", "y"], "ms": 7}]


def test_done_of_a_gateway_says_nothing() -> None:
    folded = fold(start(), *text(0, "x"), "[DONE]")
    assert not folded.complete
    assert folded.stray == []


def test_text_whose_block_never_started_is_kept_in_place() -> None:
    folded = fold(
        *(delta(2, "text_delta", text=piece) for piece in ("lo", "st")),
        closed(2),
        opened(3, CALL),
        delta(0, "thinking_delta", thinking="first"),
        *end(),
    )
    assert folded.body["content"] == [
        {"type": "thinking", "thinking": "first"},
        {"type": "text", "text": "lost"},
        CALL,
    ]
    assert record(folded)["messages"][0]["parts"][1] == {"type": "text", "text": "lost"}


def test_orphans_that_do_not_tell_their_block_are_stray() -> None:
    orphans = [delta(4, "input_json_delta", partial_json="{"), closed(4), {"type": "content_block_start", "index": 4}]
    folded = fold(start(), *orphans, *end())
    assert folded.stray == orphans
    assert folded.body["content"] == []


def test_gaps_and_late_starts_are_ordered_by_index() -> None:
    blocks = content(*text(5, "b"), *text(2, "a"))
    assert [block["text"] for block in blocks] == ["a", "b"]


def test_an_index_used_twice_leaves_the_order_of_starts() -> None:
    blocks = content(*text(0, "a"), *text(1, "b"), *text(0, "c"))
    assert [block["text"] for block in blocks] == ["a", "b", "c"]


def test_events_without_an_index_speak_of_the_newest_block() -> None:
    started = {"type": "content_block_start", "content_block": TEXT}
    added = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}
    assert content(started, added, started, added, added) == [
        {"type": "text", "text": "x"},
        {"type": "text", "text": "xx"},
    ]


def test_only_pings_are_an_incomplete_response_without_content() -> None:
    folded = fold({"type": "ping"}, {"type": "ping"})
    assert (folded.body, folded.complete, folded.events) == ({}, False, 2)
    assert record(folded)["status"] == "incomplete"


def test_no_events_are_no_response() -> None:
    assert CODEC.fold([]) == []


def test_a_whole_message_in_place_of_events_is_taken_whole() -> None:
    body = {**start()["message"], "content": [BLOCKS["text"]], "stop_reason": "end_turn"}
    folded = fold(body)
    assert folded.body == body
    assert folded.complete


def test_content_that_the_start_holds_comes_before_the_blocks_that_follow() -> None:
    folded = fold(start(content=[BLOCKS["thinking"]]), *text(0, "x"), *end())
    assert folded.body["content"] == [BLOCKS["thinking"], {"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start", "message": 5},
        {"type": "message_start", "message": {"content": 5, "usage": []}},
        opened(0, 5),
        opened(0, None),
        {**opened(0, TEXT), "index": "0"},
        {"type": "content_block_delta", "index": [], "delta": None},
        {"type": "content_block_delta", "index": 0, "delta": {"type": {}}},
        delta(0, "text_delta", text=None),
        delta(0, "text_delta"),
        delta(0, "signature_delta"),
        delta(0, "citations_delta"),
        {"type": "message_delta", "delta": 5, "usage": "many"},
        {"type": "message_delta", "delta": {"content": [], "usage": {}, "type": "x"}},
        {"type": "message_delta", "usage": {"output_tokens": 1}},
        {"type": "error"},
        {"type": "error", "error": "text"},
        {"error": None},
    ],
)
def test_odd_events_raise_nothing_and_lose_nothing_of_their_neighbours(event: Any) -> None:
    for folded in CODEC.fold([start(), event, *text(7, "kept"), event, *end()]):
        record(folded)
    kept = CODEC.fold([start(), event, *text(7, "kept"), event, *end()])
    assert any({"type": "text", "text": "kept"} in folded.body["content"] for folded in kept)
    for folded in CODEC.fold([event]):
        assert folded.events == 1


def test_what_nobody_knows_stays_in_the_order_of_the_wire() -> None:
    fields = {f"field_{place * 7 % 10}": place for place in range(10)}
    (block,) = content(opened(0, TEXT), delta(0, "text_delta", text="a") | fields, closed(0))
    assert [key for key in block if key in fields] == list(fields)
    beside = fold(start() | fields, *text(0, "a"), *end()).body
    assert [key for key in beside if key in fields] == list(fields)
    last = end()
    last[-1] = last[-1] | fields
    at_the_end = fold(start(), *text(0, "a"), *last).body
    assert [key for key in at_the_end if key in fields] == list(fields)
    broken_off = fold(start(), {"type": "error", "error": {"type": "x", "message": "y"}} | fields).body
    assert [key for key in broken_off if key in fields] == list(fields)


@pytest.mark.parametrize("order", [(0, 0.0), (0.0, 0), (0.0, 0.0)])
def test_an_index_is_a_whole_number_however_it_is_written(order: tuple[Any, Any]) -> None:
    deltas = [delta(index, "text_delta", text=piece) for index, piece in zip(order, "ab", strict=True)]
    assert content(opened(0, TEXT), opened(1, TEXT), *deltas) == [{**TEXT, "text": "ab"}, TEXT]
