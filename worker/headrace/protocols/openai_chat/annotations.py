"""Annotations of a message: sources of its text (catalogue, section 2.3) and OpenRouter's parsed files."""

from __future__ import annotations

from typing import cast

from headrace.canonical.fields import JSON, LONG, Const, Field, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Citation, Part
from headrace.json_text import Json, dumps, loads


def _url_citation(prefix: str) -> tuple[Field, ...]:
    return (
        Field(f"{prefix}url", "url"),
        Field(f"{prefix}title", "title"),
        Field(f"{prefix}content", "cited_text"),
        Field(f"{prefix}start_index", "start_index", LONG),
        Field(f"{prefix}end_index", "end_index", LONG),
    )


#: Wire type -> its fields. OpenAI nests a url_citation under its own key; some gateways do not.
FORMS = {
    "url_citation": Table(Const("type", "url_citation"), *_url_citation("url_citation."), *_url_citation("")),
    "file": Table(
        Const("type", "file"),
        Field("file.name", "filename"),
        Field("file.hash", "file_id"),
        Field("file.content", "detail", JSON),
    ),
}
_UNKNOWN = Table(Field("type", "type"))


def read_annotations(wires: list[Json], reading: Reading) -> list[Citation]:
    """One citation an annotation, in order; unknown ones keep their fields as extras."""
    return [_read(wire, reading) for wire in wires]


def _read(wire: Json, reading: Reading) -> Citation:
    if type(wire) is not dict:
        reading.unknown_type("annotation", None)
        return {"type": "", "detail": dumps(wire), "wire": dumps({"annotation": "raw"})}
    wire_type = wire.get("type")
    table = FORMS.get(wire_type) if type(wire_type) is str else None
    citation: Citation = {}
    if table is None:
        reading.unknown_type("annotation", wire_type)
        table = _UNKNOWN
    else:
        citation["type"] = cast(str, wire_type)
    left = table.read(wire, citation)
    if "type" not in wire:
        # A citation's type is never null, so what the wire has none of must be told from "".
        left.wire["type"] = "absent"
    if "start_index" in citation or "end_index" in citation:
        citation["unit"] = "char"
    left.store(citation)
    return citation


def write_annotation(citation: Citation) -> Json:
    """The element of ``annotations``."""
    spelled = spelling(citation)
    if spelled.get("annotation") == "raw":
        return loads(citation["detail"])
    body = FORMS.get(citation.get("type", ""), _UNKNOWN).write(citation, spelled)
    if spelled.get("type") == "absent":
        body.pop("type", None)
    return body


def place_annotations(parts: list[Part], citations: list[Citation]) -> None:
    """Give the citations to the first text; where there is none, each becomes a part of its own."""
    text = next((part for part in parts if part["type"] == "text"), None)
    if text is not None:
        text["citations"] = citations
    else:
        parts.extend({"type": "citation", "citations": [citation]} for citation in citations)
