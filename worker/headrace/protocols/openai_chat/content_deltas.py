"""Pieces of content lists and of reasoning details -> whole elements.

Neighbours of one type are one element as long as nothing in them contradicts: another type, id or index starts the
next element, and so does text after a signature. Encrypted reasoning comes whole and is never joined.
"""

from __future__ import annotations

from headrace.json_text import Json
from headrace.protocols.openai_chat.parts import is_text_element
from headrace.protocols.openai_chat.reasoning import DETAIL_FORMS

#: Wire type -> the key of the text that grows; a type that is not here comes whole.
_TEXT_KEYS: dict[str, str] = {
    "text": "text",
    "thinking": "thinking",
    **{wire_type: key for wire_type, (_, key) in DETAIL_FORMS.items() if key is not None},
}


_NOTHING: tuple[Json, ...] = (None, "")


class Element:
    """One element as it streams: its fields, and the pieces of its text."""

    __slots__ = ("blank", "fields", "key", "pieces")

    def __init__(self, wire: dict[str, Json]) -> None:
        wire_type = wire.get("type")
        self.key = _TEXT_KEYS.get(wire_type) if type(wire_type) is str else None
        pieces = _pieces(wire, self.key)
        if pieces is None:
            self.key, pieces = None, []
        self.pieces = pieces
        #: What stands under the key when no text comes: "", [] or null.
        self.blank = wire.get(self.key) if self.key is not None else None
        self.fields = {name: value for name, value in wire.items() if name != self.key or not pieces}

    def absorb(self, wire: dict[str, Json]) -> bool:
        """Add the next piece; False when it is no piece of this element."""
        if self.key is None:
            # Whole already: the same once more says nothing new when it has an id.
            return wire == self.fields and wire.get("id") is not None
        pieces = _pieces(wire, self.key)
        if pieces is None or wire.get("type") != self.fields.get("type"):
            return False
        if pieces and self.fields.get("signature") and any(pieces):
            return False
        # Null and "" say nothing: a signature is "" until it comes.
        mine = self.fields
        for name, value in wire.items():
            if name != self.key and value not in _NOTHING and mine.get(name) not in _NOTHING and mine[name] != value:
                return False
        for name, value in wire.items():
            if name != self.key and (name not in mine or (value not in _NOTHING and mine[name] in _NOTHING)):
                mine[name] = value
        if type(wire.get(self.key)) in (str, list):
            self.blank = wire[self.key] if self.blank is None else self.blank
        self.pieces += pieces
        return True

    def finish(self) -> dict[str, Json]:
        """The element as the whole body has it."""
        if self.key is None or not self.pieces:
            return self.fields
        text = "".join(self.pieces)
        in_list = type(self.blank) is list
        return {**self.fields, self.key: [{"type": "text", "text": text}] if in_list else text}


def _pieces(wire: dict[str, Json], key: str | None) -> list[str] | None:
    """The texts under the key; None when something else stands there."""
    value = wire.get(key) if key is not None else None
    if value is None:
        return [] if key is not None else None
    if type(value) is str:
        return [value]
    if key == "thinking" and type(value) is list and all(is_text_element(element) for element in value):
        return [element["text"] for element in value]
    return None


class Elements:
    """A list of elements as it streams."""

    __slots__ = ("elements",)

    def __init__(self) -> None:
        self.elements: list[Element | Json] = []

    def take(self, wires: list[Json], *, fresh: bool) -> None:
        """Add one chunk's elements. Only the first may go on with the last one before it, and only when it is not
        ``fresh``: something else came in between.
        """
        for wire in wires:
            if type(wire) is not dict:
                self.elements.append(wire)
                continue
            last = self.elements[-1] if self.elements and not fresh else None
            if type(last) is not Element or not last.absorb(wire):
                self.elements.append(Element(wire))
            fresh = True

    def finish(self) -> list[Json]:
        """The list as the whole body has it."""
        return [element.finish() if type(element) is Element else element for element in self.elements]
