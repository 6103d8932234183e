"""Declared tools and the choice among them.

A namespace is one tool of kind "namespace", followed by the tools in it, each with the namespace's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from headrace.canonical.fields import (
    ARRAY,
    BOOL,
    JSON,
    NAME,
    OBJECT,
    Field,
    Other,
    Table,
    is_text,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Tool, ToolChoice
from headrace.json_text import Json, dumps, loads

#: Wire type -> kind. Types of this table without a name of their own are named by their type.
TOOL_KINDS = {
    "function": "function",
    "custom": "custom",
    "namespace": "namespace",
    "mcp": "mcp",
    "file_search": "search",
    "web_search": "search",
    "web_search_2025_08_26": "search",
    "web_search_preview": "search",
    "web_search_preview_2025_03_11": "search",
    "tool_search": "search",
    "computer": "computer",
    "computer_use": "computer",
    "computer_use_preview": "computer",
    "code_interpreter": "code",
    "programmatic_tool_calling": "code",
    "image_generation": "image",
    "local_shell": "shell",
    "shell": "shell",
    "apply_patch": "patch",
}

_DECLARED = (
    Field("type", "wire_type"),
    Field("name", "name", NAME),
    Field("description", "description"),
    Field("parameters", "parameters", OBJECT),
    Field("output_schema", "output_schema", OBJECT),
    Field("strict", "strict", BOOL),
    Field("defer_loading", "defer_loading", BOOL),
    Field("format", "format", OBJECT),
    Field("prompt_cache_breakpoint", "cache_control", JSON),
    Other("allowed_callers", "config"),
    Other("async", "config"),
    Other("execution", "config"),
)
_TOOL = Table(*_DECLARED)
_MCP_SETTINGS = (
    *("server_url", "connector_id", "tunnel_id", "authorization", "headers"),
    *("allowed_tools", "require_approval", "allowed_callers"),
)
_MCP = Table(
    Field("type", "wire_type"),
    Field("server_label", "server_name"),
    Field("server_description", "description"),
    Field("defer_loading", "defer_loading", BOOL),
    Field("name", "name", NAME),
    *(Other(key, "config") for key in _MCP_SETTINGS),
)
#: Tools that the provider runs: everything but the type is a setting.
_BUILT_IN = Table(
    Field("type", "wire_type"), Field("name", "name", NAME), Field("defer_loading", "defer_loading", BOOL)
)
#: What a function must have, if only null.
_DEMANDED = ("parameters", "strict")
_OWN_NAMES = ("function", "custom", "namespace")
_TABLES = {"mcp": _MCP, "function": _TOOL, "custom": _TOOL, "namespace": _TOOL, "tool_search": _TOOL}

_CHOICE = Table(
    Field("name", "name"),
    Field("server_label", "server_name"),
    Field("mode", "allowed_mode"),
    Field("tools", "config", ARRAY),
)
#: Choice of one tool: wire type -> kind. Others of `TOOL_KINDS` are named by their type.
_NAMED = ("function", "custom", "mcp")
CHOICE_MODES = ("auto", "none", "required")


def read_tools(tools: Iterable[Json], reading: Reading) -> list[Tool]:
    """The tools of a list; what is no object is kept in ``config``."""
    shapes: list[Tool] = []
    for tool in tools:
        shapes += _read_tool(tool, None, reading)
    return shapes


def _read_tool(tool: Json, namespace: str | None, reading: Reading) -> list[Tool]:
    if type(tool) is not dict:
        reading.unknown_type("tool", None)
        return [_place({"kind": "unknown", "config": dumps(tool), "wire": '{"form":"value"}'}, namespace)]
    shape: Tool = {}
    wire_type = tool.get("type")
    known = wire_type if type(wire_type) is str and wire_type in TOOL_KINDS else ""
    if not known:
        reading.unknown_type("tool", wire_type)
    table = _TABLES.get(known, _BUILT_IN)
    members = tool.get("tools") if known == "namespace" else None
    left = table.read(tool, shape, ("tools",) if type(members) is list else ())
    if table is _BUILT_IN and left.extras:
        shape["config"] = dumps(left.extras)
        left.extras = {}
    shape["kind"] = TOOL_KINDS.get(known, "unknown")
    if known and known not in _OWN_NAMES:
        if shape.get("name") == known:
            left.wire["named"] = True
        shape.setdefault("name", known)
    if known == "namespace":
        left.wire["tools"] = len(members) if type(members) is list else None
    elif known == "function":
        for key in _DEMANDED:
            if key not in tool:
                left.note("absent", key)
    left.store(shape)
    _place(shape, namespace)
    if type(members) is not list:
        return [shape]
    inner = [one for member in members for one in _read_tool(member, shape.get("name", ""), reading)]
    return [shape, *inner]


def _place(shape: Tool, namespace: str | None) -> Tool:
    if namespace:
        shape["namespace"] = namespace
    return shape


def write_tools(shapes: Sequence[Tool]) -> list[Json]:
    """The wire's list of tools; members of a namespace go back into it."""
    tools: list[Json] = []
    open_lists: list[tuple[list[Json], int]] = [(tools, -1)]
    for place, shape in enumerate(shapes):
        spelled = spelling(shape)
        tool = _write_tool(shape, spelled)
        while open_lists[-1][1] == len(open_lists[-1][0]):
            open_lists.pop()
        open_lists[-1][0].append(tool)
        members = spelled["tools"] if "tools" in spelled else _members(shapes, place)
        if members is not None:
            tool["tools"] = []
            open_lists.append((tool["tools"], members))
    return tools


def _members(shapes: Sequence[Tool], place: int) -> int | None:
    """How many tools that follow a namespace are in it; None for any other tool."""
    if shapes[place].get("kind") != "namespace":
        return None
    name = shapes[place].get("name")
    return sum(1 for _ in takewhile(lambda shape: shape.get("namespace") == name, shapes[place + 1 :]))


def _write_tool(shape: Tool, spelled: dict[str, Json]) -> Json:
    if spelled.get("form") == "value":
        return loads(shape["config"])
    if shape.get("kind") == "function":
        # Of another protocol it may have that one's type.
        function = {**_TOOL.write(shape, spelled), "type": "function"}
        absent = spelled.get("absent", ())
        missing = [key for key in _DEMANDED if key not in function and key not in absent]
        return {**function, **dict.fromkeys(missing)}
    wire_type = shape.get("wire_type", "")
    table = _TABLES.get(wire_type) or (_BUILT_IN if wire_type or shape.get("kind") not in TOOL_KINDS else _TOOL)
    tool = table.write(shape, spelled)
    if table is _BUILT_IN and "config" in shape:
        tool.update(loads(shape["config"]))
    if wire_type in TOOL_KINDS and wire_type not in _OWN_NAMES and tool.get("name") == wire_type:
        if not spelled.get("named"):
            del tool["name"]
    elif not wire_type and shape.get("kind") in TOOL_KINDS:
        tool["type"] = shape["kind"]
    return tool


def read_tool_choice(choice: Json, reading: Reading) -> ToolChoice:
    """A tool choice: a mode, or an object that names one tool or the allowed ones."""
    if is_text(choice) and choice:
        if choice not in CHOICE_MODES:
            reading.unknown_type("tool_choice", choice)
        if choice in _OBJECT_MODES:
            return {"mode": "unknown", "config": dumps(choice)}
        return {"mode": choice}
    if type(choice) is not dict or not is_text(choice.get("type")):
        reading.unknown_type("tool_choice", None)
        return {"mode": "unknown", "config": dumps(choice)}
    wire_type = choice["type"]
    shape: ToolChoice = {}
    left = _CHOICE.read(choice, shape, ("type",))
    if wire_type == "allowed_tools":
        shape["mode"] = "allowed"
        names = [_tool_name(tool) for tool in _list(choice.get("tools"))]
        if any(names):
            shape["allowed"] = [name for name in names if name]
    else:
        shape["mode"] = "tool"
        shape["kind"] = TOOL_KINDS.get(wire_type, "unknown")
        if wire_type not in TOOL_KINDS:
            reading.unknown_type("tool_choice", wire_type)
        if wire_type not in _NAMED:
            if "name" in shape:
                left.wire["name"] = shape["name"]
            shape["name"] = wire_type
    left.store(shape)
    return shape


def _list(value: Json) -> list[Json]:
    return value if type(value) is list else []


def _tool_name(tool: Json) -> str:
    """Name by which an entry of allowed tools is known: its own, its server's, or its type."""
    if type(tool) is not dict:
        return ""
    for key in ("name", "server_label", "type"):
        if is_text(tool.get(key)):
            return str(tool[key])
    return ""


#: Our words for choices that are objects on the wire: a text that is one of them is none of ours.
_OBJECT_MODES = frozenset({"tool", "allowed", "unknown"})


def write_tool_choice(shape: ToolChoice) -> Json:
    """The wire form of a choice."""
    mode = shape.get("mode", "")
    if mode == "unknown":
        return loads(shape["config"])
    if mode not in ("tool", "allowed"):
        return mode
    spelled = spelling(shape)
    fields: Any = dict(shape)
    if mode == "allowed":
        wire_type = "allowed_tools"
        if "config" not in shape and "allowed" in shape:
            fields["config"] = dumps([{"type": "function", "name": name} for name in shape["allowed"]])
    elif shape.get("kind") in _NAMED:
        wire_type = shape["kind"]
    else:
        wire_type = fields.pop("name")
        if "name" in spelled:
            fields["name"] = spelled["name"]
    return {"type": wire_type, **_CHOICE.write(fields, spelled)}
