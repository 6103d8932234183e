"""Responses, compaction results, token counts and error bodies."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from headrace.canonical.fields import (
    EPOCH,
    EPOCH_FLOAT,
    LONG,
    Const,
    Field,
    Kind,
    Leftover,
    Other,
    Table,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.openai_responses.errors import (
    has_error,
    looks_like_error,
    read_error,
    read_error_body,
    write_error,
    write_error_body,
)
from headrace.protocols.openai_responses.finish import INCOMPLETE, REASONS, set_finish
from headrace.protocols.openai_responses.messages import read_messages, write_messages
from headrace.protocols.openai_responses.request import read_declared, write_declared
from headrace.protocols.openai_responses.settings import SETTINGS
from headrace.protocols.openai_responses.usage import read_usage, write_usage

#: Whole seconds; times of other protocols have fractions, which this wire can say, too.
_SECONDS = Kind(EPOCH.fits, EPOCH.to_shape, lambda micros: micros / 1e6 if micros % 1_000_000 else micros // 1_000_000)
_RESPONSE = Table(
    Const("object", "response"),
    Field("id", "response_id"),
    Field("model", "served_model"),
    Field("status", "status"),
    Field("incomplete_details.reason", "raw_finish_reason"),
    Field("created_at", "timing.created_at", _SECONDS, EPOCH_FLOAT),
    Field("completed_at", "timing.completed_at", _SECONDS, EPOCH_FLOAT),
    Field("service_tier", "service_tier"),
    Field("system_fingerprint", "system_fingerprint"),
    *SETTINGS,
    # An echo of the request's: the response's own messages are its output.
    Other("instructions", "parameters.other"),
    Other("moderation", "safety"),
    Other("content_filters", "safety"),
    Other("tool_usage", "detail"),
    Other("billing", "detail"),
    Other("prompt_cache_diagnostics", "detail"),
    Other("input_transformations", "detail"),
    Other("copilot_usage", "detail"),
    Other("status_details", "detail"),
    # Spoken output, streamed apart from all items by an old kind of model.
    Other("audio", "detail"),
)
#: The body of `POST /v1/responses/input_tokens`.
_COUNT = Table(Field("input_tokens", "usage.input_tokens", LONG))
_APART = ("output", "usage", "error", "tools", "tool_choice")
_OPEN = ("in_progress", "queued")
#: What a response echoes of its request in any case, as it is where the request says nothing.
_ALWAYS: dict[str, Json] = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """The record of a response or error body; raises WireError for a body that is neither.

    layout: not used; the body says it all.
    """
    if not _is_response(body):
        if looks_like_error(body):
            return read_error_body(body)
        raise WireError(
            "the body is no response of openai.responses: it has neither output nor error",
            fix="check the protocol that the capture names, or the source mapping",
        )
    record: CanonicalRecord = {}
    left = _RESPONSE.read(body, record, _APART)
    _read_output(body, record, left, reading)
    read_declared(body, record, left, reading)
    for key in _ALWAYS:
        if key not in body:
            left.note("absent", key)
    _read_usage(body, record, left)
    _read_error(body, record, left)
    _spell_status(body, record, left)
    set_finish(record, reading)
    left.store(record)
    return record


def _is_response(body: Json) -> bool:
    if type(body) is not dict:
        return False
    kind = body.get("object")
    return (
        "output" in body
        or (type(kind) is str and kind.startswith("response"))
        or ("id" in body and ("status" in body or "created_at" in body))
    )


def _keep(body: dict[str, Json], key: str, left: Leftover) -> None:
    """A key whose value is not what it should be: null is spelling, the rest extras."""
    if key in body:
        if body[key] is None:
            left.note("null", key)
        else:
            left.extras[key] = body[key]


def _read_output(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    output = body.get("output")
    if type(output) is list:
        messages = read_messages(output, reading, output=True)
        if messages:
            record["messages"] = messages
    else:
        _keep(body, "output", left)
        if "output" not in body:
            left.note("absent", "output")


def _read_usage(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    usage = body.get("usage")
    if type(usage) is dict:
        record["usage"] = read_usage(usage, body.get("tool_usage"))
    else:
        _keep(body, "usage", left)
        if type(body.get("input_tokens")) is int and "usage" not in body:
            count = _COUNT.read({"input_tokens": left.extras.pop("input_tokens")}, record)
            left.extras.update(count.extras)
            left.wire["usage"] = "count"


def _read_error(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    """The error of a response."""
    error = body.get("error")
    if error is None:
        _keep(body, "error", left)
        return
    record["error"] = read_error(error)
    if "response_id" not in record:
        left.wire["form"] = "response"


def _spell_status(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    """Remember an open status: what is known besides (an error, the stream's end) may say otherwise."""
    status = record.get("status")
    if status is not None and status not in _OPEN:
        return
    if status is not None or "status" not in body:
        left.wire["status"] = status
    if "error" in record:
        record["status"] = "failed"


def write_response(record: CanonicalRecord) -> Json:
    """The wire body of a record; raises WireError for a part that the wire has no form for."""
    spelled = spelling(record)
    form = spelled.get("form") or ("error" if has_error(record) and "response_id" not in record else "response")
    if form != "response":
        return write_error_body(record, form)
    written = _RESPONSE.write(_with_own_reason(record), spelled)
    if "status" in spelled:
        written.pop("status", None)
        if spelled["status"] is not None:
            written["status"] = spelled["status"]
    if "output" not in written and "output" not in spelled.get("absent", ()):
        seed = record.get("response_id", "")
        written["output"] = write_messages(record.get("messages", []), output=True, seed=seed)
    write_declared(record, written)
    absent = spelled.get("absent", ())
    written |= {key: deepcopy(value) for key, value in _ALWAYS.items() if key not in written and key not in absent}
    if spelled.get("usage") == "count":
        written.update(_COUNT.write(record, {}))
    elif "usage" in record:
        written["usage"] = write_usage(record["usage"])
    if has_error(record):
        written["error"] = write_error(record["error"])
    return written


def _with_own_reason(record: CanonicalRecord) -> CanonicalRecord:
    """The record with this protocol's reason for being cut; only another protocol's has another."""
    raw, finish = record.get("raw_finish_reason"), record.get("finish_reason")
    if finish is None or raw in INCOMPLETE:
        return record
    own: Any = {key: value for key, value in record.items() if key != "raw_finish_reason"}
    if finish in REASONS and record.get("status") == "incomplete":
        own["raw_finish_reason"] = REASONS[finish]
    return own  # type: ignore[no-any-return]
