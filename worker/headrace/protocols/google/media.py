"""Blobs and files of Google's wire <-> `Media`."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import LONG, Field, Other

#: MIME type up to the slash -> Media.kind; anything else is a document or a file.
_KINDS = {"image": "image", "audio": "audio", "video": "video", "text": "document"}
_DOCUMENTS = frozenset({"application/pdf", "application/json", "application/rtf", "application/xml"})

#: The fields that may stand beside a blob or a file, in parts and in the parts of a function response.
MEDIA_SIDES: tuple[Field | Other, ...] = (
    Field("mediaResolution.level", "media.detail"),
    *(
        Other(wire, "media.metadata")
        for wire in (
            "mediaResolution.numTokens",
            "mediaProcessing",
            "videoMetadata",
            "audioMetadata",
            "documentMetadata",
            "spreadsheetMetadata",
        )
    ),
)
INLINE: tuple[Field | Other, ...] = (
    Field("inlineData.mimeType", "media.mime_type"),
    Field("inlineData.data", "media.data"),
    Field("inlineData.displayName", "media.filename"),
    # How a folded Live turn speaks of audio that lies in its captures.
    Field("inlineData.sizeBytes", "media.size_bytes", LONG),
    Field("inlineData.sha256", "media.sha256"),
    Field("inlineData.uri", "media.uri"),
    *MEDIA_SIDES,
)
FILE: tuple[Field | Other, ...] = (
    Field("fileData.mimeType", "media.mime_type"),
    Field("fileData.fileUri", "media.uri"),
    Field("fileData.displayName", "media.filename"),
    *MEDIA_SIDES,
)


def kind_of(mime_type: str | None) -> str:
    """image | audio | video | document | file, from a MIME type such as ``audio/pcm;rate=16000``."""
    if not mime_type:
        return "file"
    essence = mime_type.partition(";")[0].strip().lower()
    return "document" if essence in _DOCUMENTS else _KINDS.get(essence.partition("/")[0], "file")


def sample_rate_of(mime_type: str | None) -> int | None:
    """The ``rate`` parameter of an audio MIME type in Hz, if it has one."""
    for parameter in (mime_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        digits = value.strip()
        if name.strip().lower() == "rate" and digits.isascii() and digits.isdigit() and len(digits) < 10:
            return int(digits)
    return None


def describe(media: Any) -> None:
    """Fill what the MIME type says: kind and sample rate."""
    mime_type = media.get("mime_type")
    media["kind"] = kind_of(mime_type)
    rate = sample_rate_of(mime_type)
    if rate is not None:
        media["sample_rate"] = rate
