"""One output item while its stream builds it.

Deltas are collected in lists and joined once, and only if no later whole copy (the item's own `done`, the
terminal response) makes them needless.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from headrace.json_text import Json
from headrace.protocols.openai_responses.events import Text
from headrace.protocols.openai_responses.filling import filled, lacks

#: Items that are opened by an event which names them, without `output_item.added`.
_SKELETONS: dict[str, dict[str, Json]] = {
    "message": {"role": "assistant", "content": []},
    "reasoning": {"summary": []},
    "shell_call": {"action": {"commands": []}},
    "shell_call_output": {"output": []},
}
_ELEMENTS: dict[str, dict[str, Json]] = {"output_text": {"annotations": []}}


class Slot:
    """One item: its last whole copy, and what came since.

    key: output_index, or the order of its coming. item: the last whole copy, {} while there is none. done: that
    copy is the final one. opened: an event brought a whole copy.
    """

    __slots__ = (
        "_annotated",
        "_annotations",
        "_elements",
        "_fields",
        "_last",
        "_logprobs",
        "_shell",
        "_texts",
        "_whole",
        "done",
        "item",
        "key",
        "opened",
    )

    def __init__(self, key: int, item: dict[str, Json]) -> None:
        self.key = key
        self.item = item
        self.done = False
        self.opened = False
        self._texts: dict[tuple[Text, int], list[str]] = {}
        #: Texts that began with a done event: nothing before it counts.
        self._whole: set[tuple[Text, int]] = set()
        self._elements: dict[tuple[str, int], Json] = {}
        self._annotations: dict[int, dict[int, Json]] = {}
        #: Where the next annotation of an element goes that has no place of its own.
        self._annotated: dict[int, int] = {}
        self._logprobs: dict[int, list[Json]] = {}
        self._shell: dict[int, dict[str, list[str]]] = {}
        self._fields: dict[str, Json] = {}
        self._last: dict[str, int] = {}

    @classmethod
    def opened_by(cls, key: int, item_type: str, item_id: Json) -> Slot:
        """A slot for an item that no event opened."""
        identity = {"id": item_id} if type(item_id) is str else {}
        return cls(key, {"type": item_type, **identity, **_fresh(_SKELETONS.get(item_type, {}))})

    def replace(self, item: dict[str, Json], done: bool) -> None:
        """A whole copy: everything before it is void, but for what the final one leaves blank."""
        self.item = self._filled(item) if done else item
        self.done = done
        self.opened = True
        if self._texts:
            self._texts.clear()
            self._whole.clear()
        if self._elements:
            self._elements.clear()
        if self._annotations:
            self._annotations.clear()
            self._annotated.clear()
        if self._logprobs:
            self._logprobs.clear()
        if self._shell:
            self._shell.clear()
        if self._fields:
            self._fields.clear()
        self._last.clear()

    def _filled(self, item: dict[str, Json]) -> dict[str, Json]:
        if not self._texts and not self._elements and not self._annotations and not self.done:
            return item
        return filled(item, self.build()) if lacks(item, annotations=self._has_annotations()) else item

    def _has_annotations(self) -> bool:
        if self.done or self._annotations:
            return True
        return any(type(element) is dict and element.get("annotations") for element in self._elements.values())

    @property
    def touched(self) -> bool:
        """Whether anything is known of the item at all."""
        return bool(self.item)

    def waits(self, done: bool) -> bool:
        """Whether a whole copy may still come for this item: the final one once, an opening one only first."""
        return not self.done and (done or not self.opened)

    def index(self, name: str, given: Json, opening: bool) -> int:
        """The index an event gives, or the one it must mean: the next of a list that it opens, else the last."""
        if type(given) is int:
            self._last[name] = given
            return given
        index: int = self._last.get(name, -1) + 1 if opening else self._last.get(name, 0)
        self._last[name] = index
        return index

    def text(self, text: Text, index: int) -> list[str]:
        """The list that this text's deltas go to."""
        key = (text, index)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = []
        return found

    def set_text(self, text: Text, index: int, whole: str) -> None:
        """The full text: replaces all deltas and what the item opened with. One that is blank takes nothing back."""
        if not whole and self._texts.get((text, index)):
            return
        self._texts[text, index] = [whole]
        self._whole.add((text, index))

    def set_element(self, name: str, index: int, element: Json, *, done: bool) -> None:
        """A whole element of a list: replaces its texts and annotations. done: it is the final one, of which a text
        that is blank takes nothing back."""
        if self._texts:
            for key in [key for key in self._texts if key[0].list == name and key[1] == index]:
                pieces, field = self._texts.pop(key), key[0].field
                self._whole.discard(key)
                if done and field and type(element) is dict and not element.get(field):
                    element = {**element, field: "".join(pieces)}
        self._elements[name, index] = element
        if name == "content" and (self._annotated or self._logprobs):
            self._annotations.pop(index, None)
            self._annotated.pop(index, None)
            self._logprobs.pop(index, None)

    def annotate(self, index: int, position: Json, annotation: Json) -> None:
        """One annotation of a content part; without a position it is the next."""
        known = self._annotations.setdefault(index, {})
        place = position if type(position) is int else self._annotated.get(index, 0)
        known[place] = annotation
        self._annotated[index] = max(place + 1, self._annotated.get(index, 0))

    def add_logprobs(self, index: int, logprobs: list[Json]) -> None:
        """Log probabilities of a delta."""
        self._logprobs.setdefault(index, []).extend(logprobs)

    def set_logprobs(self, index: int, logprobs: list[Json]) -> None:
        """All log probabilities of a text."""
        self._logprobs[index] = [*logprobs]

    def set_field(self, name: str, value: Json) -> None:
        """A field of the item (status, preview)."""
        self._fields[name] = value

    def add_shell_output(self, index: int, delta: dict[str, Json]) -> None:
        """A piece of what a command printed."""
        streams = self._shell.setdefault(index, {})
        for name, piece in delta.items():
            if type(piece) is str:
                streams.setdefault(name, []).append(piece)

    def set_shell_output(self, index: int, output: Json) -> None:
        """All that a command printed."""
        self._shell.pop(index, None)
        if type(output) is list and len(output) == 1:
            self.set_element("output", index, output[0], done=True)
        else:
            self.set_field("output", output)

    def build(self) -> dict[str, Json]:
        """The item as far as it is known. The slot's own copy is not changed."""
        if self.done or not (
            self._texts or self._elements or self._annotations or self._logprobs or self._shell or self._fields
        ):
            return self.item
        item: dict[str, Json] = {**self.item}
        self._build_fields(item)
        lists = _Lists(item)
        for (name, index), element in sorted(self._elements.items(), key=lambda entry: entry[0]):
            lists.put(name, index, element)
        for (text, index), pieces in sorted(self._texts.items(), key=lambda entry: entry[0][1]):
            _build_text(item, lists, text, index, "".join(pieces), (text, index) in self._whole)
        for index, logprobs in self._logprobs.items():
            part = lists.element("content", index, "output_text")
            part["logprobs"] = [*_list(part.get("logprobs")), *logprobs]
        for index, positioned in self._annotations.items():
            part = lists.element("content", index, "output_text")
            part["annotations"] = _overlay(_list(part.get("annotations")), positioned)
        for index, streams in sorted(self._shell.items()):
            output = lists.element("output", index, "")
            for name, chunks in streams.items():
                output[name] = _string(output.get(name)) + "".join(chunks)
        return item

    def _build_fields(self, item: dict[str, Json]) -> None:
        for name, value in self._fields.items():
            if name != "status" or "status" in item:
                item[name] = value


def is_named(item: dict[str, Json], name: Json) -> bool:
    """Whether this is one of the ids by which events name an item: its own and its call's."""
    return type(name) is str and bool(name) and (item.get("id") == name or item.get("call_id") == name)


def same_type(slot: Slot, item: dict[str, Json]) -> bool:
    """Whether an item can be of the slot's type."""
    return _agree(slot.item.get("type"), item.get("type"))


def is_same(slot: Slot, item: dict[str, Json]) -> bool:
    """Whether an item without the slot's id can be its item: its type and its call id may not differ."""
    return same_type(slot, item) and _agree(slot.item.get("call_id"), item.get("call_id"))


def _agree(known: Json, given: Json) -> bool:
    return known is None or given is None or bool(known == given)


class _Lists:
    """Lists of an item, copied before they are first written to.

    An index is a key, not an offset: an element whose predecessors never came stands where its turn is.
    """

    def __init__(self, item: dict[str, Json]) -> None:
        self._item = item
        self._copied: dict[str, list[Json]] = {}
        self._places: dict[tuple[str, int], int] = {}
        self._own: set[tuple[str, int]] = set()

    def get(self, name: str) -> list[Json]:
        """The list at a dotted path, made if it is not there."""
        if name not in self._copied:
            holder = self._item
            *parents, leaf = name.split(".")
            for parent in parents:
                inner = holder.get(parent)
                holder[parent] = holder = {**inner} if type(inner) is dict else {}
            present = [*_list(holder.get(leaf))]
            self._places.update({(name, index): index for index in range(len(present))})
            holder[leaf] = self._copied[name] = present
        return self._copied[name]

    def at(self, name: str, index: int) -> Json:
        """The element with this index; None where there is none."""
        elements = self.get(name)
        place = self._places.get((name, index))
        return None if place is None else elements[place]

    def put(self, name: str, index: int, element: Json) -> None:
        """Set an element."""
        elements = self.get(name)
        place = self._places.setdefault((name, index), len(elements))
        elements[place : place + 1] = [element]

    def element(self, name: str, index: int, element_type: str) -> dict[str, Json]:
        """The element with this index, as an object that may be changed."""
        present = self.at(name, index)
        if (name, index) not in self._own:
            if type(present) is dict:
                self.put(name, index, {**present})
            else:
                kind = {"type": element_type} if element_type else {}
                self.put(name, index, {**kind, **_fresh(_ELEMENTS.get(element_type, {}))})
            self._own.add((name, index))
        found: dict[str, Json] = self.at(name, index)
        return found


def _build_text(item: dict[str, Json], lists: _Lists, text: Text, index: int, joined: str, whole: bool) -> None:
    if not text.list:
        item[text.field] = joined if whole else _string(item.get(text.field)) + joined
    elif text.field:
        element = lists.element(text.list, index, text.element)
        element[text.field] = joined if whole else _string(element.get(text.field)) + joined
    else:
        lists.put(text.list, index, joined if whole else _string(lists.at(text.list, index)) + joined)


def _overlay(present: list[Json], positioned: dict[int, Json]) -> list[Json]:
    result: MutableSequence[Json] = [*present]
    for position, value in sorted(positioned.items()):
        if 0 <= position < len(result):
            result[position] = value
        else:
            result.append(value)
    return list(result)


def _string(value: Json) -> str:
    return value if type(value) is str else ""


def _list(value: Json) -> list[Json]:
    return value if type(value) is list else []


def _fresh(value: Any) -> Any:
    """A copy of a skeleton."""
    if type(value) is dict:
        return {key: _fresh(inner) for key, inner in value.items()}
    return [*value] if type(value) is list else value
