"""Tool messages: one result each (catalogue, section 2.2). The deprecated ``function`` role is one of them."""

from __future__ import annotations

from typing import cast

from headrace.canonical.fields import Field, Leftover, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Message, Part, ToolResult, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_chat.calls import CallBook
from headrace.protocols.openai_chat.parts import TYPE_OF_MEDIA, leave, read_part, write_part

#: Wire roles of a message that is a tool's result.
ROLES = ("tool", "function")

_RESULT = Table(
    Field("tool_call_id", "tool_result.tool_call_id"),
    Field("name", "tool_result.name"),
    # Ollama
    Field("tool_name", "tool_result.name"),
)
#: What a piece of a result can hold of a part.
_PIECE_KEYS = frozenset({"type", "text", "media", "wire_type", "cache_control", "extras", "wire"})


def read_result(wire: dict[str, Json], reading: Reading, book: CallBook) -> Message:
    """A tool message -> a message with one result part."""
    call_id: Json = wire.get("tool_call_id")
    content: Json = wire.get("content")
    is_plain = len(wire) == 3 and call_id and content and type(call_id) is type(content) is str
    if is_plain and wire["role"] == "tool" and (content.isascii() or is_text(content)) and is_text(call_id):
        book.answered(call_id)
        plain: ToolResult = {"tool_call_id": call_id, "content": [{"type": "text", "text": content}]}
        return {"role": "tool", "parts": [{"type": "tool_result", "tool_result": plain}]}
    part: Part = {"type": "tool_result", "tool_result": {}}
    left = _RESULT.read(wire, part, ("role", "content"))
    if wire["role"] == "function":
        part["tool_result"]["wire_type"] = "function"
    _refer(wire, part, left, book)
    if "content" not in wire:
        left.wire["content"] = "absent"
    elif is_text(content) and content:
        part["tool_result"]["content"] = [{"type": "text", "text": content}]
    elif type(content) is list and content:
        part["tool_result"]["content"] = [_read_piece(element, reading) for element in content]
        left.wire["content"] = "list"
    else:
        leave("content", content, left)
    left.store(part)
    return {"role": "tool", "parts": [part]}


def _refer(wire: dict[str, Json], part: Part, left: Leftover, book: CallBook) -> None:
    """Let the result reference its call, by the wire's id or, where it has none, by name and order."""
    result = part["tool_result"]
    if result.get("tool_call_id"):
        book.answered(result["tool_call_id"])
        return
    if "tool_call_id" not in wire:
        left.wire["tool_call_id"] = "absent"
    elif wire["tool_call_id"] == "":
        left.wire["tool_call_id"] = "blank"
    answered = book.answer(result.get("name"))
    if answered is not None:
        result["tool_call_id"] = answered


def _read_piece(wire: Json, reading: Reading) -> ToolResultContent:
    part = read_part(wire, reading)
    if part["type"] not in ("text", "media") or not _PIECE_KEYS.issuperset(part):
        return {"type": "json", "json": dumps(wire), "wire": dumps({"part": True})}
    wire_type = part.pop("wire_type", None)
    piece = cast(ToolResultContent, part)
    kind = piece.get("media", {}).get("kind", "")
    if wire_type is not None and (kind == "audio" or wire_type != TYPE_OF_MEDIA.get(kind)):
        piece["wire"] = dumps({**spelling(piece), "type": wire_type})
    return piece


def write_result(part: Part) -> dict[str, Json]:
    """The tool message of one result part."""
    result = part["tool_result"]
    spelled = spelling(part)
    body = _RESULT.write(part, spelled)
    body["role"] = "function" if result.get("wire_type") == "function" else "tool"
    form = spelled.get("tool_call_id")
    if form == "absent":
        body.pop("tool_call_id", None)
    elif form == "blank":
        body["tool_call_id"] = ""
    pieces = result.get("content", [])
    form = spelled.get("content")
    if "content" in body or form == "absent":
        return body
    if (
        form == "list"
        or len(pieces) > 1
        or any(piece["type"] != "text" or "cache_control" in piece for piece in pieces)
    ):
        body["content"] = [_write_piece(piece) for piece in pieces]
    else:
        body["content"] = pieces[0].get("text", "") if pieces else ""
    return body


def _write_piece(piece: ToolResultContent) -> Json:
    spelled = spelling(piece)
    if piece["type"] == "json":
        # A result made elsewhere is no part of this protocol: its JSON is its text.
        return loads(piece["json"]) if spelled.get("part") else {"type": "text", "text": piece["json"]}
    part = cast(Part, {**piece, "wire_type": spelled["type"]} if "type" in spelled else piece)
    return write_part(part)
