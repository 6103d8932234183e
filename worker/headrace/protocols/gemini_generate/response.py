"""Response bodies of generateContent <-> response record: one message a candidate, or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.canonical.fields import (
    ARRAY,
    LONG,
    OBJECT,
    Field,
    Leftover,
    Other,
    Table,
    is_text,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.reasons import with_reasons
from headrace.canonical.shape import CanonicalRecord, Message
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.gemini_generate import finish
from headrace.protocols.google import errors, keys
from headrace.protocols.google.calls import OpenCalls
from headrace.protocols.google.contents import read_turn, write_turn
from headrace.protocols.google.grammar import RESPONSE as GRAMMAR
from headrace.protocols.google.grounding import attach, written_sources
from headrace.protocols.google.parts import Place
from headrace.protocols.google.times import TIMESTAMP
from headrace.protocols.google.usage import read_usage, write_usage

RESPONSE = Table(
    Field("modelVersion", "served_model"),
    Field("responseId", "response_id"),
    Field("createTime", "timing.created_at", TIMESTAMP),
    Field("promptFeedback", "safety", OBJECT),
)
_OWN = frozenset({"candidates", "usageMetadata", "error"})
#: One of these makes a body a response of this protocol.
_TELLING = _OWN | {"promptFeedback", "modelVersion", "responseId", "createTime", "modelStatus"}

CANDIDATE = Table(
    Field("index", "choice_index", LONG),
    Field("finishReason", "raw_finish_reason"),
    Field("safetyRatings", "safety", ARRAY),
    # A content that is no object is kept by this entry; its role and parts are read apart.
    Other("content.role", "detail"),
    *(Other(wire, "detail") for wire in ("finishMessage", "tokenCount", "continuationToken")),
    *(Other(wire, "logprobs") for wire in ("avgLogprobs", "logprobsResult")),
    *(Other(wire, "grounding") for wire in ("groundingMetadata", "urlContextMetadata", "citationMetadata")),
)
_CANDIDATE_OWN = frozenset({"content.role", "content.parts"})


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """A whole response, or an error body -> record. Raises WireError for what is neither.

    A prompt that was blocked has no candidates: status ``failed``, reason ``content_filter``.
    """
    camel, snaked = keys.to_camel(body, GRAMMAR)
    known = type(camel) is dict and not _TELLING.isdisjoint(camel)
    if not known and not (type(camel) is dict and errors.is_error(camel)):
        raise WireError(
            "no response of generateContent: it has neither candidates nor an error",
            place="$.candidates",
            fix="send the response's body",
        )
    record: CanonicalRecord = {}
    if not known:
        wire: dict[str, Json] = {errors.PLACE: "body"}
        errors.read_error(camel, record, wire)
        record["wire"] = dumps(wire)
        return record
    left = RESPONSE.read(camel, record, skip=_OWN)
    _read_candidates(camel, record, left, reading)
    _read_usage(camel, record, left)
    _read_status(record)
    _read_error(camel, record, left)
    if snaked:
        left.wire[keys.SPELLED] = snaked
    left.store(record)
    return record


def _read_candidates(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    candidates = body.get("candidates")
    if type(candidates) is not list:
        if candidates is not None:
            left.extras["candidates"] = candidates
        elif "candidates" in body:
            left.note("null", "candidates")
        return
    if not candidates:
        left.note("empty_list", "candidates")
        return
    place = Place(reading, OpenCalls(), 0)
    record["messages"] = [_read_candidate(value, place, at) for at, value in enumerate(candidates)]
    continuation = [
        f"candidates.{at}.continuationToken"
        for at, value in enumerate(candidates)
        if type(value) is dict and type(value.get("continuationToken")) is str
    ]
    if continuation:
        record["continuation"] = continuation


def _read_candidate(value: Json, place: Place, position: int) -> Message:
    message: Message = {"role": "assistant"}
    if type(value) is not dict:
        place.reading.unknown_type("candidate", None)
        message["parts"] = [{"type": "unknown", "raw": dumps(value)}]
        message["wire"] = '{"candidate":"raw"}'
        return message
    left = CANDIDATE.read(value, message, skip=_CANDIDATE_OWN)
    if "choice_index" not in message:
        message["choice_index"] = position
        if "index" not in value:
            left.note("absent", "index")
    content = value.get("content")
    place.message, place.part, place.call, place.calls = position, 0, 0, OpenCalls()
    if type(content) is dict and content:
        read_turn(content, message, left, place, "content.")
    elif "content" not in value:
        left.note("absent", "content")
    reason = message.get("raw_finish_reason")
    if reason is not None:
        named = finish.canonical(reason, has_calls=_calls_functions(message), reading=place.reading)
        if named is not None:
            message["finish_reason"] = named
            if reason not in finish.REASONS:
                left.wire["reason"] = "lower"
    if "grounding" in message and message.get("parts"):
        attach(message["parts"], value)
    left.store(message)
    return message


def _calls_functions(message: Message) -> bool:
    """Whether the client has something to do; calls that Google's servers answer are none."""
    return any(part.get("tool_call", {}).get("kind") == "function" for part in message.get("parts", ()))


def _read_usage(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    usage = body.get("usageMetadata")
    if type(usage) is dict:
        record["usage"] = read_usage(usage)
        tier = record["usage"].get("service_tier")
        if tier is not None:
            record["service_tier"] = tier
    elif usage is not None:
        left.extras["usageMetadata"] = usage
    elif "usageMetadata" in body:
        left.note("null", "usageMetadata")


def _read_status(record: CanonicalRecord) -> None:
    """Status and reasons of the whole response, from its first candidate or from the block of the prompt."""
    record["status"] = "completed"
    messages = record.get("messages")
    if not messages:
        blocked: Json = loads(record["safety"]).get("blockReason") if "safety" in record else None
        record["status"] = "incomplete"
        if is_text(blocked):
            record["status"], record["finish_reason"] = "failed", "content_filter"
            record["raw_finish_reason"] = record["status_reason"] = blocked
        return
    first = messages[0]
    if "raw_finish_reason" in first:
        record["raw_finish_reason"] = first["raw_finish_reason"]
    if "finish_reason" in first:
        record["finish_reason"] = first["finish_reason"]
        record["status"] = finish.STATUS.get(first["finish_reason"], "completed")
        if record["status"] != "completed":
            record["status_reason"] = first["raw_finish_reason"]


def _read_error(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    error = body.get("error")
    if error is None:
        if "error" in body:
            left.note("null", "error")
    elif not errors.read_error(error, record, left.wire):
        left.extras["error"] = error


def write_response(record: CanonicalRecord) -> Json:
    """A response record -> the response's body, or the error body."""
    wire = spelling(record)
    place = wire.get(errors.PLACE)
    if place == "body":
        return errors.write_error(record["error"], place)
    body = RESPONSE.write(record, wire)
    messages = with_reasons(record)
    if messages:
        body["candidates"] = [_write_candidate(message, at) for at, message in enumerate(messages)]
    if "usage" in record:
        body["usageMetadata"] = write_usage(record["usage"], "candidatesTokenCount")
    if "error" in record:
        body["error"] = errors.write_error(record["error"], place)
    keys.to_spelled(body, wire.get(keys.SPELLED, ()))
    return body


def _write_candidate(message: Message, at: int) -> Json:
    wire = spelling(message)
    if wire.get("candidate") == "raw":
        return loads(message["parts"][0]["raw"])
    wired: dict[str, Any] = {**message}
    reason = finish.written(message.get("raw_finish_reason"), message.get("finish_reason"))
    if reason is not None and wire.get("reason") != "lower":
        wired["raw_finish_reason"] = reason
    unsaid = wire.get("absent", ())
    if "index" in unsaid:
        del wired["choice_index"]
    else:
        wired.setdefault("choice_index", at)
    body = CANDIDATE.write(wired, wire)
    if "content" not in unsaid and _is_open(body, "content", wire):
        write_turn(message, wire, body.setdefault("content", {}), "content.")
    sources = [] if "grounding" in message else written_sources(message.get("parts", ()))
    if sources:
        body["citationMetadata"] = {"citations": sources}
    return body


def _is_open(body: Mapping[str, Json], key: str, wire: Mapping[str, Any]) -> bool:
    """Whether a key is still to be written: not null, not an empty object, not some other value."""
    return key not in wire.get("empty", ()) and (key not in body or type(body[key]) is dict)
