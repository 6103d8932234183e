"""Error bodies and error frames (catalogue, section 2.8), in the forms that dialects and proxies send.

{"error": {message, type, code, param, …}}   OpenAI and most         {"error": "text"}
{"message": …, "type": …, "code": …}          Mistral, Alibaba, old vLLM
{"detail": "text" | [ … ]}                    FastAPI                 {"error_type", "error_message", …} in a chunk
"""

from __future__ import annotations

from headrace.canonical.fields import NUMBER_AS_TEXT, TEXT, Field, Other, Table, is_text
from headrace.canonical.shape import CanonicalRecord, Error
from headrace.json_text import Json, dumps, loads

#: Details of one dialect or another: Groq, OpenRouter, Azure, Anthropic and Google behind a gateway.
_DETAIL = (
    "failed_generation",
    "status_code",
    "schema_kind",
    "metadata",
    "innererror",
    "inner_error",
    "content_filter_result",
    "content_filter_results",
    "details",
    "status",
    "request_id",
)

_CODE = Field("code", "code", TEXT, also=NUMBER_AS_TEXT)

#: The object under "error".
ERROR = Table(
    Field("message", "message"),
    Field("type", "type"),
    _CODE,
    Field("param", "param", TEXT, also=NUMBER_AS_TEXT),
    *(Other(key, "detail") for key in _DETAIL),
)

#: The same on the body itself. ``detail`` is the message when it is a text.
_FLAT: tuple[Field | Other, ...] = (
    Field("message", "error.message"),
    Field("type", "error.type"),
    Field("code", "error.code", TEXT, also=NUMBER_AS_TEXT),
    Field("param", "error.param", TEXT, also=NUMBER_AS_TEXT),
    Field("error_message", "error.message"),
    Field("error_type", "error.type"),
    Field("error_code", "error.code", TEXT, also=NUMBER_AS_TEXT),
    *(Other(key, "error.detail") for key in ("errors", "status", "title", "request_id", "status_code")),
)
FLAT_TEXT: tuple[Field | Other, ...] = (*_FLAT, Field("detail", "error.message"))
FLAT_VALUE: tuple[Field | Other, ...] = (*_FLAT, Other("detail", "error.detail"))

#: Keys that only an error frame has.
MARKS = frozenset({"error_message", "error_type", "error_code"})


def form_of(body: dict[str, Json]) -> str | None:
    """How the body carries its error: object | text | value | flat_text | flat_value | groq; None for none."""
    error = body.get("error")
    if type(error) is dict:
        return "object"
    if is_text(error) and error:
        return "text"
    if not is_flat(body):
        return "value" if error else "groq" if _is_groq(body.get("x_groq")) else None
    return "flat_text" if is_text(body.get("detail")) else "flat_value"


def is_flat(body: dict[str, Json]) -> bool:
    """Whether a body is an error without an "error" object: it has a message or details, and no choices."""
    if not MARKS.isdisjoint(body):
        return True
    if body.get("choices") is not None:
        return False
    return (type(body.get("message")) is str) or "detail" in body or "errors" in body or body.get("object") == "error"


def _is_groq(wrapper: Json) -> bool:
    return type(wrapper) is dict and bool(wrapper.get("error")) and is_text(wrapper["error"])


def read_error(value: Json) -> Error:
    """The error of the value under an "error" key; how it was spelled is told by its type again."""
    error: Error = {}
    if type(value) is dict:
        ERROR.read(value, error).store(error)
        _derive(error)
    elif is_text(value):
        error["message"] = value
    else:
        error["detail"] = dumps(value)
    return error


def derive(record: CanonicalRecord) -> None:
    """Fill what a flat error says elsewhere."""
    _derive(record.setdefault("error", {}))


def _derive(error: Error) -> None:
    """Request id and status out of the details; they are written from there, never from the derived fields."""
    detail = loads(error["detail"]) if "detail" in error else {}
    request_id, status = detail.get("request_id"), detail.get("status_code")
    if type(request_id) is str and is_text(request_id):
        error["request_id"] = request_id
    if type(status) is int and 0 < status < 1000:
        error["http_status"] = status


def write_error(error: Error, form: str) -> Json:
    """The value under the "error" key."""
    if form == "text":
        return error.get("message", "")
    if form == "value":
        return loads(error["detail"])
    return ERROR.write(error)
