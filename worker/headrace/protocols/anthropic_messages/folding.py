"""One content block while its deltas arrive. Strings are collected and joined once, when the block is finished."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.errors import FramingError
from headrace.json_text import Json, loads
from headrace.protocols.anthropic_messages.calls import KINDS as CALLS
from headrace.protocols.anthropic_messages.calls import escaped

#: Deltas that append a string: delta type -> (its field, the block's field).
APPENDED = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
}
#: Blocks that a delta without one may open: nothing but the delta's own content has to be known of them.
_IMPLIED = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
#: Numbers that come as increments.
_SUMMED = frozenset(["estimated_tokens"])
#: Where a block keeps deltas that nobody knows.
UNKNOWN_DELTAS = "unknown_deltas"


class FoldedBlock:
    """A block's start and what its deltas added. ``value`` is the wire's block, as far as it is known."""

    __slots__ = ("buffers", "kept", "odd", "value")

    def __init__(self, value: Json) -> None:
        self.value = dict(value) if type(value) is dict else value
        if type(value) is dict and type(value.get("citations")) is list:
            self.value["citations"] = list(value["citations"])
        self.buffers: dict[str, list[str]] = {}
        self.kept: dict[str, list[Json]] = {}
        self.odd: list[Json] = []

    @classmethod
    def implied(cls, delta: Mapping[str, Json]) -> FoldedBlock | None:
        """The block of a delta whose block never started; None where the delta does not tell enough of it."""
        kind = delta.get("type")
        opened = _IMPLIED.get(kind) if type(kind) is str else None
        return None if opened is None else cls({"type": opened})

    def append(self, field: str, text: str) -> None:
        """Add to one of the block's strings."""
        buffer = self.buffers.get(field)
        if buffer is None:
            self.buffers[field] = [text]
        else:
            buffer.append(text)

    def apply(self, delta: dict[str, Json]) -> str | None:
        """Take one delta; the type of the delta when nobody knows it."""
        kind = delta.get("type")
        if type(kind) is not str:
            self.odd.append(delta)
            return "(none)"
        if kind in APPENDED:
            source, field = APPENDED[kind]
            text = delta.get(source)
            if type(text) is str:
                self.append(field, text)
                self.keep(delta, ("type", source))
                return None
        elif kind == "signature_delta" and "signature" in delta:
            self.value["signature"] = delta["signature"]
            self.keep(delta, ("type", "signature"))
            return None
        elif kind == "citations_delta" and "citation" in delta:
            self._cite(delta["citation"])
            self.keep(delta, ("type", "citation"))
            return None
        elif kind == "compaction_delta":
            self.value.update((key, field) for key, field in delta.items() if key != "type")
            return None
        self.odd.append(delta)
        return kind

    def _cite(self, citation: Json) -> None:
        citations = self.value.get("citations")
        if type(citations) is list:
            citations.append(citation)
        else:
            self.value["citations"] = [citation]

    def keep(self, event: Mapping[str, Json], known: Collection[str]) -> None:
        """Keep what an event or delta has besides the fields it is known for."""
        for key, value in event.items():
            if key in known:
                continue
            if key in _SUMMED and (value is None or type(value) is int):
                self.value[key] = (self.value.get(key) or 0) + (value or 0)
            elif key in self.kept:
                self._keep_another(key, value)
            elif key not in self.value:
                self.kept[key] = [value]
                self.value[key] = value
            elif self.value[key] != value:
                self.odd.append({key: value})

    def _keep_another(self, key: str, value: Json) -> None:
        values = self.kept[key]
        if value != values[-1]:
            values.append(value)
            self.value[key] = values

    def finished(self) -> tuple[Json, str | None]:
        """The block, and the exact argument string of a call that was streamed."""
        exact = None
        for field, texts in self.buffers.items():
            text = join(texts)
            if field == "input":
                exact = self._set_input(text)
            else:
                before = self.value.get(field)
                self.value[field] = before + text if type(before) is str else text
        if self.odd:
            before = self.value.get(UNKNOWN_DELTAS)
            self.value[UNKNOWN_DELTAS] = [*(before if type(before) is list else ()), *self.odd]
        return self.value, exact

    def _set_input(self, text: str) -> str | None:
        started = self.value.setdefault("input", {})
        if not text.strip():
            if started not in (None, "", {}):
                return None
            self.value["input"] = {}
            return text
        try:
            self.value["input"] = loads(escaped(text))
        except FramingError:
            kind = self.value.get("type")
            if type(kind) is not str or kind not in CALLS:
                self.odd.append({"type": "input_json_delta", "partial_json": text})
        return text


def join(texts: list[str]) -> str:
    """The strings joined; a surrogate pair that was cut between two of them is one character again."""
    text = "".join(texts)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
