"""Interaction resource <-> canonical response. An error body is a response too."""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import JSON, TIME_TEXT, Const, Field, Leftover, Other, Table, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.gemini_interactions import failures
from headrace.protocols.gemini_interactions.finish import goes_on, read_status, write_status
from headrace.protocols.gemini_interactions.request import is_system, read_prompt, write_prompt
from headrace.protocols.gemini_interactions.settings import SETTINGS, continuation
from headrace.protocols.gemini_interactions.turns import mark, read_turns, write_turns
from headrace.protocols.gemini_interactions.usage import read_usage, write_usage

_INTERACTION: tuple[Field | Const | Other, ...] = (
    Const("object", "interaction"),
    Field("id", "response_id"),
    Field("model", "served_model"),
    Field("agent", "served_model"),
    Field("service_tier", "service_tier"),
    Field("created", "timing.created_at", TIME_TEXT),
    Field("environment_id", "container", JSON),
    *SETTINGS,
    # Of the last event of a stream: what a client resumes after.
    Other("event_id", "detail"),
    # What Google's SDK adds to the resource, and loggers of its objects write down.
    *(Other(key, "detail") for key in ("continuation_ids", "output_text", "output_image", "output_audio")),
    Other("output_video", "detail"),
)
#: While an interaction goes on, its last change is not its end.
_ENDED = Table(*_INTERACTION, Field("updated", "timing.completed_at", TIME_TEXT))
_GOING_ON = Table(*_INTERACTION, Other("updated", "detail"))

_PROMPT_KEYS = ("input", "system_instruction", "tools")
_OWN_KEYS = frozenset({*_PROMPT_KEYS, "status", "usage", "error", "errors", "steps", "outputs"})
_KEYS = {path.partition(".")[0] for path in _ENDED.paths} | (_OWN_KEYS - {"error"})
#: A record with an error and none of these is an error body.
_MORE_THAN_ERROR = ("response_id", "served_model", "messages", "usage", "raw_finish_reason", "extras", "wire")


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """An interaction or an error body; raises WireError when it is neither. layout is not needed: steps have order."""
    is_interaction = type(body) is dict and not body.keys().isdisjoint(_KEYS)
    error, error_key = failures.read_error(body, is_interaction=is_interaction) if type(body) is dict else (None, "")
    if not is_interaction and error is None:
        raise WireError("no field of an interaction and no error", place="$", fix="send the body of an interaction")
    record: CanonicalRecord = {}
    left = _table(body.get("status")).read(body, record, _OWN_KEYS | ({error_key} if error_key else set()))
    if error is not None:
        record["error"] = error
    for key in ("error", "errors"):
        if key in body and key != error_key:
            left.extras[key] = body[key]
    read_status(body, record, left, reading)
    read_prompt(body, record, left, reading)
    mark(record.get("messages", []), "at", "prompt")
    _read_steps(body, record, left, reading)
    _read_usage(body, record, left)
    names = continuation(body)
    if names:
        record["continuation"] = names
    left.store(record)
    return record


def write_response(record: CanonicalRecord) -> Json:
    """The inverse of `read_response`."""
    if "error" in record and record.keys().isdisjoint(_MORE_THAN_ERROR):
        body: dict[str, Json] = {}
        failures.write_error(record["error"], body)
        return body
    spelled = spelling(record)
    status = write_status(record, spelled)
    body = _table(status).write(record, spelled)
    if status is not None and "status" not in body:
        body["status"] = status
    messages = record.get("messages", [])
    prompt = [message for message in messages if "at" in spelling(message) or is_system(message)]
    write_prompt(record, prompt, spelled, body)
    elements = write_turns([message for message in messages if not any(message is one for one in prompt)])
    if elements:
        body[spelled.get("list", "steps")] = elements
    if "usage" in record:
        body["usage"] = write_usage(record["usage"])
    if "error" in record:
        failures.write_error(record["error"], body)
    return body


def _table(status: Json) -> Table:
    return _GOING_ON if goes_on(status) else _ENDED


def _read_steps(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    """Steps, or the outputs of before 2026-05; of both, the one that has elements."""
    steps, outputs = listed(body, "steps", left), listed(body, "outputs", left)
    if steps and outputs:
        left.extras["outputs"] = outputs
    elif outputs:
        left.wire["list"] = "outputs"
    messages: list[Message] = record.setdefault("messages", [])
    messages += read_turns(steps or outputs, reading, len(messages), outputs=not steps, user=False)
    if not messages:
        del record["messages"]


def _read_usage(body: dict[str, Json], record: CanonicalRecord, left: Leftover) -> None:
    usage = body.get("usage")
    if type(usage) is dict and usage:
        record["usage"] = read_usage(usage)
    elif usage is not None:
        left.extras["usage"] = usage
    elif "usage" in body:
        left.note("null", "usage")
