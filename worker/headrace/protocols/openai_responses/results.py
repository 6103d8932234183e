"""What a tool returned: the wire's output value <-> an ordered list of content pieces.

The wire has a string, a list (of typed parts, or of plain objects), or one object. The form is spelled in
``wire`` as "output" where it is not the usual one: a string for exactly one plain text piece, else a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.canonical.fields import is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_responses.parts import CONTENT_TYPES, read_part, write_part

#: Part types that a piece can hold as it is; a piece of any other type is JSON.
_PIECE_TYPES = ("text", "media")
_USUAL = "input_text"


def read_output(value: Json, typed: bool, reading: Reading) -> tuple[list[ToolResultContent], str | None]:
    """(pieces, form) of an output; form is None for the usual one. ``typed``: elements have a ``type``."""
    if is_text(value):
        return [{"type": "text", "text": value}], None
    if type(value) is list:
        pieces = [_read_piece(element, typed, reading) for element in value]
        return pieces, "list" if _is_plain_text(pieces) else None
    if typed and type(value) is dict and is_text(value.get("type")) and value["type"] in CONTENT_TYPES:
        return [_read_piece(value, typed, reading)], "object"
    return [{"type": "json", "json": dumps(value)}], "object"


def write_output(pieces: Sequence[ToolResultContent], form: str | None) -> Json:
    """The wire value of pieces, in the form given or the usual one."""
    if form == "object" and len(pieces) == 1:
        return _write_piece(pieces[0])
    if form is None and _is_plain_text(pieces):
        return pieces[0]["text"]
    return [_write_piece(piece) for piece in pieces]


def _is_plain_text(pieces: Sequence[ToolResultContent]) -> bool:
    return len(pieces) == 1 and pieces[0].keys() == {"type", "text"} and pieces[0]["type"] == "text"


def _read_piece(value: Json, typed: bool, reading: Reading) -> ToolResultContent:
    if not typed:
        return {"type": "json", "json": dumps(value)}
    part: Any = read_part(value, _USUAL, reading)
    if part["type"] not in _PIECE_TYPES or "citations" in part or "logprobs" in part:
        return {"type": "json", "json": dumps(value)}
    name = part.pop("wire_type", None)
    if name:
        part["wire"] = dumps({**spelling(part), "type": name})
    return part  # type: ignore[no-any-return]


def _write_piece(piece: ToolResultContent) -> Json:
    if piece["type"] == "json":
        return loads(piece["json"])
    name = spelling(piece).get("type")
    part: Part = {**piece, "wire_type": name} if name else {**piece}  # type: ignore[typeddict-item, typeddict-unknown-key]
    return write_part(part, _USUAL)
