"""Tool declarations and tool choice."""

from __future__ import annotations

from headrace.canonical.fields import BOOL, JSON, NAME, Field, Kind, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Tool
from headrace.json_text import Json, dumps, loads
from headrace.protocols.gemini_interactions.contents import type_of

_DECLARED = (
    Field("type", "wire_type"),
    Field("name", "name", NAME),
    Field("description", "description"),
    Field("parameters", "parameters", JSON),
    Field("defer_loading", "defer_loading", BOOL),
)
_FUNCTION = Table(*_DECLARED, Other("short_description", "config"))
_BUILT_IN_SETTINGS: dict[str, tuple[str, ...]] = {
    "google_search": ("search_types",),
    "google_maps": ("enable_widget", "latitude", "longitude"),
    "url_context": (),
    "code_execution": (),
    "file_search": ("file_search_store_names", "metadata_filter", "top_k"),
    "computer_use": (
        "environment",
        "disabled_safety_policies",
        "enable_prompt_injection_detection",
        "excluded_predefined_functions",
    ),
    "retrieval": (
        "retrieval_types",
        "vertex_ai_search_config",
        "rag_store_config",
        "exa_ai_search_config",
        "parallel_ai_search_config",
    ),
}
_TABLES = {
    "function": _FUNCTION,
    "tool_search": Table(*_DECLARED, Other("execution", "config")),
    "mcp_server": Table(
        Field("type", "wire_type"),
        Field("name", "server_name"),
        Field("defer_loading", "defer_loading", BOOL),
        *(Other(key, "config") for key in ("url", "headers", "allowed_tools")),
    ),
    **{
        kind: Table(Field("type", "wire_type"), *(Other(key, "config") for key in keys))
        for kind, keys in _BUILT_IN_SETTINGS.items()
    },
}
_KINDS = {"function": "function", "mcp_server": "mcp", "computer_use": "computer"}
_UNKNOWN = Table(Field("type", "wire_type"), Field("name", "name", NAME), Field("description", "description"))


def read_tool(tool: Json, reading: Reading) -> Tool:
    """One declaration; of an unknown type it is counted and its fields are extras."""
    kind = type_of(tool)
    if type(tool) is not dict:
        reading.unknown_type("tool", None)
        return {"name": "", "kind": "unknown", "config": dumps(tool), "wire": '{"raw":true}'}
    shape: Tool = {}
    left = _TABLES.get(kind or "", _UNKNOWN).read(tool, shape)
    if "wire_type" not in shape:
        left.wire["untyped"] = True
    if kind not in _TABLES:
        reading.unknown_type("tool", kind)
    shape["kind"] = _KINDS.get(kind or "", "server" if kind in _TABLES else "unknown")
    if "name" not in shape:
        # A built-in tool is named after its type; the writer must not take that for a name on the wire.
        left.wire["unnamed"] = True
        shape["name"] = shape.get("server_name") or shape.get("wire_type") or ""
    left.store(shape)
    return shape


def write_tool(tool: Tool) -> Json:
    """The inverse of `read_tool`."""
    spelled = spelling(tool)
    if "raw" in spelled:
        return loads(tool["config"])
    wire_type = tool.get("wire_type")
    if "unnamed" in spelled:
        tool = tool.copy()
        del tool["name"]
    is_function = wire_type is None or (tool.get("kind") == "function" and wire_type not in _TABLES)
    if is_function and "untyped" not in spelled:
        return _FUNCTION.write(tool, spelled) | {"type": "function"}
    return _TABLES.get(wire_type or "", _UNKNOWN).write(tool, spelled)


#: Wire word -> canonical mode, where they differ.
_MODES = {"any": "required"}
_WORDS = {mode: word for word, mode in _MODES.items()}
#: Canonical modes that no wire word may be taken for.
_TAKEN = frozenset({"required", "tool", "allowed", ""})


def _is_word(value: Json) -> bool:
    return is_text(value) and value not in _TAKEN


def _is_choice(value: Json) -> bool:
    if type(value) is not dict:
        return _is_word(value)
    allowed = value.get("allowed_tools")
    if value.keys() != {"allowed_tools"} or type(allowed) is not dict or not allowed.keys() <= {"mode", "tools"}:
        return False
    tools = allowed.get("tools", ["any"])
    return type(tools) is list and bool(tools) and all(map(is_text, tools)) and _is_word(allowed.get("mode", "auto"))


def _choice(value: Json) -> Json:
    if type(value) is str:
        return {"mode": _MODES.get(value, value)}
    allowed = value["allowed_tools"]
    choice: dict[str, Json] = {"mode": "allowed"}
    if "tools" in allowed:
        choice["allowed"] = list(allowed["tools"])
    if "mode" in allowed:
        choice["allowed_mode"] = _MODES.get(allowed["mode"], allowed["mode"])
    return choice


def _choice_on_wire(choice: Json) -> Json:
    """A choice of another protocol (one tool by name) becomes the list of that tool."""
    mode = choice["mode"]
    if mode not in ("allowed", "tool"):
        return _WORDS.get(mode, mode)
    allowed: dict[str, Json] = {}
    tools = choice.get("allowed") or ([choice["name"]] if "name" in choice else [])
    allowed_mode = choice.get("allowed_mode", "required" if mode == "tool" else None)
    if allowed_mode is not None:
        allowed["mode"] = _WORDS.get(allowed_mode, allowed_mode)
    if tools:
        allowed["tools"] = tools
    return {"allowed_tools": allowed}


TOOL_CHOICE = Kind(_is_choice, _choice, _choice_on_wire)
