"""Items <-> messages.

The wire has one flat list of items; the model has messages with ordered parts. The rule:
- A `message` item with any role but assistant is one message.
- What the assistant wrote in one go (reasoning, calls, compaction, hosted results, one `message` item) is one
  assistant message, its parts in order. It takes its id, status and phase from its `message` item; a second
  `message` item therefore starts a new message (commentary and final answer are two).
- Results that a client sends (`*_output` in a request's input) are messages of role tool, one each. In a
  response they are hosted results: parts of the assistant's message.
- Items that only instruct the provider stand in a message of their own, by role (additional_tools: developer).

The writer needs to know where in the parts the `message` item stands: where its content parts are, or, if it
has none, where ``wire`` says ("message": position).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.canonical.fields import NAME, Const, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Message, Part
from headrace.json_text import Json
from headrace.protocols.openai_responses.ids import ItemIds
from headrace.protocols.openai_responses.item_types import ITEM_TYPES, ItemType
from headrace.protocols.openai_responses.items import Links, read_item, write_items
from headrace.protocols.openai_responses.parts import default_text, is_content, read_part, write_part

_MESSAGE = Table(
    Const("type", "message"),
    Field("id", "id"),
    Field("role", "role", NAME),
    Field("name", "name"),
    Field("status", "status"),
    Field("phase", "phase"),
    Other("created_by", "detail"),
    Other("agent", "detail"),
)
_CONTENT = ("content",)
_ITEM_REFERENCE = ITEM_TYPES["item_reference"]
#: What the assistant's messages must have besides role and content.
_DEMANDED = ("id", "status")


def read_messages(items: Iterable[Json], reading: Reading, *, output: bool, first: int = 0) -> list[Message]:
    """The messages of a list of items.

    output: it is a response's output, so results are the provider's own. first: messages that the record has
    before these (derived ids count them).
    """
    reader = _Reader(reading, output, first)
    for item in items:
        reader.read(item)
    for message in reader.messages:
        if not message["parts"]:
            del message["parts"]
    return reader.messages


class _Reader:
    """Groups items into messages as they come."""

    def __init__(self, reading: Reading, output: bool, first: int) -> None:
        self.reading = reading
        self.output = output
        self.first = first
        self.messages: list[Message] = []
        self.links = Links()
        self._turn: Message | None = None
        self._has_message = False
        self._calls = 0

    def read(self, item: Json) -> None:
        """Take the next item."""
        wire_type = item.get("type") if type(item) is dict else None
        if wire_type == "message" or (wire_type is None and type(item) is dict and "role" in item):
            self._read_message(item)
            return
        item_type = ITEM_TYPES.get(wire_type) if type(wire_type) is str else None
        if item_type is None and type(item) is dict and item.keys() == {"id"}:
            item_type = _ITEM_REFERENCE
        message = self._message_for(item, item_type)
        position = (self.first + len(self.messages) - 1, len(message["parts"]))
        parts = read_item(item, item_type, self._calls, position, self.links, self.reading, output=self.output)
        self._calls += parts[0]["type"] == "tool_call"
        message["parts"] += parts

    def _message_for(self, item: Json, item_type: ItemType | None) -> Message:
        """The message that an item which is none itself goes to."""
        role = _role(item, item_type)
        if role == "tool" and self.output:
            role = "assistant"
        if role == "assistant":
            return self._turn or self._open_turn()
        self._turn = None
        self._calls = 0
        message: Message = {"role": role, "parts": []}
        self.messages.append(message)
        return message

    def _open_turn(self) -> Message:
        self._turn = {"role": "assistant", "parts": []}
        self._has_message = False
        self._calls = 0
        self.messages.append(self._turn)
        return self._turn

    def _read_message(self, item: dict[str, Json]) -> None:
        if item.get("role") != "assistant":
            self._turn = None
            message: Message = {}
            self.messages.append(message)
            message["parts"] = _read_message(item, message, self.reading, 0, output=self.output)
            return
        message = self._open_turn() if self._turn is None or self._has_message else self._turn
        self._has_message = True
        own: Message = {}
        parts = _read_message(item, own, self.reading, len(message["parts"]), output=self.output)
        if "id" in own:
            for part in parts:
                part["provider_item_id"] = own["id"]
        message["parts"] += parts
        message.update(own)


def _role(item: Json, item_type: ItemType | None) -> str:
    if item_type is not None:
        if item_type.role != "developer":
            return item_type.role
        role = item.get("role")
        return role if is_text(role) else item_type.role
    name = item.get("type") if type(item) is dict else None
    return "tool" if type(name) is str and name.endswith("_output") else "assistant"


def _read_message(
    item: dict[str, Json], message: Message, reading: Reading, position: int, *, output: bool
) -> list[Part]:
    """Fill a message from its item; returns the content parts. position: parts that precede them."""
    content: Any = item.get("content")
    role: Any = item.get("role")
    if len(item) == 2 and not output and role and is_text(role) and is_text(content):
        # A role and a text: the commonest of all.
        message["role"] = role
        message["wire"] = '{"absent":["type"],"content":"string"}'
        return [{"type": "text", "text": content}]
    left = _MESSAGE.read(item, message, _CONTENT)
    usual = default_text(message.get("role"))
    parts: list[Part] = []
    if type(content) is list:
        parts = [read_part(part, usual, reading) for part in content]
    elif is_text(content):
        parts = [{"type": "text", "text": content}]
        left.wire["content"] = "string"
    else:
        _spell_content(item, left)
    if not parts:
        left.wire["message"] = position
    form = _likely_form(message, parts, output)
    if type(content) is list and form == "string":
        left.wire["content"] = form = "list"
    if output or form == "list":
        for key in _DEMANDED:
            if key not in item:
                left.note("absent", key)
    left.store(message)
    return parts


def _likely_form(message: Message, parts: Sequence[Part], output: bool) -> str:
    """A text of the assistant in a history is a string: a list of its parts must have an id and a status."""
    is_output = output or message.get("role") != "assistant" or "id" in message or len(parts) != 1
    return "list" if is_output or parts[0].keys() != {"type", "text"} or parts[0]["type"] != "text" else "string"


def _spell_content(item: dict[str, Json], left: Leftover) -> None:
    if "content" not in item:
        left.note("absent", "content")
    elif item["content"] is None:
        left.note("null", "content")
    else:
        left.extras["content"] = item["content"]


# --- writing ----------------------------------------------------------------------------------------------


def write_messages(messages: Iterable[Message], *, output: bool = False, seed: str = "") -> list[Json]:
    """The items of messages; raises WireError for a part that no item can be.

    output: they are a response's output. seed: what ids derive from that the record lacks: the response's own id.
    """
    items: list[Json] = []
    ids = ItemIds(seed, output=output)
    for message in messages:
        items += _write_message(message, ids)
    return items


def _write_message(message: Message, ids: ItemIds) -> list[Json]:
    spelled = spelling(message)
    parts = message.get("parts", [])
    items: list[Json] = []
    first = True
    for content, run in _runs(parts, spelled.get("message")):
        if content:
            items.append(_write_message_item(message, run, spelled, ids, first=first))
            first = False
        else:
            items += write_items(run, ids)
    return items


def _runs(parts: Sequence[Part], empty: int | None) -> Iterable[tuple[bool, list[Part]]]:
    """Runs of (is content, parts). ``empty``: where a message item without content parts stands."""
    run: list[Part] = []
    content = False
    for position, part in enumerate(parts):
        if position == empty:
            yield content, run
            yield True, []
            run = []
        if is_content(part) != content:
            if run:
                yield content, run
            run, content = [], not content
        run.append(part)
    if run:
        yield content, run
    if empty is not None and empty >= len(parts):
        yield True, []


def _write_message_item(
    message: Message, parts: list[Part], spelled: dict[str, Json], ids: ItemIds, *, first: bool
) -> dict[str, Json]:
    """One message item. Only the first of a message has its id: ids are unique."""
    shape: Any = message if first else {key: value for key, value in message.items() if key != "id"}
    item = _MESSAGE.write(shape, spelled)
    absent = spelled.get("absent", ())
    form = spelled.get("content") or _likely_form(shape, parts, ids.output)
    if "content" not in item and "content" not in absent:
        item["content"] = _write_content(message.get("role"), parts, form)
    if ids.output or (message.get("role") == "assistant" and form == "list"):
        ids.give(item, spelled)
        if "status" not in {*item, *absent}:
            item["status"] = "completed"
    return item


def _write_content(role: object, parts: Sequence[Part], form: str) -> Json:
    """A message item's content: a string or a list."""
    if form == "string" and len(parts) == 1 and "text" in parts[0]:
        return parts[0]["text"]
    usual = default_text(role)
    return [write_part(part, usual) for part in parts]
