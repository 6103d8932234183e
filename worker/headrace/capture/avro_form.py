"""The Avro form of a capture: `schemas/raw_capture.avsc`, in Confluent wire format or single-object encoding.

Confluent: a zero byte, the writer schema's id in the registry (4 bytes, big endian), the record. Single object:
C3 01, the CRC-64-AVRO fingerprint of the writer schema (8 bytes, little endian), the record. Where the writer's schema
is not ours, fields are matched by Avro's own rules of schema resolution.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType, fingerprint, to_parsing_canonical_form

from headrace.canonical.avro import load_schema, plain_schema
from headrace.capture.fields import known_kind, known_protocol, make_http, safe_payload
from headrace.capture.inbound import Inbound
from headrace.capture.model import Capture
from headrace.errors import CaptureError, SchemaError
from headrace.json_text import Json

SINGLE_OBJECT = b"\xc3\x01"
CONFLUENT = b"\x00"
_TEXTS = ("provider", "task_id", "request_version", "tenant", "direction", "outcome", "message")
_PROVENANCE = ("origin", "side", "attempt", "truncated", "fidelity")

#: Schema JSON of a registry id, or of a fingerprint; raises SchemaError when there is none.
ById = Callable[[int], Json]
ByFingerprint = Callable[[bytes], Json]


class AvroCaptures:
    """Reads and writes captures in Avro.

    by_id, by_fingerprint: where writer schemas come from; each is asked once a schema. Without them, only our own
    schema is known by its fingerprint, and any registry id is taken for our own schema.
    """

    def __init__(self, by_id: ById | None = None, by_fingerprint: ByFingerprint | None = None) -> None:
        schema = load_schema("raw_capture")
        self._schema = plain_schema(schema)
        self.fingerprint = bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))
        self._by_id = by_id
        self._by_fingerprint = by_fingerprint
        self._writers: dict[int | bytes, Any] = {self.fingerprint: self._schema}

    def read(self, inbound: Inbound) -> Capture:
        """The capture of an Avro message; raises CaptureError (`bad_avro`), SchemaError for unknown schemas."""
        value = inbound.value or b""
        if value.startswith(SINGLE_OBJECT):
            key: int | bytes = value[2:10]
            body = value[10:]
        else:
            key = int.from_bytes(value[1:5], "big")
            body = value[5:]
        fields = self._decode(body, self._writer(key))
        return _capture(fields, inbound)

    def write(self, capture: Capture) -> bytes:
        """Single-object encoding."""
        return SINGLE_OBJECT + self.fingerprint + self._encode(capture)

    def write_confluent(self, capture: Capture, schema_id: int) -> bytes:
        """Confluent wire format, with the id our schema has in the registry."""
        return CONFLUENT + schema_id.to_bytes(4, "big") + self._encode(capture)

    def _writer(self, key: int | bytes) -> Any:
        if key not in self._writers:
            self._writers[key] = self._look_up(key)
        return self._writers[key]

    def _look_up(self, key: int | bytes) -> Any:
        try:
            if isinstance(key, int):
                return self._schema if self._by_id is None else plain_schema(self._by_id(key))
            if self._by_fingerprint is not None:
                return plain_schema(self._by_fingerprint(key))
        except (SchemaParseException, UnknownType) as error:
            raise SchemaError(
                f"the writer schema {key!r} is no Avro schema: {error}",
                place="bytes 1 to 9 of the value",
                fix="register the schema that the record was written with",
            ) from None
        raise SchemaError(
            f"unknown writer schema, fingerprint {key.hex()}",
            place="bytes 2 to 9 of the value",
            fix="write with schemas/raw_capture.avsc, or use a registry",
        )

    def _decode(self, body: bytes, writer: Any) -> dict[str, Any]:
        source = io.BytesIO(body)
        try:
            fields = fastavro.schemaless_reader(source, writer, None if writer is self._schema else self._schema)
        except fastavro.read.SchemaResolutionError as error:
            raise SchemaError(str(error), code="incompatible_schema", fix="evolve the schema compatibly") from None
        except Exception as error:  # fastavro raises whatever its readers met in foreign bytes
            raise _bad_avro(f"{type(error).__name__}: {error}", source.tell()) from None
        if source.tell() != len(body):
            raise _bad_avro(f"{len(body) - source.tell()} bytes are left over", source.tell())
        return fields  # type: ignore[return-value]

    def _encode(self, capture: Capture) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, self._schema, _fields(capture))
        return out.getvalue()


@cache
def default_avro() -> AvroCaptures:
    """The reader for workers without a registry."""
    return AvroCaptures()


def has_avro_form(value: bytes) -> bool:
    """Whether a value is Avro: neither first byte begins JSON or text."""
    return value.startswith(SINGLE_OBJECT) or (value.startswith(CONFLUENT) and len(value) > 5)


def read_avro(inbound: Inbound) -> Capture:
    """`AvroCaptures.read` with our own schema."""
    return default_avro().read(inbound)


def write_avro(capture: Capture) -> bytes:
    """`AvroCaptures.write` with our own schema."""
    return default_avro().write(capture)


def _capture(fields: dict[str, Any], inbound: Inbound) -> Capture:
    kind = known_kind(fields["kind"])
    if not fields["call_id"]:
        raise CaptureError("call_id is empty", place="$.call_id", fix="name the call this capture belongs to")
    payload = fields["payload"]
    if payload is None and kind not in ("end", "error"):
        raise CaptureError(f"a {kind} without a body", place="$.payload", fix="add the body's bytes")
    facts = fields["http"]
    http = None
    if facts is not None:
        http = make_http(facts["method"], facts["url"], facts["status"], facts["headers"])
    return Capture(
        call_id=fields["call_id"],
        kind=kind,
        source=inbound.source,
        payload=safe_payload(kind, payload or b"", http),
        form="json" if fields["form"] == "json" else "bytes",
        protocol=known_protocol(fields["protocol"]),
        seq=fields["seq"],
        captured_at=fields["captured_at"],
        http=http,
        count=fields["count"],
        **{name: fields[name] for name in (*_TEXTS, *_PROVENANCE)},
    )


def _fields(capture: Capture) -> dict[str, Any]:
    http = capture.http
    written = None
    if http is not None:
        headers = [{"name": name, "value": value} for name, value in http.headers.items()]
        written = {"method": http.method, "url": http.url, "status": http.status, "headers": headers}
    empty = not capture.payload and capture.kind in ("end", "error")
    return {
        "call_id": capture.call_id,
        "kind": capture.kind,
        "protocol": capture.protocol,
        "seq": capture.seq,
        "captured_at": capture.captured_at,
        "http": written,
        "form": capture.form,
        "payload": None if empty else capture.payload,
        "count": capture.count,
        **{name: getattr(capture, name) for name in (*_TEXTS, *_PROVENANCE)},
    }


def _bad_avro(message: str, offset: int) -> CaptureError:
    return CaptureError(
        f"not a raw capture in Avro: {message}",
        code="bad_avro",
        place=f"byte {offset} of the record",
        fix="write the record with the schema its header names",
    )
