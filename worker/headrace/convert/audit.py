"""Nothing is silent: what was written is read again and compared, value by value.

Two comparisons make one chain. Source against draft: every value of the source is on the draft's object of the same
origin, or was reported, or a rule said that it is carried in another form. Draft against what the target's own reader
finds in the body: the same objects in the same order with the same values. Whatever breaks the chain is reported as
``not_carried``, which is always a fault of the converter or of a writer.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from headrace.convert.draft import Draft
from headrace.convert.matrix import SPELLING, is_envelope, is_spelling
from headrace.convert.rules.calls import unwrap_google
from headrace.errors import FramingError
from headrace.json_text import loads

_CODE = "not_carried"
#: What the target's reader words in its own way: derived from the rest, or checked by the rules' own tests.
_READERS_OWN = SPELLING | {
    *("kind", "status", "role", "was_custom", "size_bytes", "unit", "choice_index"),
    *("finish_reason", "raw_finish_reason", "detail"),
}
#: Values that say nothing: a reader may take them for the way something was spelled.
_NOTHING: tuple[Any, ...] = (None, "", [], False, "{}")
#: Fields of the record that draft and reading are compared by, besides messages.
_COMPARED = (
    *("served_model", "response_id", "metadata", "tools", "tool_choice", "parameters", "timing", "usage", "error"),
    *("service_tier", "system_fingerprint", "stop_sequence"),
)


def audit_source(draft: Draft) -> None:
    """Source against draft."""
    placed: dict[str, list[Any]] = {}
    for shape in _objects(draft.record):
        origin = draft.origin(shape)
        if origin is not None:
            placed.setdefault(origin, []).append(shape)
    for path, field, value in _leaves(draft.source, ""):
        name = f"{path}.{field}" if path else field
        if is_envelope(name) or is_spelling(path, field) or draft.is_accounted(name):
            continue
        if not any(shape.get(field) == value for shape in placed.get(path, ())):
            draft.report(name, _CODE)


def _objects(value: Any) -> Iterator[Any]:
    if type(value) is dict:
        yield value
        for held in value.values():
            yield from _objects(held)
    elif type(value) is list:
        for held in value:
            yield from _objects(held)


def _leaves(shape: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """(path of the object, field, value) of every value; a list of texts is one value."""
    for key, value in shape.items():
        inner = f"{path}.{key}" if path else key
        if type(value) is dict:
            yield from _leaves(value, inner)
        elif type(value) is list and value and type(value[0]) is dict:
            for at, item in enumerate(value):
                yield from _leaves(item, f"{inner}[{at}]")
        elif value is not None and value != []:
            yield path, key, value


def audit_written(draft: Draft, again: Any) -> None:
    """Draft against ``again``, the record that the target's reader makes of the body."""
    for field in _COMPARED:
        if field in draft.record:
            _compare(draft, draft.record, field, draft.record[field], again.get(field))
    mine, theirs = _parts(draft.record), _parts(again)
    for at, (message, part) in enumerate(mine):
        found = theirs[at][1] if at < len(theirs) else {}
        if part.get("type") != found.get("type"):
            _missing(draft, part, "")
            continue
        _compare_part(draft, message, part, found)


def _parts(record: Any) -> list[tuple[Any, Any]]:
    return [
        (message, part)
        for message in record.get("messages", ())
        if message.get("role") != "session"
        for part in message.get("parts", ())
        # Data parts are the reader's notes between steps; a draft has none.
        if part.get("type") != "data"
    ]


def _compare_part(draft: Draft, message: Any, part: Any, found: Any) -> None:
    if part.get("type") == "tool_result":
        found = deepcopy(found)
        unwrap_google(found["tool_result"])
        mine = deepcopy(part["tool_result"])
        if unwrap_google(mine):
            pieces = zip(mine["content"], found["tool_result"].get("content", ()), strict=False)
            if all(
                _same(one.get("json", one.get("text")), other.get("json", other.get("text"))) for one, other in pieces
            ):
                found["tool_result"]["content"] = part["tool_result"]["content"]
    _compare_objects(draft, part, found)


def _compare_objects(draft: Draft, mine: Any, theirs: Any) -> None:
    for field, value in mine.items():
        if field not in _READERS_OWN or (field == "kind" and "server_name" in mine):
            _compare(draft, mine, field, value, theirs.get(field))


def _compare(draft: Draft, holder: Any, field: str, mine: Any, theirs: Any) -> None:
    if type(mine) is dict:
        _compare_objects(draft, mine, theirs or {})
    elif type(mine) is list and mine and type(mine[0]) is dict:
        others = theirs or []
        for at, item in enumerate(mine):
            if any(held not in _NOTHING for name, held in item.items() if name != "type"):
                _compare_objects(draft, item, others[at] if at < len(others) else {})
    elif mine not in _NOTHING and not _same(mine, theirs) and not _is_derived(holder, field):
        _missing(draft, holder, field)


def _is_derived(holder: Any, field: str) -> bool:
    """A call's id that the target derives from the provider's, and the name of a built-in tool."""
    return field == "id" and holder.get("provider_id") == holder.get("id")


def _missing(draft: Draft, shape: Any, field: str) -> None:
    path = draft.path(shape, field)
    if path is not None:
        draft.report(path, _CODE, "the target's reader does not find it")


def _same(mine: Any, theirs: Any) -> bool:
    if mine == theirs:
        return True
    if type(mine) is not str or type(theirs) is not str:
        return False
    try:
        return bool(loads(mine) == loads(theirs))
    except FramingError:
        return False
