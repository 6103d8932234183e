"""Texts, refusals, reasoning, cache breakpoints and citations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.convert.draft import Draft
from headrace.convert.rules.items import leave_behind
from headrace.json_text import loads

_GAP = "\n\n"


# Texts


def write_refusals(draft: Draft) -> None:
    """A refusal is text where the target has no refusals (all but OpenAI's)."""
    if draft.target.family == "openai":
        return
    for message in draft.messages:
        for part in message.get("parts", ()):
            if part.get("type") == "refusal":
                part["type"] = "text"
                draft.note(part, "type", "refusal_as_text")


def drop_empty_texts(draft: Draft) -> None:
    """Anthropic refuses empty texts; elsewhere, too, they say nothing."""
    for message in draft.messages:
        parts = message.get("parts", ())
        kept = [part for part in parts if not _is_empty(part)]
        for part in parts:
            if _is_empty(part):
                draft.note(part, "text", "empty_text")
                draft.moved(part, "type")
                leave_behind(draft, part)
        if len(kept) != len(parts):
            message["parts"] = kept


def _is_empty(part: Any) -> bool:
    empty = part.get("type") == "text" and not part.get("text")
    return empty and "signature" not in part and "citations" not in part


def keep_breakpoints(draft: Draft) -> None:
    """Anthropic's cache breakpoints are objects; whatever else a dialect had there is reported."""
    if draft.target.column != "anthropic":
        return
    for shape in _with_breakpoints(draft):
        if type(loads(shape["cache_control"])) is not dict:
            draft.lose(shape, "cache_control", "cache_hint")


def _with_breakpoints(draft: Draft) -> Iterator[Any]:
    parts = [part for message in draft.messages for part in message.get("parts", ())]
    for shape in (*parts, *draft.record.get("tools", ())):
        if "cache_control" in shape:
            yield shape


# Reasoning


def place_reasoning(draft: Draft) -> None:
    """Signatures go to their maker. Visible reasoning goes with an answer, and stays out of a foreign history."""
    for message in draft.messages:
        kept = []
        for part in message.get("parts", ()):
            if part.get("type") == "reasoning":
                if _reasoning(draft, part):
                    kept.append(part)
            else:
                _signature(draft, part)
                kept.append(part)
        if "parts" in message:
            message["parts"] = kept


def _reasoning(draft: Draft, part: Any) -> bool:
    """Whether a reasoning part stays."""
    target, reasoning = draft.target, part.get("reasoning") or {}
    home = _is_home(draft)
    if draft.is_request and not home and not draft.keeps_reasoning:
        draft.drop(part, "reasoning_foreign", "visible reasoning is left out of the history")
        return False
    if not home:
        draft.lose(reasoning, "signature", "signature_foreign")
    draft.lose(reasoning, "encrypted", "encrypted_foreign")
    draft.lose(reasoning, "redacted", "encrypted_foreign")
    if "data" in part and target.family != "google":
        draft.lose(part, "data", "provider_item")
    _form(draft, reasoning)
    if draft.dialect is not None and draft.dialect.keeps_reasoning:
        part["wire_type"] = draft.dialect.reasoning_key
    if target.column == "anthropic" and "text" in reasoning:
        # The type demands one; an empty one tells everybody that this block cannot be sent back.
        reasoning.setdefault("signature", "")
    if not reasoning.get("text") and not reasoning.get("summary") and "signature" not in reasoning:
        draft.drop(part, "reasoning_foreign", "nothing of it can be read")
        return False
    return True


def _form(draft: Draft, reasoning: Any) -> None:
    """Texts under the field that the target has."""
    text, summary = reasoning.get("text"), reasoning.get("summary")
    if draft.target.column == "responses" and text is not None and summary is None:
        return
    if draft.target.reasoning == "text" and summary:
        reasoning["text"] = _GAP.join([text, *summary] if text else summary)
        del reasoning["summary"]
        draft.note(reasoning, "summary", "reasoning_form")
        draft.moved(reasoning, "text")
    elif draft.target.reasoning == "summary" and draft.target.column != "responses" and text is not None:
        reasoning["summary"] = [text, *(summary or ())]
        del reasoning["text"]
        draft.note(reasoning, "text", "reasoning_form")
        draft.moved(reasoning, "summary")


def _is_home(draft: Draft) -> bool:
    """Whether the target is of the maker of the record's signatures (or nobody knows who made them)."""
    return draft.source_family is None or (draft.source_family == draft.target.family == "google")


def _signature(draft: Draft, part: Any) -> None:
    if "signature" not in part:
        return
    column, kind = draft.target.column, part.get("type")
    is_tool = kind in ("tool_call", "tool_result")
    takes = column == "gemini" or (column == "live" and not is_tool) or (column == "interactions" and is_tool)
    if not takes or not _is_home(draft):
        draft.lose(part, "signature", "signature_foreign")


# Citations


def place_citations(draft: Draft) -> None:
    """Web sources go where the target has them, with positions counted its way; others are reported."""
    unit = {"chat": "char", "responses": "char", "interactions": "byte"}.get(draft.target.column)
    for message in draft.messages:
        for part in message.get("parts", ()):
            citations = part.get("citations")
            if not citations:
                continue
            kept = []
            for citation in citations:
                if unit is None or not _is_web(citation) or not _recount(draft, citation, part.get("text", ""), unit):
                    draft.drop(citation, "citation", citation.get("type"))
                else:
                    kept.append(citation)
            if kept:
                part["citations"] = kept
            else:
                del part["citations"]


def _is_web(citation: Any) -> bool:
    return bool(citation.get("url")) and citation.get("unit") in (None, "char", "byte")


def _recount(draft: Draft, citation: Any, text: str, unit: str) -> bool:
    """Positions as ``unit`` counts them; a source without positions speaks of the whole text."""
    if draft.is_request:
        return False
    if "start_index" not in citation and "end_index" not in citation:
        citation["start_index"], citation["end_index"] = 0, len(text if unit == "char" else text.encode())
    elif citation.get("unit", unit) != unit:
        for field in ("start_index", "end_index"):
            if field in citation:
                citation[field] = _converted(text, citation[field], unit)
                draft.note(citation, field, "citation_moved")
    draft.moved(citation, "unit")
    citation["unit"] = unit
    citation.setdefault("start_index", 0)
    citation.setdefault("title", citation["url"])
    citation["type"] = "url_citation"
    draft.moved(citation, "type")
    return True


def _converted(text: str, index: int, unit: str) -> int:
    if unit == "char":
        return len(text.encode()[:index].decode(errors="ignore"))
    return len(text[:index].encode())
