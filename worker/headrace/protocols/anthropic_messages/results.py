"""Tool results: `tool_result`, `mcp_tool_result` and the results of server tools.

``content`` is a string, a list of blocks or, for most server tools, one object. Text, images and documents get
fields; every other piece (search hits, execution output, tool references, errors, …) is one JSON value.
"""

from __future__ import annotations

from headrace.canonical.fields import BOOL, NAME, OBJECT, Const, Field, Leftover, Table, is_text, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolResult, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.anthropic_messages import media
from headrace.protocols.anthropic_messages.calls import TOOLSET_KINDS
from headrace.protocols.anthropic_messages.media import CACHE_CONTROL
from headrace.protocols.anthropic_messages.wire import paths, present

_ID = Field("tool_use_id", "tool_result.tool_call_id", NAME)
_IS_ERROR = Field("is_error", "tool_result.is_error", BOOL)
_CALLER = Field("caller", "tool_result.caller", OBJECT)

#: Results of server tools -> the types their content may have.
SERVER_RESULTS = {
    "web_search_tool_result": ("web_search_result", "web_search_tool_result_error"),
    "web_fetch_tool_result": ("web_fetch_result", "web_fetch_tool_result_error"),
    "code_execution_tool_result": (
        "code_execution_result",
        "encrypted_code_execution_result",
        "code_execution_tool_result_error",
    ),
    "bash_code_execution_tool_result": ("bash_code_execution_result", "bash_code_execution_tool_result_error"),
    "text_editor_code_execution_tool_result": (
        "text_editor_code_execution_view_result",
        "text_editor_code_execution_create_result",
        "text_editor_code_execution_str_replace_result",
        "text_editor_code_execution_tool_result_error",
    ),
    "tool_search_tool_result": ("tool_search_tool_search_result", "tool_search_tool_result_error"),
    "advisor_tool_result": ("advisor_result", "advisor_redacted_result", "advisor_tool_result_error"),
}
#: Pieces of a client's result that are carried as one JSON value.
_JSON_PIECES = frozenset(
    ["search_result", "tool_reference", "browser_state", *(name for names in SERVER_RESULTS.values() for name in names)]
)
_TABLES = {
    "tool_result": Table(
        Const("type", "tool_result"), _ID, _IS_ERROR, Field("toolset_name", "tool_result.server_name"), CACHE_CONTROL
    ),
    "mcp_tool_result": Table(Const("type", "mcp_tool_result"), _ID, _IS_ERROR, CACHE_CONTROL),
    **{name: Table(Const("type", name), _ID, _CALLER, CACHE_CONTROL) for name in SERVER_RESULTS},
}
#: Wire type -> canonical kind: who ran the tool.
KINDS: dict[str, str] = {"tool_result": "function", "mcp_tool_result": "mcp", **dict.fromkeys(SERVER_RESULTS, "server")}
_TEXT_PIECE = Table(Const("type", "text"), Field("text", "text"), CACHE_CONTROL)

#: What the provider needs back, by block type.
_CONTINUATION = {
    "tool_result": paths("toolset_name"),
    "web_search_tool_result": paths("caller.tool_id", "content[].encrypted_content"),
    "web_fetch_tool_result": paths("caller.tool_id"),
    "code_execution_tool_result": paths("content.encrypted_stdout"),
    "advisor_tool_result": paths("content.encrypted_content"),
}
_STRING = dumps({"content": "string"})


def read_result(block: dict[str, Json], reading: Reading) -> Part:
    """A result block: one of `KINDS`."""
    wire_type = block["type"]
    result: ToolResult = {"kind": KINDS[wire_type], "wire_type": wire_type}
    part: Part = {"type": "tool_result", "tool_result": result}
    if len(block) == 3 and wire_type == "tool_result" and is_text(block.get("content")):
        plain = _plain_result(block)
        if plain is not None:
            return plain
    left = _TABLES[wire_type].read(block, part, skip=("content",))
    _read_content(block, result, left, reading)
    left.store(part)
    if wire_type == "tool_result":
        if result.get("server_name") in TOOLSET_KINDS:
            result["kind"] = TOOLSET_KINDS[result["server_name"]]
    elif wire_type in SERVER_RESULTS:
        _set_error(block.get("content"), result)
    continuation = present(block, _CONTINUATION.get(wire_type, ()))
    if continuation:
        part["continuation"] = continuation
    return part


def _plain_result(block: dict[str, Json]) -> Part | None:
    """The common result of a client's tool: type, the call's id, and a string; None for any other."""
    call_id = block.get("tool_use_id")
    if not call_id or not is_text(call_id):
        return None
    pieces: list[ToolResultContent] = [{"type": "text", "text": block["content"]}]
    result: ToolResult = {
        "tool_call_id": call_id,
        "kind": "function",
        "wire_type": "tool_result",
        "content": pieces,
    }
    return {"type": "tool_result", "tool_result": result, "wire": _STRING}


def _read_content(block: dict[str, Json], result: ToolResult, left: Leftover, reading: Reading) -> None:
    content: Json = block.get("content")
    pieces: list[ToolResultContent]
    if is_text(content):
        form, pieces = "string", [{"type": "text", "text": content}]
    elif type(content) is dict:
        form, pieces = "object", [_read_piece(content, reading)]
    else:
        form, pieces = "list", [_read_piece(piece, reading) for piece in listed(block, "content", left)]
    if pieces:
        result["content"] = pieces
        if form != _likely_form(block["type"], pieces):
            left.wire["content"] = form
    elif "content" not in block and block["type"] != "tool_result":
        left.note("absent", "content")


def _likely_form(wire_type: str, pieces: list[ToolResultContent]) -> str:
    """The form of content that a type of result has: one object for server tools, but for a list of search hits."""
    if wire_type not in SERVER_RESULTS or len(pieces) != 1:
        return "list"
    if wire_type == "web_search_tool_result":
        hit = loads(pieces[0].get("json", "null"))
        return "list" if type(hit) is dict and hit.get("type") == "web_search_result" else "object"
    return "object"


def _set_error(content: Json, result: ToolResult) -> None:
    """A server tool says that it failed by the type of its content. Derived: the writer does not need it."""
    if type(content) is not dict:
        return
    kind: Json = content.get("type")
    code: Json = content.get("error_code")
    if (type(kind) is str and kind.endswith("_error")) or code is not None:
        result["is_error"] = True
        if is_text(code):
            result["error_code"] = code


def _read_piece(value: Json, reading: Reading) -> ToolResultContent:
    kind = value.get("type") if type(value) is dict else None
    piece: ToolResultContent
    if kind == "text":
        if len(value) == 2 and is_text(value.get("text")):
            return {"type": "text", "text": value["text"]}
        piece = {"type": "text"}
        _TEXT_PIECE.read(value, piece).store(piece)
        return piece
    if type(kind) is str and kind in media.PIECES:
        piece = {"type": "media"}
        media.read_media(value, piece, reading).store(piece)
        return piece
    piece = {"type": "json"}
    if type(kind) is not str or kind not in _JSON_PIECES:
        reading.unknown_type("block", kind)
    elif OBJECT.fits(value.get("cache_control")):
        piece["cache_control"] = dumps(value["cache_control"])
        value = {key: field for key, field in value.items() if key != "cache_control"}
    piece["json"] = dumps(value)
    return piece


def write_result(part: Part) -> dict[str, Json]:
    """The block of a tool result part."""
    result = part.get("tool_result") or {}
    wire_type = result.get("wire_type", "")
    if wire_type not in _TABLES:
        wire_type = "mcp_tool_result" if result.get("kind") == "mcp" else "tool_result"
    spelled = spelling(part)
    body = _TABLES[wire_type].write(part, spelled)
    pieces = result.get("content")
    if pieces:
        form = spelled.get("content") or _likely_form(wire_type, pieces)
        if form == "string":
            body["content"] = pieces[0].get("text", "")
        elif form == "object":
            body["content"] = _write_piece(pieces[0])
        else:
            body["content"] = [_write_piece(piece) for piece in pieces]
    elif wire_type != "tool_result" and "content" not in body and "content" not in spelled.get("absent", ()):
        body["content"] = []
    return body


def _write_piece(piece: ToolResultContent) -> Json:
    if piece.get("type") == "text":
        return _TEXT_PIECE.write(piece)
    if piece.get("type") == "media":
        return media.write_media(piece)
    value = loads(piece.get("json", "null"))
    if "cache_control" in piece and type(value) is dict:
        value["cache_control"] = loads(piece["cache_control"])
    return value
