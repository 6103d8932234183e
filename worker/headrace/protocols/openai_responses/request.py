"""Requests: `POST /v1/responses`, its compact and input_tokens siblings, and `response.create` over WebSocket."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import OBJECT, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.openai_responses.messages import read_messages, write_messages
from headrace.protocols.openai_responses.settings import SETTINGS
from headrace.protocols.openai_responses.tools import read_tool_choice, read_tools, write_tool_choice, write_tools

_REQUEST = Table(
    Field("model", "model"),
    *SETTINGS,
    Field("service_tier", "parameters.service_tier"),
    Field("moderation", "parameters.safety_settings", OBJECT),
    # The WebSocket envelope: {"type": "response.create", …the same fields…}.
    Other("type", "parameters.other"),
)
_APART = ("input", "instructions", "tools", "tool_choice")
#: Keys that only requests of other protocols have.
_FOREIGN = ("messages", "contents", "setup")
_KNOWN = frozenset({path.partition(".")[0] for path in _REQUEST.paths} | set(_APART))


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """The record of a request; raises WireError for a body that is no request of this protocol."""
    _check(body)
    record: CanonicalRecord = {}
    conversation: Any = body.get("conversation")
    left = _REQUEST.read(body, record, (*_APART, "conversation") if is_text(conversation) else _APART)
    if is_text(conversation):
        record["conversation_id"] = conversation
        left.wire["conversation"] = "string"
    messages = _read_instructions(body, left)
    messages += _read_input(body, left, reading, len(messages))
    if messages:
        record["messages"] = messages
    read_declared(body, record, left, reading)
    state = [key for key in ("previous_response_id", "conversation") if body.get(key)]
    if state:
        record["continuation"] = state
    left.store(record)
    return record


def _check(body: Json) -> None:
    if type(body) is dict and "input" in body:
        return
    if type(body) is not dict or _KNOWN.isdisjoint(body) or any(key in body for key in _FOREIGN):
        raise WireError(
            "the body is no request of openai.responses: it has no input",
            fix="check the protocol that the capture names, or the source mapping",
        )


def _read_instructions(body: dict[str, Json], left: Leftover) -> list[Message]:
    value: Any = body.get("instructions")
    if is_text(value):
        wire = '{"from":"instructions"}'
        return [{"role": "system", "parts": [{"type": "text", "text": value}], "wire": wire}]
    if value is not None:
        left.extras["instructions"] = value
    elif "instructions" in body:
        left.note("null", "instructions")
    return []


def _read_input(body: dict[str, Json], left: Leftover, reading: Reading, first: int) -> list[Message]:
    value: Any = body.get("input")
    if type(value) is list:
        return read_messages(value, reading, output=False, first=first)
    if is_text(value):
        return [{"role": "user", "parts": [{"type": "text", "text": value}], "wire": '{"from":"input"}'}]
    if value is not None:
        left.extras["input"] = value
    else:
        left.note("null" if "input" in body else "absent", "input")
    return []


def read_declared(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    """Tools and tool choice, which requests have and responses echo."""
    tools = body.get("tools")
    if type(tools) is list:
        if tools:
            record["tools"] = read_tools(tools, reading)
        else:
            left.note("empty_list", "tools")
    elif tools is not None:
        left.extras["tools"] = tools
    elif "tools" in body:
        left.note("null", "tools")
    choice = body.get("tool_choice")
    if choice is not None:
        record["tool_choice"] = read_tool_choice(choice, reading)
    elif "tool_choice" in body:
        left.note("null", "tool_choice")


def write_declared(record: CanonicalRecord, body: dict[str, Json]) -> None:
    """Tools and tool choice, unless they are there already (spelled or in extras)."""
    if record.get("tools"):
        body["tools"] = write_tools(record["tools"])
    if "tool_choice" in record:
        body["tool_choice"] = write_tool_choice(record["tool_choice"])


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """The wire request of a record; raises WireError for a part that the wire has no form for."""
    spelled = spelling(record)
    body = _REQUEST.write(record, spelled)
    if spelled.get("conversation") == "string":
        body["conversation"] = record["conversation_id"]
    messages = record.get("messages", [])
    if messages and spelling(messages[0]).get("from") == "instructions":
        body["instructions"] = messages[0]["parts"][0]["text"]
        messages = messages[1:]
    if len(messages) == 1 and spelling(messages[0]).get("from") == "input":
        body["input"] = messages[0]["parts"][0]["text"]
    elif "input" not in body and "input" not in spelled.get("absent", ()):
        body["input"] = write_messages(messages)
    write_declared(record, body)
    return body
