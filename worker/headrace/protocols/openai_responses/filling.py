"""What a later copy of an item leaves blank stands as it was said before.

Some servers send whole copies (an item's own `done`, the terminal response) with the text, the arguments or the
encrypted reasoning left out that came just before. A blank takes nothing back: it says nothing.
"""

from __future__ import annotations

from headrace.json_text import Json

#: Item type -> keys that hold what an item says.
_SAID: dict[str, tuple[str, ...]] = {
    "message": ("content",),
    "reasoning": ("summary", "content", "encrypted_content"),
    "compaction": ("encrypted_content",),
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "mcp_call": ("arguments",),
    "code_interpreter_call": ("code",),
}
#: The same of the elements of its lists.
_TEXTS = ("text", "refusal")
_SAID_WITHIN = (*_TEXTS, "annotations")


def _is_blank(value: Json) -> bool:
    return value is None or value == "" or value == []


def lacks(item: dict[str, Json], *, annotations: bool = True) -> bool:
    """Whether an item leaves something blank that it could say; ``annotations``, which most lack, count or do not."""
    names = _SAID_WITHIN if annotations else _TEXTS
    for key in _said(item):
        value = item.get(key)
        if _is_blank(value) or (type(value) is list and _elements_lack(value, names)):
            return True
    return False


def _elements_lack(elements: list[Json], names: tuple[str, ...]) -> bool:
    for element in elements:
        if type(element) is dict:
            for name in names:
                if name in element and _is_blank(element[name]):
                    return True
    return False


def filled(item: dict[str, Json], before: dict[str, Json]) -> dict[str, Json]:
    """The item, with what it leaves blank as an earlier copy of it has it. Neither is changed."""
    whole = item
    for key in _said(item):
        value, known = item.get(key), before.get(key)
        if _is_blank(known):
            continue
        if _is_blank(value):
            whole = {**whole, key: known}
        elif type(value) is list and type(known) is list and len(value) == len(known):
            elements = [_filled_element(new, old) for new, old in zip(value, known, strict=True)]
            if elements != value:
                whole = {**whole, key: elements}
    return whole


def _said(item: dict[str, Json]) -> tuple[str, ...]:
    kind = item.get("type")
    return _SAID.get(kind, ()) if type(kind) is str else ()


def _filled_element(new: Json, old: Json) -> Json:
    if type(new) is not dict or type(old) is not dict or new.get("type") != old.get("type"):
        return new
    said = {name: old[name] for name in _SAID_WITHIN if name in new and _is_blank(new[name]) and old.get(name)}
    return {**new, **said} if said else new
