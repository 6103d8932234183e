"""Chat Completions in every dialect: how calls are numbered, named, cut and mixed does not change them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import loads
from headrace.reassembly.memory import MemoryStore
from tests.support import traffic
from tests.support.running import run
from tests.support.trap_results import calls_of, result_of

_NAMES = st.sampled_from(["get_weather", "f", "search.web", "mcp__server__tool", "lire_température"])
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "city", "deep", "list"]),
    st.one_of(
        st.integers(-9, 9), st.text(max_size=6), st.just({"b": [1, {"c": "}{"}]}), st.just(["[", "]"]), st.none()
    ),
    max_size=3,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it should come out."""

    id: str
    name: str
    arguments: str


@st.composite
def calls(draw: st.DrawFn) -> list[Call]:
    count = draw(st.integers(1, 5))
    return [
        Call(f"call_{number}", draw(_NAMES), json.dumps(draw(_ARGUMENTS), ensure_ascii=draw(st.booleans())))
        for number in range(count)
    ]


def _pieces(draw: st.DrawFn, text: str, most: int) -> list[str]:
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=most))) if len(text) > 1 else []
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _name_pieces(draw: st.DrawFn, name: str) -> list[str]:
    """A name cut anywhere, but never so that a piece repeats what is there: that is how a name is restated."""
    pieces = _pieces(draw, name, 2)
    is_told = all(piece != "".join(pieces[:at]) for at, piece in enumerate(pieces) if at)
    return pieces if is_told else [name]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server writes its fragments."""

    index: str  # right | missing | zero | from_one | sparse | text
    ids: str  # first | every | blank_after | null_after
    names: str  # first | split | every | blank_after | null_after
    types: str  # first | every | never

    @property
    def may_interleave(self) -> bool:
        """Whether a fragment says by itself which call it is of."""
        return self.index in ("right", "from_one", "sparse") or self.ids == "every"


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    return Dialect(
        draw(st.sampled_from(["right", "right", "missing", "zero", "from_one", "sparse"])),
        draw(st.sampled_from(["first", "every", "blank_after", "null_after"])),
        draw(st.sampled_from(["first", "split", "every", "blank_after", "null_after"])),
        draw(st.sampled_from(["first", "every", "never"])),
    )


def _fragments(draw: st.DrawFn, call: Call, place: int, dialect: Dialect) -> list[dict[str, Any]]:
    """The fragments of one call, in order."""
    names = _name_pieces(draw, call.name) if dialect.names == "split" else [call.name]
    texts = _pieces(draw, call.arguments, 4)
    opening: Any = draw(st.sampled_from(["", None, "missing", "whole"]))
    steps = [(name, None) for name in names[:-1]]
    steps += [(names[-1], texts[0])] if opening == "whole" and dialect.names != "split" else [(names[-1], opening)]
    steps += [(None, text) for text in texts[1 if opening == "whole" and dialect.names != "split" else 0 :]]
    made = []
    for step, (name, text) in enumerate(steps):
        function: dict[str, Any] = {}
        if text not in ("missing", "whole"):
            function["arguments"] = text
        shown = (
            name
            if name is not None
            else {"every": call.name, "blank_after": "", "null_after": None}.get(dialect.names, "-")
        )
        if shown != "-":
            function["name"] = shown
        fragment: dict[str, Any] = {"function": function}
        index = {"right": place, "zero": 0, "from_one": place + 1, "sparse": place * 7}.get(dialect.index)
        if index is not None:
            fragment["index"] = index
        if step == 0 or dialect.ids == "every":
            fragment["id"] = call.id
        elif dialect.ids != "first":
            fragment["id"] = "" if dialect.ids == "blank_after" else None
        if dialect.types == "every" or (dialect.types == "first" and step == 0):
            fragment["type"] = "function"
        made.append(fragment)
    return made


def _mixed(draw: st.DrawFn, lanes: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The fragments of several calls interleaved; calls begin in their order."""
    waiting = [list(lane) for lane in lanes]
    mixed = [waiting[0].pop(0)]
    begun = 1
    while any(waiting):
        open_lanes = [at for at in range(begun) if waiting[at]]
        if begun < len(waiting):
            open_lanes.append(begun)
        at = draw(st.sampled_from(open_lanes))
        begun = max(begun, at + 1)
        mixed.append(waiting[at].pop(0))
    return mixed


def _chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Call], Dialect, list[Any]]:
    """(calls, dialect, events)"""
    made, dialect = draw(calls()), draw(dialects())
    lanes = [_fragments(draw, call, place, dialect) for place, call in enumerate(made)]
    mixed = dialect.may_interleave and draw(st.booleans())
    fragments = _mixed(draw, lanes) if mixed else [fragment for lane in lanes for fragment in lane]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": draw(st.sampled_from(["", None, "\n\n"]))}]
    while fragments:
        size = draw(st.integers(1, 3)) if dialect.index in ("right", "from_one", "sparse") else 1
        deltas.append({"tool_calls": fragments[:size]})
        fragments = fragments[size:]
    events = [_chunk(delta) for delta in deltas]
    ending = draw(st.sampled_from(["own", "last", "twice"]))
    if ending == "last":
        events[-1]["choices"][0]["finish_reason"] = "tool_calls"
    else:
        events += [_chunk({}, "tool_calls")] * (2 if ending == "twice" else 1)
    _spread_usage(draw, events)
    if draw(st.booleans()):
        events.append("[DONE]")
    return made, dialect, events


_TOTAL = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _spread_usage(draw: st.DrawFn, events: list[Any]) -> None:
    """Usage last and alone, on the last chunk, on every chunk as running totals, on some, or null but for the last."""
    way = draw(st.sampled_from(["alone", "last", "every", "some", "null"]))
    if way in ("every", "some"):
        for at, event in enumerate(events):
            if way == "every" or at % 3 == 0:
                event["usage"] = {"prompt_tokens": 11, "completion_tokens": min(at, 7), "total_tokens": 11 + min(at, 7)}
    elif way == "null":
        for event in events:
            event["usage"] = None
    if way == "alone" or (way == "null" and draw(st.booleans())):
        events.append(_chunk(None, usage=dict(_TOTAL)))
    else:
        events[-1]["usage"] = dict(_TOTAL)


def record_of(events: list[Any]) -> CanonicalRecord:
    """The one record of a stream that a gateway saw to its end."""
    head = {"call_id": "c", "protocol": "openai.chat"}
    lines = [{**head, "kind": "stream", "seq": seq, "body": event} for seq, event in enumerate(events)]
    lines.append({**head, "kind": "end", "count": len(events)})
    ran = asyncio.run(run(MemoryStore(), traffic.encode(lines)))
    assert not ran.dead_letters
    assert len(ran.records) == 1
    return ran.records[0]


@settings(max_examples=250, deadline=None)
@given(streams())
def test_calls_are_the_same_in_every_dialect(stream: tuple[list[Call], Dialect, list[Any]]) -> None:
    made, dialect, events = stream
    record = record_of(events)
    found = [(call["id"], call["name"], loads(call["arguments"]), call["index"]) for call in calls_of(record)]
    assert found == [(call.id, call.name, json.loads(call.arguments), at) for at, call in enumerate(made)], dialect
    wanted = {"status": "complete", "stop": "tool_calls", "usage": _TOTAL}
    assert result_of(record, wanted) == wanted


@settings(max_examples=100, deadline=None)
@given(streams(), st.data())
def test_a_stream_cut_anywhere_is_never_called_finished(
    stream: tuple[list[Call], Dialect, list[Any]], data: st.DataObject
) -> None:
    _, _, events = stream
    finish = next(at for at, event in enumerate(events) if event["choices"] and event["choices"][0]["finish_reason"])
    cut = data.draw(st.integers(1, finish)) if finish else 0
    record = record_of(events[:cut])
    wanted = {"status": "truncated", "stop": None}
    assert result_of(record, wanted) == wanted


@settings(max_examples=100, deadline=None)
@given(streams(), st.data())
def test_an_error_frame_at_any_place_fails_the_call_and_keeps_what_came(
    stream: tuple[list[Call], Dialect, list[Any]], data: st.DataObject
) -> None:
    _, _, events = stream
    at = data.draw(st.integers(0, len(events) - 1))
    frame = data.draw(
        st.sampled_from(
            [
                {"error": {"message": "broke", "type": "server_error", "code": 500}},
                {"error": {"message": "broke", "type": "server_error"}, "choices": []},
                {"choices": None, "error_type": "server_error", "error_message": "broke", "error_code": 500},
                _chunk({}, "error", error={"message": "broke", "type": "server_error"}),
            ]
        )
    )
    before = record_of(events[:at]) if at else None
    record = record_of([*events[:at], frame])
    wanted = {"status": "failed", "error": {"type": "server_error", "message": "broke"}}
    assert result_of(record, wanted) == wanted
    if before is not None:
        assert [call.get("raw_arguments") for call in calls_of(record)] == [
            call.get("raw_arguments") for call in calls_of(before)
        ]


_REASONING = st.lists(st.sampled_from(["Plan", " it", "\n", " — then", " go"]), min_size=1, max_size=5)


@settings(max_examples=100, deadline=None)
@given(
    _REASONING,
    st.sets(st.sampled_from(["reasoning_content", "reasoning", "reasoning_details"]), min_size=1),
    st.sampled_from([None, "encrypted", "text"]),
)
def test_reasoning_said_in_several_fields_counts_once(texts: list[str], fields: set[str], after: str | None) -> None:
    events = []
    for text in texts:
        said: dict[str, Any] = {
            "reasoning_content": text,
            "reasoning": text,
            "reasoning_details": [{"type": "reasoning.summary", "summary": text, "index": 0}],
        }
        events.append(_chunk({"content": "", **{field: said[field] for field in sorted(fields)}}))
    if after == "encrypted":
        events.append(_chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j", "index": 0}]}))
    events += [_chunk({"content": "3"}), _chunk({}, "stop"), "[DONE]"]
    record = record_of(events)
    kind = "summary" if "reasoning_details" in fields else "thinking"
    wanted: dict[str, Any] = {"text": "3", "reasoning": [{"kind": kind, "text": "".join(texts)}]}
    if after == "encrypted":
        wanted["reasoning"].append({"kind": "encrypted", "data": "ZW5j"})
    assert result_of(record, wanted) == wanted


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_ids_and_choice_indexes_that_change_with_every_chunk_are_one_answer(
    texts: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, 500))
    step = data.draw(st.integers(1, 3))
    doubled = data.draw(st.booleans())
    events = []
    for at, text in enumerate(texts):
        choice: dict[str, Any] = {"index": start + at * step, "delta": {"content": text, "role": "assistant"}}
        if doubled:
            choice["message"] = {"role": "assistant", "content": text}
        choice["finish_reason"] = "stop" if at == len(texts) - 1 else None
        events.append({"id": f"chat.{at}", "object": "chat.completion.chunk", "model": None, "choices": [choice]})
    wanted = {"status": "complete", "stop": "stop", "text": "".join(texts)}
    assert result_of(record_of([*events, "[DONE]"]), wanted) == wanted
