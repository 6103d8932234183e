"""Responses: messages, error bodies, token counts, batch results, and what the fold made of a stream.

A stream that broke off with an error event is a message with ``error`` (and ``request_id``) beside its content.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from headrace.canonical.fields import JSON, LONG, OBJECT, Const, Field, Leftover, Other, Table, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.anthropic_messages import batch, failures
from headrace.protocols.anthropic_messages.finish import set_finish, write_reason
from headrace.protocols.anthropic_messages.messages import read_message, write_message
from headrace.protocols.anthropic_messages.usage import read_usage, write_usage
from headrace.protocols.anthropic_messages.wire import paths, present

_RESPONSE = Table(
    Const("type", "message"),
    Field("id", "response_id"),
    Field("model", "served_model"),
    Field("stop_reason", "raw_finish_reason", default=None),
    Field("stop_sequence", "stop_sequence", default=None),
    Field("stop_details", "safety", OBJECT),
    Field("container", "container", JSON),
    Other("diagnostics", "parameters.other"),
    Other("context_management", "parameters.other"),
    Other("input_transformations", "parameters.other"),
)
_TOKEN_COUNT = Table(Field("input_tokens", "usage.input_tokens", LONG), Other("context_management", "parameters.other"))

#: A body with any of these is a message, however little of it there is.
_MESSAGE_KEYS = ("content", "stop_reason", "usage")
_MESSAGE = ("role", "content")
#: What a message has in any case, where the record holds nothing of it.
_ALWAYS: dict[str, Json] = {"role": "assistant", "content": [], "usage": {"input_tokens": 0, "output_tokens": 0}}
_ERROR = ("error", "request_id")
#: A record with an error and any of these is a message that broke off.
_MESSAGE_FIELDS = ("messages", "usage", "response_id", "raw_finish_reason", "extras", "wire")
_CONTINUATION = paths("container.id", "stop_details.fallback_credit_token")


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """A response body. ``layout`` is what `stream.fold` gave: {"streamed": {block position: argument string}}."""
    if batch.is_result(body):
        return batch.wrap(body, lambda inner: read_response(inner, reading, layout))
    if type(body) is not dict:
        raise _no_message("a JSON object")
    if body.get("type") == "message" or any(key in body for key in _MESSAGE_KEYS):
        return _read_message(body, reading, layout)
    form = failures.form_of(body)
    if form is not None:
        return {"status": "failed", "error": failures.read_error(body, form)}
    if LONG.fits(body.get("input_tokens")):
        return _read_token_count(body)
    if layout is not None:
        return _read_message(body, reading, layout)
    raise _no_message("`content`, `usage` or `error`")


def _no_message(what: str) -> WireError:
    return WireError(
        f"a response of Anthropic Messages has {what}",
        place="$",
        fix="name the protocol that this body is of, or send the whole body",
    )


def _read_message(body: dict[str, Json], reading: Reading, layout: Any) -> CanonicalRecord:
    record: CanonicalRecord = {}
    failed = body.get("error") is not None
    left = _RESPONSE.read(body, record, skip=(*_MESSAGE, "usage", *(_ERROR if failed else ())))
    for key in _ALWAYS:
        if key not in body:
            left.note("absent", key)
    message = {key: body[key] for key in _MESSAGE if key in body}
    if message:
        streamed = layout.get("streamed") if layout else None
        record["messages"] = [read_message(message, reading, 0, streamed)]
    _read_usage(body, record, left)
    set_finish(record, reading)
    if failed:
        _set_error(body, record)
    continuation = present(body, _CONTINUATION)
    if continuation:
        record["continuation"] = continuation
    left.store(record)
    return record


def _read_usage(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    if "usage" not in body:
        return
    usage = body["usage"]
    if type(usage) is dict:
        record["usage"] = read_usage(usage)
        if "service_tier" in record["usage"]:
            record["service_tier"] = record["usage"]["service_tier"]
    elif usage is None:
        left.note("null", "usage")
    else:
        left.extras["usage"] = usage


def _set_error(body: dict[str, Json], record: CanonicalRecord) -> None:
    error = {key: body[key] for key in _ERROR if key in body}
    record["error"] = failures.read_error(error, "event" if type(body["error"]) is dict else "event_text")
    record["status"] = "failed"
    record.pop("status_reason", None)


def _read_token_count(body: dict[str, Json]) -> CanonicalRecord:
    record: CanonicalRecord = {"status": "completed"}
    left = _TOKEN_COUNT.read(body, record)
    left.wire["form"] = "token_count"
    left.store(record)
    return record


def write_response(record: CanonicalRecord) -> Json:
    """The inverse of `read_response`."""
    if batch.is_wrapped(record):
        return batch.unwrap(record, write_response)
    spelled = spelling(record)
    if spelled.get("form") == "token_count":
        return _TOKEN_COUNT.write(record)
    if "error" in record and not any(key in record for key in _MESSAGE_FIELDS):
        return failures.write_error(record["error"])
    body = _RESPONSE.write(record, spelled)
    reason = write_reason(record)
    if reason is not None:
        body["stop_reason"] = reason
    for message in (record.get("messages") or [])[:1]:
        body.update(write_message(message))
    if "usage" in record:
        body["usage"] = write_usage(record["usage"])
    absent = spelled.get("absent", ())
    body |= {key: deepcopy(value) for key, value in _ALWAYS.items() if key not in body and key not in absent}
    if "error" in record:
        body.update(failures.write_beside(record["error"]))
    return body
