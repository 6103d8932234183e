"""Contents (text, media) <-> parts. They stand in user input, model output, results and, before 2026-05, in outputs."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import LONG, NAME, Const, Field, Leftover, Other, Table, is_text, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Citation, Part, ToolResultContent
from headrace.json_text import Json, dumps, loads

MEDIA_TYPES = frozenset({"image", "audio", "video", "document"})
CONTENT_TYPES = MEDIA_TYPES | {"text"}
ANNOTATION_TYPES = frozenset({"url_citation", "file_citation", "place_citation", "speech_metadata", "word_info"})

_TEXT = Table(Const("type", "text"), Field("text", "text"))
#: `rate` is the old name of `sample_rate`.
MEDIA = Table(
    Field("type", "media.kind"),
    Field("mime_type", "media.mime_type"),
    Field("data", "media.data"),
    Field("uri", "media.uri"),
    Field("name", "media.filename"),
    Field("resolution", "media.detail"),
    Field("sample_rate", "media.sample_rate", LONG),
    Field("rate", "media.sample_rate", LONG),
    Field("channels", "media.channels", LONG),
    Other("processing", "media.metadata"),
)
#: One table for all annotations: no two types use a key for different things.
_ANNOTATION = Table(
    Field("type", "type", NAME),
    Field("url", "url"),
    Field("document_uri", "url"),
    Field("title", "title"),
    Field("name", "title"),
    Field("file_name", "filename"),
    Field("source", "source"),
    Field("media_id", "file_id"),
    Field("text", "cited_text"),
    Field("start_index", "start_index", LONG),
    Field("end_index", "end_index", LONG),
    *(
        Other(wire, "detail")
        for wire in ("page_number", "custom_metadata", "place_id", "review_snippets", "speaker", "style")
    ),
    Other("start_offset", "detail"),
    Other("end_offset", "detail"),
)


def type_of(value: Json) -> str | None:
    """The ``type`` of a wire object, if it is one and has one."""
    kind = value.get("type") if type(value) is dict else None
    return kind if type(kind) is str else None


def read_content(content: Json, reading: Reading) -> Part:
    """One content -> one part; what is none of the known types becomes an unknown part with its JSON."""
    kind = type_of(content)
    if kind == "text":
        return _read_text(content, reading)
    if kind in MEDIA_TYPES:
        part: Part = {"type": "media"}
        MEDIA.read(content, part).store(part)
        return part
    return unknown_part(content, "part", reading) | {"wire": '{"content":true}'}


def unknown_part(value: Json, kind: str, reading: Reading) -> Part:
    """A part that carries JSON of a type nobody knows, counted under ``kind``."""
    reading.unknown_type(kind, type_of(value))
    return {"type": "unknown", "raw": dumps(value)}


def write_content(part: Part) -> Json:
    """The inverse of `read_content`; a refusal, which this wire does not know, is text."""
    match part["type"]:
        case "unknown":
            return loads(part["raw"])
        case "media":
            return MEDIA.write(part)
    if len(part) == 2 and "text" in part:
        return {"type": "text", "text": part["text"]}
    spelled = spelling(part)
    content = _TEXT.write(part, spelled)
    if "citations" in part:
        content["annotations"] = [_write_annotation(citation) for citation in part["citations"]]
    return content


def is_content(part: Part) -> bool:
    """Whether a part stands inside a step's content list, rather than being a step."""
    return part["type"] in ("text", "media", "refusal") or (part["type"] == "unknown" and "content" in spelling(part))


def _read_text(content: dict[str, Json], reading: Reading) -> Part:
    text: Json = content.get("text")
    if len(content) == 2 and is_text(text):
        return {"type": "text", "text": text}
    part: Part = {"type": "text"}
    left = _TEXT.read(content, part, ("annotations",))
    citations = [_read_annotation(annotation, reading) for annotation in listed(content, "annotations", left)]
    if citations:
        part["citations"] = citations
    left.store(part)
    return part


def _read_annotation(annotation: Json, reading: Reading) -> Citation:
    citation: Citation = {}
    if type(annotation) is not dict:
        reading.unknown_type("annotation", None)
        return {"type": "", "detail": dumps(annotation), "wire": '{"raw":true}'}
    _ANNOTATION.read(annotation, citation).store(citation)
    citation.setdefault("type", "")
    if citation["type"] not in ANNOTATION_TYPES:
        reading.unknown_type("annotation", citation["type"])
    if "start_index" in citation or "end_index" in citation:
        citation["unit"] = "byte"
    return citation


def _write_annotation(citation: Citation) -> Json:
    spelled = spelling(citation)
    return loads(citation["detail"]) if "raw" in spelled else _ANNOTATION.write(citation, spelled)


def read_contents(body: dict[str, Json], left: Leftover, reading: Reading) -> list[Part]:
    """The parts of ``content``: a list, or one string or one content, which ``wire`` then says."""
    value = body.get("content")
    if type(value) is str and is_text(value):
        left.wire["content"] = "text"
        return [{"type": "text", "text": value}]
    if type_of(value) is not None:
        left.wire["content"] = "object"
        return [read_content(value, reading)]
    return [read_content(content, reading) for content in listed(body, "content", left)]


def in_form(contents: list[Json], form: Json) -> Json:
    """A written content list in the form that ``wire`` names."""
    if len(contents) == 1:
        if form == "text":
            return contents[0]["text"]
        if form == "object":
            return contents[0]
    return contents


# Contents of results


def read_result_content(element: Json) -> ToolResultContent:
    """One element of a result: text, media, or the JSON of anything else (search results, function declarations)."""
    kind = type_of(element)
    if kind == "text" and len(element) == 2 and is_text(element.get("text")):
        return {"type": "text", "text": element["text"]}
    if kind in MEDIA_TYPES:
        content: ToolResultContent = {"type": "media"}
        MEDIA.read(element, content).store(content)
        return content
    return {"type": "json", "json": dumps(element)}


def write_result_content(content: ToolResultContent) -> Json:
    """The inverse of `read_result_content`."""
    match content["type"]:
        case "text":
            return {"type": "text", "text": content.get("text", "")}
        case "media":
            return MEDIA.write(content)
    written: Any = loads(content["json"])
    return written
