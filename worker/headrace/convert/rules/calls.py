"""Calls and results: who answers whom, ids, names, arguments and what a tool returned."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from headrace.canonical.fields import is_text
from headrace.convert.draft import Draft, set_json
from headrace.errors import HeadraceError
from headrace.json_text import dumps, loads

#: The key under which a value stands that is no object where an object must be.
WRAPPED, UNPARSED, CUSTOM_INPUT = "value", "unparsed_arguments", "input"
_UNKNOWN = "unknown"
#: Targets that need some result, however empty.
_NEEDS_RESULT = ("responses", "interactions")


def parts_of(draft: Draft, kind: str) -> Iterator[Any]:
    """All parts of a type, in order."""
    for message in draft.messages:
        for part in message.get("parts", ()):
            if part.get("type") == kind:
                yield part


def link_results(draft: Draft) -> None:
    """Let every result name its call and its tool: by id, else by name and order. Orphans are reported."""
    open_calls: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for message in draft.messages:
        for part in message.get("parts", ()):
            if part.get("type") == "tool_call":
                call = part["tool_call"]
                known[call.get("id", "")] = open_calls[call.get("id", "")] = call
            elif part.get("type") == "tool_result":
                _link(draft, part["tool_result"], known, open_calls)


def _link(draft: Draft, result: Any, known: dict[str, Any], open_calls: dict[str, Any]) -> None:
    call_id = result.get("tool_call_id")
    if not call_id:
        name = result.get("name")
        call_id = next((key for key, call in open_calls.items() if not name or call.get("name") == name), None)
        if call_id is not None:
            draft.rewrite(result, "tool_call_id", call_id)
    call = known.get(call_id or "")
    open_calls.pop(call_id or "", None)
    if call is None:
        if draft.is_request:
            draft.note(result, "tool_call_id", "orphan_result")
        if not call_id:
            draft.rewrite(result, "tool_call_id", f"orphan_{_digest(draft.path(result) or '')}")
    if draft.target.column in ("gemini", "live"):
        _name(draft, result, call)
    elif draft.target.column == "interactions":
        if call is not None and call.get("name"):
            _name(draft, result, call)
    elif "name" in result:
        if call is not None and call.get("name") == result["name"]:
            draft.moved(result, "name")
            del result["name"]
        elif draft.target.column != "chat":
            draft.lose(result, "name", "unsupported_field")


def _name(draft: Draft, result: Any, call: Any) -> None:
    name = (call or {}).get("name") or result.get("name")
    if name is None:
        name = result.get("tool_call_id") or _UNKNOWN
        draft.note(result, "name", "default_added", name)
    if name != result.get("name"):
        if "name" in result:
            draft.note(result, "name", "value_renamed", result["name"])
        result["name"] = name


def report_unanswered(draft: Draft) -> None:
    """Calls without a result before the next turn; calls at the very end wait for theirs."""
    waiting: dict[str, Any] = {}
    for message in draft.messages:
        calls = [part["tool_call"] for part in message.get("parts", ()) if part.get("type") == "tool_call"]
        results = [part["tool_result"] for part in message.get("parts", ()) if part.get("type") == "tool_result"]
        for result in results:
            waiting.pop(result.get("tool_call_id", ""), None)
        if not results or calls:
            for call in () if message.get("role") == "assistant" and not calls else waiting.values():
                draft.note(call, "", "unanswered_call", call.get("name"))
            if message.get("role") != "assistant" or calls:
                waiting = {}
        waiting.update({call.get("id", ""): call for call in calls})


def make_ids_valid(draft: Draft) -> None:
    """Ids that the target refuses are replaced by a digest of themselves, which is the same wherever they stand."""
    pattern = draft.target.call_id
    for part in parts_of(draft, "tool_call"):
        call = part["tool_call"]
        call_id = call.get("id") or f"call_{_digest(draft.path(call) or '')}"
        call["id"] = call["provider_id"] = _valid(draft, call, "id", call_id, pattern)
        draft.moved(call, "provider_id")
    for part in parts_of(draft, "tool_result"):
        result = part["tool_result"]
        call_id = result.get("tool_call_id", "")
        result["tool_call_id"] = _valid(draft, result, "tool_call_id", call_id, pattern)


def _valid(draft: Draft, shape: Any, field: str, call_id: str, pattern: Any) -> str:
    if pattern is None or pattern.fullmatch(call_id):
        return call_id
    new = draft.target.call_prefix + _digest(call_id)
    draft.ids[new] = call_id
    draft.note(shape, field, "id_renamed", dumps({"from": call_id, "to": new}))
    return new


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# Arguments


def write_arguments(draft: Draft) -> None:
    """Arguments in the target's form: an object, or the very string."""
    for part in parts_of(draft, "tool_call"):
        call = part["tool_call"]
        was_custom = call.pop("was_custom", False)
        if call.get("kind") == "custom":
            _write_text(draft, call, _text_of(call))
        elif was_custom:
            _write(draft, call, {CUSTOM_INPUT: _text_of(call)})
        elif draft.target.object_arguments:
            _write_object(draft, call)
        elif "arguments" not in call and "raw_arguments" not in call:
            draft.note(call, "arguments", "arguments_invalid", call.get("arguments_error"))
            _write(draft, call, {})
        call.pop("arguments_error", None)


def _text_of(call: Any) -> str:
    if "raw_arguments" in call:
        return str(call["raw_arguments"])
    if "arguments" not in call:
        return ""
    value = loads(call["arguments"])
    return value if type(value) is str else str(call["arguments"])


def _write_text(draft: Draft, call: Any, text: str) -> None:
    call["raw_arguments"] = text
    if draft.target.column == "responses":
        set_json(call, "arguments", text)
    else:
        call.pop("arguments", None)
    draft.moved(call, "arguments")


def _write_object(draft: Draft, call: Any) -> None:
    raw = call.pop("raw_arguments", None)
    if "arguments" not in call:
        draft.note(call, "arguments", "arguments_invalid", call.get("arguments_error"))
        draft.note(call, "raw_arguments", "arguments_invalid", call.get("arguments_error"))
        _write(draft, call, {UNPARSED: raw} if raw else {})
    elif type(value := loads(call["arguments"])) is not dict:
        draft.note(call, "arguments", "arguments_wrapped", raw or call["arguments"])
        _write(draft, call, {WRAPPED: value})


def _write(draft: Draft, call: Any, value: Any) -> None:
    call.pop("raw_arguments", None)
    set_json(call, "arguments", value)
    draft.moved(call, "arguments")


# Results


def unwrap_google(result: Any) -> bool:
    """``{"result": x}`` and ``{"error": x}``, Google's way to say a result that is no object -> x itself."""
    content = result.get("content") or ()
    first = content[0] if content else {}
    value = loads(first.get("json", "null")) if first.get("type") == "json" else None
    key = "error" if result.get("is_error") else "result"
    if type(value) is not dict or value.keys() != {key} or type(value[key]) is dict:
        return False
    inner = value[key]
    if is_text(inner):
        first["type"], first["text"] = "text", inner
        del first["json"]
    else:
        first["json"] = dumps(inner)
    return True


def write_results(draft: Draft) -> None:
    """What tools returned, in the target's form."""
    google = draft.target.family == "google" and draft.target.column != "interactions"
    for part in parts_of(draft, "tool_result"):
        result = part["tool_result"]
        for piece in result.get("content", ()):
            if piece.get("type") == "json":
                piece.setdefault("json", "null")
        if draft.source_family == "google" and unwrap_google(result):
            draft.moved(result["content"][0], "json", "type")
            if result.get("is_error") and draft.target.result_error == "text":
                draft.note(result["content"][0], "json", "result_as_text")
        _place_cache(draft, part)
        if google:
            _write_google(draft, result)
        else:
            _write_pieces(draft, result)
        if not result.get("content") and draft.target.column in _NEEDS_RESULT:
            result["content"] = [{"type": "text", "text": ""}]


def _place_cache(draft: Draft, part: Any) -> None:
    """A breakpoint in a result's content belongs on the result (Anthropic refuses it inside); in Chat, in it."""
    if draft.target.column == "chat":
        pieces = part["tool_result"].get("content", ())
        if "cache_control" in part and pieces and "cache_control" not in pieces[-1]:
            pieces[-1]["cache_control"] = part.pop("cache_control")
            draft.like_field(pieces[-1], "cache_control", part)
        return
    for piece in part["tool_result"].get("content", ()):
        if "cache_control" in piece:
            if "cache_control" in part:
                draft.lose(piece, "cache_control", "cache_hint", "the result has one already")
            else:
                part["cache_control"] = piece.pop("cache_control")
                draft.like_field(part, "cache_control", piece)
                draft.note(piece, "cache_control", "value_renamed", "it stands on the result")


def _write_pieces(draft: Draft, result: Any) -> None:
    for piece in result.get("content", ()):
        if piece.get("type") == "json" and draft.target.column != "interactions":
            piece["type"], piece["text"] = "text", piece.pop("json", "null")
            draft.note(piece, "json", "result_as_text")
            draft.moved(piece, "type")
    if draft.target.result_error == "text" and "is_error" in result:
        if result.pop("is_error"):
            _mark_error(draft, result)
            draft.note(result, "is_error", "error_in_text")
        else:
            draft.note(result, "is_error", "default_elsewhere")


def _mark_error(draft: Draft, result: Any) -> None:
    pieces = result.setdefault("content", [])
    text = next((piece for piece in pieces if piece.get("type") == "text"), None)
    if text is None:
        pieces.insert(0, {"type": "text", "text": "Error"})
    elif not text.get("text", "").lower().startswith("error"):
        draft.rewrite(text, "text", f"Error: {text.get('text', '')}")


def _write_google(draft: Draft, result: Any) -> None:
    """One value first, then media: so does the wire."""
    values = [piece for piece in result.get("content", ()) if piece.get("type") != "media"]
    media = [piece for piece in result.get("content", ()) if piece.get("type") == "media"]
    if result.get("content", [])[: len(values)] != values:
        draft.note(result, "content", "order_changed", "media come after the value")
    for piece in values:
        said_text = loads(piece["json"]) if piece.get("type") == "json" else None
        if is_text(said_text):
            piece["type"], piece["text"] = "text", said_text
            piece.pop("json", None)
            draft.moved(piece, "type", "json")
    failed = result.get("is_error", False)
    if "is_error" in result and not failed:
        draft.lose(result, "is_error", "default_elsewhere")
    if len(values) > 1:
        values = [_joined(draft, values)]
    if values and values[0].get("type") == "json":
        value = loads(values[0]["json"])
        said = type(value) is dict and value.get("error") is not None and not {"output", "result"} & value.keys()
        if type(value) is dict and said != failed:
            draft.rewrite(values[0], "json", dumps({"error" if failed else "result": value}))
    elif not values and failed:
        values = [{"type": "text", "text": "error"}]
    elif not values and media:
        values = [{"type": "json", "json": "{}"}]
    if values or media:
        result["content"] = [*values, *media]


def _joined(draft: Draft, values: list[Any]) -> Any:
    for piece in values:
        draft.note(piece, piece.get("type", "text"), "texts_joined")
        draft.moved(piece, "type")
        for field in [field for field in piece if field not in ("type", "text", "json")]:
            draft.lose(piece, field, "unknown_field" if field == "extras" else "cache_hint")
    if all(piece.get("type") == "text" for piece in values):
        return draft.like({"type": "text", "text": "\n".join(piece.get("text", "") for piece in values)}, values[0])
    listed = [_value(piece) for piece in values]
    return draft.like({"type": "json", "json": dumps(listed)}, values[0])


def _value(piece: Any) -> Any:
    if piece.get("type") != "json":
        return piece.get("text", "")
    try:
        return loads(piece.get("json", "null"))
    except HeadraceError:
        return piece["json"]
