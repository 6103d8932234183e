"""Texts that deltas are adding to: nearly all events of a stream are such deltas.

The first delta of a text is looked up slot by slot, as any event. Those that follow have the same keys, and the same
values at what tells the text; so they go straight to its pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from headrace.json_text import Json
from headrace.protocols.openai_responses import events as ev


class TextsByPlace:
    """Texts that deltas with the same keys add to. place: of such a delta what tells its text."""

    __slots__ = ("place", "texts")

    def __init__(self, event: dict[str, Json]) -> None:
        keys = [key for key in (*ev.PLACE, *ev.INDICES) if key in event]
        self.place: Callable[[dict[str, Json]], Any] = itemgetter(*keys)
        self.texts: dict[Any, OpenText] = {}


class OpenText:
    """A text, and the deltas that add to it: those with the keys of the first, and its values at what tells a place."""

    __slots__ = ("_index", "_index_key", "_item_id", "_kind", "_others", "_output_index", "_size", "pieces")

    def __init__(self, event: dict[str, Json], pieces: list[str]) -> None:
        self.pieces = pieces
        self._size = len(event)
        self._kind: Json = event["type"]
        self._item_id: Json = event.get("item_id")
        self._output_index: Json = event.get("output_index")
        indices = [key for key in ev.INDICES if key in event]
        self._index_key = indices[0] if indices else "content_index"
        self._index: Json = event.get(self._index_key)
        compared = ("type", "delta", "item_id", "output_index", self._index_key)
        self._others = [key for key, value in event.items() if value is None or key not in compared]
        if len(indices) > 1:
            # Of two positions one would not be compared: no event has this size.
            self._size = -1

    def take(self, event: dict[str, Json]) -> bool:
        """Take a delta; False, with nothing done, for any other event."""
        if len(event) != self._size or event.get("type") != self._kind or event.get("item_id") != self._item_id:
            return False
        if event.get("output_index") != self._output_index or event.get(self._index_key) != self._index:
            return False
        delta = event.get("delta")
        if type(delta) is not str or event.get("logprobs"):
            return False
        # No generator: compiled, it would cost more than all of this.
        for key in self._others:
            if key not in event:
                return False
        self.pieces.append(delta)
        return True
