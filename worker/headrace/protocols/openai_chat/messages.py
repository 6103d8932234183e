"""Messages of a history and of a choice <-> canonical messages (catalogue, sections 2.2 and 2.3).

The wire keeps the pieces of a message side by side; the model keeps them in one list (see `order`). ``wire``
remembers how content was spelled: "list", "absent", or "split" where a stream's calls interrupted one string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from headrace.canonical.fields import EPOCH, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Message, Part
from headrace.json_text import Json, dumps
from headrace.protocols.openai_chat.annotations import place_annotations, read_annotations, write_annotation
from headrace.protocols.openai_chat.calls import (
    CallBook,
    plain_call,
    read_executed_tools,
    read_function_call,
    read_tool_calls,
    write_executed_tools,
    write_function_call,
    write_tool_call,
)
from headrace.protocols.openai_chat.order import ORDER, Run, arranged
from headrace.protocols.openai_chat.parts import leave, read_part, write_part
from headrace.protocols.openai_chat.reasoning import BLOCKS, read_reasoning, write_reasoning
from headrace.protocols.openai_chat.signatures import PATHS as SIGNATURES
from headrace.protocols.openai_chat.signatures import read_signature, write_signature

#: Fields of a message that are no content. Mistral and Moonshot prefill (prefix, partial), Groq names channels.
MESSAGE = Table(
    Field("role", "role"),
    Field("name", "name"),
    *(
        Other(key, "detail")
        for key in (
            "prefix",
            "partial",
            "channel",
            "token_id",
            "extra_content.google.thought",
            "provider_specific_fields",
        )
    ),
)
_STRUCTURED = frozenset({*ORDER, *SIGNATURES, "annotations"})

_AUDIO = Table(
    Field("id", "provider_item_id"),
    Field("data", "media.data"),
    Field("expires_at", "media.expires_at", EPOCH),
    Field("transcript", "media.transcript"),
)


def read_message(
    wire: dict[str, Json], reading: Reading, place: int, book: CallBook, layout: Sequence[Run] | None = None
) -> tuple[Message, Leftover]:
    """One wire message -> its canonical message, and what fitted no field: the caller stores it.

    place: the message's position, from which ids of calls derive.
    """
    message: Message = {}
    left = MESSAGE.read(wire, message, _STRUCTURED)
    groups = read_reasoning(wire, left, reading)
    for key in wire:
        if key in _READERS:
            group = _READERS[key](key, wire[key], left, reading)
            if group:
                groups[key] = group
    for key in ("role", "content"):
        if key not in wire:
            left.wire[key] = "absent"
    parts = arranged(groups, layout, wire)
    if type(wire.get("content")) is str and sum(part["type"] == "text" and "wire" not in part for part in parts) > 1:
        left.wire["content"] = "split"
    _read_annotations(wire, parts, left, reading)
    read_signature(wire, parts, left)
    book.note_calls(parts, reading, place)
    if parts:
        message["parts"] = parts
    return message, left


def read_plain_calls(wire: dict[str, Json], book: CallBook) -> Message | None:
    """The commonest message of an agent: a role, plain calls, and a text or null; None for any other."""
    calls, content = wire.get("tool_calls"), wire.get("content", "")
    if type(calls) is not list or not calls:
        return None
    parts: list[Part] = []
    if content is not None:
        if not content or not is_text(content):
            return None
        parts.append({"type": "text", "text": content})
    read = [plain_call(call, place) for place, call in enumerate(calls)]
    known = [part for part in read if part is not None]
    if len(known) < len(read):
        return None
    for part in known:
        call = part["tool_call"]
        book.open[call["id"]] = call["name"]
    return {"role": "assistant", "parts": parts + known}


# One reader a key: (key, value, left, reading) -> parts


def _read_content(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
    if is_text(value) and value:
        return [{"type": "text", "text": value}]
    if type(value) is list and value:
        left.wire["content"] = "list"
        return [_in_content(read_part(element, reading)) for element in value]
    leave(key, value, left)
    return []


def _in_content(part: Part) -> Part:
    """A refusal in a content list is told from the message's own."""
    if part["type"] == "refusal":
        part["wire"] = dumps({**spelling(part), "in": "content"})
    return part


def _read_refusal(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
    if is_text(value) and value:
        return [{"type": "refusal", "text": value}]
    leave(key, value, left)
    return []


def _read_audio(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
    if type(value) is not dict or not value:
        leave(key, value, left)
        return []
    if not any(value.values()):
        # Snowflake fills what is not there with blanks.
        left.wire.setdefault("blank", {})[key] = value
        return []
    part: Part = {"type": "media", "wire_type": "audio", "media": {"kind": "audio"}}
    _AUDIO.read(value, part).store(part)
    if "provider_item_id" in part:
        part["continuation"] = ["audio.id"]
    return [part]


def _read_function_call(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
    if type(value) is not dict or not value:
        leave(key, value, left)
        return []
    if not any(value.values()):
        left.wire.setdefault("blank", {})[key] = value
        return []
    return [read_function_call(value)]


def _read_images(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
    """OpenRouter's list of generated images."""
    if type(value) is not list or not value:
        leave(key, value, left)
        return []
    parts = [read_part(element, reading) for element in value]
    for part in parts:
        part["wire"] = dumps({**spelling(part), "in": "images"})
    return parts


def _list_reader(read: Callable[[list[Json], Reading], list[Part]]) -> Callable[..., list[Part]]:
    def reader(key: str, value: Json, left: Leftover, reading: Reading) -> list[Part]:
        if type(value) is list and value:
            return read(value, reading)
        leave(key, value, left)
        return []

    return reader


_READERS: dict[str, Callable[..., list[Part]]] = {
    "executed_tools": _list_reader(read_executed_tools),
    "content": _read_content,
    "refusal": _read_refusal,
    "audio": _read_audio,
    "images": _read_images,
    "tool_calls": _list_reader(read_tool_calls),
    "function_call": _read_function_call,
}


def _read_annotations(wire: dict[str, Json], parts: list[Part], left: Leftover, reading: Reading) -> None:
    if "annotations" not in wire:
        return
    value = wire["annotations"]
    if type(value) is list and value:
        place_annotations(parts, read_annotations(value, reading))
    else:
        leave("annotations", value, left)


# Writing


def home(part: Part) -> str:
    """The key of the wire message under which a part belongs; "" for a part that this protocol has no place for."""
    kind, wire_type = part["type"], part.get("wire_type", "")
    within = spelling(part).get("in") if "wire" in part else None
    if within is not None:
        return "reasoning" if within == BLOCKS else cast(str, within)
    if kind == "text":
        return "content"
    if kind in ("refusal", "media"):
        return "refusal" if kind == "refusal" else "audio" if wire_type == "audio" else "content"
    if kind == "tool_call" or kind == "tool_result":
        wire_type = part["tool_call" if kind == "tool_call" else "tool_result"].get("wire_type", "")
        return _CALL_HOMES.get(wire_type, "tool_calls" if kind == "tool_call" else "")
    if kind == "reasoning":
        return "content" if wire_type in _IN_CONTENT else "" if wire_type in SIGNATURES else "reasoning"
    if kind == "citation":
        return "content" if wire_type == "reference" else "annotations"
    return _UNKNOWN_HOMES.get(wire_type, "content") if kind == "unknown" else ""


_CALL_HOMES = {"executed_tool": "executed_tools", "function_call": "function_call"}
_IN_CONTENT = ("thinking", "redacted_thinking")
_UNKNOWN_HOMES = {"tool_calls": "tool_calls", "executed_tools": "executed_tools", "reasoning_details": "reasoning"}


def write_pieces(message: Message, body: dict[str, Json], spelled: dict[str, Json], *, joined: bool = False) -> None:
    """Put the parts of a message into its wire body, under the keys that it does not have yet.

    joined: several texts are one string (a choice's message has no content list).
    """
    if spelled.get("role") == "absent":
        body.pop("role", None)
    parts = write_signature(message.get("parts", []), body, spelled)
    homes: dict[str, list[Part]] = {}
    for part in parts:
        homes.setdefault(home(part), []).append(part)
    if "reasoning" in homes:
        write_reasoning(homes["reasoning"], body, spelled)
    for key, write in _PIECE_WRITERS.items():
        if key in homes and key not in body:
            body[key] = write(homes[key])
    citing = [part for part in parts if part["type"] == "text" or home(part) == "annotations"]
    citations = [citation for part in citing for citation in part.get("citations", ())]
    if citations and "annotations" not in body:
        body["annotations"] = [write_annotation(citation) for citation in citations]
    for key, value in spelled.get("blank", {}).items():
        body.setdefault(key, value)
    form = spelled.get("content")
    if "content" not in body and form != "absent":
        body["content"] = _content(homes.get("content", []), form, message.get("role"), joined)


_PIECE_WRITERS: dict[str, Callable[[list[Part]], Json]] = {
    "executed_tools": write_executed_tools,
    "refusal": lambda parts: "".join(part.get("text", "") for part in parts),
    "audio": lambda parts: _AUDIO.write(parts[0]),
    "images": lambda parts: [write_part(part) for part in parts],
    "tool_calls": lambda parts: [write_tool_call(part) for part in parts],
    "function_call": lambda parts: write_function_call(parts[0]),
}


def _content(parts: list[Part], form: str | None, role: str | None, joined: bool) -> Json:
    if not parts:
        return None if role == "assistant" else ""
    all_text = all(part["type"] == "text" and "cache_control" not in part for part in parts)
    if form == "split" or (form is None and all_text and (joined or len(parts) == 1)):
        return "".join(part.get("text", "") for part in parts)
    return [write_part(part) for part in parts]
