"""Chunks that go on as the one before, one by one or as a stretch: nearly all of a stream.

Such a chunk has one candidate, and that has one part with a piece of the text that the last one was added to. Chunks
of a run are told by what they share with its first one, and only text and usage are read. A chunk that is not like it
ends the run, and is read in full again.
"""

from __future__ import annotations

from typing import Any

from headrace.json_text import Json
from headrace.protocols.gemini_generate.streamed_response import CHUNK, LAST, RUNNING, StreamedResponse
from headrace.protocols.google.folding import PartFold, is_plain
from headrace.protocols.stretches import Path, Stretch

#: What a candidate of such a chunk may have, and its content.
_STEADY = LAST | {"content"}
_CONTENT = frozenset({"parts", "role"})
#: In what chunks of a stretch may differ: one text, and usage and time of the last one.
_TEXT: Path = ("candidates", 0, "content", "parts", 0, "text")
_NEWEST = frozenset({"usageMetadata", "createTime"})
_NOTHING: Any = object()


class ChunkRun:
    """Chunks that add to one text, and are like the first of them but for text and usage."""

    __slots__ = (
        "_content_size",
        "_fold",
        "_has_usage",
        "_index",
        "_index_type",
        "_others",
        "_response",
        "_role",
        "_size",
        "_wire_others",
        "_wire_size",
    )

    def __init__(
        self, response: StreamedResponse, chunk: dict[str, Json], wire: dict[str, Json], fold: PartFold
    ) -> None:
        content = wire["content"]
        self._response = response
        self._size, self._wire_size, self._content_size = len(chunk), len(wire), len(content)
        self._others: list[tuple[str, Json]] = []
        self._wire_others: list[tuple[str, Json]] = []
        self._index: Json = wire.get("index")
        self._index_type = type(self._index)
        self._role: Json = content.get("role")
        self._has_usage = "usageMetadata" in chunk
        self._fold = fold

    @classmethod
    def after(cls, response: StreamedResponse, event: dict[str, Json]) -> ChunkRun | None:
        """The run that a chunk begins, once the response has taken it."""
        wire, _ = _only_text(event)
        if wire is None or wire.get("finishReason") is not None:
            return None
        known = response.candidate(wire)
        if known is None:
            return None
        run = cls(response, event, wire, known.fold)
        return run if run._note_shared(event, wire) else None

    def _note_shared(self, chunk: dict[str, Json], wire: dict[str, Json]) -> bool:
        """Note what chunks must share; False where other values that equal these are not the same, as 1 and true."""
        for key, value in chunk.items():
            if key == "candidates" or key == "usageMetadata":
                continue
            if key not in RUNNING or (value is not None and type(value) is not str):
                return False
            self._others.append((key, value))
        for key, value in wire.items():
            if key == "content" or key == "index":
                continue
            if value is not None and type(value) is not str:
                return False
            self._wire_others.append((key, value))
        return self._content_size == 1 or type(self._role) is str

    def take(self, chunk: dict[str, Json]) -> bool:
        """Take a chunk of the run; False, with nothing done, for any other."""
        candidates = chunk.get("candidates")
        if len(chunk) != self._size or type(candidates) is not list or len(candidates) != 1:
            return False
        wire = candidates[0]
        content = wire.get("content") if type(wire) is dict else None
        if type(content) is not dict or len(content) != self._content_size or content.get("role") != self._role:
            return False
        parts, usage = content.get("parts"), chunk.get("usageMetadata")
        if type(parts) is not list or len(parts) != 1 or (self._has_usage and type(usage) is not dict):
            return False
        if not self._is_like(chunk, wire) or not self._fold.take_text(parts[0]):
            return False
        self._response.count += 1
        if usage is not None:
            self._response.add_usage(usage)
        return True

    def _is_like(self, chunk: dict[str, Json], wire: dict[str, Json]) -> bool:
        for key, value in self._others:
            if chunk.get(key, _NOTHING) != value:
                return False
        for key, value in self._wire_others:
            if wire.get(key, _NOTHING) != value:
                return False
        index = wire.get("index")
        return len(wire) == self._wire_size and type(index) is self._index_type and bool(index == self._index)


def take_stretch(response: StreamedResponse, stretch: Stretch) -> bool:
    """Add chunks that go on with one text of a response; False, with nothing done, for others."""
    event = stretch.event
    newest = {path[0] for path in stretch.varying() if path != _TEXT}
    candidate, part = _only_text(event)
    if candidate is None or not newest <= _NEWEST or not CHUNK.issuperset(event):
        return False
    known = response.candidate(candidate)
    if known is None or not known.fold.take_texts(part, stretch.values(_TEXT)):
        return False
    response.count += len(stretch)
    if newest:
        last = stretch.last()
        response.add({key: last[key] for key in event if key in newest}, last)
        response.count -= 1
    return True


def _only_text(event: dict[str, Json]) -> tuple[dict[str, Json] | None, dict[str, Json]]:
    """The candidate and the part of a chunk with one of each and nothing in them that grows but the part's text."""
    candidates = event.get("candidates")
    candidate = candidates[0] if type(candidates) is list and len(candidates) == 1 else None
    if type(candidate) is not dict or not _STEADY.issuperset(candidate):
        return None, {}
    content = candidate.get("content")
    parts = content.get("parts") if type(content) is dict and _CONTENT.issuperset(content) else None
    if type(parts) is not list or len(parts) != 1 or not is_plain(parts[0]):
        return None, {}
    return candidate, parts[0]
