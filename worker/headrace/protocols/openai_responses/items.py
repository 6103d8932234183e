"""One item <-> its parts.

The first part of an item leads; parts that belong to the same item follow it: the result inside a hosted call
(same ``wire_type``), and odd elements of its lists (``wire``: {"at": [key, position]}).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from headrace.canonical.arguments import set_text_arguments, set_value_arguments
from headrace.canonical.fields import Leftover, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Media, Part, ToolCall, ToolResult, ToolResultContent
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_responses import reasoning
from headrace.protocols.openai_responses.ids import ItemIds
from headrace.protocols.openai_responses.item_types import ITEM_TYPES, WRITTEN_AS, ItemType, Result
from headrace.protocols.openai_responses.parts import split_data_url, unknown_part
from headrace.protocols.openai_responses.results import read_output, write_output

#: Fields that are continuation state wherever they stand, also in items nobody knows.
_OPAQUE = ("encrypted_content", "fingerprint", "signature")
_FAILED = ("failed", "incomplete")
_ERROR_PIECE = '{"key":"error"}'


@dataclass(slots=True)
class Links:
    """Calls read so far: how a result that names no call finds its own."""

    by_item: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, wire_type: str, item_id: str | None, call_id: str) -> None:
        """Remember a call."""
        if item_id:
            self.by_item[item_id] = call_id
        self.unanswered[wire_type].append(call_id)

    def find(self, item_type: ItemType, item_id: str | None) -> str | None:
        """The call of a result without call id: the one of the same item id, else the oldest without a result."""
        waiting = self.unanswered.get(item_type.answers)
        if item_id and item_id in self.by_item:
            self.answered(item_type, self.by_item[item_id])
            return self.by_item[item_id]
        return waiting.pop(0) if waiting else None

    def answered(self, item_type: ItemType, call_id: str) -> None:
        """Forget a call that a result named."""
        waiting = self.unanswered.get(item_type.answers)
        if waiting and call_id in waiting:
            waiting.remove(call_id)


def read_item(
    item: Json,
    item_type: ItemType | None,
    index: int,
    position: tuple[int, int],
    links: Links,
    reading: Reading,
    *,
    output: bool,
) -> list[Part]:
    """The parts of one item. index: calls before it in its message; position: of (message, part), for ids."""
    if item_type is None:
        return [_read_unknown(item, reading)]
    part: Part = {"type": item_type.part}
    skip = _skipped(item, item_type)
    left = item_type.table.read(item, part, skip)
    followers: list[Part] = []
    if item_type.part == "tool_call":
        _finish_call(item, part, left, item_type, index)
        call = part["tool_call"]
        call["id"] = call.get("provider_id") or part.get("provider_item_id") or reading.tool_call_id(*position)
        links.add(item_type.type, part.get("provider_item_id"), call["id"])
        if item_type.result is not None:
            followers = _read_inner_result(item, part, left, item_type.result, reading)
    elif item_type.part == "tool_result":
        _finish_result(item, part, left, item_type, links, reading)
    else:
        part["wire_type"] = item_type.type
        if item_type.part == "reasoning":
            followers = [_odd(odd, reading) for odd in reasoning.read_texts(item, part, left)]
    if "id" not in item and (output or item_type.part == "reasoning"):
        left.note("absent", "id")
    for key in item_type.continuation:
        if item.get(key):
            part.setdefault("continuation", []).append(key)
    left.store(part)
    return [part, *followers]


def _skipped(item: dict[str, Json], item_type: ItemType) -> tuple[str, ...]:
    """Keys that are read apart from the item's table."""
    if item_type.part == "reasoning":
        return tuple(reasoning.LISTS)
    where = item_type.result
    if where and where.parent:
        return (where.parent,) if _has_inner_list(item, where) else ()
    skip = where.keys if where else ()
    if item_type.arguments and type(item.get(item_type.arguments)) in (dict, list):
        return (*skip, item_type.arguments)
    return skip


def _read_unknown(item: Json, reading: Reading) -> Part:
    part = unknown_part(item, "item", reading)
    part["wire"] = dumps({"item": True})
    if type(item) is dict:
        if is_text(item.get("id")):
            part["provider_item_id"] = item["id"]
        stars = [key for key in _OPAQUE if item.get(key)]
        if stars:
            part["continuation"] = stars
    return part


# --- calls ------------------------------------------------------------------------------------------------


def _finish_call(item: dict[str, Json], part: Part, left: Leftover, item_type: ItemType, index: int) -> None:
    """What a call has besides its table's fields: kind, name, arguments."""
    call: ToolCall = part.setdefault("tool_call", {})
    call["kind"] = item_type.kind
    call["wire_type"] = item_type.type
    call["index"] = index
    if item_type.own_id:
        if "call_id" not in item:
            left.note("absent", "call_id")
    elif "provider_item_id" in part:
        call["provider_id"] = part["provider_item_id"]
    if item_type.name:
        if call.get("name") == item_type.name:
            left.wire["named"] = True
        call.setdefault("name", item_type.name)
    _read_arguments(item, call, left, item_type)


def _read_arguments(item: dict[str, Json], call: ToolCall, left: Leftover, item_type: ItemType) -> None:
    """The argument string, parsed; a JSON value in its place; or the arguments inside a value with results."""
    where = item_type.result
    if where and where.parent and _has_inner_list(item, where):
        parent = item[where.parent]
        set_value_arguments(call, {key: value for key, value in parent.items() if key != where.key})
    raw, value = call.get("raw_arguments"), item.get(item_type.arguments)
    if raw is not None:
        if not item_type.free_text and "arguments" not in call:
            set_text_arguments(call, raw)
            if item_type.table_arguments:
                left.wire["arguments"] = "text"
    elif type(value) in (dict, list):
        if "arguments" in call:
            left.extras[item_type.arguments] = value
        else:
            set_value_arguments(call, value)
            left.wire["arguments"] = "value"
    elif item_type.arguments and not item_type.free_text and not item_type.table_arguments and value is None:
        # A call without arguments: nothing, or null.
        call["arguments"] = "{}"
        if item_type.arguments not in item:
            left.note("absent", item_type.arguments)


def _has_inner_list(item: dict[str, Json], where: Result) -> bool:
    parent = item.get(where.parent)
    return type(parent) is dict and type(parent.get(where.key)) is list


def _read_inner_result(
    item: dict[str, Json], part: Part, left: Leftover, where: Result, reading: Reading
) -> list[Part]:
    """The result that a hosted call holds, as a part of its own; [] while there is none."""
    if where.demanded and where.key not in item:
        left.note("absent", where.key)
    for key in where.keys:
        if key in item and item[key] is None:
            left.note("null", key)
    holder = item if not where.parent else item[where.parent] if _has_inner_list(item, where) else {}
    output, error = holder.get(where.key), item.get(where.error) if where.error else None
    if output is None and error is None:
        return []
    call = part["tool_call"]
    result: ToolResult = {"tool_call_id": call["id"], "kind": call["kind"], "wire_type": call["wire_type"]}
    if "name" in call:
        result["name"] = call["name"]
    if "server_name" in call:
        result["server_name"] = call["server_name"]
    follower: Part = {"type": "tool_result", "tool_result": result}
    pieces, form = ([], None) if output is None else _read_content(output, where, reading)
    if error is not None:
        form = form or ("list" if pieces == [] and output is not None else None)
        pieces.append({"type": "json", "json": dumps(error), "wire": _ERROR_PIECE})
        _set_error(result, error)
    elif call.get("status") in _FAILED:
        result["is_error"] = True
    if pieces:
        result["content"] = pieces
    if form:
        follower["wire"] = dumps({"output": form})
    return [follower]


def _set_error(result: ToolResult, error: Json) -> None:
    result["is_error"] = True
    code = error.get("code", error.get("type")) if type(error) is dict else None
    if is_text(code) or type(code) is int:
        result["error_code"] = str(code)


def _read_content(output: Json, where: Result, reading: Reading) -> tuple[list[ToolResultContent], str | None]:
    if not where.media or not is_text(output):
        return read_output(output, where, reading)
    split = split_data_url(output)
    media: Media = {"mime_type": split[0], "data": split[1]} if split else {"data": output}
    media["kind"] = where.media
    return [{"type": "media", "media": media}], None


# --- results and others -----------------------------------------------------------------------------------


def _finish_result(
    item: dict[str, Json], part: Part, left: Leftover, item_type: ItemType, links: Links, reading: Reading
) -> None:
    """What a result has besides its table's fields: kind, its call where the wire names none, content."""
    result: ToolResult = part.setdefault("tool_result", {})
    result["kind"] = item_type.kind
    result["wire_type"] = item_type.type
    if result.get("tool_call_id"):
        links.answered(item_type, result["tool_call_id"])
    elif item_type.answers:
        found = links.find(item_type, part.get("provider_item_id")) or part.get("provider_item_id")
        if found:
            result["tool_call_id"] = found
            left.wire["linked"] = [item["call_id"]] if "call_id" in item else []
    if result.get("status") == "failed":
        result["is_error"] = True
    where = item_type.result
    if where is None or where.key not in item:
        left.note("absent", "output")
    elif item[where.key] is None:
        left.note("null", where.key)
    else:
        pieces, form = _read_content(item[where.key], where, reading)
        if pieces:
            result["content"] = pieces
        if form:
            left.wire["output"] = form


def _odd(odd: reasoning.Odd, reading: Reading) -> Part:
    key, position, value = odd
    part = unknown_part(value, "part", reading)
    part["wire"] = dumps({"item": True, "at": [key, position]})
    return part


# --- writing ----------------------------------------------------------------------------------------------


def write_items(parts: list[Part], ids: ItemIds) -> list[Json]:
    """The items of parts that are no message content; raises WireError for a part no item can be."""
    items: list[Json] = []
    lead: tuple[ItemType, dict[str, Json]] | None = None
    for part in parts:
        if part["type"] == "unknown":
            at = spelling(part).get("at")
            if at and lead:
                lead[1][at[0]].insert(at[1], loads(part["raw"]))
            else:
                items.append(loads(part["raw"]))
                lead = None
            continue
        item_type = _written_as(part)
        if lead and part["type"] == "tool_result" and item_type is lead[0] and item_type.part == "tool_call":
            _write_inner_result(part, lead[1], item_type)
            continue
        item = _write_item(part, item_type)
        ids.give(item, spelling(part))
        lead = (item_type, item)
        items.append(item)
    return items


def _written_as(part: Part) -> ItemType:
    shape = part["type"]
    inner: Any = part.get(shape, {}) if shape in ("tool_call", "tool_result") else part
    found = ITEM_TYPES.get(inner.get("wire_type", "")) or ITEM_TYPES.get(
        WRITTEN_AS.get((shape, inner.get("kind", "function" if shape.startswith("tool") else "")), "")
    )
    if found is None:
        raise WireError(
            f"a {shape} part of type {inner.get('wire_type') or inner.get('kind')!r} is no item of openai.responses",
            code="unwritable_part",
            fix="convert the record for openai.responses first",
        )
    return found


def _write_item(part: Part, item_type: ItemType) -> dict[str, Json]:
    spelled = spelling(part)
    if item_type.part == "tool_call":
        return _write_call(part, item_type, spelled)
    item = item_type.table.write(part, spelled)
    if item_type.part == "tool_result":
        _write_result(part, item, item_type, spelled)
    elif item_type.part == "reasoning":
        reasoning.write_texts(part, item, spelled)
    return item


def _write_call(part: Part, item_type: ItemType, spelled: dict[str, Json]) -> dict[str, Json]:
    call = part["tool_call"]
    shape: Any = part
    if "arguments" in spelled:
        # They came as one string or value, not as fields of the item.
        shape = {**part, "tool_call": {key: value for key, value in call.items() if key != "arguments"}}
    item = item_type.table.write(shape, spelled)
    if item_type.name and item.get("name") == item_type.name and "named" not in spelled:
        del item["name"]
    if item_type.own_id and "call_id" not in {*item, *spelled.get("absent", ())} and call["id"] != item.get("id"):
        item["call_id"] = call["id"]
    where = item_type.result
    if where and where.demanded and where.key not in {*item, *spelled.get("absent", ())}:
        item[where.key] = None
    key = item_type.arguments
    if spelled.get("arguments") == "value":
        item[key] = loads(call["arguments"])
    elif (
        key and not item_type.table_arguments and key not in {*item, *spelled.get("absent", ())} and "arguments" in call
    ):
        item[key] = _free_text(call["arguments"]) if item_type.free_text else call["arguments"]
    return item


def _free_text(arguments: str) -> str:
    """A custom tool's input out of JSON: the string itself, or the text of any other value."""
    value = loads(arguments)
    return value if type(value) is str else arguments


def _write_result(part: Part, item: dict[str, Json], item_type: ItemType, spelled: dict[str, Json]) -> None:
    if "linked" in spelled:
        item.pop("call_id", None)
        if spelled["linked"]:
            item["call_id"] = spelled["linked"][0]
    where = item_type.result
    if where and where.key not in item and "output" not in spelled.get("absent", ()):
        item[where.key] = write_output(part["tool_result"].get("content", []), where, spelled.get("output"))


def _write_inner_result(part: Part, item: dict[str, Json], item_type: ItemType) -> None:
    where = item_type.result
    assert where is not None
    pieces = list(part["tool_result"].get("content", []))
    form = spelling(part).get("output")
    if where.error and pieces and spelling(pieces[-1]).get("key") == "error":
        item[where.error] = loads(pieces.pop()["json"])
        if not pieces and form is None:
            return
    holder = item[where.parent] if where.parent else item
    if where.media and form is None and len(pieces) == 1 and pieces[0]["type"] == "media":
        media = pieces[0]["media"]
        holder[where.key] = (
            f"data:{media['mime_type']};base64,{media['data']}" if "mime_type" in media else media["data"]
        )
        return
    holder[where.key] = write_output(pieces, where, form)
