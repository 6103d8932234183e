"""One response as its chunks come: what each field of a chunk does to it.

Of most fields the last value counts; usage is running totals, metadata of candidates grows, parts become one list (see
`PartFold`). A field nobody knows keeps its last value; earlier values that differ go to ``stray`` together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.json_text import Json, dumps
from headrace.protocols.entry_points import Folded
from headrace.protocols.google import keys
from headrace.protocols.google.folding import PartFold, grow, owned
from headrace.protocols.google.grammar import CANDIDATE

#: Fields of a chunk whose last value counts.
RUNNING = frozenset({"modelVersion", "responseId", "createTime", "promptFeedback", "modelStatus", "error"})
#: All fields of a chunk.
CHUNK = RUNNING | {"candidates", "usageMetadata"}
#: Fields of a candidate whose last value counts, and those that grow from chunk to chunk.
LAST = frozenset(
    {"index", "finishReason", "finishMessage", "tokenCount", "avgLogprobs", "safetyRatings", "continuationToken"}
)
_GROWING = frozenset({"groundingMetadata", "citationMetadata", "urlContextMetadata", "logprobsResult"})
_CANDIDATE = LAST | _GROWING | {"content"}


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
            elif key in LAST:
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


class StreamedResponse:
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
        "snaked",
    )

    def __init__(self) -> None:
        self.body: dict[str, Json] = {}
        self.count = 0
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
            elif key in RUNNING:
                body[key] = value
            else:
                self._superseded.put(body, key, value)

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
        return bool(self._candidates) or is_blocked(self.body)

    def _has_streamed_calls(self) -> bool:
        for one in self._candidates.values():  # noqa: SIM110 - compiled, a generator costs more than the rest
            if one.fold.has_streamed_calls:
                return True
        return False


def is_blocked(body: Mapping[str, Json]) -> bool:
    """Whether a body says that its prompt was blocked: then no candidate comes."""
    feedback = body.get("promptFeedback")
    return type(feedback) is dict and feedback.get("blockReason") is not None
