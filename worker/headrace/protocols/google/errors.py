"""Error bodies: Google's ``{"error": {code, message, status, details}}`` and what proxies answer instead <-> `Error`.

Where the error lies is spelling: under ``error`` as an object or as text, or the body itself
(``{"detail": …}``, ``{"message": …}``, ``{"code": …, "message": …}``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.canonical.fields import JSON, Field, Kind, Table, is_text
from headrace.canonical.shape import CanonicalRecord, Error
from headrace.json_text import Json

_NUMBER = re.compile(r"-?[0-9]+")


def _is_number(value: Json) -> bool:
    return type(value) is int and -(1 << 53) < value < 1 << 53


def _is_code(value: Json) -> bool:
    """A number, or text that does not look like one, so that both ways back are told apart."""
    return _is_number(value) or (is_text(value) and _NUMBER.fullmatch(value) is None)


def _code_to_wire(code: str) -> Json:
    return int(code) if _NUMBER.fullmatch(code) else code


_CODE = Kind(_is_code, str, _code_to_wire)
_STATUS = Table(
    Field("code", "code", _CODE),
    Field("message", "message"),
    Field("status", "type"),
    Field("type", "type"),
    Field("param", "param"),
    Field("details", "detail", JSON),
    Field("detail", "detail", JSON),
    Field("request_id", "request_id"),
    Field("requestId", "request_id"),
)
#: Keys by which a body without ``error`` is told to be an error of its own.
_TELLING = frozenset({"message", "detail", "details", "code", "status", "errors", "title", "error_description"})

#: Where ``wire`` of the record keeps the place of the error.
PLACE = "error"


def is_error(body: Mapping[str, Json]) -> bool:
    """Whether a body that has none of its protocol's own keys looks like an error."""
    return body.get("error") is not None or not _TELLING.isdisjoint(body)


def read_error(value: Json, record: CanonicalRecord, wire: dict[str, Json]) -> bool:
    """Read the value of ``error``, or a whole error body, into the record; False if it has no form of an error."""
    error: Error = {}
    if type(value) is dict:
        _STATUS.read(value, error).store(error)
    elif is_text(value):
        error["message"] = value
        wire[PLACE] = "text"
    else:
        return False
    record["error"] = error
    record["status"] = "failed"
    return True


def write_error(error: Error, place: Json) -> Json:
    """The value of ``error``, or the whole error body."""
    return error.get("message", "") if place == "text" else _STATUS.write(error)
