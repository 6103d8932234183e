"""A whole response -> the chunks by which the provider would have streamed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headrace.json_text import Json, dumps
from headrace.protocols.google import keys
from headrace.protocols.google.cutting import cut
from headrace.protocols.google.folding import owned
from headrace.protocols.google.grammar import RESPONSE

#: Fields that every chunk repeats, and the one that comes with the first.
_EVERY = ("modelVersion", "responseId", "createTime")
_FIRST = "promptFeedback"


def unfold(body: dict[str, Json]) -> list[Json]:
    """Chunks that fold back to an equal body: a few words or one part a chunk, the rest with the last.

    A body that cannot be cut (an error, no candidates, candidates without an index, a key in both spellings, which
    would be one and the same in chunks of their own) is one chunk, itself.
    """
    camel, snaked = keys.to_camel(body, RESPONSE)
    if not _is_regular(camel) or any(step.isdigit() for path in snaked for step in path.split(".")):
        return [body]
    every = {key: camel[key] for key in _EVERY if key in camel}
    pieces = [piece for candidate in camel["candidates"] for piece in _candidate_pieces(candidate)]
    chunks: list[dict[str, Json]] = [owned({"candidates": [piece], **every}) for piece in pieces]
    if _FIRST in camel:
        chunks[0][_FIRST] = camel[_FIRST]
    for key, value in camel.items():
        if key not in every and key not in (_FIRST, "candidates", "error"):
            chunks[-1][key] = value
    if "error" in camel:
        chunks.append({"error": camel["error"]})
    for chunk in chunks:
        keys.to_spelled(chunk, snaked)
    return list(chunks)


def _is_regular(body: Mapping[str, Json]) -> bool:
    """Whether every candidate can be told in a chunk of its own."""
    candidates = body.get("candidates")
    if type(candidates) is not list or not candidates or not RESPONSE.underscored.isdisjoint(body):
        return False
    if not all(type(candidate) is dict for candidate in candidates):
        return False
    indexes = [candidate.get("index") for candidate in candidates]
    if any(type(index) is not int for index in indexes) and len(candidates) > 1:
        return False
    return len(set(map(dumps, indexes))) == len(indexes)


def _candidate_pieces(candidate: dict[str, Json]) -> Iterator[dict[str, Json]]:
    content: Json = candidate.get("content")
    groups: list[list[Json]] = []
    if type(content) is dict and type(content.get("parts")) is list:
        groups = cut(content["parts"])
    index = {"index": candidate["index"]} if "index" in candidate else {}
    for group in groups[:-1]:
        yield {"content": {**content, "parts": group}, **index}
    if groups:
        yield {**candidate, "content": {**content, "parts": groups[-1]}}
    else:
        yield candidate


def sse(events: Sequence[Json]) -> str:
    """SSE text as Google writes it: `data:` lines with CRLF, no event names, no terminator."""
    return "".join(f"data: {event if type(event) is str else dumps(event)}\r\n\r\n" for event in events)
