"""Stream events -> responses.

Theory. Events are sorted into responses: `response.created` opens one (WebSocket peers interleave several by
`stream_id`). Within a response an item is a slot. A slot is found by the item's id, else its call id, else
`output_index`; ids of some gateways change with every event, so an id that nobody knows falls back on the index,
and an index with another call's id on it opens a new slot. Deltas append, `done` replaces; what an item finally is
comes from the most trustworthy copy there is: the terminal response, else `output_item.done`, else the deltas.

`sequence_number` tells repeats (dropped) and gaps (reported in `Folded.missing`), unless the producer numbers
so badly that one number stands for different events.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.json_text import Json
from headrace.protocols.entry_points import Folded
from headrace.protocols.openai_responses.boundaries import Boundary, Sorting
from headrace.protocols.stretches import Stretch


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """One Folded a response, in the order they were opened. Linear in the events; never raises on odd ones."""
    sorting = Sorting()
    for event in events:
        if type(event) is dict:
            # Nearly all events are deltas that go on as the one before.
            if sorting.current is None or not sorting.current.goes_on(event):
                sorting.take(event)
        elif type(event) is Stretch:
            sorting.take_stretch(event)
        else:
            sorting.take(event)
    if not sorting.boundaries and sorting.stray:
        sorting.boundaries.append(Boundary(sorting.stray))
    return [boundary.folded() for boundary in sorting.boundaries]
