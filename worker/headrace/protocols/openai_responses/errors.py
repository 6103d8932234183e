"""Error objects, in all the forms that the wire and gateways give them.

{"error": {…}} · {"error": "code", "error_description": "…"} · {"detail": …} (FastAPI) · {"message": …} ·
{"type": "error", "code": …, "message": …}. A text alone is a message.
"""

from __future__ import annotations

from headrace.canonical.fields import ARRAY, NUMBER_AS_TEXT, Field, Other, Table, is_text, spelling
from headrace.canonical.shape import CanonicalRecord, Error
from headrace.json_text import Json, dumps, loads

_DETAIL = (
    *("request_id", "status", "misalignment", "moderation_details", "innererror", "inner_error", "details"),
    *("metadata", "headers"),
)

#: The object under ``error``.
_ERROR = Table(
    Field("type", "type"),
    Field("code", "code", also=NUMBER_AS_TEXT),
    Field("message", "message"),
    Field("param", "param"),
    *(Other(key, "detail") for key in _DETAIL),
)
#: An error body without an object under ``error``.
_FLAT_FIELDS: tuple[Field | Other, ...] = (
    Field("code", "code", also=NUMBER_AS_TEXT),
    Field("message", "message"),
    Field("error_description", "message"),
    # FastAPI gives a text, or a list of what is wrong.
    Field("detail", "message", also=ARRAY),
    Field("type", "type"),
    Field("param", "param"),
    *(Other(key, "detail") for key in ("request_id", "status", "details", "errors")),
)
_MESSAGES = ("message", "error_description", "detail")
#: {"error": text}: a code where a message stands beside it, else the message itself.
_FLAT = Table(Field("error", "code"), *_FLAT_FIELDS)
_FLAT_TEXT = Table(Field("error", "message"), *_FLAT_FIELDS)
#: Keys by which a body that is no response is told to be an error.
ERROR_KEYS = ("error", "detail", "message", "errors", "error_description")


def read_error(value: Json) -> Error:
    """The value under ``error``: an object, or a text, or (spelled) any other value."""
    if type(value) is dict and value:
        error: Error = {}
        _ERROR.read(value, error).store(error)
        _set_trace(value, error)
        return error
    if is_text(value):
        return {"message": value, "wire": '{"form":"text"}'}
    return {"detail": dumps(value), "wire": '{"form":"value"}'}


def has_error(record: CanonicalRecord) -> bool:
    """Whether a record's error came in a body; HTTP alone gives a status and a request id."""
    return bool(record.get("error", {}).keys() - {"http_status", "request_id"})


def write_error(error: Error) -> Json:
    """The value for ``error``."""
    spelled = spelling(error)
    if spelled.get("form") == "text":
        return error["message"]
    if spelled.get("form") == "value":
        return loads(error["detail"])
    return _ERROR.write(error, spelled)


def looks_like_error(body: Json) -> bool:
    """Whether a body that is no response is an error body; a text alone is one (of a proxy)."""
    if type(body) is not dict:
        return type(body) is str
    return body.get("type") == "error" or any(body.get(key) for key in ERROR_KEYS)


def read_error_body(body: Json) -> CanonicalRecord:
    """A body that is an error and nothing else."""
    record: CanonicalRecord = {"status": "failed", "finish_reason": "error"}
    if type(body) is not dict:
        record["error"] = read_error(body)
        record["wire"] = '{"form":"error_value"}'
        return record
    inner = body.get("error")
    if type(inner) is dict and inner:
        record["error"] = read_error(inner)
        _set_trace(body, record["error"])
        record["wire"] = '{"form":"error"}'
        rest = {key: value for key, value in body.items() if key != "error"}
        if rest:
            record["extras"] = dumps(rest)
        return record
    error: Error = {}
    _read_flat(body, error)
    record["error"] = error
    record["wire"] = '{"form":"flat_error"}'
    return record


def _set_trace(value: dict[str, Json], error: Error) -> None:
    """Request id and HTTP status that a body repeats, for readers; the wire's own copies stand in ``detail``."""
    if is_text(value.get("request_id")):
        error.setdefault("request_id", value["request_id"])
    if type(value.get("status")) is int and 100 <= value["status"] < 600:
        error.setdefault("http_status", value["status"])


def _read_flat(body: dict[str, Json], error: Error) -> None:
    alone = type(body.get("error")) is str and not any(is_text(body.get(key)) for key in _MESSAGES)
    left = (_FLAT_TEXT if alone else _FLAT).read(body, error)
    if alone:
        left.wire["error"] = "message"
    _set_trace(body, error)
    left.store(error)


def write_error_body(record: CanonicalRecord, form: str) -> Json:
    """The body of an error record; ``form`` is "error", "flat_error" or "error_value"."""
    error = record.get("error", {})
    if form == "error_value":
        return write_error(error)
    if form == "flat_error":
        spelled = spelling(error)
        return (_FLAT_TEXT if "error" in spelled else _FLAT).write(error, spelled)
    body: dict[str, Json] = {"error": write_error(error)}
    if "extras" in record:
        body.update(loads(record["extras"]))
    return body
