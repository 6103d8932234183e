"""The setup of a session <-> request record."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import ARRAY, OBJECT, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.gemini_live.grammar import FRAME
from headrace.protocols.google import keys
from headrace.protocols.google.calls import OpenCalls
from headrace.protocols.google.contents import read_content, write_content
from headrace.protocols.google.parts import Place
from headrace.protocols.google.settings import name_effort, settings, wire_effort
from headrace.protocols.google.tools import read_tools, write_tools

#: Settings of a session that only Live has.
SESSION_SETTINGS = (
    "sessionResumption",
    "contextWindowCompression",
    "realtimeInputConfig",
    "inputAudioTranscription",
    "outputAudioTranscription",
    "proactivity",
    "historyConfig",
    "avatarConfig",
    "explicitVadSignal",
)
SETUP = Table(
    Field("setup.model", "model"),
    *settings("setup."),
    Field("setup.safetySettings", "parameters.safety_settings", ARRAY),
    Field("setup.labels", "metadata", OBJECT),
    *(Other(f"setup.{wire}", "parameters.other") for wire in SESSION_SETTINGS),
)
_OWN = frozenset({"setup.systemInstruction", "setup.tools"})


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """A setup frame -> record. Raises WireError for any other frame."""
    camel, snaked = keys.to_camel(body, FRAME)
    setup: Json = camel.get("setup") if type(camel) is dict else None
    if type(setup) is not dict:
        raise WireError("no setup of a Live session", place="$.setup", fix="send the session's setup frame")
    record: CanonicalRecord = {}
    left = SETUP.read(camel, record, skip=_OWN)
    _read_system(setup, record, left, reading)
    _read_tools(setup, record, left, reading)
    name_effort(record, left)
    resumption = setup.get("sessionResumption")
    if type(resumption) is dict and type(resumption.get("handle")) is str:
        record["continuation"] = ["setup.sessionResumption.handle"]
    if snaked:
        left.wire[keys.SPELLED] = snaked
    left.store(record)
    return record


def _read_system(setup: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    value = setup.get("systemInstruction")
    if type(value) is dict or is_text(value):
        record["messages"] = [read_content(value, Place(reading, OpenCalls(), 0), "system")]
    elif value is not None:
        left.extras.setdefault("setup", {})["systemInstruction"] = value
    elif "systemInstruction" in setup:
        left.note("null", "setup.systemInstruction")


def _read_tools(setup: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    value = setup.get("tools")
    if type(value) is list and value:
        record["tools"] = read_tools(value, reading)
    elif type(value) is list:
        left.note("empty_list", "setup.tools")
    elif value is not None:
        left.extras.setdefault("setup", {})["tools"] = value
    elif "tools" in setup:
        left.note("null", "setup.tools")


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """A request record -> the session's setup frame. Raises WireError where history is in the way.

    A setup carries no history but the system instruction; other messages go in clientContent, which is no request.
    """
    wire = spelling(record)
    wired: Any = wire_effort(record, wire)
    body = SETUP.write(wired, wire)
    setup = body.setdefault("setup", {})
    messages = record.get("messages", [])
    if any(message["role"] != "system" for message in messages):
        raise WireError(
            "a Live setup holds no history", code="unsupported_content", fix="send the history as client content"
        )
    if len(messages) == 1:
        setup["systemInstruction"] = write_content(messages[0])
    elif messages:
        parts = [part for message in messages for part in message.get("parts", ())]
        setup["systemInstruction"] = write_content({"role": "system", "parts": parts})
    if record.get("tools"):
        setup["tools"] = write_tools(record["tools"])
    keys.to_spelled(body, wire.get(keys.SPELLED, ()))
    return body
