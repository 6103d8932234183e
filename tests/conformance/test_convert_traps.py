"""The known faults of converters: what each of them must give instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.convert import Conversion, convert
from headrace.json_text import dumps, loads
from headrace.protocols import codec
from tests.support.shared import traps

NAMES = {"gemini.generateContent": "gemini.generate_content"}
#: The fields of an expected result that are compared as they stand in the body.
PLAIN = ("messages", "contents", "systemInstruction", "content", "stop_reason", "tool_choice")


def variants(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case["variants"] if case["type"] == "variants" else [case]


def canonical(body: dict[str, Any]) -> Any:
    """A history given as calls, as a canonical request."""
    parts = [part_of(step["call"]) for step in body["turn"]]
    messages = [{"role": "user", "parts": [{"type": "text", "text": "q"}]}, {"role": "assistant", "parts": parts}]
    if "result" in body:
        result = {
            "tool_call_id": body["result"]["call_id"],
            "content": [{"type": "text", "text": body["result"]["output"]}],
        }
        messages.append({"role": "tool", "parts": [{"type": "tool_result", "tool_result": result}]})
    return {"record_type": "request", "model": "m", "messages": messages}


def part_of(call: dict[str, Any]) -> dict[str, Any]:
    shape = {"id": call["id"], "provider_id": call["id"], "name": call["name"], "kind": "function"}
    part = {"type": "tool_call", "tool_call": {**shape, "arguments": dumps(call["arguments"])}}
    return {**part, "signature": call["signature"]} if call.get("signature") else part


def converted(trap: dict[str, Any], case: dict[str, Any]) -> Conversion:
    """The conversion that the trap asks for."""
    if case["type"] == "stream":
        source, target = NAMES.get(case["wire"], case["wire"]), trap["protocol"].rpartition("-> ")[2]
        (folded,) = codec(source).fold(case.get("events") or case.get("chunks"))
        record: Any = codec(source).read_response(folded.body, Reading("c", "response"), folded.layout)
        kind = "response"
    else:
        source, target = NAMES.get(case["from"], case["from"]), NAMES.get(case["to"], case["to"])
        kind = "response" if case["object"] == "response" else "request"
        if source == "canonical":
            return convert(canonical(case["body"]), target, policy="lossy")
        reading = Reading("c", kind)
        reader = codec(source)
        read = reader.read_request(case["body"], reading) if kind == "request" else None
        record = read if read is not None else reader.read_response(case["body"], reading, None)
    return convert(record | {"record_type": kind, "protocol": source, "call_id": "c"}, target, policy="lossy")


def conversion_traps() -> Iterator[dict[str, Any]]:
    for trap in traps():
        if trap["kind"] == "conversion" or "->" in trap["protocol"]:
            yield trap


def holds(expected: Any, found: Any, names: dict[str, Any]) -> bool:
    """Whether all that is expected is there. "<id-1>" stands for any value, the same wherever it stands."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(holds(value, found.get(key), names) for key, value in expected.items())
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(holds(one, other, names) for one, other in zip(expected, found, strict=True))
        )
    if isinstance(expected, str) and expected.startswith("<id-"):
        return bool(found) and names.setdefault(expected, found) == found
    return expected == found


def assistant_content(made: Conversion) -> Any:
    return next(message["content"] for message in (made.body or {})["messages"] if message["role"] == "assistant")


def blocks(made: Conversion) -> list[dict[str, Any]]:
    return [block for message in (made.body or {})["messages"] for block in message["content"] if type(block) is dict]


def check_calls(made: list[Conversion], expected: Any) -> None:
    (one,) = made
    message = (one.body or {})["choices"][0]["message"]
    assert (message["content"] or "") == expected.get("text", "")
    ids = set()
    for call, wanted in zip(message["tool_calls"], expected["tool_calls"], strict=True):
        assert call["function"]["name"] == wanted["name"]
        assert loads(call["function"]["arguments"]) == wanted["arguments"]
        assert wanted["id"] in (None, call["id"])
        ids.add(call["id"])
    assert len(ids) == len(expected["tool_calls"])
    indexes = [
        fragment["index"]
        for event in codec("openai.chat").unfold(one.body or {})
        if event != "[DONE]"
        for choice in event["choices"]
        for fragment in choice["delta"].get("tool_calls", ())
    ]
    assert sorted(set(indexes)) == [wanted["index"] for wanted in expected["tool_calls"]]


def check_block(kind: str) -> Callable[[list[Conversion], Any], None]:
    def check(made: list[Conversion], expected: Any) -> None:
        (block,) = (block for block in blocks(made[0]) if block["type"] == kind)
        assert block == expected[kind]

    return check


def check_assistant(made: list[Conversion], expected: Any) -> None:
    wanted = expected["assistant_content"]
    for at, one in enumerate(made):
        assert assistant_content(one) == (wanted[at] if isinstance(wanted[0], list) else wanted)


def check_failure(made: list[Conversion], expected: Any) -> None:
    message = (made[0].body or {})["messages"][-1]
    assert set(message) == set(expected["tool_message_has_only"])
    assert message["content"].startswith("Error")


def check_finish(made: list[Conversion], expected: Any) -> None:
    found = [(one.body or {})["choices"][0]["finish_reason"] for one in made]
    assert found[:6] == expected["finish_reason"][:6]
    assert "stop" not in found[6:]
    assert [one.counts["finish_reason"] for one in made[6:]] == [1, 1]
    assert found[7] == "brand_new_reason"


def check_ids(made: list[Conversion], expected: Any) -> None:
    call, result = (made[0].body or {})["input"][1:]
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64
    assert made[0].ids == {call["call_id"]: "cursor-pi-bridge-run-c2417032-9686-40f2-bd3c-a763fbaa7693-tool-10"}
    use, answer = blocks(made[1])[1:]
    assert use["id"] == answer["tool_use_id"]
    assert use["id"].replace("_", "").replace("-", "").isalnum()


def check_objects(made: list[Conversion], expected: Any) -> None:
    use = next(block for block in blocks(made[0]) if block["type"] == "tool_use")
    call = (made[1].body or {})["contents"][1]["parts"][0]["functionCall"]
    assert use["input"] == {"value": "Beijing"}
    assert call["args"] == {"value": ["Beijing"]}
    assert [one.counts["arguments_wrapped"] for one in made] == [1, 1]


def check_blocks(made: list[Conversion], expected: Any) -> None:
    found = [
        {"i": at, **{key: block[key] for key in ("type", "text", "id", "input") if key in block}}
        for at, block in enumerate((made[0].body or {})["content"])
    ]
    assert found == expected["anthropic_blocks"]


def check_terminal(made: list[Conversion], expected: Any) -> None:
    last: Any = codec("openai.responses").unfold(made[0].body or {})[-1]
    assert last["type"] == expected["terminal_event"]
    assert holds(expected["response"], last["response"], {})


def check_delta(made: list[Conversion], expected: Any) -> None:
    events: Any = codec("anthropic.messages").unfold(made[0].body or {})
    (delta,) = (event for event in events if event["type"] == "message_delta")
    assert holds(expected["message_delta"], delta, {})


def check_kept_cache(made: list[Conversion], expected: Any) -> None:
    assert made[0].counts["cache_hint"] == 2


def check_schema(made: list[Conversion], expected: Any) -> None:
    (tool,) = (made[0].body or {})["tools"][0]["functionDeclarations"]
    assert tool["parametersJsonSchema"]["properties"]["n"] == {"type": "integer", "exclusiveMinimum": 0}


def check_types(made: list[Conversion], expected: Any) -> None:
    assert [block["type"] for block in assistant_content(made[0])] == expected["assistant_block_types"]


def check_turn(made: list[Conversion], expected: Any) -> None:
    assert (made[0].body or {})["contents"][1] == expected["content"]


def check_tail(made: list[Conversion], expected: Any) -> None:
    assert (made[0].body or {})["contents"][-2:] == expected["tail"]


CHECKS: dict[str, Callable[[list[Conversion], Any], None]] = {
    **dict.fromkeys(("a34", "a61"), check_calls),
    **dict.fromkeys(("b08", "b09"), check_turn),
    "b12": check_block("tool_result"),
    "b14": check_kept_cache,
    **dict.fromkeys(("b17", "b38"), check_assistant),
    "b18": check_block("tool_use"),
    "b20": check_objects,
    "b22": check_failure,
    "b31": check_schema,
    "b34": check_finish,
    "b35": check_ids,
    "b37": check_types,
    "b39": check_terminal,
    "b40": check_blocks,
    "b45": check_tail,
    "b46": check_delta,
}


def test_every_conversion_trap_gives_what_it_should() -> None:
    checked = []
    for trap in conversion_traps():
        made = [converted(trap, case) for case in variants(trap["input"])]
        expected = trap["expected"].get("result", {})
        check = CHECKS.get(trap["id"])
        if check is not None:
            check(made, expected)
        else:
            for one in made:
                assert holds(expected, one.body, {}), trap["id"]
        checked.append(trap["id"])
    print(f"{len(checked)} conversion traps: {' '.join(checked)}")


@pytest.mark.parametrize("target", ["anthropic.messages", "openai.chat", "gemini.generate_content"])
def test_a_history_of_our_own_keeps_call_and_result_together(target: str) -> None:
    history = canonical(
        {
            "turn": [{"call": {"id": "call|1", "name": "f", "arguments": {"a": 1}}}],
            "result": {"call_id": "call|1", "output": "ok"},
        }
    )
    text = dumps(convert(history, target, policy="lossy").body)
    (wanted,) = list(convert(history, target, policy="lossy").ids) or ["call|1"]
    assert text.count(f'"{wanted}"') == 2
