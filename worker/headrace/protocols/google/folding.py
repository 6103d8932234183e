"""Parts of one answer, as they stream: the rule by which they become one list.

Adjacent text of two chunks is one text when both are thoughts or both are not, and neither carries a signature or
anything else beside it; parts that came in one chunk stay parts of their own. An empty text alone in its chunk, with
nothing beside it, adds nothing: it goes unless it is all there is. A function call whose arguments are streamed is
one part until its last fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.json_text import Json
from headrace.protocols.google.grammar import PART
from headrace.protocols.google.keys import camelled
from headrace.protocols.google.partial_args import PartialArgs

_PLAIN = frozenset({"text", "thought"})


def is_plain(part: Json) -> bool:
    """Whether a part is text with nothing beside it, so that more text may be added."""
    if type(part) is not dict or type(part.get("text")) is not str:
        return False
    return len(part) == 1 or _PLAIN.issuperset(part)


class _OpenCall:
    """A function call whose arguments are still coming."""

    def __init__(self, part: dict[str, Json], call: dict[str, Json]) -> None:
        self.call = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue", "args")}
        self.part = {**part, "functionCall": self.call}
        self.args = PartialArgs()
        self.refused: list[Json] = []
        self.more = False

    def add(self, call: dict[str, Json]) -> None:
        fragments = call.get("partialArgs")
        for fragment in fragments if type(fragments) is list else () if fragments is None else (fragments,):
            if not self.args.add(fragment):
                self.refused.append(fragment)
        if type(call.get("args")) is dict:
            self.args.merge(call["args"])
        elif "args" in call:
            self.call["args"] = call["args"]
        self.more = call.get("willContinue") is True

    def settle(self) -> None:
        args = self.args.args()
        if args is not None:
            self.call["args"] = args
        if self.refused:
            self.call["partialArgs"] = self.refused
        if self.more:
            self.call["willContinue"] = True


class PartFold:
    """The parts of one candidate or model turn."""

    def __init__(self) -> None:
        self.parts: list[Json] = []
        #: Parts' values that came twice and differ.
        self.stray: list[Json] = []
        self._texts: list[tuple[dict[str, Json], list[str]]] = []
        self._pieces: list[str] | None = None
        self._thought: Any = None
        self._padding: Json = None
        self._calls: list[_OpenCall] = []
        self._open: _OpenCall | None = None

    @property
    def has_streamed_calls(self) -> bool:
        """Whether arguments of a call came in fragments."""
        return bool(self._calls)

    def add(self, parts: Sequence[Json]) -> None:
        """The parts of one chunk."""
        if len(parts) == 1:
            self._add_first(parts[0], alone=True)
        elif parts:
            self._add_first(parts[0], alone=False)
            for part in parts[1:]:
                self._append(part)

    def _add_first(self, part: Json, *, alone: bool) -> None:
        text = part.get("text") if type(part) is dict else None
        if type(text) is str and (len(part) == 1 or _PLAIN.issuperset(part)):
            if self._pieces is not None and part.get("thought") == self._thought:
                self._pieces.append(text)
                return
            if alone and not text:
                self._padding = part
                return
        self._append(part)

    def take_text(self, part: Json) -> bool:
        """More text like one that was added last; False, with nothing done, where it is not open or no such text."""
        text = part.get("text") if type(part) is dict else None
        if self._pieces is None or type(text) is not str or part.get("thought") != self._thought:
            return False
        if len(part) > 1 and not _PLAIN.issuperset(part):
            return False
        self._pieces.append(text)
        return True

    def take_texts(self, part: dict[str, Json], texts: Sequence[str]) -> bool:
        """More texts, one a chunk, like one that was added last; False where it is not open."""
        if self._pieces is None or not is_plain(part) or part.get("thought") != self._thought:
            return False
        self._pieces += texts
        return True

    def _append(self, part: Json) -> None:
        self._pieces = None
        if is_plain(part):
            part = dict(part)
            self._pieces, self._thought = [part["text"]], part.get("thought")
            self._texts.append((part, self._pieces))
        elif type(part) is dict:
            part = self._call_of(part)
            if part is None:
                return
        self.parts.append(part)

    def _call_of(self, part: dict[str, Json]) -> dict[str, Json] | None:
        """The part to add: a new call if its arguments will stream, None for a fragment of the open one."""
        call = part.get("functionCall", part.get("function_call"))
        if type(call) is not dict:
            return part
        camel = camelled(part, PART)
        call = camel.get("functionCall")
        if type(call) is not dict:
            return part
        if self._continues(call):
            self._add_fragment(camel, call)
            return None
        self._open = None
        if type(call.get("partialArgs")) is not list and call.get("willContinue") is not True:
            return part
        self._open = _OpenCall(camel, call)
        self._calls.append(self._open)
        self._open.add(call)
        return self._open.part

    def _continues(self, call: dict[str, Json]) -> bool:
        """Whether a call is a fragment of the open one: it names nothing, or the same id."""
        opened = self._open
        if opened is None or not opened.more:
            return False
        if call.get("id") is not None and opened.call.get("id") is not None:
            return bool(call["id"] == opened.call["id"])
        return not call.get("name")

    def _add_fragment(self, part: dict[str, Json], call: dict[str, Json]) -> None:
        opened = self._open
        assert opened is not None
        opened.add(call)
        for target, source in ((opened.part, part), (opened.call, call)):
            for key, value in source.items():
                if key in ("functionCall", "partialArgs", "willContinue", "args"):
                    continue
                if target.setdefault(key, value) != value:
                    self.stray.append({key: value})

    def finish(self) -> list[Json]:
        """All parts, texts joined and arguments whole."""
        for part, pieces in self._texts:
            if len(pieces) > 1:
                part["text"] = "".join(pieces)
        for call in self._calls:
            call.settle()
        if not self.parts and self._padding is not None:
            self.parts.append(self._padding)
        return self.parts


def grow(old: Json, new: Json) -> Json:
    """Metadata that comes in several chunks: objects field by field, lists whole or piece by piece, else the last.

    A list that starts with the one before it is the same list, longer; any other list continues it. ``old`` may be
    changed and must be owned by the caller.
    """
    if type(old) is dict and type(new) is dict:
        for key, value in new.items():
            old[key] = grow(old[key], value) if key in old else owned(value)
        return old
    if type(old) is list and type(new) is list:
        shared = min(len(old), len(new))
        if old[:shared] == new[:shared]:
            old += [owned(item) for item in new[shared:]]
        else:
            old += [owned(item) for item in new]
        return old
    return old if new is None else owned(new)


def owned(value: Json) -> Json:
    """A copy that may be changed."""
    if type(value) is dict:
        return {key: owned(item) for key, item in value.items()}
    if type(value) is list:
        return [owned(item) for item in value]
    return value
