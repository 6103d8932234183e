"""Images, documents and uploads, as blocks of a message and as pieces of a tool result.

Where the content comes from is told by ``source.type``; each of them has its own fields, so each has its own
table. The same tables fill a Part and a ToolResultContent: both have ``media`` and ``cache_control``.
"""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import OBJECT, Const, Field, Leftover, Other, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Media
from headrace.json_text import Json, loads

CACHE_CONTROL = Field("cache_control", "cache_control", OBJECT)

_SOURCES: dict[str, tuple[Field | Other, ...]] = {
    "base64": (Field("source.media_type", "media.mime_type"), Field("source.data", "media.data")),
    "text": (Field("source.media_type", "media.mime_type"), Field("source.data", "media.text")),
    "url": (Field("source.url", "media.uri"),),
    "file": (Field("source.file_id", "media.file_id"),),
    "content": (Other("source.content", "media.metadata"),),
}
#: Wire type -> (Media.kind, fields beside the source).
_BLOCKS: dict[str, tuple[str, tuple[Field | Other, ...]]] = {
    "image": ("image", (Other("transformations", "media.metadata"),)),
    "document": (
        "document",
        (
            Field("title", "media.filename"),
            Other("context", "media.metadata"),
            Other("citations", "media.metadata"),
        ),
    ),
}
_UPLOAD = Table(Const("type", "container_upload"), Field("file_id", "media.file_id"), CACHE_CONTROL)


def _tables(block: str) -> dict[str, Table]:
    fields = (*_BLOCKS[block][1], CACHE_CONTROL, Const("type", block))
    tables = {name: Table(*source, Const("source.type", name), *fields) for name, source in _SOURCES.items()}
    tables[""] = Table(*fields)
    return tables


_TABLES = {block: _tables(block) for block in _BLOCKS}
#: The types that may stand in a tool result, and all that may stand in a message.
PIECES = frozenset(_BLOCKS)
TYPES = frozenset([*_BLOCKS, "container_upload"])
_KINDS = {**{block: kind for block, (kind, _) in _BLOCKS.items()}, "container_upload": "file"}
#: The wire type for media of a kind that did not come from this protocol; anything else is a document.
_BY_KIND = {"image": "image"}


def read_media(block: dict[str, Json], shape: Any, reading: Reading) -> Leftover:
    """Fill ``media`` and ``cache_control`` of a part or piece from a block whose type is one of `TYPES`."""
    wire_type = block["type"]
    shape["media"] = {"kind": _KINDS[wire_type]}
    if wire_type == "container_upload":
        return _UPLOAD.read(block, shape)
    source = _source(block, reading)
    left = _TABLES[wire_type][source].read(block, shape)
    if _likely_source(shape["media"]) != source:
        left.wire["source"] = source
    return left


def write_media(shape: Any) -> dict[str, Json]:
    """The block of a part or piece that has ``media``."""
    media: Media = shape["media"] if shape.get("media") else {}
    wire_type = shape.get("wire_type") or _BY_KIND.get(media.get("kind", ""), "document")
    if wire_type == "container_upload":
        return _UPLOAD.write(shape)
    tables = _TABLES.get(wire_type, _TABLES["document"])
    return tables[spelling(shape).get("source", _likely_source(media))].write(shape)


def _source(block: dict[str, Json], reading: Reading) -> str:
    """The kind of source; "" where there is none that is known, and the source stays in extras."""
    source = block.get("source")
    if type(source) is not dict:
        return ""
    name = source.get("type")
    if type(name) is str and name in _SOURCES:
        return name
    reading.unknown_type("source", name)
    return ""


def _likely_source(media: Media) -> str:
    """The kind of source that the filled fields speak of; where it is another, ``wire`` says so."""
    if "file_id" in media:
        return "file"
    if "uri" in media:
        return "url"
    if "data" in media:
        return "base64"
    if "text" in media:
        return "text"
    metadata = loads(media["metadata"]) if "metadata" in media else {}
    return "content" if "source" in metadata else ""
