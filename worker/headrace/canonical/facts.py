"""What is known of a call besides its content: usage, errors, times, and where the input lies."""

from __future__ import annotations

from typing import ClassVar

from headrace.canonical.shaped import JsonProperty, Micros, Shaped, lazy_json


class Usage(Shaped):
    """Tokens, in one arithmetic: input includes cache, output includes reasoning."""

    input_tokens: int | None = None
    """All input tokens, cache reads and writes included."""
    cache_read_tokens: int | None = None
    """Of them, read from cache."""
    cache_write_tokens: int | None = None
    """Of them, written to cache."""
    output_tokens: int | None = None
    """All output tokens, reasoning included."""
    reasoning_tokens: int | None = None
    """Of them, reasoning."""
    total_tokens: int | None = None
    """Input plus output, as the provider gives it, or computed."""
    input_audio_tokens: int | None = None
    """Of the input, audio."""
    output_audio_tokens: int | None = None
    """Of the output, audio."""
    input_image_tokens: int | None = None
    """Of the input, images."""
    output_image_tokens: int | None = None
    """Of the output, images."""
    tool_use_tokens: int | None = None
    """Of the input, written by server tools."""
    accepted_prediction_tokens: int | None = None
    """Predicted tokens that were used."""
    rejected_prediction_tokens: int | None = None
    """Predicted tokens that were not."""
    server_tool_calls: int | None = None
    """Server tool requests that are billed."""
    service_tier: str | None = None
    """Service tier that served."""
    cost: float | None = None
    """Cost as the provider gives it."""
    detail: str | None = None
    """Known figures of this provider without a field of their own. JSON text."""
    raw: str | None = None
    """The usage object as it was. JSON text."""

    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    raw_value: ClassVar[JsonProperty] = lazy_json("raw")


class Error(Shaped):
    """What went wrong."""

    type: str | None = None
    """The provider's type."""
    code: str | None = None
    """The provider's code, as text."""
    message: str | None = None
    """The provider's message."""
    param: str | None = None
    """The parameter it speaks of."""
    http_status: int | None = None
    """HTTP status of the response."""
    request_id: str | None = None
    """Provider's request id."""
    detail: str | None = None
    """Structured details. JSON text."""
    extras: str | None = None
    """Fields of the error that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the error was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class Timing(Shaped):
    """When things were seen."""

    first_captured_at: Micros | None = None
    """Capture time of the first piece."""
    last_captured_at: Micros | None = None
    """Capture time of the last piece."""
    created_at: Micros | None = None
    """The provider's own time of the response."""
    completed_at: Micros | None = None
    """The provider's own time of its end."""


class CaptureInfo(Shaped):
    """What is known of how the traffic was seen."""

    origin: str | None = None
    """Name of the source mapping."""
    side: str | None = None
    """client | provider: which side of the gateway."""
    attempt: int | None = None
    """Number of the attempt."""
    truncated: bool | None = None
    """The source cut the body."""
    fidelity: str | None = None
    """wire | reshaped | metadata."""


class Source(Shaped):
    """Where the record's input lies: a range of one partition's log, or of one file."""

    topic: str = ""
    """Topic, or file name."""
    partition: int = 0
    """Partition; 0 for files."""
    first_offset: int = 0
    """First offset, or first line from 1."""
    last_offset: int = 0
    """Last offset, or last line."""


class Gap(Shaped):
    """A range of numbers that never came."""

    first: int = 0
    """First number."""
    last: int = 0
    """Last number."""


class UnknownType(Shaped):
    """A wire type that the model does not know; carried raw."""

    kind: str = ""
    """item | block | part | step | event | delta | tool | status | reason …"""
    type: str = ""
    """The type on the wire."""
    count: int = 1
    """How often."""
