"""Whole responses out of chunks: content, reasoning, choices, usage, errors, ends, and the order of it all."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.json_text import dumps
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_chat import CODEC
from headrace.protocols.stretches import Stretch, read
from tests.unit.openai_chat.samples import BLOCKS, LOGPROBS, USAGE, call_delta, chunk, response, stream


def folded_of(events: list[Any]) -> Folded:
    (folded,) = CODEC.fold(events)
    return folded


def message_of(*deltas: Any) -> Any:
    folded = folded_of(stream(*deltas))
    assert folded.complete and folded.stray == []
    return folded.body["choices"][0]["message"]


def record_of(events: list[Any]) -> Any:
    folded = folded_of(events)
    record = CODEC.read_response(folded.body, Reading("call", "response"), folded.layout)
    assert CODEC.write_response(record) == folded.body
    return record


def words(record: Any) -> list[Any]:
    """The parts of the first choice, in short."""
    short = []
    for part in record["messages"][0]["parts"]:
        if part["type"] == "tool_call":
            short.append(("call", part["tool_call"]["name"]))
        elif part["type"] == "reasoning":
            short.append(("reasoning", part["reasoning"].get("text", "".join(part["reasoning"].get("summary", [])))))
        else:
            short.append((part["type"], part.get("text")))
    return short


def test_a_stream_gives_the_body_of_the_whole_answer() -> None:
    events = [
        chunk({"role": "assistant", "content": "", "refusal": None}, obfuscation="xx", usage=None),
        chunk({"content": "It "}, obfuscation="yyy", usage=None),
        chunk({"content": "rains."}, obfuscation="z", usage=None),
        chunk({}, "stop", usage=None),
        chunk(usage=USAGE),
        "[DONE]",
    ]
    folded = folded_of(events)
    assert folded.body == response({"role": "assistant", "content": "It rains.", "refusal": None}, usage=USAGE)
    assert (folded.complete, folded.events, folded.layout, folded.unknown) == (True, 5, None, [])


# Ends


@pytest.mark.parametrize(
    ("events", "complete"),
    [
        (stream({"content": "a"}), True),
        (stream({"content": "a"}, done=False), True),
        (stream({"content": "a"}, finish=None), True),
        (stream({"content": "a"}, finish=None, done=False), False),
        ([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1)], False),
        ([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1), chunk({}, "stop", index=1)], True),
        ([chunk({"content": "a"}), {"error": {"message": "down"}}], True),
        ([chunk({"content": "a"}, "")], False),
    ],
)
def test_only_the_wires_own_evidence_completes(events: list[Any], complete: bool) -> None:
    assert folded_of(events).complete is complete


def test_a_stream_without_finish_reason_keeps_its_call_broken() -> None:
    record = record_of(stream(call_delta(0, "a", "f", ""), call_delta(0, None, None, "{"), finish=None, done=False))
    call = record["messages"][0]["parts"][0]["tool_call"]
    assert "arguments" not in call and call["raw_arguments"] == "{" and call["arguments_error"]
    assert "finish_reason" not in record and record["status"] == "incomplete"


def test_a_call_that_was_cut_before_its_arguments_is_not_a_call_without_arguments() -> None:
    for finish in ("length", None):
        record = record_of(stream(call_delta(0, "a", "f", ""), finish=finish, done=False))
        call = record["messages"][0]["parts"][0]["tool_call"]
        assert "arguments" not in call and call["arguments_error"], finish
    whole = record_of(stream(call_delta(0, "a", "f", ""), finish="tool_calls"))
    assert whole["messages"][0]["parts"][0]["tool_call"]["arguments"] == "{}"


def test_content_after_the_finish_reason_is_kept() -> None:
    events = [chunk({"content": "a"}, "stop"), chunk({"content": "b"}), chunk({"content": ""}, "stop"), "[DONE]"]
    body = folded_of(events).body
    assert body["choices"][0]["message"]["content"] == "ab" and body["choices"][0]["finish_reason"] == "stop"


# Several responses, several choices


def test_what_follows_the_terminator_is_another_response() -> None:
    second = [{**event, "id": "chatcmpl-2"} if isinstance(event, dict) else event for event in stream({"content": "b"})]
    first, other = CODEC.fold([*stream({"content": "a"}), *second])
    assert (first.body["id"], other.body["id"]) == ("chatcmpl-1", "chatcmpl-2")
    assert (first.events, other.events) == (2, 2) and first.complete and other.complete


def test_a_new_id_after_the_finish_is_another_response_even_without_terminator() -> None:
    second = [{**chunk({"role": "assistant", "content": "b"}, "stop"), "id": "chatcmpl-2"}]
    first, other = CODEC.fold([*stream({"content": "a"}, done=False), chunk(usage=USAGE), *second])
    assert first.body["usage"] == USAGE and other.body["choices"][0]["message"]["content"] == "b"


def test_usage_after_the_terminator_belongs_to_the_response_before() -> None:
    assert folded_of([*stream({"content": "a"}), chunk(usage=USAGE)]).body["usage"] == USAGE


def test_ids_that_change_with_every_chunk_are_one_response() -> None:
    events = [{**chunk({"role": "assistant", "content": text}), "id": f"x-{text}"} for text in "abc"]
    body = folded_of([*events, {**chunk({}, "stop"), "id": "stub"}]).body
    assert body["id"] == "x-a" and body["choices"][0]["message"]["content"] == "abc"


def test_choices_interleave_and_come_out_by_index() -> None:
    events = [chunk({"content": text}, index=index) for index, text in ((1, "c"), (0, "a"), (1, "d"), (0, "b"))]
    events += [chunk({}, "stop", index=0), chunk({}, "length", index=1)]
    choices = folded_of(events).body["choices"]
    assert [(one["index"], one["message"]["content"], one["finish_reason"]) for one in choices] == [
        (0, "ab", "stop"),
        (1, "cd", "length"),
    ]


def test_a_choice_index_that_grows_with_every_chunk_is_one_choice() -> None:
    events = []
    for at, text in enumerate(("Moon", ",", " maybe")):
        event = chunk({"role": "assistant", "content": text}, "stop" if at == 2 else None, index=196 + at)
        event["choices"][0]["message"] = {"role": "assistant", "content": text}
        events.append(event)
    folded = folded_of([*events, "[DONE]"])
    (choice,) = folded.body["choices"]
    assert (choice["index"], choice["message"]["content"], choice["finish_reason"]) == (0, "Moon, maybe", "stop")
    assert folded.complete and folded.stray == []


def test_choices_that_come_whole_in_one_chunk_each_stay_apart() -> None:
    events = [chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "stop", index=1), "[DONE]"]
    assert [one["message"]["content"] for one in folded_of(events).body["choices"]] == ["a", "b"]


def test_a_whole_completion_in_a_stream_is_itself() -> None:
    whole = response({"role": "assistant", "content": "Hi", "refusal": None}, usage=USAGE)
    assert folded_of([whole, "[DONE]"]).body == whole


# Content and reasoning


def test_blank_deltas_and_null_say_what_a_whole_body_would() -> None:
    assert message_of({"content": None}, {"content": ""})["content"] == ""
    assert message_of({"content": None})["content"] is None
    assert message_of({"content": ""}, {"content": "a"}, {"content": None})["content"] == "a"
    assert message_of({"refusal": None}, {"refusal": "N"}, {"refusal": "o"})["refusal"] == "No"


def test_a_role_that_is_sent_again_is_not_joined() -> None:
    assert message_of({"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}) == {
        "role": "assistant",
        "content": "ab",
    }


def test_content_lists_merge_neighbours_of_one_type() -> None:
    thinking = [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]} for text in ("a", "b")
    ]
    closed = {"content": [{"type": "thinking", "thinking": [], "closed": True}]}
    reference = {"type": "reference", "reference_ids": [1]}
    message = message_of(
        {"content": ""}, *thinking, closed, {"content": "c"}, {"content": "d"}, {"content": [reference]}
    )
    assert message["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}], "closed": True},
        {"type": "text", "text": "cd"},
        reference,
    ]


def test_a_string_before_a_content_list_becomes_its_first_text() -> None:
    message = message_of({"content": "a"}, {"content": "b"}, {"content": [{"type": "text", "text": "c"}]})
    assert message["content"] == [{"type": "text", "text": "abc"}]


def detail(kind: str, **fields: Any) -> Any:
    return {"reasoning_details": [{"type": f"reasoning.{kind}", "index": 0, **fields}]}


def test_reasoning_details_merge_neighbours_of_one_type() -> None:
    deltas = [
        detail("summary", summary="Plan"),
        detail("summary", summary=" it"),
        detail("encrypted", data="ZW5j", id="r"),
    ]
    assert message_of(*deltas)["reasoning_details"] == [
        {"type": "reasoning.summary", "index": 0, "summary": "Plan it"},
        {"type": "reasoning.encrypted", "index": 0, "data": "ZW5j", "id": "r"},
    ]


def test_a_signature_ends_a_block_of_reasoning() -> None:
    deltas = [
        detail("text", text="a"),
        detail("text", text="", signature="s1"),
        detail("text", text="b", signature="s2"),
    ]
    blocks = message_of(*deltas)["reasoning_details"]
    assert [(block["text"], block["signature"]) for block in blocks] == [("a", "s1"), ("b", "s2")]


def test_a_signature_that_is_blank_until_it_comes_is_one() -> None:
    deltas = [detail("text", text="a", signature=""), detail("text", text="b", signature="")]
    (block,) = message_of(*deltas, detail("text", text="", signature="s1"))["reasoning_details"]
    assert (block["text"], block["signature"]) == ("ab", "s1")


def test_thinking_blocks_beside_the_same_text_are_blocks_each_with_its_signature() -> None:
    """LiteLLM says each piece twice, and the signature of a block in a delta of its own."""
    deltas = []
    for piece in ("Hm", ". "):
        block = {"type": "thinking", "thinking": piece, "signature": None}
        deltas.append({"reasoning_content": piece, "thinking_blocks": [block]})
    deltas += [
        {"reasoning_content": "", "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]},
        {"thinking_blocks": [BLOCKS[1]]},
        {"reasoning_content": "So.", "thinking_blocks": [{"type": "thinking", "thinking": "So."}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2lnMg=="}]},
        {"content": "Hi"},
    ]
    message = message_of({"role": "assistant"}, *deltas)
    assert message["thinking_blocks"] == BLOCKS
    assert message["reasoning_content"] == "Hm. So."
    parts = record_of(stream({"role": "assistant"}, *deltas))["messages"][0]["parts"]
    assert [part["type"] for part in parts] == ["reasoning"] * 3 + ["text"]
    assert [part["reasoning"].get("signature") for part in parts[:3]] == ["c2ln", None, "c2lnMg=="]
    assert [part["continuation"] for part in parts[:3]] == [["signature"], ["data"], ["signature"]]


def test_encrypted_reasoning_is_never_joined() -> None:
    deltas = [detail("encrypted", data="YQ=="), detail("encrypted", data="Yg==")]
    assert [block["data"] for block in message_of(*deltas)["reasoning_details"]] == ["YQ==", "Yg=="]
    again = [detail("encrypted", data="YQ==", id="r")] * 2
    assert len(message_of(*again)["reasoning_details"]) == 1


def test_reasoning_said_three_times_is_read_once_and_comes_back_three_times() -> None:
    deltas = [
        {"reasoning_content": text, "reasoning": text, "content": "", **detail("summary", summary=text)}
        for text in ("Count", "ing")
    ]
    record = record_of(stream(*deltas, {"content": "3", "reasoning": None}))
    assert words(record) == [("reasoning", "Counting"), ("text", "3")]
    assert "extras" not in record["messages"][0]


def test_reasoning_beside_encrypted_details_is_read() -> None:
    record = record_of(
        stream({"reasoning": "Hm"}, {"reasoning": "."}, detail("encrypted", data="ZW5j"), {"content": "a"})
    )
    assert words(record) == [("reasoning", "Hm."), ("reasoning", ""), ("text", "a")]


# Order


def test_the_usual_order_needs_no_layout() -> None:
    deltas = [{"reasoning_content": "r"}, {"content": "a"}, call_delta(0, "c", "f", "{}")]
    assert folded_of(stream(*deltas)).layout is None


def test_text_around_calls_keeps_its_place() -> None:
    deltas = [{"content": "Let me "}, {"content": "look."}, call_delta(0, "a", "f", '{"x":'), {"content": "\n"}]
    deltas += [call_delta(0, None, None, "1}"), call_delta(1, "b", "g", "{}"), {"content": "Done."}]
    record = record_of(stream(*deltas, finish="tool_calls"))
    assert words(record) == [("text", "Let me look."), ("call", "f"), ("text", "\n"), ("call", "g"), ("text", "Done.")]


def test_reasoning_between_calls_keeps_its_place() -> None:
    deltas = [{"reasoning_content": "one"}, call_delta(0, "a", "f", "{}"), {"reasoning_content": "two"}]
    record = record_of(stream(*deltas, call_delta(1, "b", "g", "{}"), {"content": "end"}))
    assert words(record) == [("reasoning", "one"), ("call", "f"), ("reasoning", "two"), ("call", "g"), ("text", "end")]


def test_content_lists_around_calls_keep_their_place() -> None:
    text = {"content": [{"type": "text", "text": "b"}]}
    record = record_of(stream({"content": "a"}, call_delta(0, "c", "f", "{}"), text, call_delta(1, "d", "g", "{}")))
    assert words(record) == [("text", "a"), ("call", "f"), ("text", "b"), ("call", "g")]


def test_citations_go_to_the_first_text_of_a_split_one() -> None:
    citation = {"type": "url_citation", "url_citation": {"url": "https://example.org"}}
    deltas = [{"content": "a"}, call_delta(0, "c", "f", "{}"), {"content": "b"}, {"annotations": [citation]}]
    first, _, second = record_of(stream(*deltas))["messages"][0]["parts"]
    assert first["citations"][0]["url"] == "https://example.org" and "citations" not in second


def test_layouts_stand_with_their_choice() -> None:
    events = [chunk({"content": "a"}, index=1), chunk(call_delta(0, "c", "f", "{}"), index=0)]
    events += [chunk({"content": "b"}, index=0), chunk({}, "stop", index=0), chunk({}, "stop", index=1)]
    assert folded_of(events).layout == [[["tool_calls", 1], ["content", 1]], None]


# Other fields


def test_logprobs_are_joined() -> None:
    events = [chunk({"content": text}) for text in "ab"]
    for event in events:
        event["choices"][0]["logprobs"] = LOGPROBS
    whole = folded_of([*events, chunk({}, "stop")]).body["choices"][0]["logprobs"]
    assert whole == {"content": LOGPROBS["content"] * 2, "refusal": None}


def test_audio_is_joined() -> None:
    deltas = [
        {"audio": {"id": "audio_1", "transcript": "It "}},
        {"audio": {"data": "UklG"}},
        {"audio": {"transcript": "rains", "data": "Rg=="}},
        {"audio": {"expires_at": 1767229200}},
    ]
    assert message_of(*deltas)["audio"] == {
        "id": "audio_1",
        "transcript": "It rains",
        "data": "UklGRg==",
        "expires_at": 1767229200,
    }


def test_audio_pieces_that_were_padded_each_are_one_base64_text() -> None:
    assert message_of({"audio": {"data": "YQ=="}}, {"audio": {"data": "Yg=="}})["audio"]["data"] == "YWI="
    assert message_of({"audio": {"data": "?="}}, {"audio": {"data": "Yg=="}})["audio"]["data"] == "?=Yg=="


def test_usage_on_every_chunk_is_a_running_total() -> None:
    events = [chunk({"content": "a"}, usage={**USAGE, "completion_tokens": at}) for at in (1, 2, 3)]
    assert folded_of([*events, chunk({}, "stop", usage=None)]).body["usage"]["completion_tokens"] == 3


def test_groqs_wrapped_usage_goes_where_whole_bodies_have_it() -> None:
    events = [
        chunk({"role": "assistant", "content": "a"}, x_groq={"id": "req_1", "seed": 3}),
        chunk({}, "stop", x_groq={"id": "req_1", "usage": USAGE, "usage_breakdown": {"models": []}}),
    ]
    body = folded_of(events).body
    assert body["usage"] == USAGE and body["usage_breakdown"] == {"models": []}
    assert body["x_groq"] == {"id": "req_1", "seed": 3}


def test_azures_first_chunk_names_nothing() -> None:
    filters = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]
    first = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": filters}
    late = {"index": 0, "finish_reason": None, "content_filter_results": {"hate": {"filtered": False}}}
    events = [first, *stream({"role": "assistant", "content": "a"}, done=False), {**first, "choices": [late]}, "[DONE]"]
    record = record_of(events)
    assert (record["response_id"], record["served_model"]) == ("chatcmpl-1", "m-1")
    assert "prompt_filter_results" in record["safety"] and "hate" in record["messages"][0]["safety"]
    assert record["finish_reason"] == "stop" and "extras" not in record


def test_moderation_on_its_own_chunk_is_kept() -> None:
    moderation = {"input": {"type": "moderation_results", "model": "omni", "results": []}}
    events = [chunk({"content": "a"}, "stop"), chunk(usage=USAGE), chunk(moderation=moderation), "[DONE]"]
    body = folded_of(events).body
    assert body["moderation"] == moderation and body["usage"] == USAGE


def test_groqs_executed_tool_is_sent_again_with_its_output() -> None:
    tool = {"index": 0, "type": "search", "arguments": '{"q":1}', "search_results": {"results": []}}
    done = {**tool, "output": "sunny", "search_results": {"results": [1]}}
    deltas = [{"reasoning": "a"}, {"executed_tools": [tool]}, {"executed_tools": [done]}, {"reasoning": "b"}]
    folded = folded_of(stream(*deltas))
    assert folded.body["choices"][0]["message"]["executed_tools"] == [done]
    kinds = [part["type"] for part in record_of(stream(*deltas))["messages"][0]["parts"]]
    assert kinds == ["reasoning", "tool_call", "tool_result", "reasoning"]


def test_unknown_fields_are_kept_and_counted() -> None:
    folded = folded_of(
        [chunk({"musings": "a", "content": "x"}, new=1), chunk({"musings": "b"}, "stop", new=2), "[DONE]"]
    )
    assert folded.body["choices"][0]["message"]["musings"] == "ab"
    assert folded.body["new"] == [1, 2]
    assert folded.unknown == [("delta", "musings")]


def test_a_legacy_completion_streams_texts() -> None:
    events = [
        {"id": "cmpl-1", "object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": None}]}
        for text in ("a", "a", "b")
    ]
    events.append(
        {"id": "cmpl-1", "object": "text_completion", "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
    )
    record = record_of([*events, "[DONE]"])
    assert words(record) == [("text", "aab")]


# Errors and strays


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"error": {"message": "down", "type": "server_error"}}, ("server_error", None, "down")),
        ({"error": "down"}, (None, None, "down")),
        ({"object": "error", "message": "down", "code": 400}, (None, "400", "down")),
        (chunk({"content": ""}, "error", error={"code": 502, "message": "down"}), (None, "502", "down")),
        (chunk({}, x_groq={"id": "r", "error": "down"}), (None, None, "down")),
        (
            {**chunk(), "choices": None, "error_type": "Bad", "error_message": "down", "error_code": 400},
            ("Bad", "400", "down"),
        ),
    ],
)
def test_an_error_frame_fails_the_partial_answer(frame: Any, expected: Any) -> None:
    record = record_of([chunk({"role": "assistant", "content": "par"}), chunk({"content": "tial"}), frame])
    assert record["status"] == "failed"
    assert tuple(record["error"].get(key) for key in ("type", "code", "message")) == expected
    assert words(record) == [("text", "partial")]
    alone = record_of([frame, "[DONE]"])
    assert alone["status"] == "failed" and alone["error"]["message"] == "down"


def test_an_error_in_a_choice_is_the_responses() -> None:
    event = chunk({"content": "par"}, "error")
    event["choices"][0]["error"] = {"code": 502, "message": "down"}
    record = record_of([event, "[DONE]"])
    assert record["error"]["message"] == "down" and record["status"] == "failed"


def test_events_that_no_response_can_take_are_stray() -> None:
    foreign = {"type": "response.created", "response": {}}
    folded = folded_of([None, *stream({"content": "a"}, done=False), "event: x", 7, foreign, ["a"], "[DONE]"])
    assert folded.stray == [None, "event: x", 7, foreign, ["a"]]
    assert folded.unknown == [("event", "response.created")]
    assert folded.body["choices"][0]["message"]["content"] == "a"


def test_strays_alone_are_not_lost() -> None:
    (folded,) = CODEC.fold(["oops"])
    assert folded.stray == ["oops"] and not folded.complete
    assert CODEC.read_response(folded.body, Reading("call", "response"), None)["status"] == "incomplete"
    assert CODEC.fold([]) == [] and CODEC.fold(["[DONE]"]) == []


def test_a_last_message_that_says_all_again_adds_what_no_delta_had() -> None:
    last = chunk({}, "stop")
    last["choices"][0]["message"] = {"role": "assistant", "content": "Hello", "name": "M", "audio_content": ""}
    folded = folded_of([chunk({"role": "assistant", "content": "He"}), chunk({"content": "llo"}), last, "[DONE]"])
    assert folded.stray == []
    message = folded.body["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Hello", "name": "M", "audio_content": ""}


def test_a_message_that_contradicts_its_deltas_is_stray() -> None:
    event = chunk({"content": "a"}, "stop")
    event["choices"][0]["message"] = {"role": "assistant", "content": "something else"}
    folded = folded_of([event])
    assert folded.stray == [{"choices": [{"index": 0, "message": event["choices"][0]["message"]}]}]


@pytest.mark.parametrize("key", ["channel", "name", "role", "prefix"])
def test_what_every_delta_repeats_does_not_break_up_a_stretch(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        {"id": "c", "choices": [{"index": 0, "delta": {"reasoning": f"{at} ", key: "analysis"}, "finish_reason": None}]}
        for at in range(150)
    ]
    values = read([dumps(event).encode() for event in events])
    (other,) = CODEC.fold(events)
    monkeypatch.setattr(Stretch, "events", lambda stretch: pytest.fail("an event by itself"))
    (one,) = CODEC.fold(values)
    assert any(type(value) is Stretch for value in values)
    assert one == other


@pytest.mark.parametrize(("index", "texts"), [(1.0, ["ad", "bce"]), (True, ["acde", "b"])])
def test_an_index_that_is_no_plain_number_means_the_same_inside_of_a_run(index: Any, texts: list[str]) -> None:
    places: list[tuple[Any, str]] = [(0, "a"), (1, "b"), (index, "c"), (0, "d"), (index, "e")]
    base = {"id": "c", "created": 1, "model": "m"}
    events = [{**base, "choices": [{"index": at, "delta": {"content": text}}]} for at, text in places]
    assert [choice["message"]["content"] for choice in folded_of(events).body["choices"]] == texts


@pytest.mark.parametrize("where", ["chunk", "choice", "delta", "call"])
def test_an_object_that_grows_a_key_a_chunk_is_linear_to_fold(where: str) -> None:
    def event(number: int) -> dict[str, Any]:
        grown = {"growing": {"inside": {f"k{number}": number}}}
        fragment = {"index": 0, "function": {"name": "f", "arguments": ""}, **(grown if where == "call" else {})}
        delta = {"tool_calls": [fragment], **(grown if where == "delta" else {})}
        choice = {"index": 0, "delta": delta, **(grown if where == "choice" else {})}
        return {"id": "c", "choices": [choice], **(grown if where == "chunk" else {})}

    def seconds(count: int) -> float:
        events = [event(number) for number in range(count)]
        took = []
        for _ in range(2):
            start = time.process_time()
            body = folded_of(events).body
            took.append(time.process_time() - start)
        choice = body["choices"][0]
        message = choice["message"]
        holder = {"chunk": body, "choice": choice, "delta": message, "call": message["tool_calls"][0]}[where]
        assert holder["growing"]["inside"] == {f"k{number}": number for number in range(count)}
        return min(took)

    # Copying is C's work: steps of Python do not show it, time does.
    assert seconds(16_000) < 8 * 3 * seconds(2_000)


def test_choices_that_are_no_list_are_kept_though_the_rest_says_nothing_new() -> None:
    base = {"id": "c", "created": 1, "model": "m"}
    first = {**base, "choices": [{"index": 0, "delta": {"content": "a"}}]}
    assert folded_of([first, {**base, "choices": {"a": 1}}]).stray == [{"choices": {"a": 1}}]
