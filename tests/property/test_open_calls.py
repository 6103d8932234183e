"""What is remembered of open calls from batch to batch changes nothing of what is read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.capture.inbound import Inbound
from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Intake, Share

_BODIES: list[Any] = [
    {"delta": "a"},
    {"delta": "b"},
    {"a": [1]},
    {"tools": [{"authorization": "secret"}]},
    [1],
    "[DONE]",
]
_MORE: list[dict[str, Any]] = [
    {},
    {},
    {"tenant": "one"},
    {"provider": "openai"},
    {"direction": "client"},
    {"http": {"status": 200, "headers": {"authorization": "secret", "x-request-id": "1"}}},
    {"protocol": "no such protocol"},
    {"kind": "end", "count": 3},
    {"kind": "response"},
]
_TIMES = ["2026-11-30T10:00:01.000001Z", "2026-11-30T10:01:59.999999Z", "2026-11-30T10:00:61.000000Z", "1790000000"]


@st.composite
def _message(draw: st.DrawFn) -> tuple[str, int, bytes]:
    """(topic, partition, value) of one of a few calls' messages, mostly written alike."""
    fields: dict[str, Any] = {"call_id": draw(st.sampled_from(["call-1", "call-2"])), "seq": draw(st.integers(0, 12))}
    fields |= {"kind": "stream", "captured_at": draw(st.sampled_from(_TIMES))}
    fields |= draw(st.sampled_from(_MORE))
    fields["body"] = draw(st.sampled_from(_BODIES))
    value = json.dumps(fields, separators=draw(st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]))).encode()
    return draw(st.sampled_from(["raw", "raw", "other"])), draw(st.sampled_from([0, 0, 1])), value


def _read(intake: Intake, messages: list[Inbound]) -> tuple[list[Share], list[Any]]:
    batch = Batch(consumed=len(messages))
    return intake.shares(messages, batch), batch.dead_letters


def _plain(share: Share) -> Any:
    pieces = share.pieces
    columns = (pieces.traits, pieces.offsets, pieces.timestamps, pieces.seqs, pieces.captured, pieces.payloads)
    return share.key, share.facts, share.index, share.body is None, columns


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(_message(), max_size=12), min_size=2, max_size=5), st.data())
def test_a_batch_is_read_as_if_it_were_the_first(
    batches: list[list[tuple[str, int, bytes]]], data: st.DataObject
) -> None:
    used = Intake(None, None)
    offset = 0
    for drawn in batches:
        messages = []
        for topic, partition, value in drawn:
            offset += 1
            messages.append(Inbound(topic, partition, offset, offset * 1000, value, b"key", ()))
        shares, letters = _read(used, messages)
        alone, letters_alone = _read(Intake(None, None), messages)
        assert [_plain(share) for share in shares] == [_plain(share) for share in alone]
        assert letters == letters_alone
        for share in shares:
            used.note(share, is_open=data.draw(st.booleans()))


def test_events_of_a_call_that_is_open_are_read_by_what_the_batch_before_told() -> None:
    intake = Intake(None, None)
    head = b'{"call_id":"call-1","seq":%d,"kind":"stream","protocol":"openai.chat","body":{"choices":[]}}'
    read = []
    for first in (0, 2):
        messages = [Inbound("raw", 0, seq, 0, head % seq, None, ()) for seq in (first, first + 1)]
        (share,), _ = _read(intake, messages)
        read.append(share)
        intake.note(share, is_open=True)
    assert read[0].written is not None
    assert read[1].written is read[0].written
    assert read[1].facts == read[0].facts
    intake.note(read[1], is_open=False)
    (share,), _ = _read(intake, [Inbound("raw", 0, 4, 0, head % 4, None, ())])
    assert share.written is None


def test_what_large_messages_repeat_is_not_remembered() -> None:
    intake = Intake(None, None)
    head = b'{"call_id":"call-1","seq":%d,"kind":"stream","task_id":"' + b"x" * 10_000 + b'","body":{"choices":[]}}'
    for first in (0, 2):
        messages = [Inbound("raw", 0, seq, 0, head % seq, None, ()) for seq in (first, first + 1)]
        (share,), _ = _read(intake, messages)
        assert share.pieces.seqs == [first, first + 1]
        intake.note(share, is_open=True)
    (share,), _ = _read(intake, [Inbound("raw", 0, 4, 0, head % 4, None, ())])
    assert share.written is None


def test_more_open_calls_than_are_remembered_are_read_as_well() -> None:
    intake = Intake(None, None)
    calls = 5000
    for seqs in ((0, 1), (2, 3)):
        messages = [
            Inbound(
                "raw", 0, seq, 0, b'{"call_id":"call-%d","seq":%d,"kind":"stream","body":{}}' % (call, seq), None, ()
            )
            for call in range(calls)
            for seq in seqs
        ]
        shares, letters = _read(intake, messages)
        assert [share.pieces.seqs for share in shares] == [list(seqs)] * calls
        assert not letters
        for share in shares:
            intake.note(share, is_open=True)
