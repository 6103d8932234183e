"""Declared tools and tool choice.

A tool's type carries its version (``web_search_20260318``); the name before the date tells what it is and who
runs it. A tool without a type, or of type ``custom``, is the caller's own function.
"""

from __future__ import annotations

import re

from headrace.canonical.fields import BOOL, JSON, NAME, OBJECT, Field, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Tool
from headrace.json_text import Json, dumps, loads
from headrace.protocols.anthropic_messages.wire import renamed

_CONFIG = (
    *("allowed_callers", "input_examples", "eager_input_streaming"),
    *("allowed_domains", "blocked_domains", "max_uses", "user_location", "response_inclusion"),
    *("citations", "max_content_tokens", "url_sources", "use_cache"),
    "max_characters",
    *("display_width_px", "display_height_px", "display_number", "enable_zoom"),
    *("model", "max_tokens", "caching"),
    *("configs", "default_config", "tools"),
)
_TOOL = Table(
    Field("name", "name", NAME),
    Field("type", "wire_type"),
    Field("description", "description"),
    Field("input_schema", "parameters", JSON),
    Field("strict", "strict", BOOL),
    Field("defer_loading", "defer_loading", BOOL),
    Field("mcp_server_name", "server_name"),
    Field("cache_control", "cache_control", OBJECT),
    *(Other(key, "config") for key in _CONFIG),
)

#: Name of the type without its date -> who runs it and how it is declared, and the dates that are known.
_TYPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "custom": ("function", ("",)),
    "bash": ("shell", ("20241022", "20250124")),
    "text_editor": ("editor", ("20241022", "20250124", "20250429", "20250728")),
    "memory": ("memory", ("20250818",)),
    "computer": ("computer", ("20241022", "20250124", "20251124")),
    "computer_toolset": ("computer", ("20260801",)),
    "browser_toolset": ("browser", ("20260801",)),
    "web_search": ("server", ("20250305", "20260209", "20260318")),
    "web_fetch": ("server", ("20250910", "20260209", "20260309", "20260318")),
    "code_execution": ("server", ("20250522", "20250825", "20260120", "20260521")),
    "tool_search_tool_bm25": ("server", ("", "20251119")),
    "tool_search_tool_regex": ("server", ("", "20251119")),
    "advisor": ("server", ("20260301",)),
    "mcp_toolset": ("mcp", ("",)),
}
KINDS = {name: kind for name, (kind, _) in _TYPES.items()}
#: Types that the API is known to take. A newer version of a known tool is read the same way, and counted.
KNOWN_TYPES = frozenset(f"{name}_{date}" if date else name for name, (_, dates) in _TYPES.items() for date in dates)
#: Toolsets have no name on the wire; the canonical one is what calls of their members name.
_UNNAMED = {"computer_toolset": "computer", "browser_toolset": "browser", "mcp_toolset": "mcp_toolset"}
_DATE = re.compile(r"_\d{8}$")

#: `tool_choice.type` and its canonical mode.
MODE = renamed({"auto": "auto", "any": "required", "tool": "tool", "none": "none"})


def _base(wire_type: str) -> str:
    return _DATE.sub("", wire_type)


def read_tool(value: Json, reading: Reading) -> Tool:
    """One element of ``tools``; what is no object is kept whole in ``config``."""
    if type(value) is not dict:
        reading.unknown_type("tool", None)
        return {"kind": "unknown", "config": dumps(value), "wire": dumps({"value": True})}
    tool: Tool = {}
    left = _TOOL.read(value, tool)
    wire_type: Json = value.get("type")
    base = _base(wire_type) if is_text(wire_type) else "custom"
    tool["kind"] = KINDS.get(base, "unknown")
    if wire_type is not None and not (is_text(wire_type) and wire_type in KNOWN_TYPES):
        reading.unknown_type("tool", wire_type)
    if base in _UNNAMED:
        if "name" not in value:
            tool["name"] = _UNNAMED[base]
        elif tool.get("name") == _UNNAMED[base]:
            left.wire["named"] = True
    if "input_schema" not in value and tool["kind"] == "function":
        left.note("absent", "input_schema")
    left.store(tool)
    return tool


def write_tool(tool: Tool) -> Json:
    """The inverse of `read_tool`."""
    spelled = spelling(tool)
    if spelled.get("value"):
        return loads(tool["config"])
    body = _TOOL.write(tool, spelled)
    if tool.get("kind") == "function":
        if _base(tool.get("wire_type", "custom")) != "custom":
            # The type is another protocol's word for a function.
            del body["type"]
        if "input_schema" not in body and "input_schema" not in spelled.get("absent", ()):
            body["input_schema"] = {"type": "object", "properties": {}}
    unnamed = _UNNAMED.get(_base(tool.get("wire_type", "")))
    if unnamed is not None and body.get("name") == unnamed and not spelled.get("named"):
        del body["name"]
    return body
