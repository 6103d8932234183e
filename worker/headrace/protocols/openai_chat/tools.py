"""Tools and tool choice (catalogue, section 2.7), with the deprecated functions and function_call."""

from __future__ import annotations

from typing import cast

from headrace.canonical.fields import BOOL, JSON, TEXT, Const, Field, Leftover, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Tool, ToolChoice
from headrace.json_text import Json, dumps, loads

_FUNCTION_FIELDS = (
    ("name", "name", TEXT),
    ("description", "description", TEXT),
    ("parameters", "parameters", JSON),
    ("strict", "strict", BOOL),
)
_CACHE = (Field("cache_control", "cache_control", JSON), Field("prompt_cache_breakpoint", "cache_control", JSON))

_FUNCTION = Table(
    Const("type", "function"),
    *(Field(f"function.{wire}", name, kind) for wire, name, kind in _FUNCTION_FIELDS),
    *_CACHE,
)
_CUSTOM = Table(
    Const("type", "custom"),
    Field("custom.name", "name"),
    Field("custom.description", "description"),
    Field("custom.format", "format", JSON),
    *_CACHE,
)
#: A function without the object around it, as Responses has it: Cursor sends such, and gateways take them.
_FLAT = Table(Const("type", "function"), *(Field(wire, name, kind) for wire, name, kind in _FUNCTION_FIELDS), *_CACHE)
#: An element of the deprecated ``functions``.
_LEGACY = Table(*(Field(wire, name, kind) for wire, name, kind in _FUNCTION_FIELDS))

#: Tools that the server runs, of one dialect or another: Groq, Mistral, z.ai, Moonshot, OpenRouter, xAI.
_SERVER_TOOLS = frozenset(
    {
        "browser_search",
        "code_interpreter",
        "code_execution",
        "web_search",
        "web_search_premium",
        "image_generation",
        "document_library",
        "connector",
        "retrieval",
        "builtin_function",
        "live_search",
        "x_search",
        "mcp",
    }
)
#: Name spaces whose every tool the server runs ("openrouter:web_search").
_SERVER_PREFIXES = ("openrouter:",)


def read_tools(wires: list[Json], reading: Reading) -> list[Tool]:
    """One tool an element of ``tools``."""
    return [_read_tool(wire, reading) for wire in wires]


def _read_tool(wire: Json, reading: Reading) -> Tool:
    if type(wire) is not dict:
        reading.unknown_type("tool", None)
        return {"kind": "unknown", "config": dumps(wire), "wire": dumps({"tool": "raw"})}
    wire_type = wire.get("type")
    if wire_type == "function" and "function" not in wire and "name" in wire:
        return _tabled(wire, _FLAT, "function", form="flat")
    if wire_type == "function" or ("type" not in wire and "function" in wire):
        return _tabled(wire, _FUNCTION, "function")
    if wire_type == "custom":
        return _tabled(wire, _CUSTOM, "custom")
    return _server_tool(wire, wire_type, reading)


def _tabled(wire: dict[str, Json], table: Table, kind: str, form: str | None = None) -> Tool:
    tool: Tool = {"kind": kind}
    left = table.read(wire, tool)
    if form is not None:
        left.wire["tool"] = form
    _spell_name(tool, left)
    left.store(tool)
    return tool


def _spell_name(tool: Tool, left: Leftover) -> None:
    """A tool's name is never null, so a wire without one must be told from ""."""
    if "name" not in tool:
        left.wire["name"] = "absent"


def _server_tool(wire: dict[str, Json], wire_type: Json, reading: Reading) -> Tool:
    """A tool that the server runs: its settings are one JSON object, its name its type's."""
    if not is_text(wire_type):
        reading.unknown_type("tool", wire_type)
        return {"kind": "unknown", "config": dumps(wire), "wire": dumps({"tool": "raw"})}
    if wire_type not in _SERVER_TOOLS and not wire_type.startswith(_SERVER_PREFIXES):
        reading.unknown_type("tool", wire_type)
    rest = {key: value for key, value in wire.items() if key != "type"}
    tool: Tool = {"name": wire_type, "kind": "mcp" if wire_type == "mcp" else "server", "wire_type": wire_type}
    if rest:
        tool["config"] = dumps(rest)
    return tool


def write_tool(tool: Tool) -> Json:
    """The element of ``tools`` (or of ``functions``)."""
    spelled = spelling(tool)
    form = spelled.get("tool")
    if spelled.get("name") == "absent":
        tool = cast(Tool, {key: value for key, value in tool.items() if key != "name"})
    if form == "raw":
        return loads(tool["config"])
    if form == "flat":
        return _FLAT.write(tool, spelled)
    if form == "function":
        return _LEGACY.write(tool, spelled)
    if tool.get("kind") == "custom":
        return _CUSTOM.write(tool, spelled)
    if "wire_type" in tool and tool.get("kind") != "function":
        return {"type": tool["wire_type"], **loads(tool.get("config", "{}"))}
    return _FUNCTION.write(tool, spelled)


def read_functions(wires: list[Json], reading: Reading) -> list[Tool]:
    """One tool an element of the deprecated ``functions``."""
    tools: list[Tool] = []
    for wire in wires:
        if type(wire) is not dict:
            reading.unknown_type("tool", None)
            tools.append({"kind": "unknown", "config": dumps(wire), "wire": dumps({"tool": "raw", "in": "functions"})})
            continue
        tool: Tool = {"kind": "function"}
        left = _LEGACY.read(wire, tool)
        _spell_name(tool, left)
        left.wire.update({"tool": "function", "in": "functions"})
        left.store(tool)
        tools.append(tool)
    return tools


def is_legacy(tool: Tool) -> bool:
    """Whether a tool stood under ``functions``."""
    return spelling(tool).get("in") == "functions"


# Tool choice

#: Wire mode -> canonical mode. Mistral says any.
_MODES = {"none": "none", "auto": "auto", "required": "required", "any": "required"}
_NAMED = {
    "function": Table(Const("type", "function"), Field("function.name", "name")),
    "custom": Table(Const("type", "custom"), Field("custom.name", "name")),
}
_ALLOWED = Table(
    Const("type", "allowed_tools"),
    Field("allowed_tools.mode", "allowed_mode"),
    Field("allowed_tools.tools", "config", JSON),
)


def read_tool_choice(wire: Json, reading: Reading) -> ToolChoice | None:
    """The choice; None for a value of no known form (the caller keeps it)."""
    if type(wire) is str:
        return _read_mode(wire)
    if type(wire) is not dict:
        return None
    wire_type = wire.get("type")
    if type(wire_type) is str and wire_type in _NAMED:
        choice: ToolChoice = {"mode": "tool", "kind": wire_type}
        _NAMED[wire_type].read(wire, choice).store(choice)
        return choice
    if wire_type == "allowed_tools":
        choice = {"mode": "allowed"}
        left = _ALLOWED.read(wire, choice)
        names = _allowed_names(choice)
        if names:
            choice["allowed"] = names
        left.store(choice)
        return choice
    reading.unknown_type("tool_choice", wire_type)
    return None


def _read_mode(wire: str) -> ToolChoice | None:
    mode = _MODES.get(wire)
    if mode is None:
        return None
    choice: ToolChoice = {"mode": mode}
    if mode != wire:
        choice["wire"] = dumps({"mode": wire})
    return choice


def _allowed_names(choice: ToolChoice) -> list[str]:
    """Names of the allowed tools; the definitions themselves stay in config."""
    tools = loads(choice.get("config", "[]"))
    names: list[str] = []
    for tool in tools if type(tools) is list else ():
        holder = tool.get(tool.get("type")) if type(tool) is dict and type(tool.get("type")) is str else None
        if type(holder) is dict and is_text(holder.get("name")):
            names.append(holder["name"])
    return names


def write_tool_choice(choice: ToolChoice) -> Json:
    """The value of ``tool_choice``."""
    spelled = spelling(choice)
    mode = choice.get("mode", "auto")
    if mode == "tool":
        return _NAMED["custom" if choice.get("kind") == "custom" else "function"].write(choice, spelled)
    if mode == "allowed":
        if "config" not in choice and "allowed" in choice:
            tools = [{"type": "function", "function": {"name": name}} for name in choice["allowed"]]
            choice = cast(ToolChoice, {**choice, "config": dumps(tools)})
        return _ALLOWED.write(choice, spelled)
    return spelled.get("mode", mode)


def read_function_choice(wire: Json) -> ToolChoice | None:
    """The choice of the deprecated ``function_call`` setting: a mode, or {"name": …}."""
    if type(wire) is str:
        choice = _read_mode(wire)
    elif type(wire) is dict and set(wire) == {"name"} and is_text(wire["name"]):
        choice = {"mode": "tool", "kind": "function", "name": wire["name"]}
    else:
        return None
    if choice is not None:
        choice["wire"] = dumps({**spelling(choice), "in": "function_call"})
    return choice


def write_choice(record: CanonicalRecord, body: dict[str, Json]) -> None:
    """Put the record's tool choice under its key."""
    choice = record.get("tool_choice")
    if choice is None:
        return
    spelled = spelling(choice)
    if spelled.get("in") != "function_call":
        body.setdefault("tool_choice", write_tool_choice(choice))
    elif choice.get("mode") == "tool":
        body.setdefault("function_call", {"name": choice.get("name", "")})
    else:
        body.setdefault("function_call", spelled.get("mode", choice.get("mode")))
