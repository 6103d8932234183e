"""Citations of a text block: five kinds, told apart by their ``type``."""

from __future__ import annotations

from headrace.canonical.fields import LONG, NAME, Field, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Citation
from headrace.json_text import Json, dumps, loads

_COMMON = (Field("type", "type", NAME), Field("cited_text", "cited_text"))
_DOCUMENT = (
    *_COMMON,
    Field("document_index", "document_index", LONG),
    Field("document_title", "title"),
    Field("file_id", "file_id"),
)


def _span(first: str, last: str) -> tuple[Field, Field]:
    return Field(first, "start_index", LONG), Field(last, "end_index", LONG)


_TABLES = {
    "char_location": Table(*_DOCUMENT, *_span("start_char_index", "end_char_index")),
    "page_location": Table(*_DOCUMENT, *_span("start_page_number", "end_page_number")),
    "content_block_location": Table(*_DOCUMENT, *_span("start_block_index", "end_block_index")),
    "web_search_result_location": Table(
        *_COMMON, Field("url", "url"), Field("title", "title"), Field("encrypted_index", "encrypted_index")
    ),
    "search_result_location": Table(
        *_COMMON,
        Field("source", "source"),
        Field("title", "title"),
        Field("search_result_index", "search_result_index", LONG),
        *_span("start_block_index", "end_block_index"),
    ),
}
_UNKNOWN = Table(*_COMMON)

#: What the indices of a kind count. Derived: the writer does not need it.
_UNITS = {
    "char_location": "char",
    "page_location": "page",
    "content_block_location": "block",
    "search_result_location": "block",
}


def read_citation(value: Json, reading: Reading) -> Citation:
    """One element of ``citations``; what is no object is kept whole in ``detail``."""
    if type(value) is not dict:
        reading.unknown_type("citation", None)
        return {"detail": dumps(value), "wire": dumps({"value": True})}
    wire_type = value.get("type")
    kind = wire_type if type(wire_type) is str else ""
    table = _TABLES.get(kind)
    if table is None:
        reading.unknown_type("citation", wire_type)
        table = _UNKNOWN
    citation: Citation = {}
    table.read(value, citation).store(citation)
    if kind in _UNITS:
        citation["unit"] = _UNITS[kind]
    return citation


def write_citation(citation: Citation) -> Json:
    """The inverse of `read_citation`."""
    if spelling(citation).get("value"):
        return loads(citation["detail"])
    return _TABLES.get(citation.get("type", ""), _UNKNOWN).write(citation)
