"""Streams of which many events look alike and some mean more than they seem to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.errors import FramingError
from headrace.json_text import dumps, loads
from headrace.protocols import codec
from headrace.protocols.stretches import Stretch, read

_MANY = 200


def run_of(text: str = "w{at}") -> list[bytes]:
    return [dumps({"type": "x", "text": text.format(at=at)}).encode() for at in range(_MANY)]


@pytest.mark.parametrize(
    "odd",
    [
        [b'{"type":"x","text":"}'],
        [b'{"type":"x","text":"a","b"}'],
        [b'{"type":"x","text":"a\\"}', b'{"type":"x","text":",\\"b","c"}'],
        [b'{"type":"x","text":"a\\"}', b'{"type":"x","text":",","c"}'],
        [b'{"type":"x","text":"a\nb"}'],
        [b'{"type":"x","text":"\xff"}'],
        [b'{"type":"x","text":"\\x"}'],
        [b'{"type":"x","text":"a"}}'],
    ],
)
def test_what_is_no_json_is_not_taken_for_an_event_of_a_stretch(odd: list[bytes]) -> None:
    payloads = run_of()
    payloads[100:100] = odd
    with pytest.raises(FramingError):
        read(payloads)


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"x","text":"a","text":"b"}',
        b'{"type":"x","text":"a","more":"b"}',
        b'{"type":"x","text":"\\ud83d"}',
        b'{"type":"x","text":"\\u0022,\\\\"}',
        b'{"type":"x","text":"\\\\\\",\\"" }',
        b'{"type":"x","text":"a"} ',
        b'{"type" :"x","text":"a"}',
        b'{"type":"y","text":"a"}',
        b'{"type":"x","text":null}',
        b'{"type":"x","test":"a"}',
    ],
)
def test_an_odd_event_among_many_alike_is_read_as_it_is(odd: bytes) -> None:
    payloads = run_of()
    payloads[100] = odd
    texts: list[Any] = []
    for value in read(payloads):
        texts += value.columns["text",] if type(value) is Stretch else [value.get("text")]
    assert texts == [loads(payload).get("text") for payload in payloads]


def test_a_key_that_comes_twice_gives_no_stretch_of_its_first_value() -> None:
    payloads = [b'{"text":"a%d","type":"x","text":"b"}' % at for at in range(_MANY)]
    assert read(payloads) == [loads(payload) for payload in payloads]


def test_numbers_are_exact_and_padding_after_the_last_bracket_is_none() -> None:
    payloads = [b'{"n":%d,"text":"a"%s}' % (10**17 + at * 10**20, b" " * (at % 3)) for at in range(_MANY)]
    (stretch,) = [value for value in read(payloads) if type(value) is Stretch]
    numbers = [loads(payload)["n"] for payload in stretch.payloads]
    assert stretch.columns["n",] == numbers


def chat(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more}


def call(text: str, index: int = 0, **more: Any) -> dict[str, Any]:
    return chat({"tool_calls": [{"index": index, "function": {"arguments": text}, **more}]})


def opened(index: int) -> dict[str, Any]:
    fragment = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": "f", "arguments": "{"}}
    return chat({"tool_calls": [fragment]})


def delta(text: str, item_id: str, number: int) -> dict[str, Any]:
    place = {"item_id": item_id, "output_index": 0, "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": text, "sequence_number": number}


def added(item_id: str, index: int, number: int) -> dict[str, Any]:
    item = {"id": item_id, "type": "message", "role": "assistant", "content": []}
    return {"type": "response.output_item.added", "output_index": index, "item": item, "sequence_number": number}


def beside(delta: dict[str, Any], text: str) -> dict[str, Any]:
    """A chunk with the text of a legacy completion beside its delta."""
    whole = chat(delta)
    whole["choices"][0]["text"] = text
    return whole


def called(item_id: str, index: int, number: int) -> dict[str, Any]:
    item = {"id": item_id, "type": "function_call", "call_id": f"call_{item_id}", "name": "f", "arguments": ""}
    return {"type": "response.output_item.added", "output_index": index, "item": item, "sequence_number": number}


def arguments(text: str, item_id: str, number: int) -> dict[str, Any]:
    return {**delta(text, item_id, number), "type": "response.function_call_arguments.delta"}


_FINISH = {"id": "z", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
_STREAMS: dict[str, tuple[str, list[Any]]] = {
    "a text beside one that stays the same": (
        "openai.chat", [chat({"content": f"w{at}", "reasoning": "same"}) for at in range(_MANY)]
    ),
    "a field beside a text": ("openai.chat", [chat({"content": f"w{at}", "name": "n"}) for at in range(_MANY)]),
    "arguments that are sent again, whole": (
        "openai.chat", [opened(0), *(call("{" if at == 150 else str(at)) for at in range(_MANY))]
    ),
    "arguments of calls that never began": ("openai.chat", [call(str(at), index=at % 3) for at in range(_MANY)]),
    "interleaved arguments": (
        "openai.chat", [opened(0), opened(1), *(call(str(at), index=at % 2) for at in range(_MANY))]
    ),
    "an id for every chunk, then what would be another answer": (
        "openai.chat",
        [*({**chat({"content": f"w{at}"}), "id": f"c{at}"} for at in range(_MANY)), _FINISH,
         {**chat({"role": "assistant", "content": "b"}), "id": "other"}],
    ),
    "content that became a list": (
        "openai.chat",
        [chat({"content": [{"type": "text", "text": "a"}]}), *(chat({"content": f"w{at}"}) for at in range(_MANY))],
    ),
    "ids of another item": (
        "openai.responses",
        [added("a", 0, 0), added("b", 1, 1), *(delta(f"w{at}", "ab"[at % 2], at + 2) for at in range(_MANY))],
    ),
    "ids nobody knows": (
        "openai.responses", [added("a", 0, 0), *(delta(f"w{at}", f"r{at}", at + 1) for at in range(_MANY))]
    ),
    "numbers that come twice": (
        "openai.responses", [added("a", 0, 0), *(delta(f"w{at}", "a", at // 2) for at in range(_MANY))]
    ),
    "a gap in the numbers": (
        "openai.responses", [added("a", 0, 0), *(delta(f"w{at}", "a", at + at // 150 * 5) for at in range(1, _MANY))]
    ),
    "a text and a token beside the content": (
        "openai.chat",
        [beside({"content": f"w{at}", "token_id": at, "role": "assistant"}, f"w{at}") for at in range(_MANY)],
    ),
    "a text that says something else than the content": (
        "openai.chat", [beside({"content": f"w{at}", "token_id": 7}, "same") for at in range(_MANY)]
    ),
    "an id for every chunk, and a list nobody knows": (
        "openai.chat", [{**chat({"content": f"w{at}"}), "id": f"c{at}", "odd": [1]} for at in range(_MANY)]
    ),
    "deltas of arguments that have a content index": (
        "openai.responses",
        [called("a", 0, 0), added("b", 1, 1), arguments("{", "a", 2), *(delta("c", "b", 3 + at) for at in range(_MANY)),
         {**delta("d", "b", 300), "content_index": 1}],
    ),
    "empty pieces": ("openai.chat", [chat({"content": "" if at % 3 else f"w{at}"}) for at in range(_MANY)]),
}  # fmt: skip


@pytest.mark.parametrize("name", _STREAMS)
def test_it_folds_as_its_events_one_by_one(name: str) -> None:
    protocol, events = _STREAMS[name]
    payloads = [json.dumps(event).encode() for event in events]
    values = read(payloads)
    assert any(type(value) is Stretch for value in values)
    fold = codec(protocol).fold
    assert fold(values) == fold([loads(payload) for payload in payloads])
    assert [dumps(one.body) for one in fold(values)] == [dumps(one.body) for one in fold(events)]


def test_a_chunk_like_the_others_but_for_a_key_is_read_as_it_is() -> None:
    padded = [chat({"content": text}, obfuscation="x") for text in "abc"]
    (folded,) = codec("openai.chat").fold([*padded, chat({"content": "d"}, odd=1), *padded])
    assert folded.body["odd"] == 1
    assert folded.body["choices"][0]["message"]["content"] == "abcdabc"


def test_a_text_is_found_by_all_that_tells_its_place() -> None:
    """Events of two kinds with the same keys, of which only one has its text in a list."""
    parts = [{**delta(str(at), "b", 3 + at), "output_index": 1, "content_index": at % 2} for at in range(4)]
    (folded,) = codec("openai.responses").fold([called("a", 0, 0), added("b", 1, 1), arguments("{}", "a", 2), *parts])
    call_item, message = folded.body["output"]
    assert call_item["arguments"] == "{}"
    assert [part["text"] for part in message["content"]] == ["02", "13"]
