"""Records in natural form: each protocol's writer makes whole, valid bodies of what did not come from its own reader.

Real bodies lose all that only their own reader knows (see `natural`); what is then written must be as valid for the
official SDK's types as the body was, must read back to the same record, and must stream so that the SDK folds it to
the same message. Where reader and writer do not agree, `DIFFERENCES` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.protocols import PROTOCOLS, codec
from tests.conformance.test_pipeline_corpus import NOT_MESSAGES, exchanges_of
from tests.support import traffic
from tests.support.natural import accumulate, differences, faults, natural
from tests.support.natural_records import ENDINGS, FAILURE, REQUEST, RESPONSE, ended
from tests.unit.anthropic_messages import samples as messages
from tests.unit.gemini_generate import samples as generate
from tests.unit.gemini_interactions import wire as interactions
from tests.unit.openai_responses import samples as responses

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


def _each(kind: str, body: Any, key: str, values: Iterable[Any]) -> list[tuple[str, Any]]:
    """The body once for each value under a key."""
    return [(kind, {**body, key: value}) for value in values]


def _listed(samples: dict[str, Any]) -> list[Any]:
    return [[sample] for sample in samples.values()]


def _users(samples: dict[str, Any], **more: Any) -> list[Any]:
    return [[{**more, "role": "user", "content": [sample]}] for sample in samples.values()]


#: Our own bodies: one with every field, and one for each type of item, block, step, part and tool.
SAMPLES: dict[str, list[tuple[str, Any]]] = {
    "anthropic.messages": [
        ("request", messages.REQUEST),
        ("response", messages.RESPONSE),
        *_each("response", messages.RESPONSE, "content", _listed(messages.BLOCKS)),
        *_each("request", messages.REQUEST, "messages", _users(messages.BLOCKS)),
        *_each("request", messages.REQUEST, "tools", _listed(messages.TOOLS)),
    ],
    "openai.responses": [
        ("request", responses.REQUEST),
        ("response", responses.RESPONSE),
        *_each("response", responses.RESPONSE, "output", _listed(responses.ITEMS)),
        *_each("request", responses.REQUEST, "input", _listed(responses.ITEMS)),
        *_each("request", responses.REQUEST, "input", _users(responses.PARTS, type="message")),
        *_each("request", responses.REQUEST, "tools", _listed(responses.TOOLS)),
        *_each("request", responses.REQUEST, "tool_choice", responses.TOOL_CHOICES.values()),
    ],
    "gemini.generate_content": [("request", generate.REQUEST), ("response", generate.RESPONSE)],
    "gemini.interactions": [
        ("request", interactions.REQUEST),
        ("response", interactions.INTERACTION),
        *_each("response", interactions.INTERACTION, "steps", _listed(interactions.STEPS)),
        *_each("request", interactions.REQUEST, "input", _listed(interactions.STEPS)),
        *_each("request", interactions.REQUEST, "tools", _listed(interactions.TOOLS)),
    ],
}
#: Places where the record that is read back differs, and why.
DIFFERENCES: dict[str, dict[str, str]] = {
    "openai.chat": {
        "messages[].parts[].tool_call.raw_arguments": "no arguments at all are written as {}",
    },
    "openai.responses": {
        "usage.cache_read_tokens": "the wire always has the figure: 0",
        "usage.cache_write_tokens": "the wire always has the figure: 0",
        "usage.reasoning_tokens": "the wire always has the figure: 0",
        "usage.output_tokens": "a count of input tokens is a body of its own form",
        "usage.total_tokens": "a count of input tokens is a body of its own form",
        "usage.server_tool_calls": "a dialect's figure",
        "usage.cost": "a dialect's figure",
        "tool_choice": "a response always echoes it: auto",
        "parameters": "a response always echoes parallel_tool_calls: true",
        "messages[].parts[].tool_call.provider_id": "an id derived for a call without one is written",
    },
    "anthropic.messages": {},
    "gemini.generate_content": {
        "messages[].parts[].tool_call.provider_id": "an id derived for a call without one is written",
        "messages[].parts[].tool_result.content[].json": "a result that is no object stands in one",
    },
    "gemini.interactions": {},
    "gemini.live": {
        "messages[].detail": "a flag that is false",
    },
}
#: What the SDK's accumulator makes of a stream differently, and why.
SDK_DIFFERENCES: dict[str, dict[str, str]] = {
    "openai.chat": {
        "choices[].message.tool_calls[].index": "the SDK keeps the place in the stream",
        "choices[].native_finish_reason": "a dialect's field, which the SDK does not take from chunks",
        "choices[].seed": "a dialect's field, which the SDK does not take from chunks",
        "choices[].stop_reason": "a dialect's field, which the SDK does not take from chunks",
        "choices[].content_filter_results": "a dialect's field, which the SDK does not take from chunks",
        "choices[].finish_reason": "a blank one is none to the SDK",
        "usage": "the SDK forgets it when a moderation chunk follows",
    },
    "openai.responses": {},
    "anthropic.messages": {
        "model": "a model that is not the one which its fallback block hands over to, in a sample of ours",
    },
}
STREAMED = tuple(SDK_DIFFERENCES)
CHECKED = tuple(protocol for protocol in PROTOCOLS if protocol != "gemini.live")


def bodies(protocol: str) -> Iterator[tuple[str, str, Any]]:
    """(name, kind, body) of our own and of the recorded exchanges, folded streams included."""
    for number, (kind, body) in enumerate(SAMPLES.get(protocol, ())):
        yield f"sample {number}", kind, body
    for exchange in exchanges_of(protocol):
        if any(exchange["id"].endswith(name) for name in NOT_MESSAGES):
            continue
        if exchange["request"] is not None:
            yield exchange["id"], "request", exchange["request"]
        if not traffic.is_stream(exchange):
            yield exchange["id"], "response", exchange["response"]
            continue
        for folded in codec(protocol).fold(exchange.get("frames") or traffic.events_of(exchange)):
            yield exchange["id"], folded.record_type, folded.body


def read(protocol: str, kind: str, body: Any) -> Any:
    """The record of a body, in natural form."""
    entry, reading = codec(protocol), Reading("call", kind)
    if kind == "request":
        return natural(entry.read_request(body, reading))
    return natural(entry.read_response(body, reading, None))


def write(protocol: str, kind: str, record: Any) -> Any:
    entry = codec(protocol)
    return entry.write_request(record) if kind == "request" else entry.write_response(record)


@pytest.mark.parametrize("protocol", CHECKED)
def test_what_is_written_is_as_valid_as_it_was(protocol: str) -> None:
    written = valid = 0
    for name, kind, body in bodies(protocol):
        record = read(protocol, kind, body)
        if "error" in record:
            continue
        again = write(protocol, kind, record)
        found = faults(protocol, kind, again)
        written, valid = written + 1, valid + (not found)
        assert found <= faults(protocol, kind, body), (name, kind)
    print(f"{protocol}: {written} bodies written without spelling, {valid} valid for the SDK's types, none worse")
    assert valid


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_reader_and_writer_agree_on_a_normal_form(protocol: str) -> None:
    known = DIFFERENCES[protocol]
    written = equal = 0
    for name, kind, body in bodies(protocol):
        record = read(protocol, kind, body)
        normal = write(protocol, kind, record)
        again = read(protocol, kind, normal)
        found = list(differences(record, again))
        written, equal = written + 1, equal + (not found)
        assert [one for one in found if one[0] not in known] == [], (name, kind)
        assert write(protocol, kind, again) == normal, (name, kind)
    print(f"{protocol}: {equal} of {written} read back equal")
    assert equal


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_of_it_folds_to_the_same_body(protocol: str) -> None:
    entry = codec(protocol)
    for name, kind, body in bodies(protocol):
        if kind == "response":
            normal = write(protocol, kind, read(protocol, kind, body))
            (folded,) = entry.fold(entry.unfold(normal))
            assert folded.body == normal, name
            assert not folded.stray, name


@pytest.mark.parametrize("protocol", STREAMED)
def test_the_sdk_folds_a_stream_of_it_to_the_same_message(protocol: str) -> None:
    compared = 0
    for name, kind, body in bodies(protocol):
        if kind == "request" or "error" in (record := read(protocol, kind, body)):
            continue
        if record.get("status") not in ("completed", "incomplete", "failed"):
            continue
        normal = write(protocol, kind, record)
        found = differences(normal, accumulate(protocol, codec(protocol).unfold(normal)))
        assert [one for one in found if one[0] not in SDK_DIFFERENCES[protocol]] == [], name
        compared += 1
    print(f"{protocol}: {compared} streams folded by the SDK")
    assert compared


# Records made by hand


@pytest.mark.parametrize("protocol", CHECKED)
def test_a_record_made_by_hand_is_valid(protocol: str) -> None:
    assert faults(protocol, "request", write(protocol, "request", REQUEST)) == set()
    for record in (RESPONSE, *map(ended, ENDINGS)):
        assert faults(protocol, "response", write(protocol, "response", record)) == set()


@pytest.mark.parametrize("protocol", CHECKED)
@pytest.mark.parametrize("reason", ENDINGS)
def test_a_reason_is_written_in_the_words_of_the_wire(protocol: str, reason: str) -> None:
    again = read(protocol, "response", write(protocol, "response", ended(reason)))
    # Where there is no word for it, the nearest is a refusal for a filter, a filter for a refusal, or a plain stop.
    nearest = {
        "refusal": {"refusal", "content_filter", "stop"},
        "content_filter": {"content_filter", "refusal", "length"},
    }
    called = {"tool_calls": {"tool_calls", "stop"}}
    assert again["finish_reason"] in {**nearest, **called}.get(reason, {reason})
    assert again["status"] == ENDINGS[again["finish_reason"]]


@pytest.mark.parametrize("protocol", CHECKED)
def test_a_reason_of_another_wire_is_never_written(protocol: str) -> None:
    foreign = ended("length", raw_finish_reason="budget of another provider")
    assert write(protocol, "response", foreign) == write(protocol, "response", ended("length"))


@pytest.mark.parametrize("protocol", CHECKED)
def test_calls_and_their_results_keep_their_ids(protocol: str) -> None:
    parts = [part for message in read(protocol, "request", write(protocol, "request", REQUEST))["messages"]
             for part in message["parts"]]  # fmt: skip
    called = [part["tool_call"]["id"] for part in parts if part["type"] == "tool_call"]
    answered = [part["tool_result"]["tool_call_id"] for part in parts if part["type"] == "tool_result"]
    assert called == answered == ["call_0", "call_1"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_figures_of_usage_are_counted_as_the_wire_counts(protocol: str) -> None:
    usage = read(protocol, "response", write(protocol, "response", RESPONSE))["usage"]
    kept = {name: figure for name, figure in RESPONSE["usage"].items() if name in usage}
    assert {name: usage[name] for name in kept} == kept
    # Google has no figure for cache writes, which are part of the input all the same.
    assert RESPONSE["usage"].keys() - usage.keys() <= {"cache_write_tokens"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_failure_is_an_error_body_and_one_event(protocol: str) -> None:
    body = write(protocol, "response", FAILURE)
    assert "error" in body
    assert len(codec(protocol).unfold(body)) == 1
    assert read(protocol, "response", body)["error"] == FAILURE["error"]


@pytest.mark.parametrize("protocol", STREAMED)
def test_the_sdk_folds_a_response_made_by_hand(protocol: str) -> None:
    body = write(protocol, "response", RESPONSE)
    found = differences(body, accumulate(protocol, codec(protocol).unfold(body)))
    assert [one for one in found if one[0] not in SDK_DIFFERENCES[protocol]] == []
