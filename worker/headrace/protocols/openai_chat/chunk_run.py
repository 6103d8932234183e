"""Chunks that go on as the one before: nearly all of a stream.

The first chunk of a run is read field by field, as any other. Those that follow are told by what they share with it,
and only their delta is read. A chunk that is not quite like the first ends the run, and is read in full again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.json_text import Json
from headrace.protocols.openai_chat.choice_deltas import CHOICE_MASK, Choice
from headrace.protocols.openai_chat.delta_stretches import take_deltas
from headrace.protocols.openai_chat.streamed_response import ENVELOPE_MASK, KNOWN, StreamedResponse
from headrace.protocols.stretches import Path, Stretch

#: What chunks with ids of their own may have: a field nobody knows counts once more with every id.
_TOLD_APART = KNOWN | {"choices", "obfuscation"}
#: What chunks of a stretch may differ in besides their deltas: the first id and time stay, and padding is dropped.
_ID: Path = ("id",)
_CREATED: Path = ("created",)
_PADDING: Path = ("obfuscation",)
#: What chunks with ids of their own may differ in.
_MASK_WITH_ID: dict[str, Json] = {**ENVELOPE_MASK, "id": None}


class ChunkRun:
    """Chunks of one choice that differ in nothing but their delta, their padding and their ids.

    An id of its own in every chunk counts only where another response may begin.
    """

    __slots__ = (
        "_choice",
        "_envelope",
        "_has_text",
        "_id",
        "_is_finished",
        "_like",
        "_mask",
        "_response",
        "_wire_envelope",
    )

    def __init__(self, response: StreamedResponse, choice: Choice, chunk: dict[str, Json], has_text: bool) -> None:
        self._response = response
        self._choice = choice
        self._id: Json = chunk.get("id")
        #: A chunk without an id is not one whose id is null.
        self._mask = _MASK_WITH_ID if self._id else ENVELOPE_MASK
        self._envelope = chunk | self._mask
        self._wire_envelope = choice.envelope
        self._has_text = has_text
        #: Made when the run proves to be one.
        self._like: _Likeness | None = None
        self._is_finished = choice.finished

    @classmethod
    def after(cls, response: StreamedResponse, chunk: dict[str, Json]) -> ChunkRun | None:
        """The run that a chunk begins, once the response has taken it."""
        choices = chunk.get("choices")
        if response.done or response.one_choice or type(choices) is not list or len(choices) != 1:
            return None
        wire = choices[0]
        if type(wire) is not dict or type(wire.get("delta")) is not dict:
            return None
        has_text = "text" in wire
        if has_text and type(wire["text"]) is not str:
            return None
        index = wire.get("index")
        choice = response.choices.get(index) if type(index) is int else None
        return None if choice is None or choice.envelope is None else cls(response, choice, chunk, has_text)

    def take(self, events: Sequence[Json | Stretch], start: int) -> int:
        """Take chunks from one on as long as they are of the run; gives the place of the first that is none."""
        like, add, at = self._like, self._add, start
        for at in range(start, len(events)):
            chunk: Json = events[at]
            delta = None if like is None else like.delta_of(chunk)
            if delta is None:
                delta = self._delta_of(chunk)
                if delta is None:
                    break
                like = self._like
            if self._has_text:
                self._choice.take_text(chunk["choices"][0]["text"])
            add(delta)
        else:
            at = len(events)
        self._count(at - start)
        return at

    def _delta_of(self, chunk: Json) -> dict[str, Json] | None:
        """The delta of a chunk of the run, if maybe with another id or with other keys that say nothing."""
        choices = chunk.get("choices") if type(chunk) is dict else None
        wire: Json = choices[0] if type(choices) is list and len(choices) == 1 else None
        delta: Json = wire.get("delta") if type(wire) is dict else None
        if type(delta) is not dict or chunk | self._mask != self._envelope or wire | CHOICE_MASK != self._wire_envelope:
            return None
        if "text" in wire and not (self._has_text and type(wire["text"]) is str):
            return None
        if self._has_text and "text" not in wire:
            return None
        if chunk.get("id") != self._id and not self._take_id(chunk):
            return None
        if self._like is None:
            self._like = _Likeness(chunk, wire)
        return delta

    def _take_id(self, chunk: dict[str, Json]) -> bool:
        """Another id: False where it may begin another response, or where one of the two is none."""
        response, new_id = self._response, chunk.get("id")
        if self._is_finished or not self._id or not new_id or not _TOLD_APART.issuperset(chunk):
            return False
        if new_id != response.fields.get("id"):
            response.ids += 1
        response.envelope = chunk | ENVELOPE_MASK
        self._id = new_id
        return True

    def _add(self, delta: dict[str, Json]) -> None:
        """Add a delta; content alone and a piece of arguments alone without a look at the table of readers."""
        choice = self._choice
        if len(delta) == 1:
            text = delta.get("content")
            if text and type(text) is str and choice.elements is None:
                if choice.runs.key != "content":
                    choice.runs.at("content", len(choice.content))
                choice.content.append(text)
                return
            calls = delta.get("tool_calls")
            if type(calls) is list and len(calls) == 1:
                known = choice.kept.get("tool_calls")
                if known is not None and known.take_piece(calls[0]):
                    return
        choice.take_delta(delta)

    def _count(self, chunks: int) -> None:
        self._response.count += chunks
        self._choice.chunks += chunks
        self._choice.deltas += chunks

    def take_stretch(self, stretch: Stretch) -> bool:
        """Take a stretch of chunks that go on with the run's last; False, with nothing done, for any other."""
        response, varying = self._response, stretch.varying()
        if any((key,) in varying and not stretch.event[key] for key in ("id", "created")):
            return False
        if _ID in varying and (response.is_finished() or not _TOLD_APART.issuperset(stretch.event)):
            return False
        if not take_deltas(self._choice, stretch, varying - {_ID, _CREATED, _PADDING}, has_text=self._has_text):
            return False
        if _ID in varying:
            ids = stretch.values(_ID)
            response.ids += sum(1 for one in ids if one and one != response.fields["id"])
            response.envelope = {**(response.envelope or {}), "id": ids[-1]}
            self._id = ids[-1]
        self._count(len(stretch))
        return True


class _Likeness:
    """What chunks of a run share, for the fastest comparison: values at keys, taken out all at once."""

    __slots__ = ("_has_text", "_is_padded", "_of_chunk", "_of_wire", "_size", "_values", "_wire_size", "_wire_values")

    def __init__(self, chunk: dict[str, Json], wire: dict[str, Json]) -> None:
        self._size, self._wire_size = len(chunk), len(wire)
        self._of_chunk, self._of_wire = _values_but(chunk, ENVELOPE_MASK), _values_but(wire, CHOICE_MASK)
        self._values, self._wire_values = self._of_chunk(chunk), self._of_wire(wire)
        self._is_padded, self._has_text = "obfuscation" in chunk, "text" in wire

    def delta_of(self, chunk: Json) -> dict[str, Json] | None:
        """The delta of a chunk that shares all this and has the same keys; None for any other."""
        try:
            (wire,) = chunk["choices"]
            delta = wire["delta"]
            if self._of_chunk(chunk) != self._values or self._of_wire(wire) != self._wire_values:
                return None
        except (KeyError, TypeError, ValueError):
            return None
        if type(delta) is not dict or len(chunk) != self._size or len(wire) != self._wire_size:
            return None
        if (self._is_padded and "obfuscation" not in chunk) or (self._has_text and type(wire.get("text")) is not str):
            return None
        return delta


def _values_but(example: dict[str, Json], mask: dict[str, Json]) -> Callable[[dict[str, Json]], Any]:
    """What gives the values of an object at the keys of an example but some."""
    keys = [key for key in example if key not in mask]
    return itemgetter(*keys) if keys else len
