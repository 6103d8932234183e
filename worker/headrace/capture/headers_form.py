"""The headers form of a capture: metadata in Kafka headers, the untouched body as the value.

Header names are ``headrace-`` and the field with dashes: ``headrace-call-id``, ``headrace-kind``, ``headrace-seq``,
``headrace-http-url``; ``headrace-http-headers`` is a JSON object. Values are UTF-8 text.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.capture.fields import iso, json_bytes, known_kind, known_protocol, make_http, micros, safe_payload
from headrace.capture.inbound import Inbound
from headrace.capture.json_form import as_json
from headrace.capture.model import Capture
from headrace.errors import CaptureError

PREFIX = "headrace-"
_TEXTS = ("protocol", "provider", "task_id", "request_version", "tenant", "direction", "outcome", "message")
_PROVENANCE = ("origin", "side", "fidelity")
_NUMBERS = ("seq", "count", "attempt")
#: More is out of every range, and Python refuses to read thousands of them.
_MOST_DIGITS = 19
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})


def has_headers_form(inbound: Inbound) -> bool:
    """Whether the message's headers name a call."""
    return any(name.lower() == "headrace-call-id" for name, _ in inbound.headers)


def read_headers(inbound: Inbound) -> Capture:
    """The capture of a message in headers form; raises CaptureError naming the header."""
    texts = _texts(inbound)
    kind = known_kind(texts.get("kind"), _place("kind"))
    if not texts.get("call_id"):
        raise CaptureError("call_id is empty", place=_place("call_id"), fix="name the call this capture belongs to")
    if inbound.value is None and kind not in ("end", "error"):
        raise CaptureError(f"a {kind} without a value", place="value", fix="send the body as the message's value")
    headers = as_json(texts["http_headers"].encode()) if "http_headers" in texts else None
    http = make_http(texts.get("http_method"), texts.get("http_url"), texts.get("http_status"), headers, _place("http"))
    payload = inbound.value or b""
    return Capture(
        call_id=texts["call_id"],
        kind=kind,
        source=inbound.source,
        payload=safe_payload(kind, payload, http),
        captured_at=micros(texts.get("captured_at"), _place("captured_at")),
        http=http,
        truncated=_truth(texts, "truncated"),
        **{name: texts.get(name) for name in (*_TEXTS[1:], *_PROVENANCE)},  # type: ignore[arg-type]
        protocol=known_protocol(texts.get("protocol"), _place("protocol")),
        **{name: _number(texts, name) for name in _NUMBERS},  # type: ignore[arg-type]
    )


def write_headers(capture: Capture) -> tuple[tuple[tuple[str, bytes], ...], bytes]:
    """(Kafka headers, value) of a capture in headers form."""
    fields: dict[str, str] = {"call_id": capture.call_id, "kind": capture.kind}
    for name in (*_TEXTS, *_PROVENANCE, *_NUMBERS):
        value = getattr(capture, name)
        if value is not None:
            fields[name] = str(value)
    if capture.captured_at is not None:
        fields["captured_at"] = iso(capture.captured_at)
    if capture.truncated is not None:
        fields["truncated"] = "true" if capture.truncated else "false"
    if capture.http is not None:
        facts = {"method": capture.http.method, "url": capture.http.url, "status": capture.http.status}
        fields |= {f"http_{name}": str(value) for name, value in facts.items() if value is not None}
        if capture.http.headers:
            fields["http_headers"] = json_bytes(capture.http.headers).decode()
    return tuple((_header(name), value.encode()) for name, value in fields.items()), capture.payload


def _header(field: str) -> str:
    return PREFIX + field.replace("_", "-")


def _place(field: str) -> str:
    return f"header {_header(field)}"


def _texts(inbound: Inbound) -> dict[str, str]:
    """Field name -> text of the headers that are ours; the first of a name counts."""
    texts: dict[str, str] = {}
    for name, value in inbound.headers:
        lower = name.lower()
        if lower.startswith(PREFIX) and value is not None:
            field = lower[len(PREFIX) :].replace("-", "_")
            texts.setdefault(field, value.decode("utf-8", "replace"))
    return texts


def _number(texts: Mapping[str, str], field: str) -> int | None:
    text = texts.get(field)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise CaptureError(f"not a count: {text[:64]!r}", place=_place(field), fix="write a whole number from 0")
    return int(text)


def _truth(texts: Mapping[str, str], field: str) -> bool | None:
    text = texts.get(field)
    if text is None:
        return None
    if text.lower() not in _TRUE | _FALSE:
        raise CaptureError(f"neither true nor false: {text[:64]!r}", place=_place(field), fix="write true or false")
    return text.lower() in _TRUE
