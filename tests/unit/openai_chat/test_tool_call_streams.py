"""Tool calls out of fragments: the regular way, and each fault that servers have shown."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.protocols.openai_chat import CODEC
from tests.unit.openai_chat.samples import call_delta, stream


def calls_of(*deltas: Any) -> list[Any]:
    (folded,) = CODEC.fold(stream(*deltas, finish="tool_calls"))
    assert folded.stray == []
    calls: list[Any] = folded.body["choices"][0]["message"]["tool_calls"]
    return calls


def fragments(*several: Any) -> Any:
    """One delta with the fragments of several."""
    return {"tool_calls": [fragment for delta in several for fragment in delta["tool_calls"]]}


def said(calls: list[Any]) -> list[tuple[Any, Any, Any]]:
    """(id, name, arguments) of each call."""
    return [
        (call.get("id"), call.get("function", {}).get("name"), call.get("function", {}).get("arguments"))
        for call in calls
    ]


F, G = ("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')

#: Name -> (deltas, calls as (id, name, arguments)).
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "index, id and name once": (
        [call_delta(0, "a", "f", ""), call_delta(0, None, None, '{"x":'), call_delta(0, None, None, "1}")],
        [F],
    ),
    "two calls interleaved by index": (
        [
            call_delta(0, "a", "f", '{"x":'),
            call_delta(1, "b", "g", '{"y":'),
            call_delta(0, None, None, "1}"),
            call_delta(1, None, None, "2}"),
        ],
        [F, G],
    ),
    "calls in reverse order of index keep the order of first sight": (
        [call_delta(1, "b", "g", '{"y":2}'), call_delta(0, "a", "f", '{"x":1}')],
        [G, F],
    ),
    "no index, whole calls": ([call_delta(None, *F), call_delta(None, *G)], [F, G]),
    "no index, id on the first fragment only": (
        [call_delta(None, "a", "f", '{"x":'), call_delta(None, None, None, "1}"), call_delta(None, *G)],
        [F, G],
    ),
    "no index, id on every fragment": (
        [
            call_delta(None, "a", "f", '{"x":'),
            call_delta(None, "b", "g", '{"y":'),
            call_delta(None, "a", None, "1}"),
            call_delta(None, "b", None, "2}"),
        ],
        [F, G],
    ),
    "no index and no id, several in one chunk": (
        [
            fragments(call_delta(None, None, "f", '{"x":'), call_delta(None, None, "g", '{"y":')),
            fragments(call_delta(None, None, None, "1}"), call_delta(None, None, None, "2}")),
        ],
        [(None, *F[1:]), (None, *G[1:])],
    ),
    "no index and no id, one whole call a chunk": (
        [call_delta(None, None, *F[1:]), call_delta(None, None, *G[1:]), call_delta(None, None, *G[1:])],
        [(None, *F[1:]), (None, *G[1:]), (None, *G[1:])],
    ),
    "no index at first, then index": (
        [call_delta(None, "a", "f", ""), call_delta(0, None, None, '{"x":1}')],
        [F],
    ),
    "one index for all calls": ([call_delta(0, *F), call_delta(0, *G)], [F, G]),
    "one index for all calls, in one chunk": ([fragments(call_delta(0, *F), call_delta(0, *G))], [F, G]),
    "one index, the same function twice": (
        [call_delta(0, "a", "f", '{"x":1}'), call_delta(0, "b", "f", '{"x":2}')],
        [F, ("b", "f", '{"x":2}')],
    ),
    "one index, the same function twice without arguments": (
        [call_delta(0, "a", "f", ""), call_delta(0, "b", "f", "")],
        [("a", "f", ""), ("b", "f", "")],
    ),
    "one index, later fragments go on with the newest call": (
        [
            call_delta(0, "a", "f", '{"x":1}'),
            call_delta(0, "b", "g", ""),
            call_delta(0, None, None, '{"y":'),
            call_delta(0, None, None, "2}"),
        ],
        [F, G],
    ),
    "one index, later fragments name their call by id": (
        [
            call_delta(0, "a", "f", ""),
            call_delta(0, "b", "g", ""),
            call_delta(0, "a", None, '{"x":1}'),
            call_delta(0, "b", None, '{"y":2}'),
        ],
        [F, G],
    ),
    "one index and no ids, whole calls": (
        [call_delta(0, None, *F[1:]), call_delta(0, None, *G[1:]), call_delta(0, None, *G[1:])],
        [(None, *F[1:]), (None, *G[1:]), (None, *G[1:])],
    ),
    "id sent again": (
        [call_delta(0, "a", "f", ""), call_delta(0, "a", None, '{"x":'), call_delta(0, "a", None, "1}")],
        [F],
    ),
    "id and name sent again": (
        [call_delta(0, "a", "f", ""), call_delta(0, "a", "f", '{"x":'), call_delta(0, "a", "f", "1}")],
        [F],
    ),
    "id that comes late": ([call_delta(0, None, "f", ""), call_delta(0, "a", None, '{"x":1}')], [F]),
    "blank ids after the first": ([call_delta(0, "a", "f", ""), call_delta(0, "", None, '{"x":1}')], [F]),
    "another id with every chunk": (
        [call_delta(0, "a", "f", ""), call_delta(0, "q", None, '{"x":'), call_delta(0, "r", None, "1}")],
        [F],
    ),
    "another id with every chunk, and the name again": (
        [call_delta(0, "a", "f", '{"x":'), call_delta(0, "q", "f", "1"), call_delta(0, "r", "f", "}")],
        [F],
    ),
    "another id with every chunk, no index": (
        [call_delta(None, "a", "f", ""), call_delta(None, "q", None, '{"x":'), call_delta(None, "r", None, "1}")],
        [F],
    ),
    "equal ids, two calls": (
        [call_delta(0, "a", "f", '{"x":1}'), call_delta(1, "a", "g", '{"y":2}')],
        [F, ("a", "g", '{"y":2}')],
    ),
    "equal ids, two calls without index": (
        [call_delta(None, "a", "f", '{"x":1}'), call_delta(None, "a", "f", '{"x":2}')],
        [F, ("a", "f", '{"x":2}')],
    ),
    "an index that grows while the id stays": (
        [call_delta(0, "a", "f", ""), call_delta(1, "a", None, '{"x":'), call_delta(2, "a", None, "1}")],
        [F],
    ),
    "name split": ([call_delta(0, "a", "get_", ""), call_delta(0, None, "f", '{"x":1}')], [("a", "get_f", '{"x":1}')]),
    "blank name after the first": ([call_delta(0, "a", "f", ""), call_delta(0, None, "", '{"x":1}')], [F]),
    "several fragments of one index in one chunk": (
        [fragments(call_delta(0, "a", "f", '{"x":'), call_delta(0, None, None, "1}"))],
        [F],
    ),
    "whole arguments once more at the end": (
        [call_delta(0, "a", "f", '{"x":'), call_delta(0, None, None, "1}"), call_delta(0, "a", "f", '{"x":1}')],
        [F],
    ),
    "arguments as an object": (
        [call_delta(0, "a", "f"), call_delta(0, None, None, {"x": 1})],
        [("a", "f", {"x": 1})],
    ),
    "arguments as an object, twice": (
        [call_delta(0, "a", "f", {"x": 1}), call_delta(0, "a", None, {"x": 1})],
        [("a", "f", {"x": 1})],
    ),
    "no arguments at all": ([call_delta(0, "a", "f")], [("a", "f", None)]),
    "a second call under the first one's index, its rest under its own": (
        [call_delta(0, *F), call_delta(0, "b", "g", '{"y"'), call_delta(1, None, None, ":2}")],
        [F, G],
    ),
    "a second call of that name under the first one's index, its arguments under its own": (
        [call_delta(0, *F), call_delta(0, "b", "f", ""), call_delta(1, None, None, '{"y":2}')],
        [F, ("b", "f", '{"y":2}')],
    ),
    "an index that counts fragments": (
        [call_delta(0, "a", "f", ""), call_delta(1, None, None, '{"x":'), call_delta(2, None, None, "1}")],
        [F],
    ),
    "a whole call is not gone on with under another index": (
        [call_delta(0, *F), call_delta(1, None, None, '{"y"'), call_delta(1, "b", "g", ":2}")],
        [F, G],
    ),
    "calls whose beginning is lost stay two": (
        [call_delta(0, None, None, '{"x":'), call_delta(1, None, None, '{"y":'), call_delta(0, None, None, "1}")],
        [(None, None, '{"x":1}'), (None, None, '{"y":')],
    ),
    "arguments before the name": ([call_delta(0, None, None, '{"x":'), call_delta(0, "a", "f", "1}")], [F]),
    "one id and one index for whole calls": (
        [fragments(call_delta(0, "a", "f", '{"x":1}'), call_delta(0, "a", "f", '{"x":2}'))],
        [F, ("a", "f", '{"x":2}')],
    ),
    "an object inside of arguments, id and name resent": (
        [call_delta(0, "a", "f", '{"o":'), call_delta(0, "a", "f", '{"x":1}'), call_delta(0, "a", "f", "}")],
        [("a", "f", '{"o":{"x":1}}')],
    ),
    "an empty object before the arguments": (
        [call_delta(0, "a", "f", "{}"), call_delta(0, None, None, '{"x":'), call_delta(0, None, None, "1}")],
        [F],
    ),
    "an empty object as a value before the arguments": (
        [call_delta(0, "a", "f", {}), call_delta(0, None, None, '{"x":'), call_delta(0, None, None, "1}")],
        [F],
    ),
    "an empty object as text before arguments that are a value": (
        [call_delta(0, "a", "f", "{}"), call_delta(0, None, None, {"x": 1})],
        [("a", "f", {"x": 1})],
    ),
    "an empty object and nothing else": (
        [call_delta(0, "a", "f", "{}"), call_delta(0, None, None, "")],
        [("a", "f", "{}")],
    ),
    "index as text": ([call_delta("0", "a", "f", '{"x":'), call_delta("0", None, None, "1}")], [F]),
}


@pytest.mark.parametrize("name", CASES)
def test_fragments_become_the_calls_that_were_made(name: str) -> None:
    deltas, expected = CASES[name]
    assert said(calls_of(*deltas)) == expected


def test_null_arguments_are_no_fragment_and_drop_no_sibling() -> None:
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": None}}
    calls = calls_of({"tool_calls": [first, *call_delta(1, *G)["tool_calls"]]}, call_delta(0, None, None, '{"x":1}'))
    assert said(calls) == [F, G]
    assert said(calls_of({"tool_calls": [first]})) == [("a", "f", None)]


def test_an_element_that_is_no_object_drops_no_sibling() -> None:
    calls = calls_of({"tool_calls": [None, *call_delta(0, *F)["tool_calls"], "x"]})
    assert calls[0] is None and calls[2] == "x"
    assert said([calls[1]]) == [F]


def test_type_is_never_joined() -> None:
    calls = calls_of(call_delta(0, "a", "f", "", type="function"), call_delta(0, None, None, "{}", type="function"))
    assert calls == [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


def test_a_custom_tools_input_grows() -> None:
    start = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    calls = calls_of({"tool_calls": [start]}, {"tool_calls": [{"index": 0, "custom": {"input": " -l"}}]})
    assert calls == [{"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}]


def test_a_signature_and_unknown_fields_stay_with_their_call() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}, "new": "n"}
    (call,) = calls_of(call_delta(0, "a", "f", "{}", **signed))
    assert call["extra_content"] == signed["extra_content"] and call["new"] == "n"


def test_text_after_an_object_is_kept_as_broken_arguments() -> None:
    texts = [call_delta(0, None, None, '{"y"'), call_delta(0, None, None, ":2}")]
    (call,) = calls_of(call_delta(0, "a", "f", {"x": 1}), *texts)
    assert call["function"]["arguments"] == '{"x":1}{"y":2}'


def test_the_deprecated_function_call_grows() -> None:
    deltas = [{"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}}]
    (folded,) = CODEC.fold(stream(*deltas, finish="function_call"))
    assert folded.body["choices"][0]["message"]["function_call"] == {"name": "f", "arguments": "{}"}


@pytest.mark.parametrize("blank", [None, []])
def test_no_calls_are_no_calls(blank: Any) -> None:
    (folded,) = CODEC.fold(stream({"role": "assistant", "content": "Hi", "tool_calls": blank}))
    assert folded.body["choices"][0]["message"] == {"role": "assistant", "content": "Hi", "tool_calls": blank}
