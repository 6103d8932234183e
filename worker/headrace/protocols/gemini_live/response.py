"""A turn's body, as `stream` folds it <-> response record."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import Leftover, Other, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.gemini_live.entries import Reader, write_entries
from headrace.protocols.gemini_live.finish import read_end
from headrace.protocols.gemini_live.grammar import FLAGS
from headrace.protocols.google import errors
from headrace.protocols.google.calls import OpenCalls
from headrace.protocols.google.grounding import attach
from headrace.protocols.google.parts import Place
from headrace.protocols.google.usage import read_usage, write_usage

#: What is said of the turn as a whole, on its last message of the model.
TURN = Table(
    *(Other(wire, "detail") for wire in FLAGS),
    *(Other(wire, "grounding") for wire in ("groundingMetadata", "urlContextMetadata")),
)
_OWN = frozenset({"turn", "usageMetadata", "usageUpdates", "error"})
_TELLING = TURN.paths | _OWN


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """A turn -> record: messages of both sides in order, usage, how it ended. Raises WireError for what is no turn."""
    if type(body) is not dict or _TELLING.isdisjoint(body):
        if type(body) is not dict or not errors.is_error(body):
            raise WireError("no turn of a Live session", place="$.turn", fix="send the session's frames as a stream")
        record: CanonicalRecord = {"wire": dumps({errors.PLACE: "body"})}
        errors.read_error(body, record, {})
        return record
    record = {}
    said: Message = {"role": "assistant"}
    left = TURN.read(body, said, skip=_OWN)
    messages = _read_entries(body, left, reading)
    if "detail" in said or "grounding" in said:
        _tell(messages, said)
    if messages:
        record["messages"] = messages
    _mark_cancelled(messages)
    _read_usage(body, record, left)
    read_end(body, record, reading)
    _read_session(body, record)
    error = body.get("error")
    if error is not None and not errors.read_error(error, record, left.wire):
        left.extras["error"] = error
    elif "error" in body and error is None:
        left.note("null", "error")
    left.store(record)
    return record


def _read_entries(body: dict[str, Json], left: Leftover, reading: Reading) -> list[Message]:
    entries = body.get("turn")
    reader = Reader(Place(reading, OpenCalls(), 0))
    if type(entries) is list:
        for entry in entries:
            reader.add(entry)
        if not entries:
            left.note("empty_list", "turn")
    elif entries is not None:
        left.extras["turn"] = entries
    elif "turn" in body:
        left.note("null", "turn")
    return reader.messages


def _tell(messages: list[Message], said: Message) -> None:
    """Put what is said of the turn on the model's last message, or on one of its own."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None or "detail" in last:
        last = {"role": "assistant", "wire": '{"turn":"only"}'}
        messages.append(last)
    for key in ("detail", "grounding"):
        if key in said:
            last[key] = said[key]
    if "grounding" in said and "parts" in last:
        attach(last["parts"], loads(said["grounding"]))


def _mark_cancelled(messages: list[Message]) -> None:
    """Give calls that the server took back the status ``cancelled``."""
    parts = [part for message in messages for part in message.get("parts", ())]
    cancelled: set[str] = set()
    for part in parts:
        if part.get("wire_type") == "toolCallCancellation" and "data" in part:
            data = loads(part["data"])
            ids = data.get("ids") if type(data) is dict else None
            cancelled.update(one for one in (ids if type(ids) is list else ()) if type(one) is str)
    for part in parts:
        if part["type"] == "tool_call" and part["tool_call"].get("provider_id") in cancelled:
            part["tool_call"]["status"] = "cancelled"


def _read_usage(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    usage = body.get("usageMetadata")
    if type(usage) is dict:
        record["usage"] = read_usage(usage)
        if "usageUpdates" in body:
            detail = loads(record["usage"].get("detail", "{}"))
            record["usage"]["detail"] = dumps({**detail, "updates": body["usageUpdates"]})
        return
    if "usageUpdates" in body:
        left.extras["usageUpdates"] = body["usageUpdates"]
    if usage is not None:
        left.extras["usageMetadata"] = usage
    elif "usageMetadata" in body:
        left.note("null", "usageMetadata")


def _read_session(body: dict[str, Json], record: CanonicalRecord) -> None:
    entries = body.get("turn")
    for entry in entries if type(entries) is list else ():
        complete = entry.get("setupComplete") if type(entry) is dict else None
        session = complete.get("sessionId") if type(complete) is dict else None
        if type(session) is str and session.isascii():
            record["conversation_id"] = session


def write_response(record: CanonicalRecord) -> Json:
    """A response record -> the turn's body."""
    wire = spelling(record)
    place = wire.get(errors.PLACE)
    if place == "body":
        return errors.write_error(record["error"], place)
    messages = record.get("messages", [])
    said = next((message for message in reversed(messages) if _is_of_turn(message)), None)
    whole: Any = said or {}
    body = TURN.write({key: whole[key] for key in ("detail", "grounding") if key in whole})
    if said is None and messages and record.get("finish_reason") is not None:
        body["turnComplete"] = True
    body.update(TURN.write({"extras": record.get("extras", "{}")}, wire))
    entries = write_entries([message for message in messages if "turn" not in spelling(message)])
    if entries:
        body["turn"] = entries
    if "usage" in record:
        body["usageMetadata"] = write_usage(record["usage"], "responseTokenCount")
        updates = loads(record["usage"].get("detail", "{}")).get("updates")
        if updates is not None:
            body["usageUpdates"] = updates
    if "error" in record:
        body["error"] = errors.write_error(record["error"], place)
    return body


def _is_of_turn(message: Message) -> bool:
    """Whether a message of the model carries what is said of the whole turn."""
    return message["role"] == "assistant" and "entry" not in spelling(message) and _has_facts(message)


def _has_facts(message: Message) -> bool:
    return "detail" in message or "grounding" in message
