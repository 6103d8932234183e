"""Media: which kinds the target takes where, and given how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pybase64

from headrace.convert.draft import Draft

_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
_MIME_OF_FORMAT = {"wav": "audio/wav", "mp3": "audio/mpeg", "png": "image/png", "jpeg": "image/jpeg"}
_FORMAT_OF_MIME = {mime: form for form, mime in _MIME_OF_FORMAT.items()}
_DEFAULT_MIME = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
    "file": "application/octet-stream",
}
_ANTHROPIC_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def holders(draft: Draft) -> Iterator[tuple[Any, Any, list[Any], frozenset[str], str]]:
    """(message, holder of media, list it stands in, kinds allowed there, code of what is not)."""
    target = draft.target
    for message in draft.messages:
        own = target.answer_media if message.get("role") == "assistant" else target.media
        for part in list(message.get("parts", ())):
            if part.get("type") == "media":
                yield message, part, message["parts"], own, "media_kind"
            elif part.get("type") == "tool_result":
                content = part["tool_result"].get("content", [])
                for piece in list(content):
                    if piece.get("type") == "media":
                        yield message, piece, content, target.result_media, "result_media"


def place_media(draft: Draft) -> None:
    """Media in a form that the target takes, or reported."""
    for _, holder, siblings, kinds, code in holders(draft):
        media = holder.setdefault("media", {})
        refused = _fit(draft, holder, media, kinds, code)
        if refused is not None:
            draft.drop(holder, *refused)
            siblings[:] = [one for one in siblings if one is not holder]


def _fit(draft: Draft, holder: Any, media: Any, kinds: frozenset[str], code: str) -> tuple[str, str | None] | None:
    _complete(media)
    kind = media.get("kind", "file")
    if "text" in media and not {"data", "uri"} & media.keys():
        return _fit_text(draft, holder, media)
    draft.lose(media, "text", "media_form")
    if kind not in kinds:
        return code, kind
    column = draft.target.column
    if column == "anthropic":
        if not _anthropic_takes(media):
            return "media_form", media.get("mime_type")
        if "text" in media:
            draft.note(media, "data", "document_as_text", "its text instead of its bytes")
            draft.note(media, "mime_type", "document_as_text")
            draft.moved(media, "kind")
            for field in ("format", "uri", "file_id"):
                draft.lose(media, field, "media_form")
            return None
    ways = [way for way in ("data", "uri") if way in media and way in draft.target.takes_media(kind)]
    if not ways:
        return ("provider_file", media.get("file_id")) if "file_id" in media else ("media_form", None)
    for way in ("data", "uri", "file_id"):
        if way in media and way != ways[0]:
            draft.lose(media, way, "media_form" if way != "file_id" else "provider_file")
    _ADJUST[column](draft, media, ways[0])
    return None


def _complete(media: Any) -> None:
    """MIME type and kind say the same; whoever has one has the other."""
    if "mime_type" not in media and media.get("format") in _MIME_OF_FORMAT:
        media["mime_type"] = _MIME_OF_FORMAT[media["format"]]
    if media.get("kind") == "file" and (media.get("mime_type") or "").startswith(("application/pdf", "text/")):
        media["kind"] = "document"
    if media.get("kind") == "file" and media.get("uri", "").endswith(".pdf"):
        media["kind"] = "document"
    if media.get("kind") in ("document", "file") and (media.get("mime_type") or "").startswith("image/"):
        media["kind"] = "image"


def _fit_text(draft: Draft, holder: Any, media: Any) -> tuple[str, str | None] | None:
    if draft.target.column == "anthropic":
        media.setdefault("mime_type", "text/plain")
        _drop_format(draft, media)
        draft.moved(media, "kind")
        media["kind"] = "document"
        draft.lose(media, "file_id", "provider_file")
        return None
    holder.pop("media")
    holder.update({"type": "text", "text": media.pop("text")})
    draft.note(holder, "type", "document_as_text")
    draft.note(media, "text", "document_as_text")
    draft.moved(media, "kind")
    if media.get("mime_type") == "text/plain":
        draft.note(media, "mime_type", "document_as_text")
        del media["mime_type"]
    for field in [field for field in media if field != "kind"]:
        draft.lose(media, field, "media_setting")
    return None


def _drop_format(draft: Draft, media: Any) -> None:
    """A format that the MIME type repeats is not needed."""
    form, mime = media.get("format"), media.get("mime_type")
    if form is not None and mime is not None and form in (_FORMATS.get(mime), _FORMAT_OF_MIME.get(mime)):
        del media["format"]
        draft.moved(media, "format")
    else:
        draft.lose(media, "format", "media_setting")


def _anthropic_takes(media: Any) -> bool:
    mime, kind = media.get("mime_type"), media.get("kind")
    if kind == "image":
        return "data" not in media or mime is None or mime in _ANTHROPIC_IMAGES
    if "data" in media and mime is not None and mime.startswith("text/"):
        try:
            media["text"] = pybase64.b64decode(media["data"], validate=True).decode()
        except ValueError:
            return False
        del media["data"]
        media["mime_type"] = "text/plain"
        return True
    return "data" not in media or mime in (None, "application/pdf")


def _adjust_chat(draft: Draft, media: Any, way: str) -> None:
    if media.get("kind") == "audio":
        media.setdefault("format", _FORMATS.get(media.get("mime_type", ""), "wav"))
        if _FORMATS.get(media.get("mime_type", "")) == media["format"]:
            del media["mime_type"]
            draft.moved(media, "mime_type")
        draft.lose(media, "mime_type", "media_setting")
        draft.lose(media, "filename", "media_setting")
    else:
        _drop_format(draft, media)
        if media.get("kind") != "image":
            media.setdefault("filename", "document")
            media["kind"] = "file"
        else:
            draft.lose(media, "filename", "media_setting")
        _openai_mime(draft, media, way)
    _openai_detail(draft, media)
    draft.moved(media, "kind")


def _adjust_responses(draft: Draft, media: Any, way: str) -> None:
    _drop_format(draft, media)
    if media.get("kind") == "image":
        draft.lose(media, "filename", "media_setting")
        if draft.is_request:
            media.setdefault("detail", "auto")
    else:
        media["kind"] = "file"
        if way == "data":
            media.setdefault("filename", "document")
    _openai_mime(draft, media, way)
    _openai_detail(draft, media)
    draft.moved(media, "kind")


def _openai_mime(draft: Draft, media: Any, way: str) -> None:
    if way == "data":
        media.setdefault("mime_type", _DEFAULT_MIME[media.get("kind", "file")])
    else:
        draft.lose(media, "mime_type", "media_setting", "a URL says it itself")


def _openai_detail(draft: Draft, media: Any) -> None:
    if media.get("detail") not in (None, "low", "high", "auto", "original"):
        draft.lose(media, "detail", "media_setting")
    if "detail" in media and media.get("kind") not in ("image",):
        draft.lose(media, "detail", "media_setting")


def _adjust_anthropic(draft: Draft, media: Any, way: str) -> None:
    _drop_format(draft, media)
    if way == "uri":
        draft.lose(media, "mime_type", "media_setting", "a URL says it itself")
    else:
        media.setdefault("mime_type", _DEFAULT_MIME[media.get("kind", "document")])
    if media.get("kind") == "image":
        draft.lose(media, "filename", "media_setting")
    draft.moved(media, "kind")


def _adjust_google(draft: Draft, media: Any, way: str) -> None:
    media.setdefault("mime_type", _DEFAULT_MIME[media.get("kind", "file")])
    _drop_format(draft, media)
    # What follows from the MIME type.
    draft.moved(media, "kind")
    if media.get("sample_rate") is not None:
        if f"rate={media['sample_rate']}" in media["mime_type"]:
            draft.moved(media, "sample_rate")
            del media["sample_rate"]
        else:
            draft.lose(media, "sample_rate", "media_setting")


def _adjust_interactions(draft: Draft, media: Any, way: str) -> None:
    if media.get("kind") == "file":
        media["kind"] = "document"
    if way == "data":
        media.setdefault("mime_type", _DEFAULT_MIME[media.get("kind", "document")])
    _drop_format(draft, media)
    if media.get("kind") != "video":
        draft.lose(media, "filename", "media_setting")
    draft.moved(media, "kind")


_ADJUST: dict[str, Callable[[Draft, Any, str], None]] = {
    "chat": _adjust_chat,
    "responses": _adjust_responses,
    "anthropic": _adjust_anthropic,
    "gemini": _adjust_google,
    "live": _adjust_google,
    "interactions": _adjust_interactions,
}
