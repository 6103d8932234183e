"""Whatever captures arrive, in whatever order: each is in a record, in a dead letter, or counted as a duplicate.

Every message says a word of its own, so that being in a record means being in its content, and not only within a range
of offsets. A word may be missing only where another message has the very same place: a second body of a call, a second
piece with a number.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.inbound import Inbound, Source
from headrace.pipeline import Pipeline
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.store import FOREVER, Position
from tests.support.running import Ran, run


@dataclass(frozen=True, slots=True)
class Sent:
    """One message: its bytes, the word in it ("" for what says none), and its call."""

    value: bytes
    word: str
    call: str


_SEQS = st.one_of(st.none(), st.integers(0, 6), st.integers(0, 6), st.sampled_from([40, 2**53 - 1]))
_CALLS = st.sampled_from(["a", "b"])
_TENANTS = st.sampled_from([None, None, "t"])
_ENDS: tuple[dict[str, Any], ...] = (
    {"kind": "end"},
    {"kind": "end", "count": 0},
    {"kind": "end", "count": 3},
    {"kind": "end", "count": 7, "outcome": "completed"},
    {"kind": "end", "outcome": "aborted"},
    {"kind": "end", "outcome": "timeout", "seq": 4},
)


def _chunk(word: str, finish: str | None) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": finish}],
    }


def _spoken(event: Any, form: str) -> dict[str, Any]:
    """An event as a payload of the capture, in one of the forms."""
    text = event if isinstance(event, str) else json.dumps(event)
    line = f"data: {text}\n\n"
    if form == "text":
        return {"body_text": line}
    return {"body": event} if form == "json" else {"body_base64": base64.b64encode(line.encode()).decode()}


@st.composite
def _message(draw: st.DrawFn, number: int) -> Sent:
    word = f"word{number};"
    call = draw(_CALLS)
    head: dict[str, Any] = {"call_id": call}
    tenant = draw(_TENANTS)
    if tenant:
        head["tenant"] = tenant
    if draw(st.booleans()):
        head["protocol"] = "openai.chat"
    kind = draw(
        st.sampled_from(["chunk"] * 8 + ["last", "last", "done", "ping", "end", "error", "body", "request", "odd"])
    )
    form = draw(st.sampled_from(["json", "text", "bytes"]))
    seq = draw(_SEQS)
    numbered = {} if seq is None else {"seq": seq}
    if kind in ("chunk", "last"):
        event = _chunk(word, "stop" if kind == "last" else None)
        return _sent({**head, "kind": "stream", **numbered, **_spoken(event, form)}, word)
    if kind == "done":
        return _sent({**head, "kind": "stream", **numbered, **_spoken("[DONE]", form)}, "")
    if kind == "ping":
        return _sent({**head, "kind": "stream", **numbered, "body_text": ": keep-alive\n\n"}, "")
    if kind == "end":
        return _sent({**head, **draw(st.sampled_from(_ENDS))}, "")
    if kind == "error":
        return _sent({**head, "kind": "error", **numbered, "message": word}, "")
    if kind == "body":
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": word}}
        body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
        return _sent({**head, "kind": "response", "body": body}, word)
    if kind == "request":
        body = {"model": "m", "messages": [{"role": "user", "content": word}]}
        return _sent({**head, "kind": "request", "body": body}, word)
    odd = draw(st.sampled_from(["{", '{"call_id":"a"}', '{"call_id":"a","kind":"nap"}', "", "[]", '"text"', "\x00"]))
    return Sent((odd + word if odd != "[]" else word).encode(), word, "")


def _sent(capture: dict[str, Any], word: str) -> Sent:
    return Sent(json.dumps(capture).encode(), word, capture["call_id"])


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[Sent], int]:
    sent = [draw(_message(number)) for number in range(draw(st.integers(1, 14)))]
    again = draw(st.lists(st.sampled_from(sent), max_size=3))
    return draw(st.permutations([*sent, *again])), draw(st.integers(1, 15))


def _said(ran: Ran) -> str:
    """All content of records and dead letters as one text."""
    letters = [letter.get("value", b"").decode("utf-8", "replace") for letter in ran.dead_letters]
    payloads = [base64.b64decode(part, validate=False) for part in _encoded(letters)]
    return json.dumps(ran.records) + "".join(letters) + b"".join(payloads).decode("utf-8", "replace")


def _encoded(texts: list[str]) -> list[str]:
    """Base64 payloads of captures that became dead letters whole."""
    marks = [text.split('"body_base64": "')[1:] for text in texts]
    return [piece.partition('"')[0] for pieces in marks for piece in pieces]


def _place(one: Sent) -> tuple[Any, ...] | None:
    """What no two messages should share; None where nothing tells repeats from news."""
    try:
        capture = json.loads(one.value)
        kind = capture["kind"]
    except (ValueError, TypeError, KeyError):
        return None
    whole = kind in ("request", "response")
    if not whole and capture.get("seq") is None:
        return None
    return (capture["call_id"], capture.get("tenant"), kind if whole else "stream", capture.get("seq"))


def _vanished(sent: list[Sent], said: str) -> list[Sent]:
    """Messages whose word nobody says, and whose place no other message has."""
    distinct = list(dict.fromkeys(sent))
    places = Counter(_place(one) for one in distinct)
    return [
        one
        for one in distinct
        if one.word and one.word not in said and (_place(one) is None or places[_place(one)] == 1)
    ]


def _is_in_range(place: int, one: Sent, ran: Ran) -> bool:
    outputs: list[Any] = [record for record in ran.records if record["call_id"] == one.call]
    ranges = [source for output in [*outputs, *ran.dead_letters] for source in output["sources"]]
    return any(source["first_offset"] <= place <= source["last_offset"] for source in ranges)


@settings(max_examples=300, deadline=None)
@given(arrivals())
def test_every_message_is_in_a_record_a_dead_letter_or_a_count(arrival: tuple[list[Sent], int]) -> None:
    sent, batch = arrival
    ran = asyncio.run(run(MemoryStore(), [one.value for one in sent], batch=batch))
    assert not _vanished(sent, _said(ran))
    places = Counter(map(_place, sent))
    lost = [
        one
        for at, one in enumerate(sent)
        # An `end` says nothing of its own.
        if not one.word and b'"end"' not in one.value and (_place(one) is None or places[_place(one)] == 1)
        if not _is_in_range(at, one, ran)
    ]
    assert len(lost) <= ran.duplicates, lost
    assert not [letter for letter in ran.dead_letters if letter["code"] == "internal_error"]


def _bodied(call: str, word: str) -> Sent:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": word}}
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
    return _sent({"call_id": call, "kind": "response", "protocol": "openai.chat", "body": body}, word)


def _streamed(call: str, word: str, finish: str | None = None, **more: Any) -> Sent:
    head = {"call_id": call, "kind": "stream", "protocol": "openai.chat", **more}
    return _sent({**head, "body": _chunk(word, finish)}, word)


_FAULT = _sent({"call_id": "a", "kind": "error", "protocol": "openai.chat", "message": "fault;"}, "fault;")


@pytest.mark.parametrize("batch", [1, 2, 9])
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([_FAULT, _bodied("a", "body;")], id="an error at the log's first offset, then a body"),
        pytest.param([_bodied("a", "body;"), _FAULT], id="a body, then an error without a number"),
        pytest.param([_bodied("a", "body;"), _streamed("a", "piece;", seq=0)], id="a body, then the first piece"),
        pytest.param(
            [_streamed("a", "piece;", "stop", seq=0), _bodied("a", "body;")], id="the first piece, then a body"
        ),
        pytest.param([_bodied("a", "body;"), _streamed("a", "piece;")], id="a body at offset 0, then a piece"),
        pytest.param([_streamed("a", "piece;", "stop"), _bodied("a", "body;")], id="a piece at offset 0, then a body"),
        pytest.param(
            [
                _streamed("a", "piece;", seq=3),
                _bodied("a", "body;"),
                _streamed("a", "mixed;"),
                _streamed("a", "low;", seq=1),
            ],
            id="a body among pieces with numbers and without",
        ),
        pytest.param(
            [
                _streamed("a", "one;", "stop", seq=0),
                _streamed("a", "mixed;"),
                _streamed("a", "two;", seq=1),
                _bodied("a", "body;"),
            ],
            id="pieces with numbers and without, then a body",
        ),
    ],
)
def test_what_comes_beside_a_whole_body_is_kept_aside(sent: list[Sent], batch: int) -> None:
    ran = asyncio.run(run(MemoryStore(), [one.value for one in sent], batch=batch))
    said = _said(ran)
    assert [one.word for one in sent if one.word not in said] == []
    # Every word once: the first that is complete is the record, the rest is dead letters.
    assert len(ran.records) == 1
    aside = "".join(letter.get("value", b"").decode() for letter in ran.dead_letters)
    assert all((one.word in json.dumps(ran.records)) != (one.word in aside) for one in sent if one is not _FAULT)


@dataclass(slots=True)
class _Partition:
    """A partition's log with how far it was committed; what a worker publishes, it commits with the offset."""

    number: int
    log: list[Sent] = field(default_factory=list)
    committed: int = 0
    round: int = 0

    def messages(self, size: int) -> list[Inbound]:
        first = self.committed
        values = [one.value for one in self.log[first : first + size]]
        return [Inbound.at(Source("raw", self.number, first + at, 1_000_000), value) for at, value in enumerate(values)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One batch of a partition. dies: before which step; "" for none. all_due: everybody's patience has ended."""

    partition: int
    size: int
    dies: str
    all_due: bool


async def _step(pipeline: Pipeline, partition: _Partition, step: _Step, ran: Ran) -> bool:
    """Whether the batch had anything to close."""
    messages = partition.messages(step.size)
    batch = await pipeline.process(messages)
    if step.dies == "due":
        return True
    committed, round_ = partition.committed, partition.round
    if messages:
        position = Position("raw", partition.number, committed + len(messages) - 1)
    else:
        position = Position("raw", partition.number, committed, round_ + 1)
    await pipeline.due(batch, position, FOREVER if step.all_due else 0, committed, round_)
    if step.dies == "commit":
        return True
    ran.take(batch)
    partition.committed, partition.round = committed + len(messages), position.round
    if step.dies != "close":
        await pipeline.close(batch)
    return bool(batch.closes) or step.dies == "close"


async def _run_crashing(partitions: list[_Partition], steps: list[_Step]) -> Ran:
    ran, store = Ran(), MemoryStore()
    pipeline = Pipeline(store)
    for step in steps:
        await _step(pipeline, partitions[step.partition], step, ran)
        if step.dies:
            pipeline = Pipeline(store)
    for _ in range(200):
        busy = [await _step(pipeline, each, _Step(each.number, 50, "", True), ran) for each in partitions]
        if not any(busy) and all(each.committed == len(each.log) for each in partitions):
            return ran
    raise AssertionError("calls stay open for ever")


_STEPS = st.builds(
    _Step, st.integers(0, 1), st.integers(1, 6), st.sampled_from(["", "", "due", "commit", "close"]), st.booleans()
)


def _is_of_the_other_kind(one: Sent) -> bool:
    is_piece = any(kind in one.value for kind in (b'"stream"', b'"error"', b'"end"'))
    return is_piece and b'"kind": "end"' not in one.value and (b'"seq"' in one.value) != (one.call == "a")


@settings(max_examples=300, deadline=None)
@given(arrivals(), st.lists(st.integers(0, 1), min_size=20, max_size=20), st.lists(_STEPS, max_size=12))
def test_nothing_vanishes_though_workers_die_at_any_step(
    arrival: tuple[list[Sent], int], routes: list[int], steps: list[_Step]
) -> None:
    """Two partitions, over which numbered pieces are spread, and workers that die and read again from the last commit.

    Pieces without a number have no order but the log's, so all of a call go to one partition. A call's pieces have all
    a number (call a) or none has (call b): a crash between commit and close may repeat what is mixed.
    """
    # What has no number is news each time it comes.
    sent = [one for one in dict.fromkeys(arrival[0]) if not _is_of_the_other_kind(one)]
    partitions = [_Partition(0), _Partition(1)]
    for one, route in zip(sent, routes, strict=False):
        partitions[route if b'"seq"' in one.value else one.call == "b"].log.append(one)
    ran = asyncio.run(_run_crashing(partitions, steps))
    ran.content()  # Fails when a record was published twice.
    assert not _vanished(sent, _said(ran))
    texts = [json.dumps(record) for record in ran.records]
    for word in {one.word for one in sent if one.word}:
        assert sum(word in text for text in texts) <= 1, word


@settings(max_examples=100, deadline=None)
@given(arrivals())
def test_a_word_is_said_by_one_output_only(arrival: tuple[list[Sent], int]) -> None:
    """Nothing is said twice, nothing of one call or tenant is said in another's record."""
    sent, batch = arrival
    distinct = list(dict.fromkeys(sent))
    ran = asyncio.run(run(MemoryStore(), [one.value for one in distinct], batch=batch))
    texts = [(record["call_id"], json.dumps(record)) for record in ran.records]
    for one in distinct:
        if one.word:
            saying = [call for call, text in texts if one.word in text]
            assert saying in ([], [one.call])
