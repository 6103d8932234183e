"""The JSON form of a capture: one object, a line in a file or a Kafka value.

The body stays where it is: the reader slices its bytes out of the message and does not parse it. Nearly all messages
are pieces of streams, and all pieces of a call repeat what the gateway saw of HTTP: that is read once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

import msgspec
import pybase64

from headrace.capture.fields import (
    from_base64,
    iso,
    json_bytes,
    known_kind,
    known_protocol,
    make_http,
    micros,
)
from headrace.capture.fields import safe_payload as safe
from headrace.capture.inbound import Source
from headrace.capture.json_shapes import ABSENT, Envelope, Event, HttpSeen, Said
from headrace.capture.model import KINDS, Capture, Form, Http, Kind
from headrace.capture.redaction import redact_event
from headrace.capture.remembered import remembered
from headrace.errors import CaptureError, FramingError
from headrace.json_text import Json, loads

_decode = msgspec.json.Decoder(Envelope).decode
_decode_http = msgspec.json.Decoder(HttpSeen | None).decode
_encode = msgspec.json.Encoder().encode
_AT = re.compile(r" - at `(\$[^`]*)`")
_MISSING = re.compile(r"missing required field `(\w+)`")


_decode_said = msgspec.json.Decoder(Said).decode


def read_event(value: bytes) -> Event | None:
    """The event of a message that is one; None for any other, and for what `read_json` refuses."""
    try:
        said = _decode_said(value)
        payload = redact_event(bytes(said.body))
        captured_at = micros(said.captured_at)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, CaptureError):
        return None
    event = Event(said, payload, said.seq, captured_at, said.direction)
    said.seq = said.captured_at = said.direction = None
    said.body = ABSENT
    return event


def facts_said(said: Said | Envelope) -> tuple[str | None, Http | None]:
    """The protocol and the HTTP facts; raises as `read_json` does."""
    raw_http = bytes(said.http)
    http = _http(raw_http) if raw_http else None
    return _protocol(said.protocol), http


def read_json(value: bytes, source: Source) -> Capture:
    """The capture of one JSON object; raises CaptureError with the JSON path, or DetectionError for `protocol`."""
    try:
        envelope = _decode(value)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        envelope = _read_leniently(value, error)
    kind = cast(Kind, envelope.kind) if envelope.kind in KINDS else known_kind(envelope.kind)
    call_id = envelope.call_id if isinstance(envelope.call_id, str) else str(envelope.call_id)
    if not call_id:
        raise CaptureError("call_id is empty", place="$.call_id", fix="name the call this capture belongs to")
    payload, form = _payload(envelope)
    protocol, http = facts_said(envelope)
    # By position: so many keywords cost more than all the rest of the reading.
    return Capture(
        call_id,
        kind,
        source,
        safe(kind, payload, http) if payload else payload,
        form,
        protocol,
        envelope.provider,
        envelope.task_id,
        envelope.request_version,
        envelope.tenant,
        envelope.direction,
        envelope.seq,
        micros(envelope.captured_at) if envelope.captured_at is not None else None,
        http,
        envelope.count,
        envelope.outcome,
        envelope.message,
        envelope.origin,
        envelope.side,
        envelope.attempt,
        envelope.truncated,
        envelope.fidelity,
    )


@remembered(4096, longest=4096)
def _http(raw: bytes) -> Http | None:
    """The HTTP facts in their JSON text, without credentials. Never change them: captures share them."""
    try:
        facts = _decode_http(raw)
    except msgspec.ValidationError as error:
        raise _refusal(error, "$.http") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _refuse_halves({"http": as_json(raw)})
        raise CaptureError(f"not JSON: {error}", place="$.http", fix="write one JSON object") from None
    return None if facts is None else make_http(facts.method, facts.url, facts.status, facts.headers)


_protocol = lru_cache(maxsize=256)(known_protocol)


def _payload(envelope: Envelope) -> tuple[bytes, Form]:
    """The one body of the three; JSON null is no body."""
    body = bytes(envelope.body)
    text, encoded = envelope.body_text, envelope.body_base64
    if body and body != b"null":
        if text is None and encoded is None:
            return body, "json"
        raise _two_bodies()
    if text is not None:
        if encoded is not None:
            raise _two_bodies()
        return text.encode("utf-8", "surrogatepass"), "bytes"
    if encoded is not None:
        return from_base64(encoded, "$.body_base64"), "bytes"
    if envelope.kind in ("end", "error"):
        return b"", "bytes"
    raise CaptureError(
        f"a {envelope.kind} without a body", place="$.body", fix="add one of body, body_text and body_base64"
    )


def _two_bodies() -> CaptureError:
    return CaptureError(
        "more than one of body, body_text and body_base64", place="$.body", fix="write the body in one of them"
    )


def _read_leniently(value: bytes, refused: Exception) -> Envelope:
    """For what the fast reader refuses and JSON allows: half of a surrogate pair in a delta."""
    try:
        whole = loads(value)
    except FramingError as error:
        code = "nesting_too_deep" if isinstance(refused, RecursionError) else "bad_capture"
        raise CaptureError(
            f"not a JSON object: {error.message}", code=code, place="$", fix="write one JSON object a message"
        ) from None
    if not isinstance(whole, dict):
        raise CaptureError("not a JSON object", place="$", fix="write one JSON object a message")
    http, body = whole.pop("http", None), whole.pop("body", None)
    known = {name: whole[name] for name in Envelope.__struct_fields__ if name in whole}
    _refuse_halves(known if http is None else {**known, "http": http})
    try:
        envelope = msgspec.convert(known, Envelope)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    if http is not None:
        envelope.http = msgspec.Raw(_encode(http))
    if body is not None:
        envelope.body = msgspec.Raw(json_bytes(body))
    return envelope


def _refuse_halves(fields: dict[str, Json]) -> None:
    """Bodies may hold half of a surrogate pair; what names a call is written where no such text can be."""
    for name, value in fields.items():
        try:
            if name != "body_text":
                _encode(value)
        except UnicodeEncodeError:
            raise CaptureError(
                f"{name} holds half of a surrogate pair", place=f"$.{name}", fix="write whole characters"
            ) from None


def _refusal(error: msgspec.ValidationError, root: str = "$") -> CaptureError:
    message = str(error)
    missing, found = _MISSING.search(message), _AT.search(message)
    place = root + found[1].removeprefix("$") if found else root
    if missing:
        return CaptureError(f"{missing[1]} is missing", place=f"{place}.{missing[1]}", fix=f"add {missing[1]}")
    return CaptureError(_AT.sub("", message), place=place, fix="write the field as the capture format says")


def write_json(capture: Capture) -> bytes:
    """The capture as one line of JSON, without the line end; `read_json` gives the same capture back."""
    envelope = Envelope(
        call_id=capture.call_id,
        kind=capture.kind,
        task_id=capture.task_id,
        request_version=capture.request_version,
        tenant=capture.tenant,
        protocol=capture.protocol,
        provider=capture.provider,
        direction=capture.direction,
        seq=capture.seq,
        captured_at=iso(capture.captured_at) if capture.captured_at is not None else None,
        count=capture.count,
        outcome=capture.outcome,
        message=capture.message,
        origin=capture.origin,
        side=capture.side,
        attempt=capture.attempt,
        truncated=capture.truncated,
        fidelity=capture.fidelity,
    )
    if capture.http is not None:
        envelope.http = msgspec.Raw(_encode(_written_http(capture.http)))
    if capture.form == "json" and capture.payload:
        envelope.body = msgspec.Raw(_one_line(capture.payload))
    elif capture.payload or capture.kind not in ("end", "error"):
        _write_bytes(envelope, capture.payload)
    return _encode(envelope)


def _written_http(http: Http) -> HttpSeen:
    return HttpSeen(http.method, http.url, http.status, http.headers or None)


def _write_bytes(envelope: Envelope, payload: bytes) -> None:
    try:
        envelope.body_text = payload.decode()
    except UnicodeDecodeError:
        envelope.body_base64 = pybase64.b64encode_as_string(payload)


def _one_line(text: bytes) -> bytes:
    """JSON text without line ends; a line end inside a string is escaped already."""
    if b"\n" not in text and b"\r" not in text:
        return text
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError:
        return json_bytes(loads(text))


def as_json(value: bytes) -> Json:
    """A Kafka value or line as JSON; raises CaptureError."""
    try:
        return loads(value)
    except FramingError as error:
        raise CaptureError(f"not JSON: {error.message}", place="$", fix="write one JSON value a message") from None
