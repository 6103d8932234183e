"""Responses (catalogue, section 2.3) and error bodies (2.8): one message a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from headrace.canonical.fields import (
    EPOCH,
    EPOCH_FLOAT,
    JSON,
    LONG,
    OBJECT,
    Const,
    Field,
    Leftover,
    Other,
    Table,
    is_text,
    merge,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.reasons import with_reasons
from headrace.canonical.shape import CanonicalRecord, Error, Message, Part
from headrace.errors import WireError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.openai_chat import errors
from headrace.protocols.openai_chat.calls import CallBook
from headrace.protocols.openai_chat.finish import canonical_reason, outcome, wire_reason
from headrace.protocols.openai_chat.messages import MESSAGE, read_message, write_pieces
from headrace.protocols.openai_chat.order import Run
from headrace.protocols.openai_chat.parts import leave, unknown_part
from headrace.protocols.openai_chat.usage import read_usage, write_usage

#: Filter results and moderation of the whole exchange.
_SAFETY = ("moderation", "prompt_filter_results", "prompt_annotations")
#: Perplexity's and xAI's sources, which no text part claims: they go with the first choice.
_GROUNDING = ("citations", "search_results", "images", "related_questions", "videos")

#: What else one dialect or another says of an exchange: Groq, OpenRouter, Cerebras, vLLM, Together, z.ai.
_DETAIL = (
    "x_groq.id",
    "usage_breakdown",
    "provider",
    "time_info",
    "kv_transfer_params",
    "prompt_logprobs",
    "prompt_token_ids",
    "prompt_text",
    "prompt",
    "metrics",
    "request_id",
    "user_id",
)

_FIELDS: tuple[Field | Other, ...] = (
    Field("id", "response_id"),
    Field("created", "timing.created_at", EPOCH, also=EPOCH_FLOAT),
    Field("model", "served_model"),
    Field("service_tier", "service_tier"),
    Field("system_fingerprint", "system_fingerprint"),
    Field("metadata", "metadata", OBJECT),
    Field("x_groq.seed", "parameters.seed", LONG),
    *(Other(key, "safety") for key in _SAFETY),
    *(Other(key, "grounding") for key in _GROUNDING),
    *(Other(key, "detail") for key in _DETAIL),
)
_OBJECT = Const("object", "chat.completion")
_BODY = Table(_OBJECT, *_FIELDS)
#: An error on the body itself (see `errors`) comes with no object, or with one of its own.
_BODIES = {
    "flat_text": Table(*_FIELDS, Other("object", "error.detail"), *errors.FLAT_TEXT),
    "flat_value": Table(*_FIELDS, Other("object", "error.detail"), *errors.FLAT_VALUE),
    "groq": Table(_OBJECT, *_FIELDS, Field("x_groq.error", "error.message")),
}
_OBJECTS = ("chat.completion", "chat.completion.chunk", "text_completion")

_CHOICE = Table(
    Field("index", "choice_index", LONG),
    Field("finish_reason", "raw_finish_reason", default=None),
    Field("logprobs", "logprobs", JSON),
    *(Other(key, "safety") for key in ("content_filter_results", "content_filter_result", "content_filter_offsets")),
    *(
        Other(key, "detail")
        for key in ("native_finish_reason", "stop_reason", "matched_stop", "token_ids", "seed", "routed_experts")
    ),
)


def read_response(body: Json, reading: Reading, layout: Any = None) -> CanonicalRecord:
    """One response or error body -> its record; raises WireError when it is neither.

    layout: of a folded stream, one list of runs (or None) a choice; see `order`.
    """
    form = errors.form_of(body)
    if "choices" not in body and form is None and body.get("object") not in _OBJECTS:
        raise WireError(
            "neither a chat completion (it has no choices) nor an error body",
            place="$.choices",
            fix="check the capture's protocol and kind",
        )
    record: CanonicalRecord = {}
    left = _BODIES.get(form or "", _BODY).read(body, record, ("choices", "usage", "error"))
    _read_error(body, form, record, left)
    _read_choices(body, record, left, reading, layout)
    if "usage" in body:
        if type(body["usage"]) is dict:
            record["usage"] = read_usage(body["usage"])
        else:
            leave("usage", body["usage"], left)
    _place_grounding(record, left)
    _settle(record, left)
    left.store(record)
    return record


def _read_error(body: dict[str, Json], form: str | None, record: CanonicalRecord, left: Leftover) -> None:
    if form is not None:
        left.wire["error"] = form
    if form in ("flat_text", "flat_value"):
        errors.derive(record)
    elif form is not None and form != "groq":
        record["error"] = errors.read_error(body["error"])
        return
    if "error" in body:
        leave("error", body["error"], left)


def _read_choices(
    body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading, layout: Sequence[Any] | None
) -> None:
    if "choices" not in body:
        left.wire["choices"] = "absent"
        return
    wires = body["choices"]
    if type(wires) is not list or not wires:
        leave("choices", wires, left)
        return
    messages: list[Message] = []
    for place, wire in enumerate(wires):
        runs = layout[place] if layout is not None and place < len(layout) else None
        message, own = _read_choice(wire, reading, place, runs)
        if type(wire) is dict and wire.get("error"):
            if type(wire["error"]) is dict and "error" not in record:
                record["error"] = errors.read_error(wire["error"])
                left.wire["choice_error"] = place
            else:
                own.extras["error"] = wire["error"]
        own.store(message)
        messages.append(message)
    record["messages"] = messages


def _read_choice(wire: Json, reading: Reading, place: int, layout: Sequence[Run] | None) -> tuple[Message, Leftover]:
    if type(wire) is not dict:
        raw = Leftover(wire={"choice": "raw"})
        return {"role": "assistant", "parts": [unknown_part("choice", wire, reading)]}, raw
    message: Message = {}
    left = _CHOICE.read(wire, message, ("message", "text", "error"))
    if "index" not in wire:
        left.note("absent", "index")
    if "error" in wire and not wire["error"]:
        leave("error", wire["error"], left)
    inner = wire.get("message")
    if type(inner) is dict:
        _read_inner(inner, message, left, reading, place, layout)
    elif "message" in wire:
        leave("message", inner, left)
    else:
        left.wire["message"] = "absent"
    if "text" in wire:
        _read_text(wire["text"], inner, message, left)
    message.setdefault("role", "assistant")
    reason = canonical_reason(wire.get("finish_reason"), reading)
    if reason is not None:
        message["finish_reason"] = reason
    if reason == "length" or not wire.get("finish_reason"):
        _mark_cut(message.get("parts", []), finished="finish_reason" in wire and wire["finish_reason"] == "")
    return message, left


def _read_inner(
    wire: dict[str, Json],
    message: Message,
    left: Leftover,
    reading: Reading,
    place: int,
    layout: Sequence[Run] | None,
) -> None:
    """Read the choice's message into the same canonical message; its leftovers nest under "message"."""
    inner, inner_left = read_message(wire, reading, place, CallBook(), layout)
    if "detail" in inner:
        outer = loads(message["detail"]) if "detail" in message else {}
        inner["detail"] = dumps({**outer, "message": loads(inner["detail"])})
    message.update(inner)
    if inner_left.extras:
        left.extras["message"] = inner_left.extras
    if inner_left.wire:
        left.wire["message"] = inner_left.wire


def _read_text(value: Json, inner: Json, message: Message, left: Leftover) -> None:
    """Text of a legacy completion; beside a message it only repeats the content."""
    if type(inner) is not dict and is_text(value) and value:
        message["parts"] = [{"type": "text", "text": value}]
        left.wire["text"] = "content"
    elif type(inner) is dict and value and value == inner.get("content"):
        left.wire["text"] = "repeats"
    else:
        leave("text", value, left)


def _mark_cut(parts: list[Part], *, finished: bool) -> None:
    """The last call of a cut output, when nothing of its arguments came: they are missing, not empty."""
    call = parts[-1].get("tool_call") if parts else None
    if call is not None and not finished and call.get("raw_arguments") == "":
        call.pop("arguments", None)
        call["arguments_error"] = "the output was cut before the arguments"


def _place_grounding(record: CanonicalRecord, left: Leftover) -> None:
    """Move the sources of the body to the first choice; without one they stay with the body."""
    grounding = cast(dict[str, str], record).pop("grounding", None)
    if grounding is None:
        return
    messages = record.get("messages")
    if messages:
        messages[0]["grounding"] = grounding
    else:
        left.extras.update(loads(grounding))


def _settle(record: CanonicalRecord, left: Leftover) -> None:
    """Finish reason and status of the whole response."""
    messages = record.get("messages", [])
    if messages:
        first = messages[0]
        if "finish_reason" in first:
            record["finish_reason"] = first["finish_reason"]
        if first.get("raw_finish_reason"):
            record["raw_finish_reason"] = first["raw_finish_reason"]
        stopped_by = _stop_sequence(first)
        if stopped_by is not None:
            record["stop_sequence"] = stopped_by
    status, reason = outcome((message.get("finish_reason"), message.get("raw_finish_reason")) for message in messages)
    if "error" in record:
        status, reason = "failed", None
    record["status"] = status
    if reason is not None:
        record["status_reason"] = reason


def _stop_sequence(message: Message) -> str | None:
    """vLLM's stop_reason and SGLang's matched_stop name the stop sequence, or the id of a token."""
    if "detail" not in message:
        return None
    detail = loads(message["detail"])
    met = detail.get("stop_reason", detail.get("matched_stop"))
    return met if is_text(met) else None


# Writing


def write_response(record: CanonicalRecord) -> Json:
    """The response or error body of a record."""
    spelled = spelling(record)
    form = spelled.get("error")
    messages = with_reasons(record)
    shape: Any = record
    if messages and "grounding" in messages[0]:
        shape = {**record, "grounding": messages[0]["grounding"]}
    error = record.get("error")
    if form is None and error is not None and "choice_error" not in spelled and _is_said(error):
        form = "object"
    table = _BODIES.get(form or "", _BODY)
    if form == "object" and not messages and not spelled:
        table = Table(*_FIELDS)
    body = table.write(shape, spelled)
    body.update(spelled.get("blank", {}))
    if form in ("object", "text", "value"):
        body["error"] = errors.write_error(error or {}, form)
    _write_choices(messages, body, spelled, error)
    if "usage" in record:
        body.setdefault("usage", write_usage(record["usage"]))
    return body


def _is_said(error: Error) -> bool:
    """Whether the wire said the error: an HTTP status and a request id are known from elsewhere."""
    return bool(error.keys() - {"http_status", "request_id"})


def _write_choices(
    messages: list[Message], body: dict[str, Json], spelled: dict[str, Json], error: Error | None
) -> None:
    if messages:
        body["choices"] = [_write_choice(message, place) for place, message in enumerate(messages)]
        if "choice_error" in spelled:
            body["choices"][spelled["choice_error"]]["error"] = errors.write_error(error or {}, "object")
    elif spelled.get("choices") != "absent" and "choices" not in body and error is None:
        body["choices"] = []


def _write_choice(message: Message, place: int) -> Json:
    spelled = spelling(message)
    if spelled.get("choice") == "raw":
        return loads(message["parts"][0]["raw"])
    extras = loads(message["extras"]) if "extras" in message else {}
    inner_extras = extras.pop("message") if type(extras.get("message")) is dict else {}
    body = _CHOICE.write({key: value for key, value in message.items() if key != "extras"}, spelled)
    absent = spelled.get("absent", ())
    if "index" not in body and "index" not in absent:
        body["index"] = place
    reason = wire_reason(message.get("raw_finish_reason"), message.get("finish_reason"))
    if reason is not None and "finish_reason" not in absent:
        body["finish_reason"] = reason
    merge(body, extras)
    body.update(spelled.get("blank", {}))
    inner_spelled = spelled.get("message", {})
    if inner_spelled != "absent" and "message" not in body:
        body["message"] = _write_inner(message, inner_extras, inner_spelled)
    if spelled.get("text") == "content":
        body["text"] = "".join(part.get("text", "") for part in message.get("parts", ()))
    elif spelled.get("text") == "repeats":
        body["text"] = body["message"]["content"]
    return body


def _write_inner(message: Message, extras: dict[str, Json], spelled: dict[str, Json]) -> dict[str, Json]:
    shape: Any = {key: message[key] for key in ("role", "name") if key in message}
    detail = loads(message["detail"]).get("message") if "detail" in message else None
    if detail is not None:
        shape["detail"] = dumps(detail)
    body = MESSAGE.write(shape, spelled)
    merge(body, extras)
    write_pieces(message, body, spelled, joined=True)
    return body
