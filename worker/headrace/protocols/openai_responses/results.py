"""What a tool returned: the wire's output value <-> an ordered list of content pieces.

The wire has a string, a list (of typed parts, or of plain objects), or one object. The form is spelled in
``wire`` as "output" where it is not the usual one of the item (see `Result`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.canonical.fields import is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_responses.item_types import Result
from headrace.protocols.openai_responses.parts import CONTENT_TYPES, read_part, write_part

#: Part types that a piece can hold as it is; a piece of any other type is JSON.
_PIECE_TYPES = ("text", "media")


def read_output(value: Json, where: Result, reading: Reading) -> tuple[list[ToolResultContent], str | None]:
    """(pieces, form) of an output; form is None for the usual one."""
    if is_text(value):
        return [{"type": "text", "text": value}], None if where.form == "string" else "string"
    if type(value) is list:
        form, pieces = "list", [_read_piece(element, where, reading) for element in value]
    elif where.typed and type(value) is dict and is_text(value.get("type")) and value["type"] in CONTENT_TYPES:
        form, pieces = "object", [_read_piece(value, where, reading)]
    else:
        form, pieces = "object", [ToolResultContent(type="json", json=dumps(value))]
    return pieces, None if form == _usual_form(pieces, where) else form


def write_output(pieces: Sequence[ToolResultContent], where: Result, form: str | None) -> Json:
    """The wire value of pieces, in the form given or the usual one."""
    form = form or _usual_form(pieces, where)
    if form == "string" and _is_plain_text(pieces):
        return pieces[0]["text"]
    if form == "object" and len(pieces) == 1:
        return _write_piece(pieces[0], where)
    return [_write_piece(piece, where) for piece in pieces]


def _usual_form(pieces: Sequence[ToolResultContent], where: Result) -> str:
    if where.form == "string":
        return "string" if _is_plain_text(pieces) else "list"
    return where.form if len(pieces) == 1 else "list"


def _is_plain_text(pieces: Sequence[ToolResultContent]) -> bool:
    return len(pieces) == 1 and pieces[0].keys() == {"type", "text"} and pieces[0]["type"] == "text"


def _read_piece(value: Json, where: Result, reading: Reading) -> ToolResultContent:
    if not where.typed:
        return {"type": "json", "json": dumps(value)}
    part: Any = read_part(value, where.text, reading)
    if part["type"] not in _PIECE_TYPES or "citations" in part or "logprobs" in part:
        return {"type": "json", "json": dumps(value)}
    name = part.pop("wire_type", None)
    if name and name != _usual_type(part, where):
        part["wire"] = dumps({**spelling(part), "type": name})
    return part  # type: ignore[no-any-return]


def _usual_type(piece: Any, where: Result) -> str | None:
    """The wire type that a piece without one is written with; None where its own kind tells."""
    if piece["type"] == "text":
        return where.text
    return where.image if piece.get("media", {}).get("kind") == "image" else None


def _write_piece(piece: ToolResultContent, where: Result) -> Json:
    if piece["type"] == "json":
        return loads(piece["json"])
    name = spelling(piece).get("type") or _usual_type(piece, where)
    part: Part = {**piece, "wire_type": name} if name else {**piece}  # type: ignore[typeddict-item, typeddict-unknown-key]
    return write_part(part, where.text)
