"""Tool calls and their results (catalogue, section 2.2).

A call's arguments are a string of JSON; a custom tool's input is free text. Some servers send a JSON value, null
or nothing. Groq's executed tools are calls that the server answered itself: a call part and a result part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.canonical.arguments import set_text_arguments, set_value_arguments
from headrace.canonical.fields import JSON, Const, Field, Leftover, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolCall, ToolResultContent
from headrace.errors import HeadraceError
from headrace.json_text import Json, compacted, dumps, loads
from headrace.protocols.openai_chat.parts import unknown_part

_SIGNATURE = "extra_content.google.thought_signature"
_BESIDE = (
    Field("cache_control", "cache_control", JSON),
    Field(_SIGNATURE, "signature"),
    Field("thought_signature", "signature"),
    # LiteLLM
    Field("provider_specific_fields.thought_signature", "signature"),
    Field("function.provider_specific_fields.thought_signature", "signature"),
)
_ID = Field("id", "tool_call.provider_id")
_FUNCTION_FIELDS = (
    Field("function.name", "tool_call.name"),
    Field("function.arguments", "tool_call.raw_arguments"),
)

_FUNCTION = Table(Const("type", "function"), _ID, *_FUNCTION_FIELDS, *_BESIDE)
#: Moonshot's builtin_function and whatever else comes with a function object.
_OTHER = Table(Field("type", "tool_call.wire_type"), _ID, *_FUNCTION_FIELDS, *_BESIDE)
_CUSTOM = Table(
    Const("type", "custom"),
    _ID,
    Field("custom.name", "tool_call.name"),
    Field("custom.input", "tool_call.raw_arguments"),
    *_BESIDE,
)
_FUNCTION_CALL = Table(Field("name", "tool_call.name"), Field("arguments", "tool_call.raw_arguments"), *_BESIDE)
_EXECUTED = Table(Field("type", "tool_call.name"), Field("arguments", "tool_call.raw_arguments"))

_KNOWN_TYPES = ("function", "custom", "builtin_function")
#: Keys of an executed tool that hold what it gave.
_OUTPUTS = ("output", "search_results", "code_results", "browser_results")


def read_tool_calls(wires: list[Json], reading: Reading) -> list[Part]:
    """One part a call, in order; equal ids stay separate calls."""
    return [plain_call(wire, place) or _read_call(wire, reading) for place, wire in enumerate(wires)]


def _read_call(wire: Json, reading: Reading) -> Part:
    if type(wire) is not dict:
        return _unknown(wire, reading)
    wire_type = wire.get("type")
    custom = wire_type == "custom" or ("type" not in wire and "custom" in wire and "function" not in wire)
    if custom:
        return _structured_call(wire, _CUSTOM, {"kind": "custom"}, ("custom", "input"))
    if wire_type == "function" or (wire_type is None and "function" in wire):
        return _structured_call(wire, _FUNCTION, {"kind": "function"}, ("function", "arguments"))
    if "function" in wire:
        if wire_type not in _KNOWN_TYPES:
            reading.unknown_type("tool_call", wire_type)
        return _structured_call(wire, _OTHER, {"kind": "function"}, ("function", "arguments"))
    return _unknown(wire, reading)


def _unknown(wire: Json, reading: Reading) -> Part:
    part = unknown_part("tool_call", wire, reading)
    part["wire_type"] = "tool_calls"
    return part


def plain_call(wire: Json, index: int) -> Part | None:
    """The part of the commonest call, whose arguments are JSON; None for any other. index: calls before it."""
    if type(wire) is not dict or len(wire) != 3 or wire.get("type") != "function":
        return None
    provider_id, function = wire.get("id"), wire.get("function")
    if type(function) is not dict or len(function) != 2 or not provider_id:
        return None
    name, raw = function.get("name"), function.get("arguments")
    if not type(provider_id) is type(name) is type(raw) is str:
        return None
    if not (is_text(provider_id) and is_text(name) and (raw.isascii() or is_text(raw))):
        return None
    try:
        arguments = compacted(raw)
    except HeadraceError:
        return None
    call: ToolCall = {
        "id": provider_id,
        "provider_id": provider_id,
        "name": name,
        "kind": "function",
        "raw_arguments": raw,
        "arguments": arguments,
        "index": index,
    }
    return {"type": "tool_call", "tool_call": call}


def _structured_call(wire: dict[str, Json], table: Table, start: ToolCall, path: tuple[str, ...]) -> Part:
    part: Part = {"type": "tool_call", "tool_call": start}
    left = table.read(wire, part, ("index",))
    if "index" in wire:
        left.wire["index"] = wire["index"]
    if "id" not in wire:
        left.wire["id"] = "absent"
    call = part["tool_call"]
    if call.get("provider_id"):
        call["id"] = call["provider_id"]
    _settle_arguments(call, wire, left, path)
    if "signature" in part:
        part["continuation"] = [_SIGNATURE]
    left.store(part)
    return part


def _settle_arguments(call: ToolCall, wire: dict[str, Json], left: Leftover, path: tuple[str, ...]) -> None:
    """Parse the arguments; a JSON value in place of the string is taken out of the extras, where the table put it."""
    if "raw_arguments" in call:
        if path[-1] != "input":
            set_text_arguments(call, call["raw_arguments"])
        return
    *parents, leaf = path
    holder: Any = wire
    for parent in parents:
        holder = holder.get(parent)
        if type(holder) is not dict:
            left.wire["arguments"] = "absent"
            return
    value = holder.get(leaf)
    if leaf not in holder or value is None:
        # A call without arguments: nothing, or null.
        call["arguments"] = "{}"
        if leaf not in holder:
            left.wire["arguments"] = "absent"
    elif type(value) is str:
        # Text that UTF-8 cannot carry stays in extras.
        left.wire["arguments"] = "absent"
    else:
        set_value_arguments(call, value)
        left.wire["arguments"] = "value"
        if value not in ({}, []):
            _take_out(left.extras, path)
        else:
            _forget(left, ".".join(path))


def _take_out(extras: dict[str, Json], path: tuple[str, ...]) -> None:
    *parents, leaf = path
    holder = extras
    for parent in parents:
        holder = holder[parent]
    del holder[leaf]
    if parents and not holder:
        del extras[parents[0]]


def _forget(left: Leftover, path: str) -> None:
    """Drop an "empty" note: the arguments are written from the field."""
    for key in ("empty", "empty_list"):
        noted = left.wire.get(key, [])
        if path in noted:
            noted.remove(path)
            if not noted:
                del left.wire[key]


def write_tool_call(part: Part) -> Json:
    """The element of ``tool_calls``."""
    call = part.get("tool_call", {})
    spelled = spelling(part)
    if part["type"] == "unknown":
        return loads(part["raw"])
    if call.get("kind") == "custom":
        table, path = _CUSTOM, ("custom", "input")
    elif "wire_type" in call and call["wire_type"] not in ("function_call", "executed_tool"):
        table, path = _OTHER, ("function", "arguments")
    else:
        table, path = _FUNCTION, ("function", "arguments")
    body = table.write(part, spelled)
    _write_arguments(call, body, spelled, path)
    if "index" in spelled:
        body["index"] = spelled["index"]
    if "provider_id" not in call and "id" not in spelled and "id" in call:
        body.setdefault("id", call["id"])
    return body


def _write_arguments(call: ToolCall, body: dict[str, Json], spelled: dict[str, Json], path: tuple[str, ...]) -> None:
    form = spelled.get("arguments")
    if "raw_arguments" in call or form == "absent" or ".".join(path) in spelled.get("null", ()):
        return
    text = call.get("arguments", "{}")
    holder = body
    for parent in path[:-1]:
        holder = holder.setdefault(parent, {})
    holder[path[-1]] = loads(text) if form == "value" else text


def read_function_call(wire: dict[str, Json]) -> Part:
    """The deprecated single call of an assistant message."""
    return _structured_call(wire, _FUNCTION_CALL, {"kind": "function", "wire_type": "function_call"}, ("arguments",))


def write_function_call(part: Part) -> dict[str, Json]:
    """The object under ``function_call``."""
    spelled = spelling(part)
    call = part["tool_call"]
    body = _FUNCTION_CALL.write(part, spelled)
    _write_arguments(call, body, spelled, ("arguments",))
    if "index" in spelled:
        body["index"] = spelled["index"]
    return body


def read_executed_tools(wires: list[Json], reading: Reading) -> list[Part]:
    """Groq's executed tools -> a call part and, where there is an output, a result part each."""
    parts: list[Part] = []
    for at, wire in enumerate(wires):
        if type(wire) is not dict:
            part = unknown_part("executed_tool", wire, reading)
            part["wire_type"] = "executed_tools"
            parts.append(part)
        else:
            parts += _read_executed(at, wire)
    return parts


def _read_executed(at: int, wire: dict[str, Json]) -> list[Part]:
    call: Part = {"type": "tool_call", "tool_call": {"kind": "server", "wire_type": "executed_tool"}}
    outputs = [key for key in _OUTPUTS if wire.get(key) is not None]
    left = _EXECUTED.read(wire, call, (*outputs, "index"))
    if "index" not in wire:
        left.note("absent", "index")
    elif wire["index"] != at or type(wire["index"]) is not int:
        left.wire["index"] = wire["index"]
    _settle_arguments(call["tool_call"], wire, left, ("arguments",))
    left.store(call)
    if not outputs:
        return [call]
    content = [_read_output(key, wire[key]) for key in outputs]
    result: Part = {
        "type": "tool_result",
        "tool_result": {"kind": "server", "wire_type": "executed_tool", "content": content},
    }
    if "name" in call["tool_call"]:
        result["tool_result"]["name"] = call["tool_call"]["name"]
    return [call, result]


def _read_output(key: str, value: Json) -> ToolResultContent:
    if key == "output" and is_text(value):
        return {"type": "text", "text": value}
    piece: ToolResultContent = {"type": "json", "json": dumps(value)}
    if key != _likely_key(piece):
        piece["wire"] = dumps({"key": key})
    return piece


def _likely_key(piece: ToolResultContent) -> str:
    """The key that a piece of output has as a rule: hits are an object, whatever else is no text is a list."""
    if piece["type"] == "text":
        return "output"
    return "search_results" if piece.get("json", "").startswith("{") else "code_results"


def write_executed_tools(parts: list[Part]) -> list[Json]:
    """The list under ``executed_tools`` of call and result parts."""
    wires: list[Json] = []
    for part in parts:
        if part["type"] == "unknown":
            wires.append(loads(part["raw"]))
        elif part["type"] == "tool_call":
            wires.append(_write_executed(len(wires), part))
        else:
            for piece in part["tool_result"].get("content", ()):
                key = spelling(piece).get("key") or _likely_key(piece)
                wires[-1][key] = piece["text"] if piece["type"] == "text" else loads(piece["json"])
    return wires


def _write_executed(at: int, part: Part) -> dict[str, Json]:
    spelled = spelling(part)
    body = _EXECUTED.write(part, spelled)
    _write_arguments(part["tool_call"], body, spelled, ("arguments",))
    if "index" not in spelled.get("absent", ()):
        body.setdefault("index", spelled.get("index", at))
    return body


@dataclass(slots=True)
class CallBook:
    """The open calls of a history, so that every result references one.

    A result without an id answers the first open call of its name, or the first open call where it has no name.
    """

    open: dict[str, str | None] = field(default_factory=dict)

    def note_calls(self, parts: list[Part], reading: Reading, place: int) -> None:
        """Number the calls of a message and derive the ids that the wire lacks. place: the message's position."""
        position = 0
        for at, part in enumerate(parts):
            if part["type"] == "tool_call":
                call = part["tool_call"]
                call["index"] = position
                position += 1
                if "id" not in call:
                    call["id"] = reading.tool_call_id(place, at)
                if call.get("wire_type") != "executed_tool":
                    self.open[call["id"]] = call.get("name")
            elif part["type"] == "tool_result" and at and parts[at - 1]["type"] == "tool_call":
                part["tool_result"]["tool_call_id"] = parts[at - 1]["tool_call"]["id"]

    def answered(self, call_id: str) -> None:
        """A result names this call."""
        self.open.pop(call_id, None)

    def answer(self, name: str | None) -> str | None:
        """The id of the call that a result without an id answers; None where there is none."""
        for call_id, called in self.open.items():
            if name is None or called == name:
                del self.open[call_id]
                return call_id
        return None
