"""Grounding and citation metadata -> citations on the text they belong to.

The metadata itself is carried whole in `Message.grounding`, from which the wire is written; the citations are what
it says of each text. Google counts bytes of UTF-8, and so do they (unit ``byte``), from the start of the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.canonical.fields import is_text
from headrace.canonical.shape import Citation, Part
from headrace.json_text import Json, dumps

_CHUNK_KINDS = ("web", "retrievedContext", "maps", "image")


@dataclass(frozen=True, slots=True)
class _Text:
    """One text part: its place among the parts, its bytes, and where they start in the whole visible text."""

    part: Part
    position: int
    data: bytes
    start: int


def attach(parts: Sequence[Part], grounding: Mapping[str, Json]) -> None:
    """Put citations on text parts.

    grounding: what the wire has under groundingMetadata and citationMetadata. Whatever has not the expected type is
    passed over: it is still in the metadata.
    """
    texts = _texts(parts)
    if not texts:
        return
    for segment, citation in _citations(grounding):
        text, offset = _find(texts, segment)
        start, end = _count(segment.get("startIndex")) or 0, _count(segment.get("endIndex"))
        citation["start_index"] = start + offset
        if end is not None:
            citation["end_index"] = end + offset
        citation["unit"] = "byte"
        text.part.setdefault("citations", []).append(citation)


def written_sources(parts: Sequence[Part]) -> list[Json]:
    """Citations of another protocol as ``citationMetadata.citations``, in bytes of the whole visible text."""
    return [
        _written(citation, text)
        for text in _texts(parts)
        for citation in text.part.get("citations", ())
        if "url" in citation or "title" in citation
    ]


def _written(citation: Citation, text: _Text) -> dict[str, Json]:
    source: dict[str, Json] = {}
    for name, wire in (("start_index", "startIndex"), ("end_index", "endIndex")):
        index = citation.get(name)
        if type(index) is int:
            inside = index if citation.get("unit") == "byte" else len(text.part["text"][:index].encode())
            source[wire] = inside + text.start
    for name, wire in (("url", "uri"), ("title", "title"), ("license", "license")):
        if name in citation:
            source[wire] = citation[name]  # type: ignore[literal-required]
    return source


def _texts(parts: Sequence[Part]) -> list[_Text]:
    texts, start = [], 0
    for position, part in enumerate(parts):
        if part["type"] == "text" and "text" in part:
            data = part["text"].encode()
            texts.append(_Text(part, position, data, start))
            start += len(data)
    return texts


def _citations(grounding: Mapping[str, Json]) -> Iterator[tuple[Mapping[str, Json], Citation]]:
    """Each citation with the segment (startIndex, endIndex, partIndex, text) it is for."""
    metadata = _object(grounding.get("groundingMetadata"))
    chunks = _list(metadata.get("groundingChunks"))
    for support in _objects(metadata.get("groundingSupports")):
        segment = _object(support.get("segment"))
        scores = _list(support.get("confidenceScores"))
        for at, index in enumerate(_list(support.get("groundingChunkIndices"))):
            if type(index) is int and 0 <= index < len(chunks):
                citation = _of_chunk(_object(chunks[index]), index)
                _put(citation, "cited_text", segment.get("text"))
                if at < len(scores):
                    citation["detail"] = dumps({"confidenceScore": scores[at]})
                yield segment, citation
    for source in _sources(grounding):
        citation = {"type": "citation"}
        for wire, name in (("uri", "url"), ("title", "title"), ("license", "license")):
            _put(citation, name, source.get(wire))
        if source.get("publicationDate"):
            citation["detail"] = dumps({"publicationDate": source["publicationDate"]})
        yield source, citation


def _sources(grounding: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    metadata = _object(grounding.get("citationMetadata"))
    for key in ("citations", "citationSources"):
        yield from _objects(metadata.get(key))


def _of_chunk(chunk: Mapping[str, Json], index: int) -> Citation:
    kind = next((kind for kind in _CHUNK_KINDS if type(chunk.get(kind)) is dict), None)
    source = chunk[kind] if kind is not None else {}
    citation: Citation = {"type": kind or "groundingChunk", "index": index}
    _put(citation, "url", source.get("uri", source.get("sourceUri")))
    _put(citation, "title", source.get("title"))
    _put(citation, "source", source.get("domain", source.get("documentName", source.get("fileSearchStore"))))
    return citation


def _find(texts: Sequence[_Text], segment: Mapping[str, Json]) -> tuple[_Text, int]:
    """The part a segment speaks of, and what to add to its offsets to count from the start of that part.

    The wire says partIndex and counts within the part. Where that part is no text, or has other bytes there, offsets
    are taken to run through the whole visible text; a stream's parts may also be cut otherwise than the server's.
    """
    start, end = _count(segment.get("startIndex")) or 0, _count(segment.get("endIndex"))
    words: Json = segment.get("text")
    quoted = words.encode() if is_text(words) else None
    at = _count(segment.get("partIndex")) or 0
    named = next((text for text in texts if text.position == at), None)
    if named is not None and _holds(named.data, start, end, quoted):
        return named, 0
    for text in texts:
        if text.start <= start < text.start + len(text.data) and _holds(
            text.data, start - text.start, None if end is None else end - text.start, quoted
        ):
            return text, -text.start
    if quoted:
        for text in texts:
            at = text.data.find(quoted)
            if at >= 0:
                return text, at - start
    return named or texts[-1], 0


def _holds(data: bytes, start: int, end: int | None, quoted: bytes | None) -> bool:
    if quoted is not None:
        return data[start : start + len(quoted)] == quoted
    return start <= len(data) and (end is None or end <= len(data))


def _count(value: Json) -> int | None:
    """A place or number; JSON of this wire leaves zeros out."""
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _put(citation: Citation, name: str, value: Json) -> None:
    if is_text(value):
        citation[name] = value  # type: ignore[literal-required]


def _object(value: Json) -> Mapping[str, Json]:
    return value if type(value) is dict else {}


def _list(value: Json) -> Sequence[Json]:
    return value if type(value) is list else ()


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    return (item for item in _list(value) if type(item) is dict)
