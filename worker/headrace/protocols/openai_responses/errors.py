"""Error objects, in all the forms that the wire and gateways give them.

{"error": {…}} · {"error": "code", "error_description": "…"} · {"detail": …} (FastAPI) · {"message": …} ·
{"type": "error", "code": …, "message": …}. A text alone is a message.
"""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import JSON, LONG, NUMBER_AS_TEXT, Field, Other, Table, is_text, spelling
from headrace.canonical.shape import CanonicalRecord, Error
from headrace.json_text import Json, dumps, loads

_DETAIL = ("misalignment", "moderation_details", "innererror", "inner_error", "details", "metadata", "headers")

#: The object under ``error``.
_ERROR = Table(
    Field("type", "type"),
    Field("code", "code", also=NUMBER_AS_TEXT),
    Field("message", "message"),
    Field("param", "param"),
    Field("request_id", "request_id"),
    Field("status", "http_status", LONG),
    *(Other(key, "detail") for key in _DETAIL),
)
#: What gateways put beside the object under ``error``.
_BESIDE = Table(Field("request_id", "request_id"), Field("status", "http_status", LONG))
_SHAPE_OF = {entry.name: entry.wire for entry in _BESIDE.fields}
#: An error body without an object under ``error``.
_FLAT_FIELDS = (
    Field("code", "code", also=NUMBER_AS_TEXT),
    Field("message", "message"),
    Field("error_description", "message"),
    Field("detail", "message"),
    Field("type", "type"),
    Field("param", "param"),
    Field("request_id", "request_id"),
    Field("status", "http_status", LONG),
    Field("details", "detail", JSON),
    Field("errors", "detail", JSON),
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
        return error
    if is_text(value):
        return {"message": value, "wire": '{"form":"text"}'}
    return {"detail": dumps(value), "wire": '{"form":"value"}'}


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
        error, rest = _read_nested(inner, {key: value for key, value in body.items() if key != "error"})
        record["error"] = error
        record["wire"] = '{"form":"error"}'
        if rest:
            record["extras"] = dumps(rest)
        return record
    error = {}
    _read_flat(body, error)
    record["error"] = error
    record["wire"] = '{"form":"flat_error"}'
    return record


def _read_nested(inner: dict[str, Json], rest: dict[str, Json]) -> tuple[Error, dict[str, Json]]:
    """(error, what stands beside it). A request id or status beside it is the error's, unless it has its own."""
    error: Error = {}
    left = _ERROR.read(inner, error)
    beside = [key for key in _BESIDE.paths if key in rest and key not in inner]
    odd = _BESIDE.read({key: rest.pop(key) for key in sorted(beside)}, error)
    rest.update(odd.extras)
    rest.update(dict.fromkeys(odd.wire.get("null", ())))
    taken = [key for key in sorted(beside) if key not in rest]
    if taken:
        left.wire["beside"] = taken
    left.store(error)
    return error, rest


def _read_flat(body: dict[str, Json], error: Error) -> None:
    alone = type(body.get("error")) is str and not any(is_text(body.get(key)) for key in _MESSAGES)
    left = (_FLAT_TEXT if alone else _FLAT).read(body, error)
    if alone:
        left.wire["error"] = "message"
    details = left.extras.get("detail")
    if details is not None and "detail" not in error:
        # FastAPI gives a list of what is wrong.
        error["detail"] = dumps(left.extras.pop("detail"))
        left.wire["detail"] = True
    left.store(error)


def write_error_body(record: CanonicalRecord, form: str) -> Json:
    """The body of an error record; ``form`` is "error", "flat_error" or "error_value"."""
    error = record.get("error", {})
    if form == "error_value":
        return write_error(error)
    if form == "flat_error":
        spelled = spelling(error)
        table = _FLAT_TEXT if "error" in spelled else _FLAT
        if not spelled.get("detail"):
            return table.write(error, spelled)
        shape: Any = {key: value for key, value in error.items() if key != "detail"}
        return {**table.write(shape, spelled), "detail": loads(error["detail"])}
    spelled = spelling(error)
    taken = _BESIDE.write(error, {}) if "beside" in spelled else {}
    beside = {key: taken[key] for key in spelled.get("beside", ())}
    own: Any = {key: value for key, value in error.items() if _SHAPE_OF.get(key) not in beside}
    body: dict[str, Json] = {**beside, "error": write_error(own)}
    if "extras" in record:
        body.update(loads(record["extras"]))
    return body
