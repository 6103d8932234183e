"""What stays with its provider: hosted tools, items nobody else understands, echoes of the request."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import spelling
from headrace.convert.draft import Draft
from headrace.convert.matrix import SPELLING, matrix

#: Kinds of calls that the client itself answers; all others are work of the provider's own tools.
CLIENT_KINDS = frozenset({"function", "custom", "computer", "shell", "patch", "editor", "memory", "browser"})
_FOREIGN_PARTS = {"data": "provider_item", "unknown": "unknown_type", "code": "server_tool", "citation": "citation"}


def leave_out_echoes(draft: Draft) -> None:
    """A response that repeats its request (settings, tools, prompt) does so in its own protocol only."""
    record = draft.record
    for name in ("parameters", "tools", "tool_choice"):
        if name in record:
            draft.lose(record, name, "request_echo")
    if draft.target.column in _ANSWER_ONLY:
        _leave_out_results(draft)
    kept = []
    for message in draft.messages:
        if message.get("role") in ("assistant", "tool") and "at" not in spelling(message):
            kept.append(message)
        elif "at" in spelling(message) or draft.source.get("protocol") == _LIVE:
            draft.drop(message, "request_echo", "what came before the answer")
        else:
            # Only Live and echoed prompts have the client's words in a response.
            draft.note(message, "role", "unsupported_value", message["role"])
            message["role"] = "assistant"
            kept.append(message)
    record["messages"] = kept


_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_LIVE = "gemini.live"
#: Targets whose answer holds only what the model said.
_ANSWER_ONLY = frozenset({"chat", "responses", "anthropic", "gemini"})


def _leave_out_results(draft: Draft) -> None:
    """What the client answered in the middle of a turn (Live) or a server on its behalf."""
    for message in draft.messages:
        parts = message.get("parts", ())
        results = [part for part in parts if part.get("type") == "tool_result" and _foreign(part) is None]
        for part in results:
            draft.drop(part, "request_echo", "a result inside the answer")
        if results:
            message["parts"] = [part for part in parts if not any(part is one for one in results)]
    emptied = [one for one in draft.messages if one.get("role") == "tool" and not one.get("parts")]
    for message in emptied:
        draft.moved(message, "role")
    draft.record["messages"] = [one for one in draft.messages if not any(one is gone for gone in emptied)]


def name_roles(draft: Draft) -> None:
    """A message that does not say whose it is: the model's in a response, the user's in a request."""
    for message in draft.messages:
        role = message.get("role")
        if not role:
            draft.rewrite(message, "role", "user" if draft.is_request else "assistant")
        elif draft.is_request and role not in _ROLES and draft.source.get("protocol") != _LIVE:
            draft.note(message, "role", "unsupported_value", role)
            message["role"] = "user"


def drop_spelling(draft: Draft) -> None:
    """How the source was spelled has no meaning elsewhere."""
    if "envelope" in spelling(draft.record):
        draft.lose(draft.record, "metadata", "provider_detail", "the line of a batch")
    _despell(draft.record)


def _despell(value: Any) -> None:
    if type(value) is dict:
        value.pop("wire", None)
        value.pop("continuation", None)
        for held in value.values():
            _despell(held)
    elif type(value) is list:
        for held in value:
            _despell(held)


def leave_out_foreign_items(draft: Draft) -> None:
    """Parts that only their provider understands, and calls that it answered itself, are listed one by one."""
    for message in draft.messages:
        if message.get("role") == "session":
            draft.drop(message, "provider_detail", "a signal of the session itself")
            message["parts"] = []
            continue
        kept = []
        for part in message.get("parts", ()):
            code = _foreign(part)
            if code is None:
                _despell_type(part)
                kept.append(part)
            else:
                draft.drop(part, code, _name(part))
        if len(kept) != len(message.get("parts", ())):
            message["parts"] = kept


def _despell_type(part: Any) -> None:
    part.pop("wire_type", None)
    for name in ("tool_call", "tool_result"):
        if name in part:
            part[name].pop("wire_type", None)


def _foreign(part: Any) -> str | None:
    kind = part.get("type", "unknown")
    if kind in ("tool_call", "tool_result"):
        inner = part.get(kind) or {}
        return None if inner.get("kind", "function") in CLIENT_KINDS else "server_tool"
    return _FOREIGN_PARTS.get(kind)


def _name(part: Any) -> str | None:
    inner = part.get(part.get("type", "")) or {}
    name: str | None = (inner.get("name") if type(inner) is dict else None) or part.get("wire_type")
    return name


def leave_behind(draft: Draft, part: Any) -> None:
    """Report what a text that goes says beside its text and citations."""
    for field in [name for name in part if name not in ("type", "text", "citations", "reasoning", *SPELLING)]:
        line = matrix().line(f"messages[].parts[].{field}", "response")
        draft.lose(part, field, line.code if line else "unsupported_field")


def make_functions(draft: Draft) -> None:
    """Tools that the client runs are functions wherever the target has no such kind."""
    for message in draft.messages:
        for part in message.get("parts", ()):
            kind = part.get("type")
            inner = part.get(kind) if kind in ("tool_call", "tool_result") else None
            if inner is None:
                continue
            declared = inner.get("kind", "function")
            wanted = declared if declared == "custom" and draft.target.custom_tools else "function"
            if declared != wanted:
                code = "custom_as_function" if declared == "custom" else "kind_as_function"
                draft.note(inner, "kind", code, declared)
            inner["kind"] = wanted
            if wanted != declared and declared == "custom" and kind == "tool_call":
                inner["was_custom"] = True
            draft.moved(inner, "kind")


def drop_empty_messages(draft: Draft) -> None:
    """A message of which nothing is left goes; one that was empty from the start says nothing."""
    if not draft.is_request:
        return
    for message in draft.messages:
        if not message.get("parts"):
            _say_what_is_left(draft, message)
    draft.record["messages"] = [message for message in draft.messages if message.get("parts")]


def _say_what_is_left(draft: Draft, message: Any) -> None:
    draft.moved(message, "role")
    for field in [name for name in message if name not in ("role", "parts", *SPELLING)]:
        draft.lose(message, field, "provider_detail", "the message holds nothing else")
