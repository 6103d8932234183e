"""Content parts of message items and of tool outputs: text, refusal, reasoning text, media, annotations.

A part's ``wire_type`` is left out where it is the usual one of its place (``output_text`` of the assistant,
``input_text`` of everybody else).
"""

from __future__ import annotations

import re
from typing import Any

from headrace.canonical.fields import ARRAY, JSON, LONG, NAME, Const, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Citation, Media, Part
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads

_CACHE = Field("prompt_cache_breakpoint", "cache_control", JSON)
_SCREEN = (
    Field("image_url", "media.uri"),
    Field("file_id", "media.file_id"),
    Other("transformation", "media.metadata"),
)
_DETAIL = Field("detail", "media.detail")
_FILE = (
    Field("file_data", "media.data"),
    Field("file_url", "media.uri"),
    Field("file_id", "media.file_id"),
    Field("filename", "media.filename"),
    Field("detail", "media.detail"),
)
_AUDIO = (Field("input_audio.data", "media.data"), Field("input_audio.format", "media.format"))

#: Wire type -> (canonical type, kind of media, entries).
_KNOWN: dict[str, tuple[str, str, tuple[Field | Other, ...]]] = {
    "input_text": ("text", "", (Field("text", "text"),)),
    "output_text": ("text", "", (Field("text", "text"), Field("logprobs", "logprobs", ARRAY))),
    "text": ("text", "", (Field("text", "text"),)),
    "refusal": ("refusal", "", (Field("refusal", "text"),)),
    "reasoning_text": ("reasoning", "", (Field("text", "reasoning.text"),)),
    "summary_text": ("reasoning", "", (Field("text", "reasoning.text"),)),
    "encrypted_content": ("reasoning", "", (Field("encrypted_content", "reasoning.encrypted"),)),
    "input_image": ("media", "image", (*_SCREEN, Field("detail", "media.detail", default="auto"))),
    "computer_screenshot": ("media", "image", (*_SCREEN, _DETAIL)),
    "input_file": ("media", "file", _FILE),
    "input_audio": ("media", "audio", _AUDIO),
    # Outputs of code_interpreter_call.
    "logs": ("text", "", (Field("logs", "text"),)),
    "image": ("media", "image", (Field("url", "media.uri"),)),
}
_TABLES = {name: Table(Const("type", name), *entries, _CACHE) for name, (_, _, entries) in _KNOWN.items()}
CONTENT_TYPES = frozenset(_TABLES)

#: Canonical type of parts without a wire type (from other protocols) that message content can hold.
_CONTENT_SHAPES = {"text": "", "refusal": "refusal", "media": ""}
_MEDIA_TYPES = {"image": "input_image", "audio": "input_audio"}

_CITATION = Table(
    Field("type", "type", NAME),
    Field("url", "url"),
    Field("title", "title"),
    Field("start_index", "start_index", LONG),
    Field("end_index", "end_index", LONG),
    Field("file_id", "file_id"),
    Field("filename", "filename"),
    Field("container_id", "container_id"),
    Field("index", "index", LONG),
    Field("quote", "cited_text"),
)
ANNOTATION_TYPES = frozenset({"file_citation", "url_citation", "container_file_citation", "file_path"})

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def default_text(role: object) -> str:
    """The wire type of text in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def unknown_part(value: Json, kind: str, reading: Reading) -> Part:
    """A value nobody knows: whole in ``raw``, counted under ``kind``."""
    name = value.get("type") if type(value) is dict else None
    reading.unknown_type(kind, name)
    part: Part = {"type": "unknown", "raw": dumps(value)}
    if name and is_text(name):
        part["wire_type"] = name
    return part


def read_part(value: Json, usual: str, reading: Reading) -> Part:
    """One element of a content list. ``usual``: the wire type that is left out."""
    name = value.get("type") if type(value) is dict else None
    if type(name) is not str or name not in _TABLES:
        return unknown_part(value, "part", reading)
    if name == usual and len(value) == 2 and name == "input_text" and is_text(value.get("text")):
        return {"type": "text", "text": value["text"]}
    shape, media_kind, _ = _KNOWN[name]
    part: Part = {"type": shape}
    if name != usual:
        part["wire_type"] = name
    left = _TABLES[name].read(value, part, ("annotations",) if name == "output_text" else ())
    if media_kind:
        _split_data_url(part, media_kind)
    if name == "output_text":
        _read_annotations(value, part, left, reading)
    if name == "encrypted_content":
        part["continuation"] = [name]
    left.store(part)
    return part


def write_part(part: Part, usual: str) -> Json:
    """The wire form of a content part; raises WireError for a part that message content has no form for."""
    if part["type"] == "unknown":
        return loads(part["raw"])
    name = part.get("wire_type") or ""
    if name not in _TABLES:
        name = _wire_type(part, usual)
    spelled = spelling(part)
    value = _TABLES[name].write(_join_data_url(part, name), spelled)
    if name == "output_text":
        _write_annotations(part, value, spelled)
    return value


def is_content(part: Part) -> bool:
    """Whether a part belongs into a message item's content (and is no item of its own)."""
    if part["type"] == "unknown":
        return not spelling(part).get("item")
    if part.get("wire_type") in CONTENT_TYPES:
        return True
    return part["type"] in _CONTENT_SHAPES and "wire_type" not in part


def _wire_type(part: Part, usual: str) -> str:
    shape = part["type"]
    if shape == "text":
        return usual
    if shape == "refusal":
        return "refusal"
    if shape == "media":
        return _MEDIA_TYPES.get(part.get("media", {}).get("kind", ""), "input_file")
    raise WireError(
        f"a {shape} part has no form in the content of a Responses message",
        code="unwritable_part",
        fix="convert the record for openai.responses first",
    )


# --- media ------------------------------------------------------------------------------------------------


def _split_data_url(part: Part, kind: str) -> None:
    """data: URLs become mime_type and data. ``file_data`` may be one, or plain base64."""
    media: Media = part.setdefault("media", {})
    media["kind"] = kind
    field = "data" if kind == "file" and "data" in media else "uri"
    split = split_data_url(str(media.get(field, "")))
    if split:
        del media[field]  # type: ignore[misc]
        media["mime_type"], media["data"] = split


def split_data_url(text: str) -> tuple[str, str] | None:
    """(MIME type, base64) of a data: URL without other parameters; None for anything else."""
    match = _DATA_URL.fullmatch(text) if text.startswith("data:") else None
    return (match[1], match[2]) if match else None


def _join_data_url(part: Part, name: str) -> Any:
    """The part with media spelled as the table of ``name`` has it."""
    media = part.get("media")
    if media is None or "data" not in media or name == "input_audio":
        return part
    data = f"data:{media['mime_type']};base64,{media['data']}" if "mime_type" in media else media["data"]
    if name == "input_file":
        return {**part, "media": {**media, "data": data}}
    return {**part, "media": {**media, "uri": data}}


# --- annotations ------------------------------------------------------------------------------------------


def _read_annotations(value: dict[str, Json], part: Part, left: Leftover, reading: Reading) -> None:
    """``annotations`` -> citations. An empty list is the usual form; absent, null and others are spelled."""
    if "annotations" not in value:
        left.wire["annotations"] = "absent"
        return
    annotations = value["annotations"]
    if annotations is None:
        left.note("null", "annotations")
    elif type(annotations) is not list:
        left.extras["annotations"] = annotations
    elif annotations:
        part["citations"] = [read_citation(annotation, reading) for annotation in annotations]


def _write_annotations(part: Part, value: dict[str, Json], spelled: dict[str, Json]) -> None:
    if "annotations" in value or spelled.get("annotations") == "absent":
        return
    value["annotations"] = [write_citation(citation) for citation in part.get("citations", ())]


def read_citation(value: Json, reading: Reading) -> Citation:
    """One annotation; an unknown type is counted and kept like a known one, what is no object in ``detail``."""
    if type(value) is not dict:
        reading.unknown_type("annotation", None)
        return {"type": "unknown", "detail": dumps(value), "wire": '{"form":"value"}'}
    citation: Citation = {}
    left = _CITATION.read(value, citation)
    if citation.get("type") not in ANNOTATION_TYPES:
        reading.unknown_type("annotation", value.get("type"))
    elif "start_index" in citation:
        citation["unit"] = "char"
    left.store(citation)
    return citation


def write_citation(citation: Citation) -> Json:
    """The annotation of a citation."""
    spelled = spelling(citation)
    if spelled.get("form") == "value":
        return loads(citation["detail"])
    return _CITATION.write(citation, spelled)
