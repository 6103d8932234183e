"""The text that deltas are adding to: nearly all events of a stream are such deltas.

The first delta of a text is looked up slot by slot, as any event. Those that follow have the same keys, and the same
values at what tells the text; so they go straight to its pieces, until any other event comes.
"""

from __future__ import annotations

from typing import final

from headrace.json_text import Json
from headrace.protocols.openai_responses import events as ev

#: What deltas of one text differ in, and what is empty in all of them.
_OWN = frozenset({"delta", "sequence_number", "obfuscation", "logprobs"})


@final
class OpenText:
    """A text, and the deltas that add to it: those with the keys of the first, and its values at what tells a place."""

    __slots__ = ("_index", "_index_key", "_item_id", "_kind", "_output_index", "_present", "_same", "_size", "pieces")

    def __init__(self, event: dict[str, Json], index_key: str, pieces: list[str]) -> None:
        """index_key: the event's key for the text's position in a list of the item; "" where it has none."""
        self.pieces = pieces
        self._size = len(event)
        self._kind: Json = event["type"]
        self._item_id: Json = event.get("item_id")
        self._output_index: Json = event.get("output_index")
        self._index_key = index_key
        self._index: Json = event.get(index_key)
        #: Keys that must be there besides: with an equal value, and with any.
        self._same: list[tuple[str, Json]] = []
        self._present: list[str] = []
        for key, value in event.items():
            if key in _OWN:
                # The number is read by who takes the event.
                if key != "delta" and key != "sequence_number":
                    self._present.append(key)
            elif value is None or (key not in ev.PLACE and key != index_key):
                self._same.append((key, value))

    def delta_of(self, event: dict[str, Json]) -> str | None:
        """What an event adds to this text; None where it may be any other event.

        Whether it has a sequence number is not looked at.
        """
        if len(event) != self._size or event.get("type") != self._kind or event.get("item_id") != self._item_id:
            return None
        place = event.get("output_index")
        if place != self._output_index or type(place) is not type(self._output_index):
            return None
        if self._index_key:
            index = event.get(self._index_key)
            if index != self._index or type(index) is not type(self._index):
                return None
        delta = event.get("delta")
        if type(delta) is not str:
            return None
        for key in self._present:
            if key not in event or (key == "logprobs" and event[key]):
                return None
        for key, value in self._same:
            if key not in event or event[key] != value:
                return None
        return delta
