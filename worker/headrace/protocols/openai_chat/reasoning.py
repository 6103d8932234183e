"""Reasoning beside the content: spellings of one thing, often sent together.

    reasoning_details: [{type: reasoning.summary | reasoning.text | reasoning.encrypted, …}]    OpenRouter
    thinking_blocks: [{type: thinking, thinking, signature} | {type: redacted_thinking, data}]  LiteLLM
    reasoning: "text"              Groq, OpenRouter, vLLM
    reasoning_content: "text"      DeepSeek, Alibaba, Moonshot, xAI, z.ai

One reading: the first list that holds text, else the first string. A string that says the same again is a repetition
(spelling); one that says something else stays in extras, and so does another list with text. Lists that hold only
encrypted reasoning stand beside what holds the text.
"""

from __future__ import annotations

from headrace.canonical.fields import ONE_TEXT, TEXT, Const, Field, Kind, Leftover, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_chat.parts import (
    is_text_element,
    leave,
    mark_continuation,
    read_part,
    unknown_part,
    write_part,
)

DETAILS, BLOCKS = "reasoning_details", "thinking_blocks"
LISTS = (DETAILS, BLOCKS)
STRINGS = ("reasoning", "reasoning_content")
KEYS = (*STRINGS, *LISTS)

_SUMMARY = Kind(is_text, ONE_TEXT.to_shape, "\n\n".join)
_COMMON = (Field("id", "provider_item_id"), Field("format", "reasoning.format", TEXT))

#: Wire type of a detail -> (its fields, the key of its text).
DETAIL_FORMS = {
    "reasoning.summary": (
        Table(Const("type", "reasoning.summary"), Field("summary", "reasoning.summary", _SUMMARY), *_COMMON),
        "summary",
    ),
    "reasoning.text": (
        Table(
            Const("type", "reasoning.text"),
            Field("text", "reasoning.text"),
            Field("signature", "reasoning.signature"),
            *_COMMON,
        ),
        "text",
    ),
    "reasoning.encrypted": (
        Table(Const("type", "reasoning.encrypted"), Field("data", "reasoning.encrypted"), *_COMMON),
        None,
    ),
}


def text_of(elements: Json) -> str:
    """The text that a list of reasoning holds, joined as the string fields repeat it."""
    if type(elements) is not list:
        return ""
    texts: list[str] = []
    for element in elements:
        if type(element) is dict:
            wire_type = str(element.get("type"))
            key = "thinking" if wire_type == "thinking" else DETAIL_FORMS.get(wire_type, (None, None))[1]
            text = element.get(key) if key else None
            if type(text) is str:
                texts.append(text)
            elif type(text) is list:
                texts += [one["text"] for one in text if is_text_element(one)]
    return "".join(texts)


def read_keys(message: dict[str, Json]) -> tuple[str, ...]:
    """Which of the keys become parts: at most one that holds text, and the lists without any."""
    lists: list[str] = []
    said = ""
    for key in LISTS:
        elements = message.get(key)
        if type(elements) is list and elements:
            text = text_of(elements)
            if not text or not said:
                lists.append(key)
                said = said or text
    if said:
        return tuple(lists)
    string = next((key for key in STRINGS if message.get(key) and is_text(message[key])), None)
    return (string, *lists) if string else tuple(lists)


def read_reasoning(message: dict[str, Json], left: Leftover, reading: Reading) -> dict[str, list[Part]]:
    """Key -> parts for the keys that are read; repetitions and blanks are noted, other readings kept as extras."""
    groups: dict[str, list[Part]] = {}
    keys = read_keys(message)
    for key in LISTS:
        if key in keys:
            read = _read_detail if key == DETAILS else _read_block
            groups[key] = [read(at, element, reading) for at, element in enumerate(message[key])]
        elif key in message:
            leave(key, message[key], left)
    said = message[keys[0]] if keys and keys[0] in STRINGS else "".join([text_of(message[key]) for key in keys])
    for key in STRINGS:
        if key not in message:
            continue
        value = message[key]
        if key in keys:
            groups[key] = [{"type": "reasoning", "wire_type": key, "reasoning": {"text": value}}]
        elif value and value == said:
            left.wire.setdefault("repeats", []).append(key)
        else:
            leave(key, value, left)
    return groups


def _read_block(at: int, wire: Json, reading: Reading) -> Part:
    part = read_part(wire, reading)
    part["wire"] = dumps({**spelling(part), "in": BLOCKS})
    return part


def _read_detail(at: int, wire: Json, reading: Reading) -> Part:
    form = DETAIL_FORMS.get(str(wire.get("type"))) if type(wire) is dict else None
    if form is None:
        part = unknown_part("reasoning_detail", wire, reading)
        part["wire_type"] = DETAILS
        return part
    part = {"type": "reasoning", "wire_type": wire["type"], "reasoning": {}}
    left = form[0].read(wire, part, ("index",))
    # ``index`` only says where the detail stands.
    if "index" not in wire:
        left.note("absent", "index")
    elif wire["index"] != at or type(wire["index"]) is not int:
        left.wire["index"] = wire["index"]
    mark_continuation(part)
    left.store(part)
    return part


def write_reasoning(parts: list[Part], body: dict[str, Json], spelled: dict[str, Json]) -> None:
    """Put the reasoning parts of a message into its body, each under its own key."""
    details: list[Json] = []
    blocks: list[Json] = []
    texts: dict[str, list[str]] = {}
    for part in parts:
        wire_type = part.get("wire_type", "")
        if "wire" in part and spelling(part).get("in") == BLOCKS:
            blocks.append(write_part(part))
        elif part["type"] == "unknown":
            details.append(loads(part["raw"]))
        elif wire_type in DETAIL_FORMS:
            details.append(_write_detail(len(details), part))
        else:
            key = wire_type if wire_type in STRINGS else "reasoning_content"
            reasoning = part.get("reasoning", {})
            text = reasoning["text"] if "text" in reasoning else "\n\n".join(reasoning.get("summary", ()))
            texts.setdefault(key, []).append(text)
    for key, pieces in texts.items():
        body.setdefault(key, "".join(pieces))
    for key, elements in ((DETAILS, details), (BLOCKS, blocks)):
        if elements:
            body.setdefault(key, elements)
    for key in spelled.get("repeats", ()):
        body[key] = next((body[other] for other in STRINGS if other in texts), None) or text_of(details + blocks)


def _write_detail(at: int, part: Part) -> dict[str, Json]:
    spelled = spelling(part)
    body = DETAIL_FORMS[part["wire_type"]][0].write(part, spelled)
    if "index" not in spelled.get("absent", ()):
        body.setdefault("index", spelled.get("index", at))
    return body
