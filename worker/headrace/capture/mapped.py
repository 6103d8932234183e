"""Reading a producer's messages by its source mapping.

One message holds entries, one entry becomes captures. An entry that cannot be read becomes a reject with its own
bytes; its siblings go on.
"""

from __future__ import annotations

import re

from headrace.capture.bodies import body_bytes
from headrace.capture.fields import json_bytes, known_kind, known_protocol, make_http, micros, safe_payload, writable
from headrace.capture.framing import frame
from headrace.capture.inbound import Inbound
from headrace.capture.mapping import CaptureSources, HttpSources, Mapping, Origin, Source, When
from headrace.capture.model import Capture, Http
from headrace.capture.paths import find, find_all
from headrace.capture.results import Read, Reject
from headrace.capture.templates import filled
from headrace.errors import CaptureError, HeadraceError
from headrace.json_text import Json


def read_mapped(inbound: Inbound, mapping: Mapping) -> Read:
    """The captures of a producer's message. Raises CaptureError when the value as a whole cannot be read."""
    read = Read()
    if mapping.form == "body":
        _read_entry(inbound, mapping, None, inbound.value or b"", read)
        return read
    if inbound.value is None:
        raise CaptureError("the message has no value", place="value", fix="send a log entry, not a tombstone")
    framed = frame(inbound.value)
    for event in framed.events:
        if event.error is not None:
            read.rejects.append(Reject.of(CaptureError(f"not JSON: {event.error}", place="$"), event.data))
        else:
            _read_value(inbound, mapping, event.value, event.data, read)
    if framed.remainder:
        error = CaptureError("the value ends in the middle of an entry", place="$", fix="send whole entries")
        read.rejects.append(Reject.of(error, framed.remainder))
    return read


def _read_value(inbound: Inbound, mapping: Mapping, value: Json, raw: bytes, read: Read) -> None:
    if mapping.entries is None:
        _read_entry(inbound, mapping, value, raw, read)
        return
    entries = find_all(value, mapping.entries)
    if not entries:
        error = CaptureError("no entries here", place=mapping.entries, fix="correct the mapping's entries path")
        read.rejects.append(Reject.of(error, raw))
    for entry in entries:
        _read_entry(inbound, mapping, entry, json_bytes(entry), read)


def _read_entry(inbound: Inbound, mapping: Mapping, entry: Json, raw: bytes, read: Read) -> None:
    """Add the captures of one entry; all of them, or a reject."""
    if not all(_holds(condition, entry) for condition in mapping.only):
        read.ignored += 1
        return
    reader = _EntryReader(inbound, mapping, entry, len(read.captures) + len(read.rejects) + read.ignored)
    try:
        made = [capture for sources in mapping.captures if (capture := reader.capture(sources)) is not None]
        if not made and mapping.empty == "reject":
            raise CaptureError(
                "the entry has no body and no error",
                code="empty_entry",
                place="$",
                fix="log bodies at the gateway, or leave such entries out with the mapping's `only`",
            )
    except HeadraceError as error:
        read.rejects.append(Reject.of(error, raw))
        return
    read.captures += made
    read.ignored += not made


def _holds(condition: When, entry: Json) -> bool:
    value = find(entry, condition.path)
    if condition.absent:
        return value in (None, "", [], {})
    if condition.one_of is None:
        return value not in (None, "", [], {})
    return value in condition.one_of


_TEXTS = ("task_id", "request_version", "tenant", "provider", "direction", "outcome", "message", "side", "fidelity")
_NUMBERS = ("seq", "count", "attempt")
_COUNT = re.compile(r"[0-9]{1,19}")


class _EntryReader:
    """Makes the captures of one entry."""

    def __init__(self, inbound: Inbound, mapping: Mapping, entry: Json, index: int) -> None:
        self._inbound = inbound
        self._mapping = mapping
        self._entry = entry
        self._index = index

    def capture(self, sources: CaptureSources) -> Capture | None:
        """The capture of one description; None when its conditions do not hold or there is no body for it."""
        if not all(_holds(condition, self._entry) for condition in sources.when):
            return None
        kind = known_kind(self._field(sources, "kind"), self._place(sources, "kind"))
        body = self._body(sources)
        if body is None and kind not in ("end", "error"):
            return None
        payload, form, cut = body or (b"", "bytes", False)
        http = self._http(sources)
        truncated = self._truth(sources, "truncated")
        return Capture(
            call_id=self._call_id(sources),
            kind=kind,
            source=self._inbound.source,
            payload=safe_payload(kind, payload, http),
            form="json" if form == "json" else "bytes",
            protocol=known_protocol(self._text(sources, "protocol"), self._place(sources, "protocol")),
            captured_at=micros(self._field(sources, "captured_at"), self._place(sources, "captured_at")),
            http=http,
            origin=self._mapping.name,
            truncated=True if cut else truncated,
            **{name: self._text(sources, name) for name in _TEXTS},  # type: ignore[arg-type]
            **{name: self._number(sources, name) for name in _NUMBERS},  # type: ignore[arg-type]
        )

    def _source(self, sources: CaptureSources, name: str) -> Source | None:
        own: Source | None = getattr(sources, name)
        shared: Source | None = getattr(self._mapping.common, name)
        return shared if own is None else own

    def _place(self, sources: CaptureSources, name: str) -> str:
        """For messages: the path a field came from, or the field."""
        source = self._source(sources, name)
        first = source[0] if isinstance(source, list) and source else source
        path = first.path if isinstance(first, Origin) else first
        return path if isinstance(path, str) and path.startswith("$") else name

    def _field(self, sources: CaptureSources, name: str) -> Json:
        return self._value(self._source(sources, name))

    def _value(self, source: Source | None) -> Json:
        if isinstance(source, list):
            return next((value for one in source if (value := self._value(one)) not in (None, "")), None)
        if isinstance(source, Origin):
            value = self._of_origin(source)
            return source.translate.get(str(value), value) if source.translate and value is not None else value
        if not isinstance(source, str):
            return source
        if source.startswith("$"):
            return find(self._entry, source)
        if source.startswith("header:"):
            return self._header(source[len("header:") :])
        return self._placed(source)

    def _of_origin(self, origin: Origin) -> Json:
        if origin.path is not None:
            return find(self._entry, origin.path)
        if origin.header is not None:
            return self._header(origin.header)
        if origin.template is not None:
            return filled(origin.template, lambda path: find(self._entry, path))
        if origin.coordinates:
            return self._placed("coordinates")
        return self._placed("key") if origin.key else origin.const

    def _placed(self, name: str) -> str | None:
        """The Kafka key or the coordinates, for those names; else the name itself, a constant."""
        if name == "coordinates":
            at = self._inbound.source
            return f"{at.topic}/{at.partition}@{at.offset}#{self._index}"
        if name != "key":
            return name
        return self._inbound.key.decode("utf-8", "replace") if self._inbound.key is not None else None

    def _header(self, name: str) -> str | None:
        lower = name.lower()
        values = (value for header, value in self._inbound.headers if header.lower() == lower and value is not None)
        return next((value.decode("utf-8", "replace") for value in values), None)

    def _call_id(self, sources: CaptureSources) -> str:
        call_id = self._text(sources, "call_id")
        if not call_id:
            raise CaptureError(
                "no call id", place=self._place(sources, "call_id"), fix="name a field that is there in the mapping"
            )
        return call_id

    def _text(self, sources: CaptureSources, name: str) -> str | None:
        value = self._field(sources, name)
        if value is None or isinstance(value, str):
            return writable(value) if value else None
        return json_bytes(value).decode()

    def _number(self, sources: CaptureSources, name: str) -> int | None:
        value = self._field(sources, name)
        if value is None or value == "":
            return None
        if isinstance(value, int | str) and not isinstance(value, bool) and _COUNT.fullmatch(str(value)[:64]):
            return int(value)
        raise CaptureError(f"not a count: {str(value)[:64]!r}", place=self._place(sources, name))

    def _truth(self, sources: CaptureSources, name: str) -> bool | None:
        value = self._field(sources, name)
        return None if value is None else value in (True, "true", "1", 1)

    def _body(self, sources: CaptureSources) -> tuple[bytes, str, bool] | None:
        """(payload, form, whether it is cut off); None where there is none."""
        if self._mapping.form == "body":
            value = self._inbound.value
            return None if value is None else (value, "bytes", False)
        return body_bytes(self._field(sources, "body"))

    def _http(self, sources: CaptureSources) -> Http | None:
        own, shared = sources.http or HttpSources(), self._mapping.common.http or HttpSources()
        facts = (
            self._value(getattr(own, name) if getattr(own, name) is not None else getattr(shared, name))
            for name in ("method", "url", "status", "headers")
        )
        return make_http(*facts)
