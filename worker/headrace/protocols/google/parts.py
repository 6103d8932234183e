"""Parts of Google's wire <-> canonical parts.

A part has one data member (``text``, ``functionCall``, …) and fields beside it. `FORMS` says, per member, what
canonical type it is and by which table it is read and written; calls and results have a body of their own besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.canonical.arguments import set_text_arguments
from headrace.canonical.fields import Const, Field, Leftover, Other, Table, is_text, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.google import media, results
from headrace.protocols.google.calls import OpenCalls

_SIGNATURE = Field("thoughtSignature", "signature")
#: Fields that may stand beside any data member. A thought may be an image, too.
_SIDES = (Other("thought", "detail"), Other("partMetadata", "detail"), Other("speechMetadata", "detail"))


@dataclass(frozen=True, slots=True)
class Form:
    """How one data member is carried.

    wire_type: set where one canonical type has several members. own: what the table leaves to the code here.
    """

    member: str
    type: str
    table: Table
    wire_type: str | None = None
    own: frozenset[str] = frozenset()


def _call(member: str, name: str) -> Form:
    table = Table(
        Field(f"{member}.{name}", "tool_call.name"),
        Field(f"{member}.id", "tool_call.provider_id"),
        Other(f"{member}.willContinue", "detail"),
        Other(f"{member}.partialArgs", "detail"),
        _SIGNATURE,
        *_SIDES,
    )
    return Form(member, "tool_call", table, None, frozenset({f"{member}.args"}))


def _result(member: str, name: str) -> Form:
    table = Table(
        Field(f"{member}.{name}", "tool_result.name"),
        Other(f"{member}.scheduling", "detail"),
        Other(f"{member}.willContinue", "detail"),
        _SIGNATURE,
        *_SIDES,
    )
    return Form(member, "tool_result", table, None, frozenset(f"{member}.{key}" for key in ("id", "response", "parts")))


_TEXT = Form("text", "text", Table(Field("text", "text", default=""), _SIGNATURE, *_SIDES))
_THOUGHT = Form(
    "text",
    "reasoning",
    Table(
        Const("thought", True),
        Field("text", "reasoning.text"),
        Field("thoughtSignature", "reasoning.signature"),
        *_SIDES[1:],
    ),
)
#: In order of precedence, should a part have several members; the others are kept as unknown fields.
FORMS = {
    form.member: form
    for form in (
        _call("functionCall", "name"),
        _result("functionResponse", "name"),
        _call("toolCall", "toolType"),
        _result("toolResponse", "toolType"),
        Form(
            "executableCode",
            "code",
            Table(
                Field("executableCode.code", "code.code"),
                Field("executableCode.language", "code.language"),
                Field("executableCode.id", "provider_item_id"),
                _SIGNATURE,
                *_SIDES,
            ),
            "executableCode",
        ),
        Form(
            "codeExecutionResult",
            "code",
            Table(
                Field("codeExecutionResult.outcome", "code.outcome"),
                Field("codeExecutionResult.output", "code.output"),
                Field("codeExecutionResult.id", "provider_item_id"),
                _SIGNATURE,
                *_SIDES,
            ),
            "codeExecutionResult",
        ),
        Form("inlineData", "media", Table(*media.INLINE, _SIGNATURE, *_SIDES), "inlineData"),
        Form("fileData", "media", Table(*media.FILE, _SIGNATURE, *_SIDES), "fileData"),
        Form(
            "audioTranscription",
            "text",
            Table(
                Field("audioTranscription.text", "text"),
                *(
                    Other(f"audioTranscription.{key}", "detail")
                    for key in ("finished", "languageCode", "speakerLabel", "words", "startOffset", "endOffset")
                ),
                _SIGNATURE,
                *_SIDES,
            ),
            "audioTranscription",
        ),
        _TEXT,
    )
}
_SIDE_KEYS = frozenset({"thought", "thoughtSignature", "partMetadata", "speechMetadata"})
#: Calls that Google's own servers answer. The client sends call and result back whole.
_SERVER_MEMBERS = frozenset({"toolCall", "toolResponse"})


@dataclass(slots=True)
class Place:
    """Where parts are being read: the message they belong to, and the calls open so far."""

    reading: Reading
    calls: OpenCalls
    message: int
    part: int = 0
    call: int = 0


def read_part(value: Json, place: Place) -> Part:
    """One wire part -> canonical part. Never raises; ``place.part`` moves on."""
    position, place.part = place.part, place.part + 1
    if type(value) is dict:
        text: Json = value.get("text")
        if len(value) == 1 and type(text) is str and (text.isascii() or is_text(text)):
            return {"type": "text", "text": text}
        form = _form_of_wire(value)
        if form is not None:
            return _read(value, form, place, position)
        place.reading.unknown_type("part", next((key for key in value if key not in _SIDE_KEYS), None))
    elif is_text(value):
        return {"type": "text", "text": value, "wire": '{"part":"string"}'}
    else:
        place.reading.unknown_type("part", None)
    return {"type": "unknown", "raw": dumps(value)}


def _form_of_wire(value: Mapping[str, Json]) -> Form | None:
    for member, form in FORMS.items():
        data = value.get(member)
        if data is not None and (form is _TEXT or type(data) is dict):
            return _THOUGHT if form is _TEXT and value.get("thought") is True else form
    if not value or not _SIDE_KEYS.issuperset(value.keys() - {"text"}):
        return None
    # Nothing but side fields: a thought without text, or a signature that stands alone.
    return _TEXT if "text" in value and value.get("thought") is not True else _THOUGHT


def _read(value: dict[str, Json], form: Form, place: Place, position: int) -> Part:
    part: Part = {"type": form.type}
    if form.wire_type is not None:
        part["wire_type"] = form.wire_type
    left = form.table.read(value, part, skip=form.own)
    if form.type == "tool_call":
        _read_call(value[form.member], part, form, left, place, position)
    elif form.type == "tool_result":
        _read_result(value[form.member], part, form, left, place)
    elif form.type == "media":
        media.describe(part.setdefault("media", {}))
    left.store(part)
    continuation = _continuation(part, form)
    if continuation:
        part["continuation"] = continuation
    return part


def _continuation(part: Part, form: Form) -> list[str]:
    """Wire fields that must go back verbatim: signatures, ids of calls, server-side calls and results as a whole."""
    fields = []
    if form.member in _SERVER_MEMBERS:
        fields.append(form.member)
    elif "provider_id" in part.get("tool_call", ()):
        fields.append(f"{form.member}.id")
    if "signature" in part or "signature" in part.get("reasoning", ()):
        fields.append("thoughtSignature")
    return fields


def _read_call(wire: dict[str, Json], part: Part, form: Form, left: Leftover, place: Place, position: int) -> None:
    call = part.setdefault("tool_call", {})
    call["kind"] = "server" if form.member in _SERVER_MEMBERS else "function"
    if form.member in _SERVER_MEMBERS:
        call["wire_type"] = form.member
    call["id"] = call.get("provider_id") or place.reading.tool_call_id(place.message, position)
    if "id" not in wire:
        left.note("absent", f"{form.member}.id")
    call["index"] = place.call
    place.call += 1
    place.calls.called(call.get("name"), call["id"])
    args = wire.get("args")
    if type(args) is str and is_text(args):
        set_text_arguments(call, args)
        left.wire["args"] = "string"
        return
    call["arguments"] = "{}" if args is None else dumps(args)
    if args is None:
        left.note("null" if "args" in wire else "absent", f"{form.member}.args")
    if wire.get("willContinue") is True:
        # Arguments were streamed and more was to come: what is here may lack anything.
        call["raw_arguments"] = call.pop("arguments")
        call["arguments_error"] = "the arguments were cut off"
        call["status"] = "incomplete"


def _read_result(wire: dict[str, Json], part: Part, form: Form, left: Leftover, place: Place) -> None:
    result = part.setdefault("tool_result", {})
    result["kind"] = "server" if form.member in _SERVER_MEMBERS else "function"
    if form.member in _SERVER_MEMBERS:
        result["wire_type"] = form.member
    provider_id = wire.get("id")
    if not provider_id or not is_text(provider_id):
        if provider_id is not None:
            left.extras.setdefault(form.member, {})["id"] = provider_id
        left.note("null" if "id" in wire and provider_id is None else "absent", f"{form.member}.id")
        provider_id = None
    more = wire.get("willContinue") is True
    result["tool_call_id"] = place.calls.answered(result.get("name"), provider_id, more=more)
    results.read(wire, result, form.member, left, place.reading)


# Canonical to wire


def write_part(part: Part) -> Json:
    """One canonical part -> wire part; raises WireError for a type that this wire cannot say."""
    kind = part["type"]
    if kind == "text" and len(part) == 2 and "text" in part:
        return {"text": part["text"]}
    if kind == "unknown":
        return loads(part.get("raw", "{}"))
    wire = spelling(part)
    if wire.get("part") == "string":
        return part["text"]
    form = _form_of_part(part)
    if form is None:
        raise WireError(
            f"a part of type {kind!r} has no form here", code="unsupported_content", fix="convert or drop the part"
        )
    body = form.table.write(part, wire)
    if form.type == "tool_call":
        _write_call(part, form, wire, body)
    elif form.type == "tool_result":
        results.write(part["tool_result"], form.member, wire, body)
    return body


def _form_of_part(part: Part) -> Form | None:
    kind = part["type"]
    if kind == "tool_call":
        return FORMS["toolCall" if part["tool_call"].get("wire_type") == "toolCall" else "functionCall"]
    if kind == "tool_result":
        return FORMS["toolResponse" if part["tool_result"].get("wire_type") == "toolResponse" else "functionResponse"]
    named = FORMS.get(part.get("wire_type", ""))
    if named is not None and named.type == kind:
        return named
    if kind == "media":
        return FORMS["inlineData" if "data" in part.get("media", ()) else "fileData"]
    if kind == "code":
        return FORMS["executableCode" if "code" in part.get("code", ()) else "codeExecutionResult"]
    return {"text": _TEXT, "refusal": _TEXT, "reasoning": _THOUGHT}.get(kind)


def _write_call(part: Part, form: Form, wire: dict[str, Any], body: dict[str, Json]) -> None:
    call = part["tool_call"]
    path = f"{form.member}.args"
    holder = body.setdefault(form.member, {})
    absent = wire.get("absent", ())
    if call.get("id") and "id" not in holder and f"{form.member}.id" not in absent:
        holder["id"] = call["id"]
    if path in absent or path in wire.get("null", ()):
        return
    if wire.get("args") == "string":
        holder["args"] = call["raw_arguments"]
    elif "arguments" in call:
        holder["args"] = loads(call["arguments"])
    elif "raw_arguments" in call:
        holder["args"] = loads(call["raw_arguments"])
