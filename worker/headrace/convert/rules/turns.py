"""Roles and turns: system messages, where results stand, the order of parts, one turn a message."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from headrace.convert.draft import Draft
from headrace.convert.matrix import SPELLING, matrix
from headrace.convert.rules.items import leave_behind

_SYSTEM = ("system", "developer")


def place_system(draft: Draft) -> None:
    """System and developer messages: at the top where the target has them, in mid conversation where it can."""
    messages, target = draft.messages, draft.target
    first = next((at for at, message in enumerate(messages) if message.get("role") not in _SYSTEM), len(messages))
    for at, message in enumerate(messages):
        if message.get("role") in _SYSTEM:
            _keep_texts(draft, message)
            _name_role(draft, message, at < first)
    top = messages[:first]
    if target.column in ("anthropic", "gemini", "live", "interactions") and top:
        top = [_one_message(draft, top)]
    if top and target.column == "anthropic":
        top[0]["wire"] = '{"at":"system"}'
    if top and target.column == "responses" and _is_plain(top[0]):
        top[0]["wire"] = '{"from":"instructions"}'
    messages[:first] = top


def _keep_texts(draft: Draft, message: Any) -> None:
    kept = []
    for part in message.get("parts", ()):
        if part.get("type") == "text" or (part.get("type") == "media" and draft.target.family == "google"):
            kept.append(part)
        else:
            draft.drop(part, "media_kind" if part.get("type") == "media" else "unsupported_field", part.get("type"))
    message["parts"] = kept


def _name_role(draft: Draft, message: Any, at_top: bool) -> None:
    if not at_top and not draft.target.mid_system:
        draft.note(message, "role", "system_in_conversation", "written as a user message, in its place")
        message["role"] = "user"
    elif message["role"] == "developer" and not draft.target.developer:
        draft.note(message, "role", "role_renamed", "developer")
        message["role"] = "system"


def _one_message(draft: Draft, top: list[Any]) -> Any:
    message = top[0]
    for other in top[1:]:
        message["parts"] = [*message["parts"], *other["parts"]]
        _merge_facts(draft, message, other)
    if draft.target.column == "interactions" and len(message["parts"]) > 1:
        join_texts(draft, message, "\n\n")
    return message


def join_texts(draft: Draft, message: Any, gap: str) -> None:
    """All texts of a message as the first of them; positions of their citations move along."""
    texts = [part for part in message["parts"] if part.get("type") == "text"]
    if len(texts) < 2:
        return
    whole, others = texts[0], texts[1:]
    for part in others:
        before = whole.get("text", "") + gap
        for citation in part.get("citations", ()):
            _shift(draft, citation, before)
            whole.setdefault("citations", []).append(citation)
        whole["text"] = before + part.get("text", "")
        draft.note(part, "text", "texts_joined")
        draft.moved(part, "type", "text")
        leave_behind(draft, part)
    draft.note(whole, "text", "texts_joined")
    message["parts"] = [part for part in message["parts"] if not any(part is other for other in others)]


def _shift(draft: Draft, citation: Any, before: str) -> None:
    offset = len(before.encode() if citation.get("unit") == "byte" else before)
    for field in ("start_index", "end_index"):
        if field in citation:
            citation[field] += offset
            draft.note(citation, field, "citation_moved")


def _is_plain(message: Any) -> bool:
    parts = message.get("parts", ())
    return (
        message["role"] == "system"
        and "name" not in message
        and len(parts) == 1
        and parts[0].keys() <= {"type", "text"}
    )


# Results


def place_results(draft: Draft) -> None:
    """Results in messages of their own, or packed into one user message, as the target wants."""
    placed: list[Any] = []
    packed = draft.target.results == "packed"
    for message in draft.messages:
        runs = [
            list(run)
            for _, run in groupby(message.get("parts", ()), key=lambda part: part.get("type") == "tool_result")
        ]
        if not any(run[0].get("type") == "tool_result" for run in runs):
            placed.append(message)
            continue
        if all(run[0].get("type") == "tool_result" for run in runs):
            _leave_facts(draft, message)
        if message.get("role") == "user" and len(runs) > 1 and runs[0][0].get("type") != "tool_result":
            # Results answer the turn before: they come first.
            draft.note(message, "parts", "order_changed", "results come first")
            runs.sort(key=lambda run: run[0].get("type") != "tool_result")
        for at, run in enumerate(runs):
            if run[0].get("type") != "tool_result":
                _place_rest(draft, message, run, placed)
            elif packed:
                _pack(draft, message, run, placed, joins=at == 0)
            else:
                placed += [draft.like({"role": "tool", "parts": [part]}, message) for part in run]
        draft.moved(message, "role")
    draft.record["messages"] = placed
    if draft.target.results_apart:
        _sort_results(draft)


def _leave_facts(draft: Draft, message: Any) -> None:
    """What a message says besides its results has no place where each result is a message."""
    for field in [name for name in message if name not in ("role", "parts", *SPELLING)]:
        line = matrix().line(f"messages[].{field}", "request")
        draft.lose(message, field, line.code if line else "unsupported_field")


def _place_rest(draft: Draft, message: Any, run: list[Any], placed: list[Any]) -> None:
    last: Any = placed[-1] if placed else None
    role = "user" if message.get("role") == "tool" else message["role"]
    same = last is not None and draft.origin(last) == draft.origin(message) and last["role"] == role
    if same and not draft.target.results_apart and draft.target.results == "packed":
        last["parts"] = [*last["parts"], *run]
        return
    placed.append(draft.like({**message, "role": role, "parts": run}, message))


def _pack(draft: Draft, message: Any, run: list[Any], placed: list[Any], *, joins: bool) -> None:
    last = placed[-1] if placed else None
    if joins and last is not None and _is_results(last):
        last["parts"] = [*last["parts"], *run]
        draft.note(message, "", "messages_merged")
    else:
        placed.append(draft.like({"role": "user", "parts": run}, message))


def _is_results(message: Any) -> bool:
    parts = message.get("parts", ())
    return bool(parts) and all(part.get("type") == "tool_result" for part in parts)


def _sort_results(draft: Draft) -> None:
    """Google correlates by order where ids are absent: results stand in the order of their calls."""
    order: dict[str, int] = {}
    for message in draft.messages:
        for part in message.get("parts", ()):
            if part.get("type") == "tool_call":
                order[part["tool_call"].get("id", "")] = len(order)
        if not _is_results(message):
            continue
        ranks = [order.get(part["tool_result"].get("tool_call_id", ""), len(order)) for part in message["parts"]]
        if ranks != sorted(ranks):
            draft.note(message, "parts", "results_reordered")
            message["parts"] = sorted(
                message["parts"],
                key=lambda part: order.get(part["tool_result"].get("tool_call_id", ""), len(order)),
            )


# Turns


def merge_turns(draft: Draft) -> None:
    """What the assistant wrote in a row is one turn; a choice is one message."""
    column = draft.target.column
    if column == "responses" or (column == "interactions" and draft.is_request):
        return
    merged: list[Any] = []
    for message in draft.messages:
        last = merged[-1] if merged else None
        if (
            last is None
            or message["role"] != "assistant"
            or last["role"] != "assistant"
            or _other_choice(last, message)
        ):
            merged.append(message)
            continue
        last["parts"] = [*last.get("parts", ()), *message.get("parts", ())]
        _merge_facts(draft, last, message)
    draft.record["messages"] = merged


def _merge_facts(draft: Draft, last: Any, message: Any) -> None:
    """What is said of the later message is said of both, where the earlier has no word of its own."""
    draft.note(message, "", "messages_merged")
    draft.moved(message, "role", "choice_index")
    for field in [name for name in message if name not in ("role", "parts", "choice_index", *SPELLING)]:
        if field in last:
            if last[field] == message[field]:
                draft.moved(message, field)
            else:
                draft.lose(message, field, "provider_detail", "one of two")
        else:
            last[field] = message[field]
            draft.like_field(last, field, message)


def _other_choice(last: Any, message: Any) -> bool:
    return bool(last.get("choice_index", 0) != message.get("choice_index", 0))


def keep_one_choice(draft: Draft) -> None:
    """Where a response is one answer, the first is written and the others are reported."""
    if draft.target.choices:
        return
    kept = []
    first = next((message.get("choice_index", 0) for message in draft.messages), 0)
    for message in draft.messages:
        if message.get("choice_index", 0) == first:
            if message.pop("choice_index", None) is not None:
                draft.moved(message, "choice_index")
            kept.append(message)
        else:
            draft.drop(message, "choices")
    draft.record["messages"] = kept


# The order of parts

_CHAT_RANKS = {"reasoning": 0, "refusal": 2, "tool_call": 3}


def order_parts(draft: Draft) -> None:
    """Chat keeps kinds of parts under keys of their own; Responses has one message item a message."""
    if draft.target.column == "chat":
        _order_chat(draft)
    elif draft.target.column == "responses":
        _split_items(draft)


def _order_chat(draft: Draft) -> None:
    for message in draft.messages:
        if message["role"] != "assistant":
            continue
        message.setdefault("parts", [])
        ranks = [_CHAT_RANKS.get(part.get("type", ""), 1) for part in message["parts"]]
        if ranks != sorted(ranks):
            draft.note(message, "parts", "order_changed", "reasoning, text and calls have keys of their own")
            message["parts"] = sorted(message["parts"], key=lambda part: _CHAT_RANKS.get(part.get("type", ""), 1))
        if not draft.is_request:
            join_texts(draft, message, "")
        for kind in ("reasoning", "refusal"):
            _join_kind(draft, message, kind)


def _join_kind(draft: Draft, message: Any, kind: str) -> None:
    """Several parts of a kind under one key are one string."""
    parts = [part for part in message["parts"] if part.get("type") == kind]
    for part in parts[1:]:
        first = parts[0]["reasoning"] if kind == "reasoning" else parts[0]
        own = part["reasoning"] if kind == "reasoning" else part
        first["text"] = first.get("text", "") + own.get("text", "")
        draft.note(own, "text", "texts_joined")
        draft.moved(own, "text")
        draft.note(first, "text", "texts_joined")
        draft.moved(part, "type")
        leave_behind(draft, part)
    message["parts"] = [part for part in message["parts"] if part.get("type") != kind or part is parts[0]]


def _is_content(part: Any) -> bool:
    return part.get("type") in ("text", "refusal", "media")


def _split_items(draft: Draft) -> None:
    split: list[Any] = []
    for message in draft.messages:
        if message["role"] != "assistant":
            split.append(message)
            continue
        pieces: list[list[Any]] = [[]]
        seen = False
        for content, run in groupby(message.setdefault("parts", []), key=_is_content):
            if content and seen:
                pieces.append([])
            seen = seen or content
            pieces[-1] += run
        if len(pieces) > 1:
            draft.note(message, "parts", "message_split")
        message["parts"] = pieces[0]
        split.append(message)
        split += [draft.like({**message, "parts": piece}, message) for piece in pieces[1:]]
    draft.record["messages"] = split


def report_ends(draft: Draft) -> None:
    """How a conversation begins and ends."""
    turns = [message for message in draft.messages if message["role"] not in _SYSTEM]
    if not turns or draft.target.column not in ("anthropic", "gemini"):
        return
    if turns[0]["role"] != "user":
        draft.note(turns[0], "role", "first_role", turns[0]["role"])
    if turns[-1]["role"] == "assistant" and draft.target.column == "anthropic":
        draft.note(turns[-1], "role", "prefill")


def report_signatures(draft: Draft) -> None:
    """Gemini 3 wants the signature of a step's first call; calls of other models have none."""
    if draft.target.column != "gemini":
        return
    for message in draft.messages:
        first = next((part for part in message["parts"] if part.get("type") == "tool_call"), None)
        if first is not None and "signature" not in first:
            draft.note(first, "signature", "missing_signature")
