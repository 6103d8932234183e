"""Error bodies and error events.

The API's own form is {"type": "error", "error": {"type", "message", "details"}, "request_id"}; gateways and
platforms in front of it answer with {"error": "text"}, {"message": …} or {"detail": …}. The form is told by which
of them holds something; ``wire`` names it where it is not the API's.
"""

from __future__ import annotations

from headrace.canonical.fields import Const, Field, Other, Table, is_text, spelling
from headrace.canonical.shape import Error
from headrace.json_text import Json

_REQUEST_ID = Field("request_id", "request_id")
_NESTED = (
    Field("error.status", "type"),
    Field("error.param", "param"),
    Other("error.details", "detail"),
    Other("error.code", "detail"),
    _REQUEST_ID,
)
_FLAT = (Field("type", "type"), Other("code", "detail"), Other("status", "detail"), _REQUEST_ID)
_TABLES = {
    "object": Table(
        Const("type", "error"),
        Field("error.type", "type", default="api_error"),
        Field("error.message", "message", default=""),
        *_NESTED,
    ),
    "event": Table(Field("error.type", "type"), Field("error.message", "message"), *_NESTED),
    "event_text": Table(Field("error", "message"), _REQUEST_ID),
    "text": Table(Field("error", "message"), Other("message", "detail"), *_FLAT),
    "message": Table(Field("message", "message"), *_FLAT),
    "Message": Table(Field("Message", "message"), *_FLAT),
    "detail": Table(Other("detail", "detail"), *_FLAT),
}


def form_of(body: dict[str, Json]) -> str | None:
    """The form of an error body; None when the body does not look like an error at all."""
    error = body.get("error")
    if type(error) is dict:
        return "object"
    if error is not None:
        return "text"
    form = next((key for key in ("message", "Message", "detail") if body.get(key) is not None), None)
    return "object" if form is None and body.get("type") == "error" else form


def read_error(body: dict[str, Json], form: str) -> Error:
    """An error body of a form that `form_of` gave, or an error beside a message ("event", "event_text")."""
    error: Error = {}
    left = _TABLES[form].read(body, error)
    if form != "object":
        left.wire["form"] = form
    left.store(error)
    _set_code(body, error)
    if form == "detail" and is_text(body["detail"]):
        error["message"] = body["detail"]
    return error


def _set_code(body: dict[str, Json], error: Error) -> None:
    """The code, wherever it stands. Derived: the writer writes it from ``detail``."""
    nested = body.get("error")
    inner = nested if type(nested) is dict else {}
    details = inner.get("details")
    codes = (inner.get("code"), details.get("error_code") if type(details) is dict else None, body.get("code"))
    for code in codes:
        if is_text(code) or type(code) is int:
            error["code"] = str(code)
            return


def write_error(error: Error) -> dict[str, Json]:
    """The inverse of `read_error`, for an error body."""
    form = spelling(error).get("form", "object")
    return _TABLES.get(form, _TABLES["object"]).write(error)


def write_beside(error: Error) -> dict[str, Json]:
    """What an error adds to a message that it broke off; a stream's last event says it."""
    form = spelling(error).get("form", "event")
    return _TABLES.get(form, _TABLES["event"]).write(error)
