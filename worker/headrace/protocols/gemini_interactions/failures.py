"""Errors: of the HTTP answer, of a stream's `error` event, and the faults recorded on an interaction.

{"error": {code, message, …}}   the API's own form, also google.rpc.Status and the event
{"errors": [{code, message}]}   faults of an interaction that may have gone on
{"error": "text"}, {"message": …}, {"detail": …}   gateways and proxies in front
"""

from __future__ import annotations

from headrace.canonical.fields import NUMBER_AS_TEXT, TEXT, Field, Other, Table, is_text, spelling
from headrace.canonical.shape import Error
from headrace.json_text import Json, dumps, loads

_ERROR = Table(
    Field("code", "code", TEXT, NUMBER_AS_TEXT),
    Field("status", "type"),
    Field("type", "type"),
    Field("message", "message"),
    Other("details", "detail"),
)
_FRONT_FORMS = ("message", "Message", "detail")


def read_error(body: dict[str, Json], *, is_interaction: bool) -> tuple[Error | None, str]:
    """The error of a body and the key it stands under ("" where there is none).

    is_interaction: the body has fields of an interaction, so ``message`` and ``detail`` are no errors of a proxy.
    """
    value: Json = body.get("error")
    if type(value) is dict:
        return _read_object(value), "error"
    if is_text(value):
        return {"message": value, "wire": '{"form":"text"}'}, "error"
    faults = body.get("errors")
    if type(faults) is list and any(type(fault) is dict for fault in faults):
        return _read_faults(faults), "errors"
    for form in () if is_interaction else _FRONT_FORMS:
        if is_text(body.get(form)):
            return {"message": body[form], "wire": dumps({"form": form})}, form
        if body.get(form) is not None:
            return {"detail": dumps(body[form]), "wire": dumps({"form": form})}, form
    return None, ""


def write_error(error: Error, body: dict[str, Json]) -> None:
    """Put the error under its key."""
    spelled = spelling(error)
    form = spelled.get("form", "object")
    if form == "object":
        body["error"] = _ERROR.write(error, spelled)
    elif form == "text":
        body["error"] = error["message"]
    elif form == "errors":
        body["errors"] = loads(error["detail"]) if "detail" in error else [_ERROR.write(error, {})]
    else:
        body[form] = error["message"] if "message" in error else loads(error["detail"])


def _read_object(value: dict[str, Json]) -> Error:
    error: Error = {}
    _ERROR.read(value, error).store(error)
    return error


def _read_faults(faults: list[Json]) -> Error:
    """The first fault in named fields; the whole list in ``detail`` where one fault's fields do not say it all."""
    error = _read_object(next(fault for fault in faults if type(fault) is dict))
    plain = len(faults) == 1 and error.keys() <= {"code", "message", "type"}
    kept: Error = {"code": error["code"]} if "code" in error else {}
    for key in ("type", "message"):
        if key in error:
            kept[key] = error[key]
    if not plain:
        kept["detail"] = dumps(faults)
    kept["wire"] = '{"form":"errors"}'
    return kept
