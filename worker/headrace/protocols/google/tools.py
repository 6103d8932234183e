"""Tools of Google's wire <-> canonical tools, and the configuration of their choice.

One wire Tool object may declare many functions and several built-in tools. Each becomes one canonical tool, in
order. How they were grouped is spelling: by default functions that follow one another share an object and every
built-in tool has one of its own; a tool that was grouped otherwise says so (``"group": "same" | "new"``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.canonical.fields import JSON, Field, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Tool, ToolChoice
from headrace.json_text import Json, dumps, loads

FUNCTIONS, MCP_SERVERS = "functionDeclarations", "mcpServers"
#: Keys whose value lists tools: kind and table of one element.
_LISTS = {
    FUNCTIONS: (
        "function",
        Table(
            Field("name", "name"),
            Field("description", "description"),
            # A JSON Schema as other protocols have it; `parameters` is Google's own Schema with upper-case types.
            Field("parametersJsonSchema", "parameters", JSON),
            Field("parameters", "parameters", JSON),
            Field("responseJsonSchema", "output_schema", JSON),
            Field("response", "output_schema", JSON),
            Other("behavior", "config"),
        ),
    ),
    MCP_SERVERS: ("mcp", Table(Field("name", "server_name"), Other("streamableHttpTransport", "config"))),
}
#: Built-in tools: the key in the Tool object -> canonical kind.
BUILT_IN = {
    "googleSearch": "search",
    "googleSearchRetrieval": "search",
    "enterpriseWebSearch": "search",
    "parallelAiSearch": "search",
    "exaAiSearch": "search",
    "googleMaps": "server",
    "urlContext": "server",
    "retrieval": "server",
    "fileSearch": "search",
    "codeExecution": "code",
    "computerUse": "computer",
}


def read_tools(value: Iterable[Json], reading: Reading) -> list[Tool]:
    """Tool objects -> canonical tools. Never raises; what is no object is a tool of kind unknown."""
    tools: list[Tool] = []
    for element in value:
        first = True
        for tool, spelled in _tools_of(element, reading):
            previous = tools[-1] if tools else None
            if not first and not _joins(previous, tool):
                spelled["group"] = "same"
            elif first and previous is not None and _joins(previous, tool):
                spelled["group"] = "new"
            if spelled:
                tool["wire"] = dumps(spelled)
            tools.append(tool)
            first = False
    return tools


def _joins(previous: Tool | None, tool: Tool) -> bool:
    """Whether, unless spelled otherwise, a tool shares the object of the one before it."""
    return previous is not None and previous.get("kind") == tool.get("kind") == "function"


def _tools_of(element: Json, reading: Reading) -> Iterator[tuple[Tool, dict[str, Json]]]:
    if type(element) is not dict or not element:
        reading.unknown_type("tool", None)
        yield {"kind": "unknown", "config": dumps(element)}, {"of": "tools"}
        return
    for key, value in element.items():
        if key in _LISTS and type(value) is list and value:
            for item in value:
                yield _listed(key, item, reading)
        elif key in BUILT_IN or key not in _LISTS:
            yield _built_in(key, value, reading)
        else:
            # An empty list, null or another value where a list belongs.
            yield {"kind": "unknown", "wire_type": key, "config": dumps(value)}, {"of": "key"}


def _listed(key: str, item: Json, reading: Reading) -> tuple[Tool, dict[str, Json]]:
    kind, table = _LISTS[key]
    if type(item) is not dict:
        reading.unknown_type("tool", None)
        return {"kind": "unknown", "wire_type": key, "config": dumps(item)}, {"of": "list"}
    tool: Tool = {"kind": kind, "wire_type": key}
    left = table.read(item, tool)
    if left.extras:
        tool["extras"] = dumps(left.extras)
    if kind == "mcp":
        tool["name"] = tool.get("server_name", "")
    elif "name" not in item:
        left.note("absent", "name")
    return tool, left.wire


def _built_in(key: str, value: Json, reading: Reading) -> tuple[Tool, dict[str, Json]]:
    kind = BUILT_IN.get(key)
    if kind is None:
        reading.unknown_type("tool", key)
    if not is_text(key):
        return {"kind": "unknown", "config": dumps({key: value})}, {"of": "entry"}
    tool: Tool = {"name": key, "kind": kind or "unknown", "wire_type": key}
    if value != {} or type(value) is not dict:
        tool["config"] = dumps(value)
    return tool, {}


def write_tools(tools: Iterable[Tool]) -> list[Json]:
    """Canonical tools -> Tool objects, grouped as they were."""
    written: list[Json] = []
    previous: Tool | None = None
    for tool in tools:
        spelled = spelling(tool)
        if spelled.get("of") == "tools":
            written.append(loads(tool["config"]))
        else:
            same = spelled.get("group") == "same" or (_joins(previous, tool) and spelled.get("group") != "new")
            if not same or not written or type(written[-1]) is not dict:
                written.append({})
            _write_into(written[-1], tool, spelled)
        previous = tool
    return written


def _write_into(holder: dict[str, Json], tool: Tool, spelled: dict[str, Any]) -> None:
    kind = tool.get("kind")
    key = tool.get("wire_type", "")
    of = spelled.get("of")
    if of == "entry":
        holder.update(loads(tool["config"]))
    elif of == "list":
        holder.setdefault(key, []).append(loads(tool["config"]))
    elif of == "key":
        holder[key] = loads(tool["config"])
    elif kind == "mcp":
        holder.setdefault(MCP_SERVERS, []).append(_LISTS[MCP_SERVERS][1].write(tool, spelled))
    elif key in BUILT_IN or kind != "function":
        holder[key or tool.get("name", "")] = loads(tool["config"]) if "config" in tool else {}
    else:
        declaration = _LISTS[FUNCTIONS][1].write(tool, spelled)
        if "name" in spelled.get("absent", ()):
            # Every stored tool has a name, be it empty.
            declaration.pop("name", None)
        holder.setdefault(FUNCTIONS, []).append(declaration)


#: functionCallingConfig.mode <-> ToolChoice.mode
_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "validated"}
_WIRE_MODES = {mode: wire for wire, mode in _MODES.items()}


def read_choice(choice: ToolChoice, reading: Reading) -> None:
    """Turn the wire's mode in ``choice["mode"]`` into canonical ones.

    With names allowed, mode is ``allowed``; ANY with one name forces that one tool: mode ``tool``.
    """
    spelled: dict[str, Json] = {}
    wire_mode = choice.get("mode")
    if wire_mode is not None:
        mode = _MODES.get(wire_mode.upper())
        if mode is None:
            reading.unknown_type("tool_choice", wire_mode)
            mode = wire_mode
        if _WIRE_MODES.get(mode, mode) != wire_mode:
            spelled["mode"] = wire_mode
        choice["mode"] = mode
    names = choice.get("allowed")
    if names:
        allowed_mode = choice.pop("mode", None)
        if allowed_mode == "required" and len(names) == 1 and "mode" not in spelled:
            choice.update({"mode": "tool", "name": names[0], "kind": "function"})
            del choice["allowed"]
        else:
            choice["mode"] = "allowed"
            if allowed_mode is not None:
                choice["allowed_mode"] = allowed_mode
    if spelled:
        choice["wire"] = dumps(spelled)


def wire_choice(choice: ToolChoice) -> ToolChoice:
    """The choice with ``mode`` and ``allowed`` as the wire has them."""
    wired: ToolChoice = {**choice}
    mode: Json = wired.pop("mode", None)
    if mode == "tool":
        mode = "required"
        wired["allowed"] = [choice["name"]] if "name" in choice else []
    elif mode == "allowed":
        mode = choice.get("allowed_mode")
    spelled = spelling(choice).get("mode")
    if spelled is not None or mode is not None:
        wired["mode"] = spelled or _WIRE_MODES.get(mode) or mode
    return wired
