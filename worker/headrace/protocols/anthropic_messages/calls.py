"""Tool calls: `tool_use`, `server_tool_use` and `mcp_tool_use` blocks.

The wire has the arguments as a JSON value (``input``). In a stream they come as pieces of a string; that exact
string is handed over by the fold's layout and becomes ``raw_arguments``. One that does not parse (the stream was
cut, or the model wrote bad JSON) leaves ``arguments`` empty and sets ``arguments_error``; the wire's ``input``
must be an object, so the body then holds the input the block started with, which is {}.
"""

from __future__ import annotations

import re
from typing import cast

from headrace.canonical.arguments import set_text_arguments
from headrace.canonical.fields import JSON, OBJECT, Const, Field, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolCall
from headrace.json_text import Json, dumps, loads
from headrace.protocols.anthropic_messages.media import CACHE_CONTROL
from headrace.protocols.anthropic_messages.wire import paths, present

#: Wire type -> canonical kind: who runs the tool.
KINDS = {"tool_use": "function", "server_tool_use": "server", "mcp_tool_use": "mcp"}
#: The members of a toolset are named by (toolset, name); the toolset tells the kind.
TOOLSET_KINDS = {"computer": "computer", "browser": "browser"}
#: Canonical kinds that have a block of their own; all others are the client's, `tool_use`.
_BY_KIND = {"server": "server_tool_use", "mcp": "mcp_tool_use"}

_SURROGATE = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")
_COMMON = (
    Field("id", "tool_call.provider_id"),
    Field("name", "tool_call.name"),
    Field("input", "tool_call.arguments", JSON, default={}),
    CACHE_CONTROL,
)
_CALLER = Field("caller", "tool_call.caller", OBJECT)
#: What a call holds that has nothing but id, name and input.
_PLAIN = {"id", "provider_id", "name", "kind", "wire_type", "arguments", "index"}
_TABLES = {
    "tool_use": Table(Const("type", "tool_use"), *_COMMON, _CALLER, Field("toolset_name", "tool_call.server_name")),
    "server_tool_use": Table(Const("type", "server_tool_use"), *_COMMON, _CALLER),
    "mcp_tool_use": Table(Const("type", "mcp_tool_use"), *_COMMON, Field("server_name", "tool_call.server_name")),
}
#: What the provider needs back besides the id.
_CONTINUATION = paths("caller.tool_id", "toolset_name")


def read_call(block: dict[str, Json], reading: Reading, place: tuple[int, int, int], streamed: str | None) -> Part:
    """A call block. ``place``: message, part, and the call's position among the message's calls.

    ``streamed``: the exact argument string of a stream, None where there was none.
    """
    message, position, index = place
    wire_type = block["type"]
    if streamed is None and len(block) == 4:
        plain = _plain_call(block, index)
        if plain is not None:
            return plain
    call: ToolCall = {"kind": KINDS[wire_type], "wire_type": wire_type, "index": index}
    part: Part = {"type": "tool_call", "tool_call": call}
    left = _TABLES[wire_type].read(block, part)
    if "id" not in block:
        left.note("absent", "id")
    left.store(part)
    if wire_type == "tool_use" and call.get("server_name") in TOOLSET_KINDS:
        call["kind"] = TOOLSET_KINDS[call["server_name"]]
    continuation = present(block, _CONTINUATION)
    if continuation:
        part["continuation"] = continuation
    call["id"] = call.get("provider_id") or reading.tool_call_id(message, position)
    if streamed is not None:
        _set_streamed(part, block, streamed)
    return part


def _plain_call(block: dict[str, Json], index: int) -> Part | None:
    """The commonest call: type, id, name and input; None for any other."""
    provider_id, name = block.get("id"), block.get("name")
    if not (provider_id and is_text(provider_id) and is_text(name)) or block.get("input") is None:
        return None
    call: ToolCall = {
        "id": provider_id,
        "provider_id": provider_id,
        "name": cast(str, name),
        "kind": KINDS[block["type"]],
        "wire_type": block["type"],
        "arguments": dumps(block["input"]),
        "index": index,
    }
    return {"type": "tool_call", "tool_call": call}


def _set_streamed(part: Part, block: dict[str, Json], streamed: str) -> None:
    call = part["tool_call"]
    spelled = spelling(part)
    call.pop("arguments", None)
    set_text_arguments(call, escaped(streamed))
    if call["raw_arguments"] != streamed:
        del call["raw_arguments"]
        spelled["streamed"] = streamed
    if "arguments" not in call and block.get("input", {}) != {}:
        spelled["input"] = block["input"]
    if spelled:
        part["wire"] = dumps(spelled)


def escaped(text: str) -> str:
    """JSON text with lone surrogates as the escapes that mean the same; it is then text that UTF-8 can carry."""
    return text if is_text(text) else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def write_call(part: Part) -> dict[str, Json]:
    """The block of a tool call part. An id that was derived for a block without one is not written."""
    call = part.get("tool_call") or {}
    if len(part) == 2 and call.keys() == _PLAIN:
        return {
            "type": call["wire_type"],
            "id": call["provider_id"],
            "name": call["name"],
            "input": loads(call["arguments"]),
        }
    wire_type = call.get("wire_type", "")
    if wire_type not in _TABLES:
        wire_type = _BY_KIND.get(call.get("kind", ""), "tool_use")
    spelled = spelling(part)
    body = _TABLES[wire_type].write(part, spelled)
    if "id" not in body and "id" not in spelled.get("absent", ()):
        body["id"] = call.get("id", "")
    if "arguments" not in call and "input" in spelled:
        body["input"] = spelled["input"]
    return body
