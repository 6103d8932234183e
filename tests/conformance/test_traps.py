"""Real faults of streams through the whole pipeline, each as JSON events, as SSE text and as bytes cut anywhere."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.canonical.shape import CanonicalRecord
from headrace.capture.body import read_body
from headrace.capture.framing import frame_pieces
from headrace.capture.sse import Event, EventStream
from headrace.json_text import loads
from headrace.protocols import codec
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.running import Ran, run
from tests.support.shared import traps
from tests.support.trap_results import calls_of, expected_of, parts_of, result_of

PROTOCOL_OF = {
    "openai.chat": "openai.chat",
    "openai.responses": "openai.responses",
    "anthropic.messages": "anthropic.messages",
    "gemini.generateContent": "gemini.generate_content",
    "gemini.interactions": "gemini.interactions",
}

#: trap, field -> (what we say, why it is a choice and no fault). Nothing else may differ.
STATED_CHOICES: dict[tuple[str, str], tuple[Any, str]] = {}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


#: Faults of our own in the layout of the shared ones; they hold where no shared folder lies beside the checkout.
OWN_TRAPS: list[dict[str, Any]] = [
    {
        "id": "own-interleaved",
        "input": {
            "type": "stream",
            "wire": "openai.chat",
            "chunks": [
                _chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"l":'}}]}),
                _chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "sub", "arguments": '{"l":'}}]}),
                _chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
                _chunk({"tool_calls": [{"index": 1, "function": {"arguments": "2}"}}]}),
                _chunk({}, "tool_calls"),
            ],
            "done_sentinel": True,
        },
        "expected": {
            "result": {
                "status": "complete",
                "stop": "tool_calls",
                "tool_calls": [
                    {"id": "a", "name": "add", "arguments": {"l": 1}, "index": 0},
                    {"id": "b", "name": "sub", "arguments": {"l": 2}, "index": 1},
                ],
            }
        },
    },
    {
        "id": "own-cut-off",
        "input": {
            "type": "stream",
            "wire": "openai.chat",
            "chunks": [
                _chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "add", "arguments": "{"}}]})
            ],
            "done_sentinel": False,
        },
        "expected": {
            "result": {
                "status": "truncated",
                "stop": None,
                "tool_calls": [{"id": "a", "arguments": None, "arguments_raw": "{", "complete": False}],
            }
        },
    },
    {
        "id": "own-running-usage",
        "input": {
            "type": "raw_http",
            "wire": "gemini.generateContent",
            "reads": [
                '[{"candidates": [{"content": {"role": "model", "parts": [{"text": "a } ] "}]}}], "usage',
                'Metadata": {"promptTokenCount": 4, "candidatesTokenCount": 1, "totalTokenCount": 5}},\r',
                '\n{"candidates": [{"content": {"role": "model", "parts": [{"text": "b"}, {"text": "", ',
                '"thoughtSignature": "c2ln"}]}, "finishReason": "STOP"}], "usageMetadata": ',
                '{"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6}}]',
            ],
        },
        "expected": {
            "result": {
                "status": "complete",
                "stop": "STOP",
                "text": "a } ] b",
                "part_signature": "c2ln",
                "usage": {"prompt": 4, "completion": 2, "total": 6},
            }
        },
    },
]


def all_traps() -> list[dict[str, Any]]:
    """Our own traps, and the shared ones about streams of a protocol."""
    shared = [trap for trap in traps() if trap["kind"] == "stream reassembly"]
    return OWN_TRAPS + [trap for trap in shared if trap["input"]["wire"] in PROTOCOL_OF]


def events_of(given: dict[str, Any]) -> list[Any]:
    """The stream's events as values, `[DONE]` included."""
    if "reads" in given:
        return frame_pieces([read.encode() for read in given["reads"]]).values
    events = list(given.get("chunks") or given.get("events") or [])
    return [*events, "[DONE]"] if given.get("done_sentinel") else events


def body_of(given: dict[str, Any]) -> str:
    """The stream as it is on the wire; a trap that leaves out ``[DONE]`` has none."""
    if "reads" in given:
        return "".join(given["reads"])
    text = codec(PROTOCOL_OF[given["wire"]]).sse(events_of(given))
    return text if given.get("done_sentinel", True) else text.replace("data: [DONE]\n\n", "")


def pieces_of(given: dict[str, Any], cut: str, rng: random.Random) -> list[dict[str, Any]]:
    """The stream's payloads, cut as asked."""
    if cut == "events":
        return [{"body": event} for event in events_of(given)]
    body = body_of(given)
    if cut == "text":
        lines = body.splitlines(keepends=True)
        return [{"body_text": line} for line in lines]
    return [{"body_base64": base64.b64encode(part).decode()} for part in _slices(body.encode(), rng)]


def _slices(body: bytes, rng: random.Random) -> Iterator[bytes]:
    largest = rng.choice((1, 7, 60, 400))
    while body:
        size = rng.randint(1, largest)
        yield body[:size]
        body = body[size:]


async def outcome(given: dict[str, Any], cut: str, rng: random.Random, *, ended: bool = True) -> Ran:
    """The trap through the pipeline; ended: the gateway tells that the connection closed."""
    head = {"call_id": "trap", "protocol": PROTOCOL_OF[given["wire"]]}
    pieces = pieces_of(given, cut, rng)
    lines = [{**head, "kind": "stream", "seq": seq, **piece} for seq, piece in enumerate(pieces)]
    if ended:
        lines.append({**head, "kind": "end", "count": len(pieces), "outcome": "completed"})
    return await run(MemoryStore(), traffic.encode(lines), batch=rng.choice((2, 7, 500)))


CUTS = ("events", "text", "bytes")


@pytest.mark.parametrize("cut", CUTS)
async def test_every_trap_gives_what_it_should(cut: str) -> None:
    rng = random.Random(cut)
    held = 0
    for trap in all_traps():
        wanted = expected_of(trap["expected"]["result"])
        for ended in (True, False):
            ran = await outcome(trap["input"], cut, rng, ended=ended)
            assert not ran.dead_letters, (trap["id"], ran.dead_letters)
            assert len(ran.records) == 1, trap["id"]
            found = result_of(ran.records[0], wanted)
            for name, value in wanted.items():
                choice = STATED_CHOICES.get((trap["id"], name))
                assert found[name] == (choice[0] if choice else value), (trap["id"], name, cut)
        held += 1
    print(cut, held, "traps hold")
    assert held >= len(OWN_TRAPS)


async def test_a_trap_comes_back_on_its_own_wire() -> None:
    for trap in all_traps():
        entry = codec(PROTOCOL_OF[trap["input"]["wire"]])
        ran = await outcome(trap["input"], "events", random.Random(0))
        folded = entry.fold(events_of(trap["input"]))
        assert len(folded) == 1
        assert entry.write_response(ran.records[0]) == folded[0].body, trap["id"]


def all_bodies() -> Iterator[tuple[str, bytes]]:
    """(protocol, event stream) of all traps and of our own exchanges."""
    for trap in all_traps():
        yield PROTOCOL_OF[trap["input"]["wire"]], body_of(trap["input"]).encode()
    for exchange in OWN_EXCHANGES:
        if exchange.get("frames") is None:
            yield exchange["protocol"], traffic.body_text(exchange).encode()


async def test_a_stream_cut_in_two_at_any_line_is_one_response() -> None:
    """The first half is read by itself: an event's name, or half of its line, must not look like its end."""
    for protocol, body in all_bodies():
        line_ends = [at for at, byte in enumerate(body) if byte in b"\r\n"]
        whole = await _halves(protocol, [body])
        for at in sorted({end + shift for end in line_ends for shift in (-1, 0, 1, 2)} & set(range(1, len(body)))):
            ran = await _halves(protocol, [body[:at], body[at:]])
            assert ran.content() == whole.content(), (protocol, body[:at][-40:])
            assert not ran.dead_letters


async def _halves(protocol: str, parts: list[bytes]) -> Ran:
    head = {"call_id": "trap", "protocol": protocol, "kind": "stream", "captured_at": 1}
    lines = [{**head, "seq": seq, "body_base64": base64.b64encode(part).decode()} for seq, part in enumerate(parts)]
    return await run(MemoryStore(), traffic.encode(lines), batch=1)


# --- what the traps' rules say beyond their results ---------------------------------------------------------------


def _indexes_from_zero(record: CanonicalRecord) -> None:
    assert [call.get("index") for call in calls_of(record)] == list(range(len(calls_of(record))))


def _no_stop_is_invented(record: CanonicalRecord) -> None:
    assert "finish_reason" not in record
    assert "raw_finish_reason" not in record


def _every_call_has_an_id_of_its_own(record: CanonicalRecord) -> None:
    ids = [call["id"] for call in calls_of(record)]
    assert len(set(ids)) == len(ids) > 1


def _server_tools_are_no_client_calls(record: CanonicalRecord) -> None:
    for call in calls_of(record):
        assert (call["kind"] == "server") == call["id"].startswith("srvtoolu_")


def _encrypted_content_is_kept(record: CanonicalRecord) -> None:
    results = [part["tool_result"] for part in parts_of(record) if part["type"] == "tool_result"]
    assert any(
        loads(content["json"]).get("encrypted_content") for result in results for content in result.get("content", ())
    )


def _thought_stands_before_the_call(record: CanonicalRecord) -> None:
    kinds = [part["type"] for part in parts_of(record)]
    assert kinds.index("reasoning") < kinds.index("tool_call")


def _signature_stays_on_a_text_part(record: CanonicalRecord) -> None:
    signed = [part for part in parts_of(record) if part.get("signature")]
    assert [(part["type"], part["text"]) for part in signed] == [("text", "")]


def _length_is_not_rewritten(record: CanonicalRecord) -> None:
    assert (record["finish_reason"], record["raw_finish_reason"]) == ("length", "length")


def _text_is_no_reasoning(record: CanonicalRecord) -> None:
    assert [part["type"] for part in parts_of(record)] == ["reasoning", "text"]


RULES: dict[str, tuple[Callable[[CanonicalRecord], None], ...]] = {
    "a03": (_indexes_from_zero,),
    "a12": (_indexes_from_zero,),
    "a14": (_indexes_from_zero,),
    "a19": (_length_is_not_rewritten,),
    "a20": (_no_stop_is_invented,),
    "a34": (_indexes_from_zero,),
    "a38": (_no_stop_is_invented,),
    "a43": (_server_tools_are_no_client_calls, _encrypted_content_is_kept),
    "a61": (_indexes_from_zero, _every_call_has_an_id_of_its_own),
    "a63": (_text_is_no_reasoning,),
    "a64": (_signature_stays_on_a_text_part,),
    "a70": (_thought_stands_before_the_call,),
    "own-interleaved": (_indexes_from_zero, _every_call_has_an_id_of_its_own),
    "own-cut-off": (_no_stop_is_invented,),
    "own-running-usage": (_signature_stays_on_a_text_part,),
}


async def test_the_rules_beyond_the_results_hold() -> None:
    checked = 0
    for trap in all_traps():
        ran = await outcome(trap["input"], "bytes", random.Random(trap["id"]))
        for rule in RULES.get(trap["id"], ()):
            rule(ran.records[0])
            checked += 1
    assert checked >= 4


async def test_an_error_frame_without_choices_fails_the_call() -> None:
    """The second half of a rule: the common form of what one trap shows in an odd one."""
    frame = {"error": {"message": "context length exceeded", "type": "BadRequestError", "code": 400}}
    for cut in CUTS:
        ran = await outcome({"wire": "openai.chat", "chunks": [frame], "done_sentinel": True}, cut, random.Random(1))
        wanted = {"status": "failed", "error": {"type": "BadRequestError", "code": 400}}
        assert result_of(ran.records[0], wanted) == wanted


async def test_gemini_as_array_and_as_event_stream_is_the_same() -> None:
    for trap in all_traps():
        if trap["input"]["type"] == "raw_http":
            events = events_of(trap["input"])
            as_events = await outcome({"wire": trap["input"]["wire"], "chunks": events}, "text", random.Random(1))
            as_array = await outcome(trap["input"], "bytes", random.Random(1))
            assert [*as_events.content()] == [*as_array.content()]
            assert as_events.records[0]["messages"] == as_array.records[0]["messages"]


# --- event streams of no protocol ---------------------------------------------------------------------------------

OWN_PLAIN = {
    "id": "own-cut-crlf",
    "input": {"wire": "plain", "reads": ["data: A\r\n", "data: B\r", "\ndata: C\r\n", "\n"]},
    "expected": {"result": {"events": [{"data": "A\nB\nC"}]}},
}


def _plain_traps() -> list[dict[str, Any]]:
    return [OWN_PLAIN, *(trap for trap in traps() if trap["input"].get("wire") == "plain")]


def _read(reads: list[bytes]) -> list[Event]:
    stream = EventStream()
    return [event for read in reads for event in stream.feed(read)] + stream.close()


def test_line_ends_of_any_kind_across_any_reads() -> None:
    for trap in _plain_traps():
        wanted = [event["data"].encode() for event in trap["expected"]["result"]["events"]]
        reads = [read.encode() for read in trap["input"]["reads"]]
        body = b"".join(reads)
        ways = [reads, [body], [body[at : at + 1] for at in range(len(body))]]
        ways += [[body[:at], body[at:]] for at in range(len(body) + 1)]
        ways += [[*reads[:2], reads[2].removeprefix(b"\n"), *reads[3:]]]
        for way in ways:
            assert [event.data for event in _read(way)] == wanted, (trap["id"], way)
        one = frame_pieces(reads)
        assert [event.data for event in one.events] == wanted
        assert read_body(body).values == one.values
