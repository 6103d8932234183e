"""What a function or server-side tool returned: ``response`` and ``parts`` <-> `ToolResult.content`.

``response`` is one JSON value and comes first; ``parts`` are media. A result of another protocol becomes
``{"result": …}``, or ``{"error": …}`` where it failed, as Google's documentation asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.canonical.fields import Leftover, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import ToolResult, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.google import media

_MEMBERS = {"inlineData": Table(*media.INLINE), "fileData": Table(*media.FILE)}


def read(wire: Mapping[str, Json], result: ToolResult, member: str, left: Leftover, reading: Reading) -> None:
    """Fill ``content`` and ``is_error`` of a result from its wire object; spelling and leftovers go to ``left``."""
    content: list[ToolResultContent] = []
    response = wire.get("response")
    if response is not None:
        content.append({"type": "json", "json": dumps(response)})
        if type(response) is not dict:
            left.wire["response"] = "bare"
        elif response.get("error") is not None and "output" not in response and "result" not in response:
            result["is_error"] = True
    else:
        left.note("null" if "response" in wire else "absent", f"{member}.response")
    parts = wire.get("parts")
    if type(parts) is list:
        content += [_read_part(part, reading) for part in parts]
        if not parts:
            left.note("empty_list", f"{member}.parts")
    elif parts is not None:
        left.extras.setdefault(member, {})["parts"] = parts
    elif "parts" in wire:
        left.note("null", f"{member}.parts")
    if content:
        result["content"] = content


def _read_part(value: Json, reading: Reading) -> ToolResultContent:
    if type(value) is dict:
        for member, table in _MEMBERS.items():
            if type(value.get(member)) is dict:
                content: ToolResultContent = {"type": "media", "media": {}}
                left = table.read(value, content)
                if member == "inlineData" and "data" not in content["media"]:
                    left.wire["member"] = member
                media.describe(content["media"])
                left.store(content)
                return content
    reading.unknown_type("part", next(iter(value), None) if type(value) is dict else None)
    return {"type": "json", "json": dumps(value), "wire": '{"part":true}'}


def write(result: ToolResult, member: str, wire: Mapping[str, Any], body: dict[str, Json]) -> None:
    """Lay id, response and parts of a result into the wire part that the table wrote."""
    holder = body.setdefault(member, {})
    unsaid = {*wire.get("absent", ()), *wire.get("null", ())}
    call_id = result.get("tool_call_id")
    if call_id and f"{member}.id" not in unsaid:
        holder["id"] = call_id
    values: list[Json] = []
    parts: list[Json] = []
    for content in result.get("content", ()):
        spelled = spelling(content)
        if "part" in spelled:
            parts.append(loads(content["json"]))
        elif content["type"] == "media":
            default = "inlineData" if "data" in content["media"] else "fileData"
            parts.append(_MEMBERS[spelled.get("member", default)].write(content, spelled))
        else:
            values.append(loads(content["json"]) if "json" in content else content.get("text", ""))
    if f"{member}.response" not in unsaid and (values or member == "functionResponse"):
        holder["response"] = _response(values, wire.get("response") == "bare", result.get("is_error", False))
    if parts:
        holder["parts"] = parts


def _response(values: list[Json], bare: bool, is_error: bool) -> Json:
    key = "error" if is_error else "result"
    if len(values) == 1 and (bare or (type(values[0]) is dict and (not is_error or key in values[0]))):
        return values[0]
    if not values:
        return {}
    if all(type(value) is str for value in values):
        return {key: "\n".join(values)}
    return {key: values[0] if len(values) == 1 else values}
