"""Chunks of a stream -> whole responses.

A response's chunks need not share an id: some servers give every chunk its own, so the first one stays. A response
ends with ``[DONE]``, or where all its choices have finished and a chunk of another id starts a message anew.
What is dropped: ``obfuscation`` (padding), the stream's own object name, ids and times of later chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_chat import errors, merging
from headrace.protocols.openai_chat.choice_deltas import MASK, Choice
from headrace.protocols.openai_chat.delta_stretches import take_deltas
from headrace.protocols.stretches import Path, Stretch

#: The terminator, which is no JSON.
DONE = "[DONE]"

#: Fields of a chunk besides its choices.
_RULES: dict[str, merging.Rule] = {
    "id": merging.first,
    "object": merging.first,
    "created": merging.first,
    "model": merging.first,
    "service_tier": merging.last,
    "system_fingerprint": merging.last,
    "provider": merging.last,
    "usage": merging.last,
    "error": merging.last,
    "moderation": merging.merged,
    "prompt_filter_results": merging.last,
    "x_groq": merging.merged,
    "metadata": merging.merged,
    "citations": merging.last,
    "search_results": merging.last,
    "images": merging.last,
    "related_questions": merging.last,
    "usage_breakdown": merging.last,
    "time_info": merging.last,
    "prompt_token_ids": merging.last,
    "prompt_logprobs": merging.last,
    "kv_transfer_params": merging.last,
    "metrics": merging.last,
}
_KNOWN = frozenset(_RULES)
#: What chunks with ids of their own may have: a field nobody knows counts once more with every id.
_TOLD_APART = _KNOWN | {"choices", "obfuscation"}
_OBJECTS = {"chat.completion.chunk": "chat.completion"}
#: What chunks of a stretch may differ in besides their deltas: the first id and time stay, and padding is dropped.
_ID: Path = ("id",)
_CREATED: Path = ("created",)
_PADDING: Path = ("obfuscation",)
_ENVELOPE_MASK: dict[str, Json] = {"choices": None, "obfuscation": None}
_RUN_MASK: dict[str, Json] = {**_ENVELOPE_MASK, "id": None}


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """The responses in a list of events, in order; never raises. See `Codec.fold`."""
    folding = _Folding()
    folding.take_all(events)
    return folding.finish()


class _Folding:
    """The responses of one stream so far."""

    __slots__ = ("_current", "_responses", "_run", "_stray", "_unknown")

    def __init__(self) -> None:
        self._responses: list[_Response] = []
        self._current: _Response | None = None
        self._run: _Run | None = None
        self._stray: list[Json] = []
        self._unknown: list[tuple[str, str]] = []

    def take_all(self, events: Sequence[Json | Stretch]) -> None:
        """Events in order; a run takes those that go on with it."""
        at, end = 0, len(events)
        while at < end:
            event = events[at]
            at += 1
            if type(event) is not Stretch:
                self._take(event)
            elif self._run is None or not self._run.take_stretch(event):
                self.take_all(list(event.events()))
            if self._run is not None and at < end:
                at = self._run.take(events, at)

    def _take(self, event: Json) -> None:
        """Any event but those of a run or a stretch."""
        self._run = None
        current = self._current
        if type(event) is not dict:
            if type(event) is str and event.strip() == DONE:
                if current is not None:
                    current.done = True
            else:
                self._stray.append(event)
        elif "choices" not in event and not _is_chunk(event):
            self._stray.append(event)
            self._unknown.append(("event", str(event.get("type", event.get("object", "(none)")))))
        else:
            if current is None or current.is_over(event):
                current = self._current = _Response()
                self._responses.append(current)
            current.take(event)
            self._run = _Run.after(current, event)

    def finish(self) -> list[Folded]:
        """All responses; what none of them could hold goes to the last one."""
        folded = [_settled(response) for response in self._responses]
        if self._stray:
            folded = folded or [Folded({"choices": []}, complete=False, events=0)]
            folded[-1].stray += self._stray
            folded[-1].unknown += self._unknown
        return folded


def _is_chunk(event: dict[str, Json]) -> bool:
    """Whether an event without choices belongs to a response: an error frame, or usage and the like on its own."""
    return not _KNOWN.isdisjoint(event) or errors.form_of(event) is not None


def _settled(response: _Response) -> Folded:
    if not response.is_one_choice():
        return response.finish()
    again = _Response(one_choice=True)
    for event in response.taken:
        again.take(event)
    again.done = response.done
    return again.finish()


class _Response:
    """One response as it streams."""

    __slots__ = (
        "choices",
        "count",
        "done",
        "envelope",
        "fields",
        "ids",
        "listed",
        "odd",
        "one_choice",
        "parallel",
        "stray",
        "taken",
    )

    def __init__(self, *, one_choice: bool = False) -> None:
        #: Chunks, but for those that a run took.
        self.taken: list[dict[str, Json]] = []
        #: Take every choice for the same one.
        self.one_choice = one_choice
        self.choices: dict[Any, Choice] = {}
        self.fields: dict[str, Json] = {}
        #: The last chunk's fields besides its choices: equal ones are skipped.
        self.envelope: dict[str, Json] | None = None
        self.count = 0
        self.done = False
        self.ids = 0
        #: Whether some chunk had a list of choices, and its elements that are no objects.
        self.listed = False
        self.odd: list[Json] = []
        #: Whether some chunk held several choices.
        self.parallel = False
        self.stray: list[Json] = []

    def is_over(self, event: dict[str, Json]) -> bool:
        """Whether an event belongs to the next response."""
        choices = event.get("choices")
        if type(choices) is not list or not choices:
            return False
        if self.done:
            return True
        new_id = event.get("id")
        if not new_id or new_id == self.fields.get("id") or self.ids != 1 or not self.is_finished():
            return False
        return any(_starts(choice) for choice in choices)

    def is_finished(self) -> bool:
        """Whether all choices have their finish reason."""
        for choice in self.choices.values():
            if not choice.finished:
                return False
        return bool(self.choices)

    def is_one_choice(self) -> bool:
        """Whether the whole stream shows that its choices are one whose index changes with every chunk.

        Then no index comes twice (so no run took a chunk), no chunk holds two choices, and only the last one can have
        a finish reason.
        """
        if self.one_choice or self.parallel or len(self.choices) < 2:
            return False
        choices = list(self.choices.values())
        return all(choice.chunks == 1 for choice in choices) and not any(choice.finished for choice in choices[:-1])

    def take(self, event: dict[str, Json]) -> None:
        """Add one chunk."""
        self.taken.append(event)
        self.count += 1
        choices = event.get("choices")
        if type(choices) is list:
            self.listed = True
            self._take_choices(choices)
        envelope = event | _ENVELOPE_MASK
        if envelope != self.envelope:
            self.envelope = envelope
            self._take_fields(event)

    def _take_choices(self, wires: list[Json]) -> None:
        self.parallel = self.parallel or len(wires) > 1
        for place, wire in enumerate(wires):
            if type(wire) is not dict:
                self.odd.append(wire)
                continue
            index = wire.get("index")
            key = 0 if self.one_choice else index if type(index) in (int, str) else place
            choice = self.choices.get(key)
            if choice is None:
                choice = self.choices[key] = Choice()
            choice.take(wire)

    def _take_fields(self, event: dict[str, Json]) -> None:
        if "choices" not in event and errors.is_flat(event) and not event.get("error"):
            self._take_flat_error(event)
            return
        fields = self.fields
        for key, value in event.items():
            if key == "choices":
                if type(value) is not list:
                    merging.put(fields, key, value, merging.every)
            elif key == "id":
                if value and value != fields.get(key):
                    self.ids += 1
                merging.put(fields, key, value, merging.first)
            elif key != "obfuscation":
                merging.put(fields, key, value, _RULES.get(key, merging.every))

    def _take_flat_error(self, event: dict[str, Json]) -> None:
        """An error without its "error" object: alone it is the body; after chunks it goes where errors go."""
        if self.count == 1:
            self.fields.update(event)
        else:
            self.fields["error"] = event

    def finish(self) -> Folded:
        """The response."""
        layout = []
        choices: list[Json] = []
        unknown: list[tuple[str, str]] = []
        for key in _in_order(self.choices):
            choice = self.choices[key]
            body, runs = choice.finish()
            if self.one_choice and "index" in body:
                body["index"] = 0
            choices.append(body)
            layout.append(runs)
            unknown += [("delta", of_delta) for of_delta in sorted(choice.unknown)]
            for message in choice.whole:
                if message != body.get("message"):
                    self.stray.append({"choices": [{"index": key, "message": message}]})
        fields = merging.settled(self.fields, texts=False)
        if self.listed:
            if fields.get("choices") is not None:
                self.stray.append({"choices": fields["choices"]})
            fields["choices"] = [*choices, *self.odd]
        elif "choices" not in fields and errors.form_of(fields) is None:
            # Trailers of a stream whose chunks were lost.
            fields["choices"] = []
        name = fields.get("object")
        if type(name) is str:
            fields["object"] = _OBJECTS.get(name, name)
        _hoist_groq_usage(fields)
        complete = self.done or self.is_finished() or errors.form_of(fields) is not None
        return Folded(
            fields,
            complete=complete,
            events=self.count,
            layout=layout if any(layout) else None,
            unknown=unknown,
            stray=self.stray,
        )


class _Run:
    """Chunks of one choice that differ in nothing but their delta, their padding and their ids: nearly all of a stream.

    An id of its own in every chunk counts only where another response may begin.
    """

    __slots__ = (
        "_envelope",
        "_has_text",
        "_id",
        "_is_finished",
        "_like",
        "_mask",
        "_wire_envelope",
        "choice",
        "response",
    )

    def __init__(self, response: _Response, choice: Choice, chunk: dict[str, Json], has_text: bool) -> None:
        self.response = response
        self.choice = choice
        self._id: Json = chunk.get("id")
        #: A chunk without an id is not one whose id is null.
        self._mask = _RUN_MASK if self._id else _ENVELOPE_MASK
        self._envelope = chunk | self._mask
        self._wire_envelope = choice.envelope
        self._has_text = has_text
        #: Made when the run proves to be one.
        self._like: _Likeness | None = None
        self._is_finished = choice.finished

    @classmethod
    def after(cls, response: _Response, chunk: dict[str, Json]) -> _Run | None:
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
                self.choice.take_text(chunk["choices"][0]["text"])
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
        if type(delta) is not dict or chunk | self._mask != self._envelope or wire | MASK != self._wire_envelope:
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
        response, new_id = self.response, chunk.get("id")
        if self._is_finished or not self._id or not new_id or not _TOLD_APART.issuperset(chunk):
            return False
        if new_id != response.fields.get("id"):
            response.ids += 1
        response.envelope = chunk | _ENVELOPE_MASK
        self._id = new_id
        return True

    def _add(self, delta: dict[str, Json]) -> None:
        choice = self.choice
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
        self.response.count += chunks
        self.choice.chunks += chunks
        self.choice.deltas += chunks

    def take_stretch(self, stretch: Stretch) -> bool:
        """Take a stretch of chunks that go on with the run's last; False, with nothing done, for any other."""
        response, varying = self.response, stretch.varying()
        if any((key,) in varying and not stretch.event[key] for key in ("id", "created")):
            return False
        if _ID in varying and (response.is_finished() or not _TOLD_APART.issuperset(stretch.event)):
            return False
        if not take_deltas(self.choice, stretch, varying - {_ID, _CREATED, _PADDING}, has_text=self._has_text):
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
        self._of_chunk, self._of_wire = _values_but(chunk, _ENVELOPE_MASK), _values_but(wire, MASK)
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


def _starts(choice: Json) -> bool:
    """Whether a chunk's choice begins a message."""
    if type(choice) is not dict:
        return False
    delta = choice.get("delta")
    return "message" in choice or (type(delta) is dict and bool(delta.get("role")))


def _in_order(choices: dict[Any, Choice]) -> list[Any]:
    """The keys of choices: by index, or as they came where some index is no number."""
    return sorted(choices) if len(choices) > 1 and all(type(key) is int for key in choices) else list(choices)


def _hoist_groq_usage(fields: dict[str, Json]) -> None:
    """Groq's last chunk wraps usage in x_groq; its whole bodies have it where all others do."""
    wrapper = fields.get("x_groq")
    if type(wrapper) is not dict:
        return
    rest = dict(wrapper)
    for key in ("usage", "usage_breakdown"):
        if key in rest and (fields.get(key) is None or fields[key] == rest[key]):
            fields[key] = rest.pop(key)
    if rest:
        fields["x_groq"] = rest
    else:
        del fields["x_groq"]
