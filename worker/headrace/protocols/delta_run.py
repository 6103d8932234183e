"""Deltas that follow one another into the same string: nearly all events of a stream of the typed protocols.

Such an event has three fields, its name, an index and a delta, and the delta has its type and one string:

    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
"""

from __future__ import annotations

from headrace.json_text import Json
from headrace.protocols.stretches import Stretch


def index_of(event: dict[str, Json]) -> int | None:
    """An event's index, a whole number however it is written (1.0 is 1); None for any other value."""
    index = event.get("index")
    if type(index) is int:
        return index
    return int(index) if type(index) is float and index.is_integer() else None


class Counted:
    """What counts its events."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events = 0


class DeltaRun:
    """One string that deltas go into, until any other event comes.

    name_key, name: the field that names the event, and its value. source: the delta's key of the string. pieces: what
    came so far. counted: what the events are counted for.
    """

    __slots__ = ("counted", "delta_type", "index", "name", "name_key", "pieces", "source")

    def __init__(
        self, name_key: str, name: str, index: int, delta_type: str, source: str, pieces: list[str], counted: Counted
    ) -> None:
        self.name_key = name_key
        self.name = name
        self.index = index
        self.delta_type = delta_type
        self.source = source
        self.pieces = pieces
        self.counted = counted

    def take(self, event: dict[str, Json]) -> bool:
        """Take an event of the run; False, with nothing done, for any other."""
        index = event.get("index")
        if len(event) != 3 or index != self.index or index is True or index is False:
            return False
        if event.get(self.name_key) != self.name:
            return False
        delta = event.get("delta")
        if type(delta) is not dict or len(delta) != 2 or delta.get("type") != self.delta_type:
            return False
        text = delta.get(self.source)
        if type(text) is not str:
            return False
        self.pieces.append(text)
        self.counted.events += 1
        return True

    def take_stretch(self, stretch: Stretch) -> bool:
        """Take a stretch after an event of the run; False, with nothing done, for any other."""
        path = ("delta", self.source)
        event = stretch.event
        if len(event) != 3 or len(event["delta"]) != 2 or not stretch.varying() <= {path}:
            return False
        self.pieces += stretch.values(path)
        self.counted.events += len(stretch)
        return True
