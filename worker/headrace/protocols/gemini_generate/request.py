"""Request bodies of generateContent and streamGenerateContent <-> request record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.canonical.fields import (
    ARRAY,
    BOOL,
    LONG,
    OBJECT,
    TEXTS,
    Field,
    Leftover,
    Other,
    Table,
    is_text,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message, Tool
from headrace.errors import WireError
from headrace.json_text import Json, dumps
from headrace.protocols.google import keys
from headrace.protocols.google.calls import OpenCalls
from headrace.protocols.google.contents import read_content, write_content
from headrace.protocols.google.grammar import REQUEST as GRAMMAR
from headrace.protocols.google.parts import Place
from headrace.protocols.google.settings import name_effort, settings, wire_effort
from headrace.protocols.google.tools import read_choice, read_tools, wire_choice, write_tools

REQUEST = Table(
    *settings(),
    Field("generationConfig.candidateCount", "parameters.n", LONG),
    Field("safetySettings", "parameters.safety_settings", ARRAY),
    Field("cachedContent", "parameters.cached_content"),
    Field("serviceTier", "parameters.service_tier"),
    Field("store", "parameters.store", BOOL),
    Field("labels", "metadata", OBJECT),
    Field("toolConfig.functionCallingConfig.mode", "tool_choice.mode"),
    Field("toolConfig.functionCallingConfig.allowedFunctionNames", "tool_choice.allowed", TEXTS),
    *(
        Other(f"toolConfig.{wire}", "tool_choice.config")
        for wire in (
            "functionCallingConfig.streamFunctionCallArguments",
            "includeServerSideToolInvocations",
            "retrievalConfig",
        )
    ),
    *(Other(wire, "parameters.other") for wire in ("continuationToken", "modelArmorConfig", "generationOutputConfig")),
)
#: Roles of messages that the system instruction is made of.
_INSTRUCTING = frozenset({"system", "developer"})
_OWN = frozenset({"contents", "systemInstruction", "tools", "model"})
#: One of these makes a body a request of this protocol.
_TELLING = frozenset({"contents", "systemInstruction", "generationConfig", "tools", "cachedContent"})


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """A request body -> record. Raises WireError when it has none of the protocol's fields.

    The model is in the URL, which the caller knows; a ``model`` in the body fills the record's all the same.
    """
    camel, snaked = keys.to_camel(body, GRAMMAR)
    if type(camel) is not dict or _TELLING.isdisjoint(camel):
        raise WireError("no request of generateContent: it has no contents", place="$.contents", fix="send the body")
    record: CanonicalRecord = {}
    left = REQUEST.read(camel, record, skip=_OWN)
    place = Place(reading, OpenCalls(), 0)
    messages: list[Message] = []
    _read_system(camel, messages, left, place)
    _read_list(camel, "contents", left, lambda contents: _read_contents(contents, messages, place))
    if messages:
        record["messages"] = messages
    tools: list[Tool] = []
    _read_list(camel, "tools", left, lambda wire: tools.extend(read_tools(wire, reading)))
    if tools:
        record["tools"] = tools
    _read_model(camel, record, left)
    if "tool_choice" in record:
        read_choice(record["tool_choice"], reading)
    name_effort(record, left)
    continuation = [key for key in ("cachedContent", "continuationToken") if type(camel.get(key)) is str]
    if continuation:
        record["continuation"] = continuation
    if snaked:
        left.wire[keys.SPELLED] = snaked
    left.store(record)
    return record


def _read_list(body: dict[str, Json], key: str, left: Leftover, read: Callable[[list[Json]], None]) -> None:
    """A repeated field: a list, or one value that stands for a list of one, as Google's reader takes it."""
    value = body.get(key)
    if type(value) is list:
        read(value)
        if not value:
            left.note("empty_list", key)
    elif type(value) is dict or (key == "contents" and is_text(value)):
        read([value])
        left.note("single", key)
    elif value is not None:
        left.extras[key] = value
    elif key in body:
        left.note("null", key)


def _read_contents(contents: list[Json], messages: list[Message], place: Place) -> None:
    for content in contents:
        place.message = len(messages)
        message = read_content(content, place, "user")
        if message["role"] in _INSTRUCTING:
            # A system message elsewhere than in systemInstruction: the writer must not move it.
            message["wire"] = dumps({**spelling(message), "place": "contents"})
        messages.append(message)


def _read_system(body: dict[str, Json], messages: list[Message], left: Leftover, place: Place) -> None:
    value = body.get("systemInstruction")
    if type(value) is dict or is_text(value):
        messages.append(read_content(value, place, "system"))
    elif value is not None:
        left.extras["systemInstruction"] = value
    elif "systemInstruction" in body:
        left.note("null", "systemInstruction")


def _read_model(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    model: Json = body.get("model")
    if is_text(model):
        record["model"] = model
        left.note("present", "model")
    elif model is not None:
        left.extras["model"] = model
    elif "model" in body:
        left.note("null", "model")


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """A request record -> the request's body, without the model unless the body named it."""
    wire = spelling(record)
    wired: Any = wire_effort(record, wire)
    if "tool_choice" in record:
        wired = {**wired, "tool_choice": wire_choice(record["tool_choice"])}
    body = REQUEST.write(wired, wire)
    single = wire.get("single", ())
    system, contents = _split(record.get("messages", ()))
    if system:
        body["systemInstruction"] = _write_system(system)
    _put_list(body, "contents", [write_content(message) for message in contents], single)
    _put_list(body, "tools", write_tools(record.get("tools", ())), single)
    if "model" in wire.get("present", ()):
        body["model"] = record["model"]
    keys.to_spelled(body, wire.get(keys.SPELLED, ()))
    return body


def _put_list(body: dict[str, Json], key: str, values: list[Json], single: Any) -> None:
    if values:
        body[key] = values[0] if key in single else values


def _split(messages: Any) -> tuple[list[Message], list[Message]]:
    """System messages, and the others in order."""
    system: list[Message] = []
    others: list[Message] = []
    for message in messages:
        is_system = message["role"] in _INSTRUCTING and spelling(message).get("place") != "contents"
        (system if is_system else others).append(message)
    return system, others


def _write_system(messages: list[Message]) -> Json:
    """One system instruction; the parts of several system messages follow one another."""
    if len(messages) == 1:
        return write_content(messages[0])
    parts = [part for message in messages for part in message.get("parts", ())]
    return write_content({"role": "system", "parts": parts})
