"""Ids of items that must have one and came from a protocol without them.

They are digests of the response's id and the item's number, so they are the same whenever a record is written.
"""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.json_text import Json

#: Item type -> prefix of its ids, where it is not the type itself.
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "compaction": "cmp",
}
#: Items that must have one in a request, too.
_ALWAYS = ("message", "reasoning")


class ItemIds:
    """Gives ids to the items of one list. output: it is a response's, whose items all have ids."""

    def __init__(self, seed: str, *, output: bool) -> None:
        self.output = output
        self._seed = seed
        self._given = 0

    def give(self, item: dict[str, Json], spelled: dict[str, Any]) -> None:
        """Set ``id`` where the item must have one, has none, and the wire did not leave it out (``spelled``)."""
        kind = item.get("type")
        if "id" in item or "id" in spelled.get("absent", ()) or not (self.output or kind in _ALWAYS):
            return
        digest = hashlib.sha256(f"{self._seed}|{self._given}".encode()).hexdigest()
        item["id"] = f"{_PREFIXES.get(str(kind), kind)}_{digest[:32]}"
        self._given += 1
