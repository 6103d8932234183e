"""One response as its chunks come: its choices, and its fields by the rules of `merging`.

What is dropped: ``obfuscation`` (padding), the stream's own object name, ids and times of later chunks.
"""

from __future__ import annotations

from typing import Any

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_chat import errors, merging
from headrace.protocols.openai_chat.choice_deltas import Choice
from headrace.protocols.openai_chat.reasoning import KEYS as REASONING_KEYS

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
#: The fields of a chunk that tell a response, besides its choices.
KNOWN = frozenset(_RULES)
#: What chunks that say nothing new may differ in.
_OWN = ("choices", "obfuscation")
_OBJECTS = {"chat.completion.chunk": "chat.completion"}


class StreamedResponse:
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
        #: A copy of the last chunk that said something new besides its choices; see `merging.says_again`.
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
        is_odd = choices is not None and type(choices) is not list
        if is_odd or not merging.says_again(self.envelope, event, _OWN):
            self.envelope = event.copy()
            self._take_fields(event)

    def _take_choices(self, wires: list[Json]) -> None:
        self.parallel = self.parallel or len(wires) > 1
        for place, wire in enumerate(wires):
            if type(wire) is not dict:
                self.odd.append(wire)
                continue
            key = 0 if self.one_choice else _key_of(wire.get("index"), place)
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
                if not _completes(body, message):
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


#: What only deltas can tell the order of.
_SAID = frozenset(
    {
        *("content", "refusal", "tool_calls", "function_call", "audio"),
        *REASONING_KEYS,
    }
)


def _completes(body: dict[str, Json], whole: Json) -> bool:
    """Lay a whole message that came beside deltas over the folded one; False, with nothing done, if it says else.

    Some servers (MiniMax) end a stream with the message once more and give it fields that no delta had.
    """
    folded = body.get("message")
    if whole == folded:
        return True
    if type(folded) is not dict or type(whole) is not dict:
        return False
    more: dict[str, Json] = {}
    for key, value in whole.items():
        if key not in folded and key not in _SAID:
            more[key] = value
        elif value and value != folded.get(key):
            return False
    folded.update(more)
    return True


def _key_of(index: Json, place: int) -> int | str:
    """By what a choice is known: its index, a whole number however it is written (1.0 is 1), else its place."""
    if type(index) is int or type(index) is str:
        return index
    return int(index) if type(index) is float and index.is_integer() else place


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
