"""Whatever captures arrive, in whatever order: each is in a record, in a dead letter, or counted as a duplicate.

Every message says a word of its own, so that being in a record means being in its content, and not only within a range
of offsets.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.reassembly.memory import MemoryStore
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


def _is_accounted(place: int, one: Sent, ran: Ran, said: str) -> bool:
    if one.word:
        return one.word in said
    outputs: list[Any] = [record for record in ran.records if record["call_id"] == one.call]
    ranges = [source for output in [*outputs, *ran.dead_letters] for source in output["sources"]]
    return any(source["first_offset"] <= place <= source["last_offset"] for source in ranges)


@settings(max_examples=300, deadline=None)
@given(arrivals())
def test_every_message_is_in_a_record_a_dead_letter_or_a_count(arrival: tuple[list[Sent], int]) -> None:
    sent, batch = arrival
    ran = asyncio.run(run(MemoryStore(), [one.value for one in sent], batch=batch))
    said = _said(ran)
    lost = [one for place, one in enumerate(sent) if not _is_accounted(place, one, ran, said)]
    assert len(lost) <= ran.duplicates, lost
    assert not [letter for letter in ran.dead_letters if letter["code"] == "internal_error"]


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
