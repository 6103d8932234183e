"""Texts, refusals, reasoning, media and citations."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any

from headrace.convert.draft import Draft
from headrace.convert.rules.items import leave_behind
from headrace.json_text import loads

_GAP = "\n\n"


# Texts


def write_refusals(draft: Draft) -> None:
    """A refusal is text where the target has no refusals (all but OpenAI's)."""
    if draft.target.family == "openai":
        return
    for message in draft.messages:
        for part in message.get("parts", ()):
            if part.get("type") == "refusal":
                part["type"] = "text"
                draft.note(part, "type", "refusal_as_text")


def drop_empty_texts(draft: Draft) -> None:
    """Anthropic refuses empty texts; elsewhere, too, they say nothing."""
    for message in draft.messages:
        parts = message.get("parts", ())
        kept = [part for part in parts if not _is_empty(part)]
        for part in parts:
            if _is_empty(part):
                draft.note(part, "text", "empty_text")
                draft.moved(part, "type")
                leave_behind(draft, part)
        if len(kept) != len(parts):
            message["parts"] = kept


def _is_empty(part: Any) -> bool:
    empty = part.get("type") == "text" and not part.get("text")
    return empty and "signature" not in part and "citations" not in part


def keep_breakpoints(draft: Draft) -> None:
    """Anthropic's cache breakpoints are objects; whatever else a dialect had there is reported."""
    if draft.target.column != "anthropic":
        return
    for shape in _with_breakpoints(draft):
        if type(loads(shape["cache_control"])) is not dict:
            draft.lose(shape, "cache_control", "cache_hint")


def _with_breakpoints(draft: Draft) -> Iterator[Any]:
    parts = [part for message in draft.messages for part in message.get("parts", ())]
    for shape in (*parts, *draft.record.get("tools", ())):
        if "cache_control" in shape:
            yield shape


# Reasoning


def place_reasoning(draft: Draft) -> None:
    """Signatures go to their maker. Visible reasoning goes with an answer, and stays out of a foreign history."""
    for message in draft.messages:
        kept = []
        for part in message.get("parts", ()):
            if part.get("type") == "reasoning":
                if _reasoning(draft, part):
                    kept.append(part)
            else:
                _signature(draft, part)
                kept.append(part)
        if "parts" in message:
            message["parts"] = kept


def _reasoning(draft: Draft, part: Any) -> bool:
    """Whether a reasoning part stays."""
    target, reasoning = draft.target, part.get("reasoning") or {}
    home = _is_home(draft)
    if draft.is_request and not home and not draft.keeps_reasoning:
        draft.drop(part, "reasoning_foreign", "visible reasoning is left out of the history")
        return False
    if not home:
        draft.lose(reasoning, "signature", "signature_foreign")
    draft.lose(reasoning, "encrypted", "encrypted_foreign")
    draft.lose(reasoning, "redacted", "encrypted_foreign")
    if "data" in part and target.family != "google":
        draft.lose(part, "data", "provider_item")
    _form(draft, reasoning)
    if draft.dialect is not None and draft.dialect.keeps_reasoning:
        part["wire_type"] = draft.dialect.reasoning_key
    if target.column == "anthropic" and "text" in reasoning:
        # The type demands one; an empty one tells everybody that this block cannot be sent back.
        reasoning.setdefault("signature", "")
    if not reasoning.get("text") and not reasoning.get("summary") and "signature" not in reasoning:
        draft.drop(part, "reasoning_foreign", "nothing of it can be read")
        return False
    return True


def _form(draft: Draft, reasoning: Any) -> None:
    """Texts under the field that the target has."""
    text, summary = reasoning.get("text"), reasoning.get("summary")
    if draft.target.column == "responses" and text is not None and summary is None:
        return
    if draft.target.reasoning == "text" and summary:
        reasoning["text"] = _GAP.join([text, *summary] if text else summary)
        del reasoning["summary"]
        draft.note(reasoning, "summary", "reasoning_form")
        draft.moved(reasoning, "text")
    elif draft.target.reasoning == "summary" and draft.target.column != "responses" and text is not None:
        reasoning["summary"] = [text, *(summary or ())]
        del reasoning["text"]
        draft.note(reasoning, "text", "reasoning_form")
        draft.moved(reasoning, "summary")


def _is_home(draft: Draft) -> bool:
    """Whether the target is of the maker of the record's signatures (or nobody knows who made them)."""
    return draft.source_family is None or (draft.source_family == draft.target.family == "google")


def _signature(draft: Draft, part: Any) -> None:
    if "signature" not in part:
        return
    column, kind = draft.target.column, part.get("type")
    is_tool = kind in ("tool_call", "tool_result")
    takes = column == "gemini" or (column == "live" and not is_tool) or (column == "interactions" and is_tool)
    if not takes or not _is_home(draft):
        draft.lose(part, "signature", "signature_foreign")


# Media

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
    for field in media.keys() - {"kind"}:
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
            media["text"] = base64.b64decode(media["data"], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
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


# Citations


def place_citations(draft: Draft) -> None:
    """Web sources go where the target has them, with positions counted its way; others are reported."""
    unit = {"chat": "char", "responses": "char", "interactions": "byte"}.get(draft.target.column)
    for message in draft.messages:
        for part in message.get("parts", ()):
            citations = part.get("citations")
            if not citations:
                continue
            kept = []
            for citation in citations:
                if unit is None or not _is_web(citation) or not _recount(draft, citation, part.get("text", ""), unit):
                    draft.drop(citation, "citation", citation.get("type"))
                else:
                    kept.append(citation)
            if kept:
                part["citations"] = kept
            else:
                del part["citations"]


def _is_web(citation: Any) -> bool:
    return bool(citation.get("url")) and citation.get("unit") in (None, "char", "byte")


def _recount(draft: Draft, citation: Any, text: str, unit: str) -> bool:
    """Positions as ``unit`` counts them; a source without positions speaks of the whole text."""
    if draft.is_request:
        return False
    if "start_index" not in citation and "end_index" not in citation:
        citation["start_index"], citation["end_index"] = 0, len(text if unit == "char" else text.encode())
    elif citation.get("unit", unit) != unit:
        for field in ("start_index", "end_index"):
            if field in citation:
                citation[field] = _converted(text, citation[field], unit)
                draft.note(citation, field, "citation_moved")
    draft.moved(citation, "unit")
    citation["unit"] = unit
    citation.setdefault("start_index", 0)
    citation.setdefault("title", citation["url"])
    citation["type"] = "url_citation"
    draft.moved(citation, "type")
    return True


def _converted(text: str, index: int, unit: str) -> int:
    if unit == "char":
        return len(text.encode()[:index].decode(errors="ignore"))
    return len(text[:index].encode())
