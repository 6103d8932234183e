"""Deltas of one choice -> the whole choice, and the order in which its pieces came.

Strings are kept as lists of pieces and joined once. What is dropped: the choice's index that Mistral repeats in the
delta, and a message that only repeats the deltas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.json_text import Json
from headrace.protocols.openai_chat import merging
from headrace.protocols.openai_chat.audio_deltas import Audio
from headrace.protocols.openai_chat.call_deltas import Calls, Spoken
from headrace.protocols.openai_chat.content_deltas import Elements
from headrace.protocols.openai_chat.reasoning import KEYS, LISTS, STRINGS
from headrace.protocols.openai_chat.runs import Runs

#: Fields of a choice besides index and delta.
_CHOICE_RULES: dict[str, merging.Rule] = {
    "native_finish_reason": merging.last,
    "stop_reason": merging.last,
    "matched_stop": merging.last,
    "seed": merging.last,
    "content_filter_results": merging.merged,
    "content_filter_result": merging.merged,
    "content_filter_offsets": merging.merged,
    "error": merging.merged,
}
#: Fields of a delta without a reader of their own.
_DELTA_RULES: dict[str, merging.Rule] = {
    "name": merging.first,
    "channel": merging.last,
    "extra_content": merging.merged,
    "thought_signature": merging.last,
    "prefix": merging.last,
}
#: Fields whose values over the chunks are lists to join.
_LISTS = frozenset({"annotations", "images"})
#: What choices that say nothing new besides may differ in.
_OWN = ("delta", "text")
_KNOWN_DELTA = frozenset(
    {*_DELTA_RULES, *_LISTS, *KEYS, "content", "refusal", "tool_calls", "function_call", "audio"}
    | {"executed_tools", "index", "token_id", "provider_specific_fields", "citations"}
)


class Choice:
    """One choice as it streams."""

    __slots__ = (
        "chunks",
        "content",
        "deltas",
        "elements",
        "envelope",
        "fields",
        "kept",
        "runs",
        "store",
        "unknown",
        "whole",
    )

    def __init__(self) -> None:
        #: A copy of the last that said something new besides its delta; see `merging.says_again`.
        self.envelope: dict[str, Json] | None = None
        self.fields: dict[str, Json] = {}
        #: The message's fields without a reader of their own.
        self.store: dict[str, Json] = {}
        #: Pieces of content, while it is a string; elements once a list came.
        self.content: list[str] = []
        self.elements: Elements | None = None
        #: key -> what its reader keeps.
        self.kept: dict[str, Any] = {}
        self.runs = Runs()
        #: Messages beside the deltas.
        self.whole: list[Json] = []
        self.unknown: set[str] = set()
        self.chunks = self.deltas = 0

    # One chunk

    def take(self, wire: dict[str, Json]) -> None:
        """Add one chunk's choice."""
        self.chunks += 1
        delta = wire.get("delta")
        if type(delta) is dict:
            self.deltas += 1
            self.take_delta(delta)
        if "text" in wire:
            self.take_text(wire["text"])
        if not merging.says_again(self.envelope, wire, _OWN):
            self._take_fields(wire)
            grows = wire.get("token_ids") is not None or wire.get("logprobs") is not None
            # Of what grows equal values are no repetition.
            self.envelope = None if grows else wire.copy()

    def take_delta(self, delta: dict[str, Json]) -> None:
        """Add one delta. Reasoning comes before content when both are in one."""
        if len(delta) > 1 and delta.get("content") and not _REASONING.isdisjoint(delta):
            delta = dict(sorted(delta.items(), key=lambda item: item[0] == "content"))
        for key, value in delta.items():
            if value is None:
                self.store.setdefault(key, None)
            elif key == "content":
                self._take_content(key, value)
            else:
                reader = _READERS.get(key)
                if reader is None:
                    self._take_other(key, value)
                else:
                    reader(self, key, value)

    def take_more_texts(self, texts: list[str]) -> None:
        """Add pieces of a legacy completion's text, one a chunk."""
        self._kept(".text", list).extend(texts)

    def take_text(self, value: Json) -> None:
        """Add a piece of a legacy completion's text."""
        if type(value) is str:
            self._kept(".text", list).append(value)
        else:
            merging.put(self.fields, "text", value, merging.every)

    def _take_fields(self, wire: dict[str, Json]) -> None:
        fields = self.fields
        for key, value in wire.items():
            if key == "text" or (key == "delta" and value is None):
                continue
            if value is None or key == "index":
                fields.setdefault(key, value)
            elif key == "finish_reason":
                if value or fields.get(key) is None:
                    fields[key] = value
            elif key == "delta":
                if type(value) is not dict:
                    merging.put(fields, key, value, merging.every)
            elif key == "message" and type(value) is dict:
                self._take_message(value, wire.get("delta"))
            elif key == "logprobs" and type(value) is dict:
                self._take_logprobs(value)
            elif key == "token_ids" and type(value) is list:
                self._kept(".token_ids", list).extend(value)
            else:
                merging.put(fields, key, value, _CHOICE_RULES.get(key, merging.every))

    def _kept(self, key: str, start: Callable[[], Any]) -> Any:
        """What is kept for a key, started when first asked for."""
        kept = self.kept.get(key)
        if kept is None:
            kept = self.kept[key] = start()
        return kept

    def _take_message(self, message: dict[str, Json], delta: Json) -> None:
        """A message beside deltas says the same again; without any, it is the whole answer."""
        if message == delta:
            return
        if not delta and not self.runs.runs:
            self.deltas += 1
            self.take_delta(message)
        else:
            self.whole.append(message)

    def _take_logprobs(self, logprobs: dict[str, Json]) -> None:
        """Lists of token log probabilities are joined, key by key."""
        mine = self._kept(".logprobs", dict)
        for key, value in logprobs.items():
            if type(value) is list and type(mine.get(key)) is list:
                mine[key].extend(value)
            elif value is not None or key not in mine:
                mine[key] = list(value) if type(value) is list else value

    # One field of a delta

    def _take_content(self, key: str, value: Json) -> None:
        if type(value) is str:
            if not value:
                if self.store.get(key) is None:
                    self.store[key] = ""
            elif self.elements is None:
                if self.runs.key != key:
                    self.runs.at(key, len(self.content))
                self.content.append(value)
            else:
                fresh = self.runs.at(key, len(self.elements.elements))
                self.elements.take([{"type": "text", "text": value}], fresh=fresh)
        elif type(value) is list:
            self._take_elements(key, value)
        else:
            self._take_odd(key, value)

    def _take_elements(self, key: str, value: list[Json]) -> None:
        if self.elements is None:
            self.elements = self._as_elements(key)
            if not value:
                self.store.setdefault(key, value)
        if value:
            fresh = self.runs.at(key, len(self.elements.elements))
            self.elements.take(value, fresh=fresh)

    def _as_elements(self, key: str) -> Elements:
        """The string so far as text elements, one a run."""
        elements = Elements()
        marks = self.runs.renumber(key)
        for start, end in zip(marks, [*marks[1:], len(self.content)], strict=False):
            elements.take([{"type": "text", "text": "".join(self.content[start:end])}], fresh=True)
        self.content = []
        return elements

    def _take_string(self, key: str, value: Json) -> None:
        if type(value) is not str:
            self._take_odd(key, value)
        elif not value:
            if self.store.get(key) is None:
                self.store[key] = ""
        else:
            pieces = self.kept.get(key)
            if pieces is None:
                pieces = self.kept[key] = []
            if self.runs.key != key:
                self.runs.at(key, len(pieces))
            pieces.append(value)

    def take_texts(self, key: str, pieces: list[str]) -> bool:
        """Add pieces of one string, one a delta; False where it has become a list of elements."""
        if key == "content":
            if self.elements is not None:
                return False
            known = self.content
        else:
            known = self.kept.get(key, [])
        said = [piece for piece in pieces if piece]
        if len(said) < len(pieces) and self.store.get(key) is None:
            self.store[key] = ""
        if said:
            if self.runs.key != key:
                self.runs.at(key, len(known))
            known += said
            if key != "content":
                self.kept[key] = known
        return True

    def take_values(self, key: str, values: list[int]) -> None:
        """Add numbers of a field that keeps all it said, one a delta."""
        for value in values:
            merging.put(self.store, key, value, merging.every)

    def _take_role(self, key: str, value: Json) -> None:
        """The first one; many servers send it with every chunk."""
        if not self.store.get(key):
            self.store[key] = value

    def _take_details(self, key: str, value: Json) -> None:
        if type(value) is not list:
            self._take_odd(key, value)
            return
        details = self._kept(key, Elements)
        if value:
            details.take(value, fresh=self.runs.at(key, len(details.elements)))

    def _take_calls(self, key: str, value: Json) -> None:
        if type(value) is not list:
            self._take_odd(key, value)
            return
        calls = self._kept(key, Calls)
        size = len(calls.elements)
        calls.take(value)
        if len(calls.elements) > size:
            self.runs.at(key, size)

    def _take_function_call(self, key: str, value: Json) -> None:
        if type(value) is not dict:
            self._take_odd(key, value)
            return
        if key not in self.kept:
            self.runs.at(key, 0)
            self.kept[key] = Spoken()
        self.kept[key].take(value)

    def _take_audio(self, key: str, value: Json) -> None:
        if type(value) is not dict:
            self._take_odd(key, value)
            return
        if key not in self.kept:
            self.runs.at(key, 0)
            self.kept[key] = Audio()
        self.kept[key].take(value)

    def _take_executed(self, key: str, value: Json) -> None:
        """Groq resends a tool with all it knows: the newest value of each field holds."""
        if type(value) is not list:
            self._take_odd(key, value)
            return
        tools: list[Json] = self._kept(key, list)
        for tool in value:
            index = tool.get("index") if type(tool) is dict else None
            known = next((at for at, one in enumerate(tools) if _same_tool(one, index)), None)
            if known is not None:
                tools[known] = {**tools[known], **tool}
            else:
                self.runs.at(key, len(tools))
                tools.append(tool)

    def _take_list(self, key: str, value: Json) -> None:
        if type(value) is not list:
            self._take_odd(key, value)
            return
        if value and key == "images":
            self.runs.at(key, sum(map(len, self.kept.get(key, ()))))
        self._kept(key, list).append(value)

    def _take_other(self, key: str, value: Json) -> None:
        if key == "index":
            # Mistral repeats the choice's index in the delta.
            return
        if key not in _KNOWN_DELTA:
            self.unknown.add(key)
        merging.put(self.store, key, value, _DELTA_RULES.get(key, merging.every))

    def _take_odd(self, key: str, value: Json) -> None:
        """A known field with a value of no known form: kept where nothing better comes."""
        merging.put(self.store, key, value, merging.every)

    # The whole

    @property
    def finished(self) -> bool:
        """Whether a finish reason was seen."""
        return bool(self.fields.get("finish_reason"))

    def finish(self) -> tuple[dict[str, Json], list[list[Any]] | None]:
        """The choice as the whole body has it, and its layout where the body cannot say the order."""
        choice = merging.settled(self.fields, texts=False)
        message = self._message()
        if ".text" in self.kept:
            choice["text"] = "".join(self.kept[".text"])
        if ".token_ids" in self.kept:
            choice["token_ids"] = self.kept[".token_ids"]
        if ".logprobs" in self.kept:
            choice["logprobs"] = self.kept[".logprobs"]
        if message or self.deltas:
            choice["message"] = message
        return choice, self.runs.layout(message, self._count, self._size)

    def _message(self) -> dict[str, Json]:
        message = merging.settled(self.store, texts=True)
        if self.elements is not None and self.elements.elements:
            message["content"] = self.elements.finish()
        elif self.content:
            message["content"] = "".join(self.content)
        for key, kept in self.kept.items():
            if not key.startswith("."):
                message[key] = _FINISHERS[key](kept)
        return message

    def _count(self, key: str) -> int:
        if key == "content":
            return len(self.content) if self.elements is None else len(self.elements.elements)
        kept = self.kept[key]
        if key == "images":
            return sum(map(len, kept))
        if isinstance(kept, (Calls, Elements)):
            return len(kept.elements)
        return len(kept) if type(kept) is list else 1

    def _size(self, key: str, at: int, end: int) -> int:
        """Characters of a string's pieces, elements of a list."""
        if key == "content" and self.elements is None:
            return sum(map(len, self.content[at:end]))
        if key in _STRING_KEYS:
            return sum(map(len, self.kept[key][at:end]))
        return end - at


_STRING_KEYS = (*STRINGS, "refusal")
_REASONING = frozenset(KEYS)

_READERS: dict[str, Callable[[Choice, str, Json], None]] = {
    "role": Choice._take_role,
    "content": Choice._take_content,
    **dict.fromkeys(_STRING_KEYS, Choice._take_string),
    **dict.fromkeys(LISTS, Choice._take_details),
    "tool_calls": Choice._take_calls,
    "function_call": Choice._take_function_call,
    "audio": Choice._take_audio,
    "executed_tools": Choice._take_executed,
    **dict.fromkeys(_LISTS, Choice._take_list),
}


def _same_tool(tool: Json, index: Json) -> bool:
    return type(tool) is dict and index is not None and tool.get("index") == index


_FINISHERS: dict[str, Callable[[Any], Json]] = {
    **dict.fromkeys(_STRING_KEYS, "".join),
    **dict.fromkeys(LISTS, Elements.finish),
    "tool_calls": Calls.finish,
    "function_call": Spoken.finish,
    "audio": Audio.finish,
    "executed_tools": list,
    **dict.fromkeys(_LISTS, merging.joined_lists),
}
