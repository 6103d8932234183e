"""Wire request <-> canonical request."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from headrace.canonical.fields import Field, Leftover, Table, is_text, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.gemini_interactions.contents import type_of
from headrace.protocols.gemini_interactions.settings import SETTINGS, continuation
from headrace.protocols.gemini_interactions.tools import read_tool, write_tool
from headrace.protocols.gemini_interactions.turns import read_turns, write_turns

#: A model and an agent exclude each other on the wire.
_REQUEST = Table(
    Field("model", "model"),
    Field("agent", "model"),
    Field("service_tier", "parameters.service_tier"),
    *SETTINGS,
)
_OWN_KEYS = ("input", "system_instruction", "tools")
_KEYS = {path.partition(".")[0] for path in _REQUEST.paths} | {*_OWN_KEYS}


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """A request body; raises WireError when it has none of a request's fields."""
    if type(body) is not dict or body.keys().isdisjoint(_KEYS):
        raise WireError("no field of an interaction request", place="$", fix="send the body of POST /interactions")
    record: CanonicalRecord = {}
    left = _REQUEST.read(body, record, _OWN_KEYS)
    read_prompt(body, record, left, reading)
    _set(record, "continuation", continuation(body))
    left.store(record)
    return record


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """The inverse of `read_request`."""
    spelled = spelling(record)
    body = _REQUEST.write(record, spelled)
    write_prompt(record, record.get("messages", []), spelled, body)
    return body


def read_prompt(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    """System instruction, input and tools into ``messages`` and ``tools``; an interaction may echo them."""
    messages: list[Message] = []
    system: Json = body.get("system_instruction")
    if is_text(system):
        messages.append({"role": "system", "parts": [{"type": "text", "text": system}]})
    else:
        _keep(body, "system_instruction", left)
    messages += read_turns(_input(body, left), reading, len(messages), user=True)
    _set(record, "messages", messages)
    _set(record, "tools", [read_tool(tool, reading) for tool in listed(body, "tools", left)])


def _input(body: dict[str, Json], left: Leftover) -> list[Json]:
    """The elements of ``input``; one text or one content is a list of one, which ``wire`` says."""
    value = body.get("input")
    if is_text(value):
        left.wire["input"] = "text"
        return [{"type": "text", "text": value}]
    if type_of(value) is not None:
        left.wire["input"] = "object"
        return [value]
    return listed(body, "input", left)


def write_prompt(
    record: CanonicalRecord, messages: list[Message], spelled: dict[str, Json], body: dict[str, Json]
) -> None:
    """The inverse of `read_prompt`. messages: those of the prompt."""
    system = list(takewhile(is_system, messages))
    if system:
        texts = [part.get("text", "") for message in system for part in message.get("parts", ())]
        body["system_instruction"] = "\n\n".join(texts)
        messages = messages[len(system) :]
    elements = write_turns(messages)
    if elements:
        body["input"] = _in_form(elements, spelled.get("input"))
    tools = record.get("tools")
    if tools:
        body["tools"] = [write_tool(tool) for tool in tools]


def is_system(message: Message) -> bool:
    """Whether a message that opens the record stands at `system_instruction`."""
    return message["role"] in ("system", "developer") and "turn" not in spelling(message)


def _in_form(elements: list[Json], form: Json) -> Json:
    if len(elements) == 1:
        if form == "text":
            return elements[0]["text"]
        if form == "object":
            return elements[0]
    return elements


def _keep(body: dict[str, Json], key: str, left: Leftover) -> None:
    """Note a value that does not fit, where there is one."""
    if key in body:
        if body[key] is None:
            left.note("null", key)
        else:
            left.extras[key] = body[key]


def _set(record: Any, name: str, values: list[Any]) -> None:
    if values:
        record[name] = values
