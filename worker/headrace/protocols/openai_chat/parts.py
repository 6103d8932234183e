"""Parts of a content list <-> canonical parts (catalogue, section 2.2, and the dialects' own).

One `Form` a wire type: the canonical part it starts from and the table of its fields. Some types come with an
object or with a bare string under the same key ("image_url": {"url": …} or "image_url": "…"): two forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from headrace.canonical.fields import JSON, Const, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Media, Part
from headrace.json_text import Json, dumps, loads

#: Cache breakpoints: OpenRouter and Alibaba pass Anthropic's on, OpenAI has its own.
_CACHE = (Field("cache_control", "cache_control", JSON), Field("prompt_cache_breakpoint", "cache_control", JSON))
_DATA_URL = re.compile(r"data:([^;,]+);base64,")


@dataclass(frozen=True, slots=True)
class Form:
    """How one wire type is read. media: kind of the medium. inline: a value that is no URL is base64 data."""

    type: str
    table: Table
    media: str | None = None
    inline: bool = False


def _form(
    wire_type: str, canonical: str, *fields: Field | Other, media: str | None = None, inline: bool = False
) -> Form:
    return Form(canonical, Table(Const("type", wire_type), *fields, *_CACHE), media, inline)


def _url_forms(wire_type: str, kind: str, *beside: Field, inside: tuple[Field, ...] = ()) -> tuple[Form, Form]:
    """{type, x: {url, …}} and {type, x: "url"}."""
    rest: tuple[Field | Other, ...] = (*beside, Other("index", "detail"))
    return (
        _form(wire_type, "media", Field(f"{wire_type}.url", "media.uri"), *inside, *rest, media=kind),
        _form(wire_type, "media", Field(wire_type, "media.uri"), *rest, media=kind),
    )


_TEXT = _form("text", "text", Field("text", "text"))
_REFUSAL = _form("refusal", "refusal", Field("refusal", "text"))
_INPUT_AUDIO = (
    _form(
        "input_audio",
        "media",
        Field("input_audio.data", "media.uri"),
        Field("input_audio.format", "media.format"),
        media="audio",
        inline=True,
    ),
    _form("input_audio", "media", Field("input_audio", "media.uri"), media="audio", inline=True),
)
_FILE = _form(
    "file",
    "media",
    Field("file.file_data", "media.uri"),
    Field("file.file_id", "media.file_id"),
    Field("file.filename", "media.filename"),
    media="file",
    inline=True,
)

#: Wire type -> (form of an object, form of a bare string).
FORMS: dict[str, tuple[Form, Form]] = {
    "text": (_TEXT, _TEXT),
    "image_url": _url_forms("image_url", "image", inside=(Field("image_url.detail", "media.detail"),)),
    "input_audio": _INPUT_AUDIO,
    "file": (_FILE, _FILE),
    "refusal": (_REFUSAL, _REFUSAL),
    # OpenRouter, vLLM, Alibaba, z.ai
    "video_url": _url_forms("video_url", "video"),
    "audio_url": _url_forms("audio_url", "audio"),
    "file_url": _url_forms("file_url", "file"),
    # Mistral
    "document_url": _url_forms("document_url", "document", Field("document_name", "media.filename")),
}

#: Kind of medium -> the wire type that carries one made elsewhere.
TYPE_OF_MEDIA = {"image": "image_url", "audio": "input_audio", "video": "video_url", "document": "file"}
#: Audio has its own names for formats here, and bare base64.
_AUDIO_FORMATS = {"audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3"}
_DEFAULT_MIME = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}


def read_part(wire: Json, reading: Reading) -> Part:
    """One element of a content list -> one part; what nobody knows is kept raw and counted."""
    if type(wire) is not dict:
        return unknown_part("part", wire, reading)
    wire_type = wire.get("type")
    if wire_type == "text" and len(wire) == 2 and is_text(wire.get("text")):
        return {"type": "text", "text": wire["text"]}
    if type(wire_type) is str and wire_type in _READERS:
        return _READERS[wire_type](wire)
    forms = FORMS.get(wire_type) if type(wire_type) is str else None
    if forms is None or type(wire_type) is not str:
        return unknown_part("part", wire, reading)
    bare = type(wire.get(wire_type)) is str
    form = forms[bare]
    part: Part = {"type": form.type}
    if form.media is not None:
        part["media"] = {"kind": form.media}
        part["wire_type"] = wire_type
    left = form.table.read(wire, part)
    if form.media is not None:
        _split_uri(part["media"], form.inline)
        if bare and forms[0] is not forms[1]:
            left.wire["bare"] = True
    left.store(part)
    return part


def leave(key: str, value: Json, left: Leftover) -> None:
    """Keep the value of a structured key that became no part: null, blank and empty are spelling."""
    if value is None:
        left.note("null", key)
    elif value == "":
        left.wire.setdefault("blank", {})[key] = ""
    elif value == [] and type(value) is list:
        left.note("empty_list", key)
    elif value == {} and type(value) is dict:
        left.note("empty", key)
    else:
        left.extras[key] = value


def unknown_part(kind: str, wire: Json, reading: Reading) -> Part:
    """A part carried raw; counted as (kind, its type)."""
    reading.unknown_type(kind, wire.get("type") if type(wire) is dict else None)
    return {"type": "unknown", "raw": dumps(wire)}


def _split_uri(media: Media, inline: bool) -> None:
    """Split a data: URL into type and data; ``write_part`` puts the very same URL together again."""
    uri = media.get("uri")
    if uri is None:
        return
    header = _DATA_URL.match(uri)
    if header is not None:
        media["mime_type"], media["data"] = header[1], uri[header.end() :]
        del media["uri"]
    elif inline and "://" not in uri[:16]:
        media["data"] = media.pop("uri")


def _joined_uri(media: Media, inline: bool) -> str | None:
    """The URL (or, inline, the bare data) of a medium."""
    if "uri" in media or "data" not in media:
        return media.get("uri")
    mime = media.get("mime_type")
    if mime is None:
        if inline:
            return media["data"]
        mime = _DEFAULT_MIME.get(media.get("kind", ""), "application/octet-stream")
    return f"data:{mime};base64,{media['data']}"


def is_plain_text(part: Part) -> bool:
    """Whether a part is a text and nothing more."""
    return part["type"] == "text" and len(part) == 2 and "text" in part


def write_part(part: Part) -> Json:
    """The element of a content list that a part is written as."""
    kind = part["type"]
    if is_plain_text(part):
        return {"type": "text", "text": part["text"]}
    if kind == "unknown":
        return loads(part["raw"])
    writer = _WRITERS.get(part.get("wire_type", ""))
    if writer is not None:
        return writer(part)
    spelled = spelling(part)
    if kind == "media":
        return _write_media(part, spelled)
    return FORMS[kind if kind in FORMS else "text"][0].table.write(part, spelled)


def _write_media(part: Part, spelled: dict[str, Json]) -> dict[str, Json]:
    media = part.get("media", {})
    wire_type = part.get("wire_type", "")
    if wire_type not in FORMS:
        wire_type = TYPE_OF_MEDIA.get(media.get("kind", ""), "file")
    form = FORMS[wire_type]["bare" in spelled]
    whole: Media = {**media}
    if wire_type == "input_audio" and "wire_type" not in part:
        mime = whole.pop("mime_type", "audio/wav")
        whole.setdefault("format", _AUDIO_FORMATS.get(mime, mime.partition("/")[2]))
        media = whole
    uri = _joined_uri(media, form.inline)
    if uri is not None:
        whole["uri"] = uri
    return form.table.write({**part, "media": whole}, spelled)


# Parts whose inside is a list


_THINKING = Table(Const("type", "thinking"), Field("signature", "reasoning.signature"), Other("closed", "detail"))
_REDACTED = Table(Const("type", "redacted_thinking"), Field("data", "reasoning.encrypted"))
_REFERENCE = Table(Const("type", "reference"), Field("reference_ids", "detail", JSON))


def _read_thinking(wire: dict[str, Json]) -> Part:
    """Mistral's thinking chunk: a list of text chunks (or, behind gateways, one string)."""
    part: Part = {"type": "reasoning", "wire_type": "thinking", "reasoning": {}}
    left = _THINKING.read(wire, part, ("thinking",))
    if "thinking" in wire:
        _read_thoughts(wire["thinking"], part, left)
    mark_continuation(part)
    left.store(part)
    return part


def _read_thoughts(value: Json, part: Part, left: Leftover) -> None:
    if is_text(value):
        part["reasoning"]["text"] = value
        left.wire["thinking"] = "string"
    elif type(value) is list and all(is_text_element(element) for element in value):
        texts = [element["text"] for element in value]
        part["reasoning"]["text"] = "".join(texts)
        if len(texts) != 1:
            left.wire["thinking"] = [len(text) for text in texts]
    elif value is None:
        left.note("null", "thinking")
    else:
        left.extras["thinking"] = value


def is_text_element(element: Json) -> bool:
    """Whether an element of a list is a text and nothing more."""
    return (
        type(element) is dict and len(element) == 2 and element.get("type") == "text" and is_text(element.get("text"))
    )


def _write_thinking(part: Part) -> dict[str, Json]:
    spelled = spelling(part)
    body = _THINKING.write(part, spelled)
    text = part.get("reasoning", {}).get("text")
    if text is None or "thinking" in body:
        return body
    form = spelled.get("thinking", [len(text)])
    body["thinking"] = text if form == "string" else list(_cut(text, form))
    return body


def _cut(text: str, sizes: list[int]) -> Any:
    at = 0
    for size in sizes:
        yield {"type": "text", "text": text[at : at + size]}
        at += size


def _read_redacted(wire: dict[str, Json]) -> Part:
    part: Part = {"type": "reasoning", "wire_type": "redacted_thinking", "reasoning": {"redacted": True}}
    left = _REDACTED.read(wire, part)
    mark_continuation(part)
    left.store(part)
    return part


def _read_reference(wire: dict[str, Json]) -> Part:
    """Mistral's reference chunk: which search results the text before it rests on."""
    citation: dict[str, Any] = {"type": "reference"}
    _REFERENCE.read(wire, citation).store(citation)
    return cast(Part, {"type": "citation", "wire_type": "reference", "citations": [citation]})


def _write_reference(part: Part) -> dict[str, Json]:
    return _REFERENCE.write(part["citations"][0])


_READERS = {"thinking": _read_thinking, "redacted_thinking": _read_redacted, "reference": _read_reference}
_WRITERS = {
    "thinking": _write_thinking,
    "redacted_thinking": lambda part: _REDACTED.write(part),
    "reference": _write_reference,
}

#: Canonical path -> wire field that the provider needs back as it was (catalogue, section 7, and the dialects').
#: Ids of calls are not here: they have a field of their own and may be mapped.
_CONTINUATION = {
    "reasoning.signature": "signature",
    "reasoning.encrypted": "data",
}


def mark_continuation(part: Part) -> None:
    """Name the wire fields of a reasoning part that must go back verbatim."""
    reasoning = part.get("reasoning", {})
    names = [wire for path, wire in _CONTINUATION.items() if path.partition(".")[2] in reasoning]
    if names:
        part["continuation"] = names
