"""Stream chunks of streamGenerateContent -> whole responses.

A chunk is a whole GenerateContentResponse with the next pieces. There is no event that says the end: a finishReason
on every candidate does, or a blocked prompt, or an error. Chunks of several response ids are several responses.

Dropped, because they say nothing: empty text alone in its chunk (see `PartFold`), and ``[DONE]``, which some proxies
add. A field nobody knows keeps its last value; earlier values that differ go to ``stray`` together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headrace.errors import HeadraceError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.entry_points import Folded
from headrace.protocols.google import keys
from headrace.protocols.google.folding import PartFold, grow, is_plain, owned
from headrace.protocols.google.grammar import CANDIDATE, RESPONSE
from headrace.protocols.stretches import Path, Stretch
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT

#: Fields of a chunk whose last value counts.
_RUNNING = frozenset({"modelVersion", "responseId", "createTime", "promptFeedback", "modelStatus", "error"})
_CHUNK = _RUNNING | {"candidates", "usageMetadata"}
#: Fields of a candidate whose last value counts, and those that grow from chunk to chunk.
_LAST = frozenset(
    {"index", "finishReason", "finishMessage", "tokenCount", "avgLogprobs", "safetyRatings", "continuationToken"}
)
_GROWING = frozenset({"groundingMetadata", "citationMetadata", "urlContextMetadata", "logprobsResult"})
_CANDIDATE = _LAST | _GROWING | {"content"}
#: What chunks of a stretch may have, and in what they may differ: one text, and usage and time of the last one.
_STEADY = _LAST | {"content"}
_PARTS: Path = ("candidates", 0, "content", "parts")
_TEXT: Path = (*_PARTS, 0, "text")
_NEWEST = frozenset({"usageMetadata", "createTime"})
_CONTENT = frozenset({"parts", "role"})
_NOTHING: Any = object()


class _Superseded:
    """Values of fields nobody knows that a later chunk replaced."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[str, list[Json]] = {}

    def put(self, target: dict[str, Json], key: str, value: Json) -> None:
        if key in target and target[key] != value:
            self.values.setdefault(key, []).append(target[key])
        target[key] = value


class _Candidate:
    """One candidate as it streams."""

    __slots__ = ("content", "fields", "fold", "has_content", "has_parts")

    def __init__(self) -> None:
        self.fields: dict[str, Json] = {}
        self.content: dict[str, Json] = {}
        self.fold = PartFold()
        self.has_content = self.has_parts = False

    def add(self, chunk: dict[str, Json], superseded: _Superseded) -> None:
        fields = self.fields
        for key, value in chunk.items():
            if key == "content" and type(value) is dict:
                self.has_content = True
                for name, item in value.items():
                    if name == "parts" and type(item) is list:
                        self.has_parts = True
                        self.fold.add(item)
                    elif name == "role":
                        self.content["role"] = item
                    elif item is not None or name not in self.content:
                        superseded.put(self.content, name, item)
            elif value is None:
                fields.setdefault(key, None)
            elif key in _LAST:
                fields[key] = value
            elif key in _GROWING:
                fields[key] = grow(fields[key], value) if key in fields else owned(value)
            else:
                superseded.put(fields, key, value)

    def finish(self) -> dict[str, Json]:
        if self.has_content:
            if self.has_parts:
                self.content["parts"] = self.fold.finish()
            self.fields["content"] = self.content
        return self.fields


class _Response:
    """One response as it streams."""

    __slots__ = (
        "_candidates",
        "_first",
        "_foreign",
        "_has_candidates",
        "_superseded",
        "_usage",
        "body",
        "count",
        "run",
        "snaked",
    )

    def __init__(self) -> None:
        self.body: dict[str, Json] = {}
        self.count = 0
        #: What the chunks since the last that was none of it add to.
        self.run: _Run | None = None
        self.snaked: list[str] = []
        self._first: dict[str, Json] = {}
        self._superseded = _Superseded()
        self._candidates: dict[Any, _Candidate] = {}
        self._foreign: list[Json] = []
        self._has_candidates = False
        self._usage: dict[str, Json] | None = None

    def add(self, chunk: dict[str, Json], event: dict[str, Json]) -> None:
        """chunk: the event, its known keys in camelCase."""
        self.count += 1
        if self.count == 1:
            self._first = event
        body = self.body
        for key, value in chunk.items():
            if key == "candidates" and type(value) is list:
                self._add_candidates(value)
            elif key == "usageMetadata" and type(value) is dict:
                self.add_usage(value)
            elif value is None:
                body.setdefault(key, None)
            elif key in _RUNNING:
                body[key] = value
            else:
                self._superseded.put(body, key, value)

    def add_stretch(self, stretch: Stretch) -> bool:
        """Add chunks that go on with one text; False, with nothing done, for others."""
        event = stretch.event
        newest = {path[0] for path in stretch.varying() if path != _TEXT}
        candidate, part = _only_text(event)
        if candidate is None or not newest <= _NEWEST or not _CHUNK.issuperset(event):
            return False
        known = self.candidate(candidate)
        if known is None or not known.fold.take_texts(part, stretch.values(_TEXT)):
            return False
        # Since then the response may have newer values than the chunks of the run.
        self.run = None
        self.count += len(stretch)
        if newest:
            last = stretch.last()
            self.add({key: last[key] for key in event if key in newest}, last)
            self.count -= 1
        return True

    def candidate(self, wire: dict[str, Json]) -> _Candidate | None:
        """What came of the only candidate of a chunk."""
        index = wire.get("index", 0)
        return self._candidates.get(index) if type(index) is int else None

    def _add_candidates(self, candidates: list[Json]) -> None:
        self._has_candidates = True
        for position, value in enumerate(candidates):
            if type(value) is not dict:
                self._foreign.append(value)
                continue
            if not _CANDIDATE.issuperset(value):
                value, paths = keys.to_camel(value, CANDIDATE)
                self.snaked += [f"candidates.{path}" for path in paths]
            index = value.get("index", position)
            place = index if type(index) is int else dumps(index)
            candidate = self._candidates.get(place)
            if candidate is None:
                candidate = self._candidates[place] = _Candidate()
            candidate.add(value, self._superseded)

    def add_usage(self, usage: dict[str, Json]) -> None:
        """Running totals: the last value of each field counts, and a chunk without them erases nothing."""
        if self._usage is None:
            self._usage = dict(usage)
        elif None in usage.values():
            self._usage.update({key: value for key, value in usage.items() if value is not None})
        else:
            self._usage.update(usage)

    def folded(self) -> Folded:
        """The response; what no field could hold is in ``stray``."""
        complete = self._is_complete()
        if self.count == 1 and not self._has_streamed_calls():
            # One chunk is the whole response, letter by letter.
            return Folded(self._first, complete, 1)
        body = self.body
        if self._has_candidates:
            body["candidates"] = [one.finish() for one in self._candidates.values()] + self._foreign
        if self._usage is not None:
            body["usageMetadata"] = self._usage
        if self.snaked:
            # Parts may still belong to the events.
            body = owned(body)
            keys.to_spelled(body, {re.sub(r"\.\d+", "", path) for path in self.snaked})
        stray: list[Json] = []
        for one in self._candidates.values():
            stray += one.fold.stray
        if self._superseded.values:
            stray.append({"superseded": self._superseded.values})
        return Folded(body, complete, self.count, stray=stray)

    def _is_complete(self) -> bool:
        if self.body.get("error") is not None:
            return True
        for one in self._candidates.values():
            if one.fields.get("finishReason") is None:
                return False
        return bool(self._candidates) or _is_blocked(self.body)

    def _has_streamed_calls(self) -> bool:
        for one in self._candidates.values():  # noqa: SIM110 - compiled, a generator costs more than the rest
            if one.fold.has_streamed_calls:
                return True
        return False


class _Run:
    """Chunks that add to one text, and are like the first of them but for text and usage: nearly all of a stream."""

    __slots__ = (
        *("_content_size", "_fold", "_has_usage", "_index", "_index_type", "_others", "_role", "_size"),
        *("_wire_others", "_wire_size"),
    )

    def __init__(self, chunk: dict[str, Json], wire: dict[str, Json], fold: PartFold) -> None:
        content = wire["content"]
        self._size, self._wire_size, self._content_size = len(chunk), len(wire), len(content)
        self._others: list[tuple[str, Json]] = []
        self._wire_others: list[tuple[str, Json]] = []
        self._index: Json = wire.get("index")
        self._index_type = type(self._index)
        self._role: Json = content.get("role")
        self._has_usage = "usageMetadata" in chunk
        self._fold = fold

    @classmethod
    def after(cls, response: _Response, event: dict[str, Json]) -> _Run | None:
        """The run that a chunk begins, once the response has taken it."""
        wire, _ = _only_text(event)
        if wire is None or wire.get("finishReason") is not None:
            return None
        known = response.candidate(wire)
        if known is None:
            return None
        run = cls(event, wire, known.fold)
        return run if run._is_exact(event, wire) else None

    def _is_exact(self, chunk: dict[str, Json], wire: dict[str, Json]) -> bool:
        """Note what chunks must share; False where other values that equal these are not the same, as 1 and true."""
        for key, value in chunk.items():
            if key == "candidates" or key == "usageMetadata":
                continue
            if key not in _RUNNING or (value is not None and type(value) is not str):
                return False
            self._others.append((key, value))
        for key, value in wire.items():
            if key == "content" or (key == "index" and value is not None):
                continue
            if key == "index" or (value is not None and type(value) is not str):
                return False
            self._wire_others.append((key, value))
        return self._content_size == 1 or type(self._role) is str

    def take(self, chunk: dict[str, Json], response: _Response) -> bool:
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
        response.count += 1
        if usage is not None:
            response.add_usage(usage)
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


def _is_blocked(body: Mapping[str, Json]) -> bool:
    feedback = body.get("promptFeedback")
    return type(feedback) is dict and feedback.get("blockReason") is not None


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """Chunks in order -> the responses they make, by response id. Never raises."""
    folding = _Folding()
    for event in events:
        if type(event) is not Stretch:
            folding.take(event)
        elif not folding.take_stretch(event):
            for each in event.events():
                folding.take(each)
    return folding.made()


class _Folding:
    """The responses of one stream so far."""

    __slots__ = ("_current", "_responses", "_stray", "_unknown")

    def __init__(self) -> None:
        self._responses: dict[str, _Response] = {}
        self._current: _Response | None = None
        self._stray: list[Json] = []
        self._unknown: list[tuple[str, str]] = []

    def take(self, event: Json) -> None:
        """One chunk, or what is none; a JSON array of chunks may be nested in another."""
        if type(event) is dict:
            current = self._current
            if current is None or current.run is None or not current.run.take(event, current):
                self._take_chunk(event)
        elif type(event) is list:
            for each in event:
                self.take(each)
        elif event != "[DONE]":
            self._stray.append(event)

    def take_stretch(self, stretch: Stretch) -> bool:
        """Chunks that go on with one text; False, with nothing done, for others."""
        return self._current is not None and self._current.add_stretch(stretch)

    def _take_chunk(self, event: dict[str, Json]) -> None:
        chunk = event
        paths: list[str] = []
        if not event or not _CHUNK.issuperset(event):
            chunk, paths = keys.to_camel(event, RESPONSE)
        current = self._current
        if _CHUNK.isdisjoint(chunk):
            self._stray.append(event)
            self._unknown.append(("event", next(iter(event), "")))
            if current is not None:
                current.run = None
            return
        response_id = chunk.get("responseId")
        if current is None or (response_id is not None and response_id != current.body.get("responseId")):
            current = self._current = _of_id(self._responses, response_id, current)
        current.add(chunk, event)
        current.snaked += paths
        current.run = _Run.after(current, event)

    def made(self) -> list[Folded]:
        """All responses; what none of them could hold goes to the last one."""
        made = [response.folded() for response in dict.fromkeys(self._responses.values())]
        if self._stray:
            made = made or [Folded({}, complete=False, events=0)]
            made[-1].stray += self._stray
            made[-1].unknown += self._unknown
        return made


def _of_id(responses: dict[str, _Response], response_id: Json, current: _Response | None) -> _Response:
    """The response of an id; one that had none yet takes the first that comes."""
    key = f'"{response_id}' if type(response_id) is str else dumps(response_id)
    if key not in responses:
        unnamed = current is not None and current.body.get("responseId") is None
        responses[key] = current if unnamed and current is not None else _Response()
    return responses[key]


def _objects(events: Iterable[Json], stray: list[Json]) -> Iterator[dict[str, Json]]:
    """The objects among the events; a JSON array of chunks may be nested in another."""
    for event in events:
        if type(event) is dict:
            yield event
        elif type(event) is list:
            yield from _objects(event, stray)
        elif event != "[DONE]":
            stray.append(event)


# The end


_ENDING = re.compile(rb'"(?:finish_?[rR]eason|block_?[rR]eason|error)"\s*:\s*["{\[]')
_FINISH = re.compile(rb'"finish_?[rR]eason"\s*:\s*"[A-Z_]+"')
_FIELD = re.compile(rb"^(?:data:)?\s*")


def sign(payload: bytes) -> int:
    """Whether an event, or the text from the last event on, ends the response.

    A whole event is read, for arguments of calls may have any keys. Of an event that is cut only the spelling of a
    finishReason is looked for: SIGN_SOFT, which a later piece may still take back.
    """
    if _ENDING.search(payload) is None:
        return SIGN_NONE
    try:
        event = loads(_FIELD.sub(b"", payload, count=1))
    except HeadraceError:
        return SIGN_SOFT if _FINISH.search(payload) is not None else SIGN_NONE
    return max((_sign_of(chunk) for chunk in _objects([event], [])), default=SIGN_NONE)


def _sign_of(event: dict[str, Json]) -> int:
    chunk, _ = keys.to_camel(event, RESPONSE)
    if chunk.get("error") is not None:
        return SIGN_HARD
    candidates = chunk.get("candidates")
    finished = type(candidates) is list and any(
        type(candidate) is dict and candidate.get("finishReason") is not None for candidate in candidates
    )
    return SIGN_SOFT if finished or _is_blocked(chunk) else SIGN_NONE
