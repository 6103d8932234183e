"""Requests (catalogue, section 2.1): ``POST /v1/chat/completions`` of OpenAI and of all who speak like it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.canonical.fields import Leftover, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message, Part
from headrace.errors import WireError
from headrace.json_text import Json, loads
from headrace.protocols.openai_chat import tools
from headrace.protocols.openai_chat.calls import CallBook
from headrace.protocols.openai_chat.messages import MESSAGE, read_message, read_plain_calls, write_pieces
from headrace.protocols.openai_chat.parts import is_plain_text, leave, unknown_part
from headrace.protocols.openai_chat.results import ROLES as RESULT_ROLES
from headrace.protocols.openai_chat.results import read_result, write_result
from headrace.protocols.openai_chat.settings import BODY

_STRUCTURED = ("messages", "tools", "functions", "tool_choice", "function_call")


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """One request body -> its record; raises WireError when it has no messages."""
    if "messages" not in body:
        raise WireError(
            "a chat completion request has messages, this body has none",
            place="$.messages",
            fix="check the capture's protocol and kind",
        )
    record: CanonicalRecord = {}
    left = BODY.read(body, record, _STRUCTURED)
    wires = body["messages"]
    if type(wires) is list and wires:
        book = CallBook()
        record["messages"] = [_read_message(wire, reading, place, book) for place, wire in enumerate(wires)]
    else:
        leave("messages", wires, left)
    _read_tools(body, record, left, reading)
    _read_choice(body, record, left, reading)
    left.store(record)
    return record


def _read_message(wire: Json, reading: Reading, place: int, book: CallBook) -> Message:
    if type(wire) is not dict:
        return {"parts": [unknown_part("message", wire, reading)], "wire": '{"message":"raw"}'}
    role: Json = wire.get("role")
    content: Json = wire.get("content")
    if role in RESULT_ROLES:
        return read_result(wire, reading, book)
    is_plain = len(wire) == 2 and content and type(content) is type(role) is str
    if is_plain and (content.isascii() or is_text(content)) and (role.isascii() or is_text(role)):
        return {"role": role, "parts": [{"type": "text", "text": content}]}
    if len(wire) == 3 and role == "assistant":
        calling = read_plain_calls(wire, book)
        if calling is not None:
            return calling
    message, left = read_message(wire, reading, place, book)
    left.store(message)
    return message


def _read_tools(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    for key, read in (("tools", tools.read_tools), ("functions", tools.read_functions)):
        if key not in body:
            continue
        value = body[key]
        if type(value) is list and value:
            record.setdefault("tools", []).extend(read(value, reading))
        else:
            leave(key, value, left)


def _read_choice(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    for key in ("tool_choice", "function_call"):
        if key not in body:
            continue
        value = body[key]
        choice = None
        if "tool_choice" not in record:
            by_function = key == "function_call"
            choice = tools.read_function_choice(value) if by_function else tools.read_tool_choice(value, reading)
        if choice is not None:
            record["tool_choice"] = choice
        else:
            leave(key, value, left)


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """The request body of a record."""
    spelled = spelling(record)
    body = BODY.write(record, spelled)
    body.update(spelled.get("blank", {}))
    messages = record.get("messages")
    if messages or "messages" not in body:
        body["messages"] = write_messages(messages or ())
    legacy = [tool for tool in record.get("tools", ()) if "wire" in tool and tools.is_legacy(tool)]
    current = [tool for tool in record.get("tools", ()) if tool not in legacy]
    for key, declared in (("tools", current), ("functions", legacy)):
        if declared:
            body[key] = [tools.write_tool(tool) for tool in declared]
    tools.write_choice(record, body)
    return body


def write_messages(messages: Sequence[Message]) -> list[Json]:
    """The wire messages; a message with several results (of another protocol) becomes one message a result."""
    wires: list[Json] = []
    for message in messages:
        parts = message.get("parts", [])
        if len(message) == 2 and "role" in message and len(parts) == 1 and is_plain_text(parts[0]):
            wires.append({"role": message["role"], "content": parts[0]["text"]})
            continue
        results = [part for part in parts if part["type"] == "tool_result" and _is_message(part)]
        wires += [write_result(part) for part in results]
        if len(results) == len(parts) and results:
            continue
        wires.append(_write_message(message))
    return wires


def _is_message(result: Part) -> bool:
    return result["tool_result"].get("wire_type") != "executed_tool"


def _write_message(message: Message) -> Json:
    spelled = spelling(message)
    if spelled.get("message") == "raw":
        return loads(message["parts"][0]["raw"])
    body = MESSAGE.write(message, spelled)
    write_pieces(message, body, spelled)
    return body
