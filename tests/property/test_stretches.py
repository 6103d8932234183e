"""Stretches change nothing: a stream read in stretches is, event by event, what parsing gives, and folds the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import FramingError
from headrace.json_text import dumps, loads
from headrace.protocols import codec, stretches
from headrace.protocols.stretches import Stretch, read


@pytest.fixture(autouse=True, scope="module")
def short_stretches() -> Iterator[None]:
    """Stretches begin and end every few events, so that small streams have many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_WORTH": 2, "_LEARN_AFTER": 2, "_AGAIN": 1, "_MOST_BETWEEN": 2, "_FEW": 2}.items():
            patch.setattr(stretches, name, value)
        yield


_TEXT = st.one_of(
    st.sampled_from(
        ["", " ", "a", "{", '{"a":', '"', "\\", '\\"', "é", "\n", "😀", "\ud83d", "\ude00", '","', "{}", "5"]
    ),
    st.text(max_size=6),
)
_NUMBER = st.one_of(st.integers(0, 3), st.integers(0, 2**70), st.sampled_from([-1, True, None, 1.5, "0"]))
#: Two numbers and two texts of one event, for its maker to use.
_Lane = Callable[[Any, Any, str, str], dict[str, Any]]


def _chat(delta: Callable[[Any, Any, str], dict[str, Any]], **more: Any) -> _Lane:
    def made(index: Any, number: Any, text: str, other: str) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta(index, number, text), "finish_reason": None}
        return {"id": "c", "created": 1, "choices": [choice], **more}

    return made


def _call(index: Any, _: Any, text: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def _response(name: str, **more: Any) -> _Lane:
    return lambda index, number, text, other: {
        "type": f"response.{name}.delta", "item_id": "i", "output_index": 0, "delta": text, "sequence_number": number,
        **more,
    }  # fmt: skip


def _candidate(part: dict[str, Any], usage: Any, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **more}
    return {"candidates": [candidate], "usageMetadata": {"totalTokenCount": usage}, "responseId": "r"}


_LANES: dict[str, list[_Lane]] = {
    "openai.chat": [
        _chat(lambda index, number, text: {"content": text}),
        _chat(lambda index, number, text: {"role": "assistant", "content": text, "refusal": None}),
        _chat(lambda index, number, text: {"reasoning": text, "content": ""}),
        _chat(_call),
        lambda index, number, text, other: {**_chat(_call)(0, 0, text, ""), "id": other, "created": number},
        lambda index, number, text, other: {**_chat(_call)(0, 0, text, ""), "obfuscation": other},
        lambda index, number, text, other: {**_chat(lambda *_: {"content": text})(0, 0, "", ""), "model": other},
        _chat(lambda index, number, text: {
            "tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": "f", "arguments": text}}]
        }),
        lambda index, number, text, other: {
            "id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": text}], "usage": {"total_tokens": number}
        },
    ],
    "openai.responses": [
        _response("output_text", content_index=0),
        _response("output_text", content_index=0, logprobs=[]),
        lambda index, number, text, other: {
            **_response("reasoning_summary_text")(index, number, text, other), "summary_index": index, "item_id": "r"
        },
        lambda index, number, text, other: {
            **_response("function_call_arguments")(index, number, text, other), "output_index": index, "item_id": other
        },
        lambda index, number, text, other: {
            "type": "response.output_item.done", "output_index": index, "sequence_number": number,
            "item": {"id": "i", "type": "message", "content": [{"type": "output_text", "text": text}]},
        },
        lambda index, number, text, other: {"type": "response.created", "response": {"id": other}},
    ],
    "anthropic.messages": [
        lambda index, number, text, other: {
            "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}
        },
        lambda index, number, text, other: {
            "type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}
        },
        lambda index, number, text, other: {
            "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}, "x": other
        },
        lambda index, number, text, other: {
            "type": "content_block_start", "index": index, "content_block": {"type": "text", "text": text}
        },
        lambda index, number, text, other: {"type": "message_start", "message": {"id": other, "usage": {"n": number}}},
    ],
    "gemini.generate_content": [
        lambda index, number, text, other: _candidate({"text": text}, number),
        lambda index, number, text, other: _candidate({"text": text, "thought": True}, 1),
        lambda index, number, text, other: {**_candidate({"text": text}, 1), "modelVersion": other},
        lambda index, number, text, other: _candidate({"text": text}, number, groundingMetadata={"q": [other]}),
        lambda index, number, text, other: _candidate({"functionCall": {"name": text}}, number, finishReason="STOP"),
    ],
    "gemini.interactions": [
        lambda index, number, text, other: {
            "event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": text}
        },
        lambda index, number, text, other: {
            "event_type": "step.delta", "index": index, "delta": {"type": "arguments_delta", "arguments": text}
        },
        lambda index, number, text, other: {
            "event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": text}, "event_id": other
        },
        lambda index, number, text, other: {
            "event_type": "step.start", "index": index, "step": {"type": "function_call", "name": text}
        },
        lambda index, number, text, other: {"event_type": "interaction.created", "interaction": {"id": other}},
    ],
    "gemini.live": [
        lambda index, number, text, other: {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}},
        lambda index, number, text, other: {"serverContent": {"outputTranscription": {"text": text}}},
        lambda index, number, text, other: {"from": "client", "frame": {"realtimeInput": {"audio": {
            "mimeType": "audio/pcm", "data": "AAAA" if text < other else "//8="}}}},
        lambda index, number, text, other: {"from": "server", "frame": {"serverContent": {"modelTurn": {"parts": [
            {"inlineData": {"mimeType": "audio/pcm", "data": "AAAA" if text < "a" else text}}]}}}},
        lambda index, number, text, other: {"serverContent": {"turnComplete": True}, "usageMetadata": {"n": number}},
    ],
}  # fmt: skip


@st.composite
def streams(draw: st.DrawFn, protocol: str) -> list[bytes]:
    """Runs of events of the same lane; now and then another event, or an event with something odd in it."""
    lanes = _LANES[protocol]
    events: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 5))):
        lane = draw(st.sampled_from(lanes))
        numbers = draw(st.sampled_from(["steady", "rising", "any"]))
        for text in draw(st.lists(_TEXT, min_size=1, max_size=12)):
            index = draw(st.integers(0, 2)) if numbers == "any" else 0
            step = {"steady": 0, "rising": len(events)}.get(numbers)
            number: Any = draw(_NUMBER) if step is None else step
            events.append(lane(index, number, text, draw(st.sampled_from(["x", "x", "y"]))))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(events) - 1))
        events.insert(at, draw(st.sampled_from([_odd(draw, events[at]), events[-1], {"type": "ping"}, "[DONE]", 5])))
    return [_text_of(draw, event) for event in events]


def _odd(draw: st.DrawFn, event: Any) -> Any:
    """The event with one value of it, at any depth, replaced, or one more key."""
    event = copy.deepcopy(event)
    holder: Any = event
    while type(holder) in (dict, list) and holder:
        key = draw(st.sampled_from(sorted(holder) if type(holder) is dict else list(range(len(holder)))))
        if type(holder[key]) not in (dict, list) or not holder[key] or draw(st.integers(0, 3)) == 0:
            holder[key] = draw(st.one_of(_NUMBER, _TEXT, st.sampled_from([{}, [], {"text": "b"}])))
            break
        holder = holder[key]
    if draw(st.booleans()) and type(holder) is dict:
        holder[draw(st.sampled_from(["more", "text", "index"]))] = draw(_NUMBER)
    return event


def _text_of(draw: st.DrawFn, event: Any) -> bytes:
    """JSON text in one of its spellings; white space among the last brackets as Anthropic pads it."""
    text = dumps(event) if draw(st.integers(0, 4)) else json.dumps(event, ensure_ascii=draw(st.booleans()))
    padding = draw(st.sampled_from(["", "", "", " ", "   "]))
    whole = text[:-1] + padding + text[-1:] if text.endswith("}") else text
    return whole.encode("utf-8", "surrogatepass") if "\\u" in whole else json.dumps(json.loads(whole)).encode()


def _events(values: Sequence[Any]) -> list[Any]:
    """The events of stretches put together from their columns, those of no stretch as they are."""
    found: list[Any] = []
    for value in values:
        if type(value) is not Stretch:
            found.append(value)
            continue
        for at in range(len(value)):
            event = copy.deepcopy(value.event)
            for path, column in value.columns.items():
                holder: Any = event
                for step in path[:-1]:
                    holder = holder[step]
                holder[path[-1]] = column[at]
            found.append(event)
    return found


def _spelled(value: Any) -> str:
    """Exact to the type of numbers and the order of keys."""
    return json.dumps(value)


@pytest.mark.parametrize("protocol", _LANES)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_stretches_hold_what_parsing_gives_and_fold_the_same(protocol: str, data: st.DataObject) -> None:
    payloads = data.draw(streams(protocol))
    parsed = [loads(payload) for payload in payloads]
    values = read(payloads)
    assert _spelled(_events(values)) == _spelled(parsed)
    fold = codec(protocol).fold
    assert [_whole(one) for one in fold(values)] == [_whole(one) for one in fold(parsed)]


def _whole(folded: Any) -> tuple[Any, ...]:
    texts = (_spelled(folded.body), _spelled(folded.stray), _spelled(folded.layout))
    return (*texts, folded.complete, folded.events, folded.unknown, folded.missing, folded.record_type)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_bytes_that_are_no_json_are_refused_as_by_the_parser(data: st.DataObject) -> None:
    payloads = data.draw(streams(data.draw(st.sampled_from(list(_LANES)))))
    at = data.draw(st.integers(0, len(payloads) - 1))
    cut = data.draw(st.integers(0, len(payloads[at])))
    junk = data.draw(st.sampled_from([b'"', b"\\", b",", b"\xff", b"0", b"\n", b"}", b'":"', b"\xc3", b'"}', b""]))
    skipped = data.draw(st.integers(0, 2))
    payloads[at] = payloads[at][:cut] + junk + payloads[at][cut + skipped :]
    try:
        parsed = [loads(payload) for payload in payloads]
    except FramingError:
        with pytest.raises(FramingError):
            read(payloads)
    else:
        assert _spelled(_events(read(payloads))) == _spelled(parsed)


@pytest.mark.parametrize("protocol", _LANES)
def test_a_long_run_of_deltas_is_one_stretch_and_is_taken_whole(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = _LANES[protocol][0]
    payloads = [dumps(lane(0, at, f"w{at} ", "x")).encode() for at in range(200)]
    values = read(payloads)
    assert sum(len(value) for value in values if type(value) is Stretch) > 150
    monkeypatch.setattr(Stretch, "events", lambda self: pytest.fail("a stretch was broken up"))
    folded = codec(protocol).fold(values)
    assert sum(one.events for one in folded) == 200
    assert "w198 w199 " in _spelled([one.body for one in folded])
