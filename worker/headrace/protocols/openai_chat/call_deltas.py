"""Fragments of tool calls -> whole calls.

OpenAI addresses fragments by ``index`` and says id, type and name once. Dialects leave the index out, use one index
for all calls, resend id, type or name, split the name, change the id from chunk to chunk, or send arguments as an
object or whole again. Two rules hold throughout: fragments of one call are joined, different calls never are.

Which call a fragment belongs to:
- By index. Another id under the same index is the call that had that id before; one that nobody had starts another
  call if it brings a name, and without a name it is the same call (its first id stays). An index that nobody had, with
  neither id nor name, is counted wrongly: the fragment goes on with the last call, unless that is whole or was never
  named.
- Without index, by id. Without both, by place where a chunk holds several, else the last call.
- Where neither id nor index tells, a name does: one that differs after arguments have come, or that comes with a new
  object after whole arguments, starts another call. Otherwise an equal name is restated and another continues it.
- Fragments of different types are never of one call.

An empty object that another object follows is no arguments: gateways to Anthropic pass the placeholder on with which
its blocks begin.
"""

from __future__ import annotations

from collections.abc import Hashable

from headrace.errors import HeadraceError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_chat import merging

_RULES: dict[str, merging.Rule] = {
    "id": merging.first,
    "type": merging.last,
    "extra_content": merging.merged,
    "provider_specific_fields": merging.merged,
}
#: The object that holds a call's name and text, and the key of the text.
_HOLDERS = {"function": "arguments", "custom": "input"}


class Spoken:
    """Name and text of a call as they stream: the object under "function", "custom" or "function_call"."""

    __slots__ = ("fields", "key", "name", "pieces", "size", "value")

    def __init__(self, key: str = "arguments") -> None:
        self.key = key
        self.fields: dict[str, Json] = {}
        self.name: str | None = None
        self.pieces: list[str] = []
        self.size = 0
        #: Arguments that came as a JSON value.
        self.value: Json = None

    def take(self, wire: dict[str, Json]) -> None:
        """Add one fragment."""
        for key, value in wire.items():
            if key == self.key:
                self._take_text(value)
            elif key == "name" and type(value) is str:
                # Equal: restated. Different: continued.
                if self.name is None or value != self.name:
                    self.name = (self.name or "") + value
            else:
                merging.put(self.fields, key, value, merging.every)

    def _take_text(self, value: Json) -> None:
        if type(value) is str:
            if self.value is not None:
                if not value.strip():
                    return
                self._make_text()
            if not self._says_again(value):
                self._append(value)
        elif value is None:
            self.fields.setdefault(self.key, None)
        elif self.size and not self._is_placeholder():
            # A value after text: both are kept, and will not parse.
            self._append(dumps(value))
        else:
            self.pieces, self.size = [], 0
            self.value = merging.merged(self.value, value)

    def _append(self, text: str) -> None:
        if self._is_placeholder() and text.lstrip()[:1] == "{":
            self.pieces, self.size = [], 0
        self.pieces.append(text)
        self.size += len(text)

    def _make_text(self) -> None:
        """Arguments that began as a value go on as text."""
        self.pieces = [dumps(merging.whole(self.value))]
        self.size = len(self.pieces[0])
        self.value = None

    def _is_placeholder(self) -> bool:
        return self.size == 2 and "".join(self.pieces) == "{}"

    def _says_again(self, text: str) -> bool:
        """Whether a fragment is all arguments so far, whole, once more."""
        return len(text) == self.size > 0 and text[0] == "{" and "".join(self.pieces) == text and _is_whole_object(text)

    @property
    def has_text(self) -> bool:
        """Whether any arguments came."""
        return self.size > 0 or self.value is not None

    def starts_after(self, name: str, text: Json) -> bool:
        """Whether a fragment with this name is another call, by what this one has."""
        if not self.has_text:
            return False
        if self.name is not None and name != self.name:
            return True
        if type(text) is not str:
            return text is not None
        return self.is_whole_before(text)

    def is_whole_before(self, text: str) -> bool:
        """Whether a new object comes after whole arguments."""
        return text.lstrip().startswith("{") and (self.value is not None or _is_whole_object("".join(self.pieces)))

    def differs(self, text: Json) -> bool:
        """Whether a text is whole arguments, and other ones than these: one id for several calls."""
        if type(text) is not str or self.size <= 2 or not text.startswith("{"):
            return False
        return not self._says_again(text) and _is_whole_object(text)

    def goes_on_with(self, name: str, text: Json) -> bool:
        """Whether a fragment with this name and another id only goes on: ids that change with every chunk."""
        if not self.size or name != self.name or type(text) is not str:
            return False
        return bool(text) and not text.lstrip().startswith(("{", "["))

    def finish(self) -> dict[str, Json]:
        """The object as the whole body has it."""
        body = merging.settled(self.fields, texts=True)
        if self.name is not None:
            body["name"] = self.name
        if self.value is not None:
            body[self.key] = merging.whole(self.value)
        elif self.pieces:
            body[self.key] = "".join(self.pieces)
        return body


_NOTHING = Spoken()


class Call:
    """One tool call as it streams."""

    __slots__ = ("fields", "id", "main", "spoken")

    def __init__(self) -> None:
        self.fields: dict[str, Json] = {}
        self.id: str | None = None
        self.spoken: dict[str, Spoken] = {}
        #: What was spoken last, where a server sends both objects and leaves one blank.
        self.main = _NOTHING

    def take(self, fragment: dict[str, Json]) -> None:
        """Add one fragment."""
        for key, value in fragment.items():
            if key == "index":
                continue
            if key in _HOLDERS and type(value) is dict:
                spoken = self.spoken.get(key)
                if spoken is None:
                    spoken = self.spoken[key] = Spoken(_HOLDERS[key])
                spoken.take(value)
                if spoken.name or spoken.has_text:
                    self.main = spoken
            else:
                if key == "id" and type(value) is str and value and not self.id:
                    self.id = value
                merging.put(self.fields, key, value, _RULES.get(key, merging.every))

    def finish(self) -> dict[str, Json]:
        """The call as the whole body has it."""
        body = merging.settled(self.fields, texts=True)
        for holder, spoken in self.spoken.items():
            body[holder] = spoken.finish()
        return body


def _is_whole_object(text: str) -> bool:
    try:
        return type(loads(text)) is dict
    except HeadraceError:
        return False


class Calls:
    """The calls of one choice, in order of first sight."""

    __slots__ = ("by_id", "by_index", "calls", "elements")

    def __init__(self) -> None:
        self.elements: list[Call | Json] = []
        self.calls: list[Call] = []
        self.by_index: dict[Hashable, Call] = {}
        self.by_id: dict[str, Call] = {}

    def take(self, fragments: list[Json]) -> None:
        """Add the fragments of one chunk; one that is no object is an element of its own."""
        if len(fragments) == 1 and self.take_piece(fragments[0]):
            return
        for place, fragment in enumerate(fragments):
            if type(fragment) is not dict:
                self.elements.append(fragment)
                continue
            call = self._call_of(fragment, place if len(fragments) > 1 else None)
            call.take(fragment)

    def take_piece(self, fragment: Json) -> bool:
        """The commonest fragment: an index and one more piece of arguments. False for any other."""
        if type(fragment) is not dict or len(fragment) != 2:
            return False
        function, index = fragment.get("function"), fragment.get("index")
        if type(function) is not dict or len(function) != 1 or type(index) is not int:
            return False
        call, text = self.by_index.get(index), function.get("arguments")
        spoken = call.spoken.get("function") if call is not None else None
        if spoken is None or not spoken.pieces or type(text) is not str or text[:1] == "{":
            return False
        spoken.pieces.append(text)
        spoken.size += len(text)
        return True

    def has_room(self, index: int, pieces: list[str]) -> bool:
        """Whether pieces of arguments with this index are of the commonest kind, as `take_piece` has it."""
        call = self.by_index.get(index)
        spoken = call.spoken.get("function") if call is not None else None
        if spoken is None or not spoken.pieces:
            return False
        return "{" not in "".join(pieces) or not any(piece[:1] == "{" for piece in pieces)

    def add_pieces(self, index: int, pieces: list[str]) -> None:
        """Add pieces of arguments for which there is room."""
        spoken = self.by_index[index].spoken["function"]
        spoken.pieces += pieces
        spoken.size += sum(map(len, pieces))

    def _call_of(self, fragment: dict[str, Json], place: int | None) -> Call:
        index, call_id = fragment.get("index"), fragment.get("id")
        name, text = _inner(fragment)
        call_id = call_id if type(call_id) is str and call_id else None
        has_index = type(index) is int or type(index) is str
        if has_index:
            found = self._by_index(index, call_id, name, text)
        elif call_id is not None:
            found = self._by_id(call_id, name, text)
        else:
            found = self._by_place(place, name, text)
        if found is None or _is_of_another_type(found, fragment):
            found = Call()
            self.elements.append(found)
            self.calls.append(found)
            if has_index:
                self.by_index[index] = found
            else:
                self.by_index.setdefault(len(self.calls) - 1, found)
        if call_id is not None:
            self.by_id[call_id] = found
        return found

    def _by_index(self, index: Hashable, call_id: str | None, name: str | None, text: Json) -> Call | None:
        call = self.by_index.get(index)
        if call is None:
            # A known id under a new index goes on, unless it brings a name: equal ids stay two calls.
            known = self._of_new_index(call_id, text) if name is None else None
            if known is not None:
                self.by_index[index] = known
            return known
        if call_id is not None and call.id is not None and call_id != call.id:
            known = self.by_id.get(call_id)
            if known is not None:
                return None if name is not None and known.main.starts_after(name, text) else known
            return call if name is None or call.main.goes_on_with(name, text) else None
        told = call_id is not None and call_id == call.id and not call.main.differs(text)
        if name is not None and not told and call.main.starts_after(name, text):
            return None
        return call

    def _of_new_index(self, call_id: str | None, text: Json) -> Call | None:
        """The call that a fragment without a name and under an index of its own goes on with."""
        if call_id is not None:
            return self.by_id.get(call_id)
        last = self.calls[-1] if self.calls else None
        if last is None or last.main.name is None or (type(text) is str and last.main.is_whole_before(text)):
            return None
        return last

    def _by_id(self, call_id: str, name: str | None, text: Json) -> Call | None:
        known = self.by_id.get(call_id)
        if known is not None:
            return None if name is not None and known.main.starts_after(name, text) else known
        if not self.calls:
            return None
        if name is not None and not self.calls[-1].main.goes_on_with(name, text):
            return None
        return self.calls[-1]

    def _by_place(self, place: int | None, name: str | None, text: Json) -> Call | None:
        if place is None:
            call = self.calls[-1] if self.calls else None
        else:
            call = self.calls[place] if place < len(self.calls) else None
        if call is not None and name is not None and call.main.starts_after(name, text):
            return None
        return call

    def finish(self) -> list[Json]:
        """The list under ``tool_calls``."""
        return [element.finish() if type(element) is Call else element for element in self.elements]


def _is_of_another_type(call: Call, fragment: dict[str, Json]) -> bool:
    known, given = call.fields.get("type"), fragment.get("type")
    return bool(known and given) and known != given


def _inner(fragment: dict[str, Json]) -> tuple[str | None, Json]:
    """(name, text) of a fragment, of whichever object says something."""
    text: Json = None
    for holder, key in _HOLDERS.items():
        inner = fragment.get(holder)
        if type(inner) is dict:
            name = inner.get("name")
            if type(name) is str and name:
                return name, inner.get(key)
            text = inner.get(key) or text
    return None, text
