"""Chunks that go on as the one before: nearly all of a stream.

The first chunk of a run is read field by field, as any other. Those that follow are told by what they share with it,
and only their delta is read. A chunk that is not quite like the first ends the run, and is read in full again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from headrace.json_text import Json
from headrace.protocols.openai_chat.choice_deltas import Choice
from headrace.protocols.openai_chat.delta_stretches import take_deltas
from headrace.protocols.openai_chat.streamed_response import KNOWN, StreamedResponse
from headrace.protocols.stretches import Path, Stretch

#: What chunks with ids of their own may have: a field nobody knows counts once more with every id.
_TOLD_APART = KNOWN | {"choices", "obfuscation"}
#: What chunks of a stretch may differ in besides their deltas: the first id and time stay, and padding is dropped.
_ID: Path = ("id",)
_CREATED: Path = ("created",)
_PADDING: Path = ("obfuscation",)


@final
class ChunkRun:
    """Chunks of one choice that differ in nothing but their delta, their padding and their ids.

    An id of its own in every chunk counts only where another response may begin.
    """

    __slots__ = ("_choice", "_has_text", "_is_padded", "_known", "_known_wire", "_response")

    def __init__(
        self, response: StreamedResponse, choice: Choice, chunk: dict[str, Json], wire: dict[str, Json]
    ) -> None:
        self._response = response
        self._choice = choice
        #: Copies of the first chunk and of its choice: a chunk that is equal to them, once they have its delta, its
        #: text and its padding, is of the run.
        self._known = chunk.copy()
        self._known_wire = wire.copy()
        self._known["choices"] = [self._known_wire]
        self._has_text = "text" in wire
        self._is_padded = "obfuscation" in chunk

    @classmethod
    def after(cls, response: StreamedResponse, chunk: dict[str, Json]) -> ChunkRun | None:
        """The run that a chunk begins, once the response has taken it."""
        choices = chunk.get("choices")
        if response.done or response.one_choice or type(choices) is not list or len(choices) != 1:
            return None
        wire = choices[0]
        if type(wire) is not dict or type(wire.get("delta")) is not dict or type(wire.get("text", "")) is not str:
            return None
        index = wire.get("index")
        choice = response.choices.get(index) if type(index) is int else None
        if choice is None or choice.envelope is None or choice.finished:
            return None
        return cls(response, choice, chunk, wire)

    def take(self, events: Sequence[Json | Stretch], start: int) -> int:
        """Take chunks from one on as long as they are of the run; gives the place of the first that is none."""
        at, end = start, len(events)
        while at < end:
            chunk: Json = events[at]
            delta = self._delta_of(chunk) if type(chunk) is dict else None
            if delta is None:
                break
            if self._has_text:
                self._choice.take_text(self._known_wire["text"])
            self._add(delta)
            at += 1
        self._count(at - start)
        return at

    def _delta_of(self, chunk: dict[str, Json]) -> dict[str, Json] | None:
        """The delta of a chunk of the run, if maybe with another id; None for any other chunk."""
        choices = chunk.get("choices")
        if type(choices) is not list or len(choices) != 1:
            return None
        wire = choices[0]
        if type(wire) is not dict:
            return None
        delta, index = wire.get("delta"), wire.get("index")
        # Equal to a number they may be, but they are no indexes.
        if type(delta) is not dict or index is True or index is False:
            return None
        self._known_wire["delta"] = delta
        if self._has_text:
            text = wire.get("text")
            if type(text) is not str:
                return None
            self._known_wire["text"] = text
        if self._is_padded:
            self._known["obfuscation"] = chunk.get("obfuscation")
        return delta if chunk == self._known or self._takes_id(chunk) else None

    def _takes_id(self, chunk: dict[str, Json]) -> bool:
        """Whether a chunk differs only in its id; no other response may begin with it, and both must have one."""
        response, old, new = self._response, self._known.get("id"), chunk.get("id")
        if not old or not new or new == old or not _TOLD_APART.issuperset(chunk):
            return False
        self._known["id"] = new
        if chunk != self._known:
            self._known["id"] = old
            return False
        self._note_id(new)
        if new != response.fields.get("id"):
            response.ids += 1
        return True

    def _note_id(self, new: Json) -> None:
        self._known["id"] = new
        if self._response.envelope is not None:
            self._response.envelope["id"] = new

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
            self._note_id(ids[-1])
        self._count(len(stretch))
        return True
