"""The canonical record as frozen classes, for people and for checks at the edges.

The same shape as `headrace.canonical.shape` (what codecs build) and ``schemas/*.avsc`` (what Avro carries); a test
keeps the three equal. Fields of JSON text stay text; ``<field>_value`` parses them when asked. Build from a shape
with `from_shape`, which checks every type and name, and go back with `to_shape`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from headrace.canonical.contents import Citation, Code, Media, Reasoning, ToolCall, ToolResult, ToolResultContent
from headrace.canonical.facts import CaptureInfo, Error, Gap, Source, Timing, UnknownType, Usage
from headrace.canonical.messages import (
    CitationPart,
    CodePart,
    DataPart,
    MediaPart,
    Message,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from headrace.canonical.settings import Parameters, Tool, ToolChoice
from headrace.canonical.shaped import JsonProperty, Micros, Shaped, Texts, lazy_json

__all__ = [
    "CanonicalRecord",
    "CaptureInfo",
    "Citation",
    "CitationPart",
    "Code",
    "CodePart",
    "DataPart",
    "DeadLetter",
    "DeadLetterHeader",
    "Error",
    "Gap",
    "Media",
    "MediaPart",
    "Message",
    "Parameters",
    "Part",
    "Reasoning",
    "ReasoningPart",
    "RefusalPart",
    "Source",
    "TextPart",
    "Timing",
    "Tool",
    "ToolCall",
    "ToolCallPart",
    "ToolChoice",
    "ToolResult",
    "ToolResultContent",
    "ToolResultPart",
    "UnknownPart",
    "UnknownType",
    "Usage",
]


class CanonicalRecord(Shaped):
    """A request to a model, or one response of a model."""

    record_id: str = ""
    """UUIDv5 of stable coordinates: the same on every replay."""
    record_type: str = ""
    """request | response."""
    revision: int = 0
    """0; higher when late pieces changed the record."""
    ordinal: int = 0
    """Which response of the call, from 0: some bodies hold several."""
    call_id: str = ""
    """One attempt at one model call."""
    task_id: str | None = None
    """Stable across retries."""
    tenant: str | None = None
    """Tenant."""
    request_version: str | None = None
    """Version of the request, as the producer gave it."""
    protocol: str = ""
    """Wire protocol."""
    provider: str | None = None
    """Dialect of the protocol."""
    model: str | None = None
    """Model asked for."""
    served_model: str | None = None
    """Model that answered."""
    response_id: str | None = None
    """Provider's id of the response."""
    previous_response_id: str | None = None
    """Response that this one continues."""
    conversation_id: str | None = None
    """Conversation it belongs to."""
    container: str | None = None
    """Container or environment of server tools. JSON text."""
    continuation_token: str | None = None
    """Opaque token by which the provider resumes this exchange."""
    messages: Annotated[tuple[Message, ...], Field(strict=False)] = ()
    """Request: the history. Response: one message a choice, or the output in order."""
    tools: Annotated[tuple[Tool, ...], Field(strict=False)] = ()
    """Tools declared."""
    tool_choice: ToolChoice | None = None
    """Choice of tools."""
    parameters: Parameters | None = None
    """Settings."""
    metadata: str | None = None
    """Metadata that the caller attached. JSON text."""
    status: str | None = None
    """completed | incomplete | failed | cancelled | in_progress | queued | requires_action | …"""
    status_reason: str | None = None
    """Why it is not completed: no_terminal_event, missing_pieces, aborted, timeout, or the wire's reason."""
    finish_reason: str | None = None
    """stop | length | tool_calls | content_filter | refusal | error | pause | …"""
    raw_finish_reason: str | None = None
    """The wire's reason."""
    stop_sequence: str | None = None
    """Stop sequence that was met."""
    usage: Usage | None = None
    """Usage."""
    error: Error | None = None
    """Error."""
    service_tier: str | None = None
    """Service tier that served."""
    system_fingerprint: str | None = None
    """Provider's fingerprint of the backend."""
    safety: str | None = None
    """Moderation, prompt feedback or filter results of the whole exchange. JSON text."""
    timing: Timing | None = None
    """Times."""
    detail: str | None = None
    """Known facts of the exchange without a field of their own (time of last change, id of the last event,
    diagnostics). JSON text."""
    chunk_count: int | None = None
    """Stream events that made the record; null when it was no stream."""
    capture: CaptureInfo | None = None
    """How it was seen."""
    sources: Annotated[tuple[Source, ...], Field(strict=False)] = ()
    """Where its input lies."""
    missing_events: Annotated[tuple[Gap, ...], Field(strict=False)] = ()
    """Gaps in the wire's own numbering of stream events."""
    unknown_types: Annotated[tuple[UnknownType, ...], Field(strict=False)] = ()
    """Types carried raw."""
    continuation: Texts = ()
    """Wire fields of the record that the provider needs back verbatim."""
    extras: str | None = None
    """Fields of the body that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the body was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""
    schema_version: str = "1.0.0"
    """Version of this schema."""
    normalizer: str = ""
    """Name and version of what made the record."""

    container_value: ClassVar[JsonProperty] = lazy_json("container")
    metadata_value: ClassVar[JsonProperty] = lazy_json("metadata")
    safety_value: ClassVar[JsonProperty] = lazy_json("safety")
    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class DeadLetterHeader(Shaped):
    """One Kafka header."""

    name: str = ""
    """Name."""
    value: bytes | None = None
    """Value."""


class DeadLetter(Shaped):
    """An input that could not become (all of) a record, with its original bytes."""

    dead_letter_id: str = ""
    """UUIDv5 of the input's coordinates and the code."""
    code: str = ""
    """Stable reason code."""
    message: str = ""
    """What is wrong."""
    place: str | None = None
    """Where in the input."""
    fix: str | None = None
    """What to change."""
    cause: str | None = None
    """Type of the exception, for faults of our own."""
    call_id: str | None = None
    """Call, where known."""
    tenant: str | None = None
    """Tenant, where known."""
    protocol: str | None = None
    """Protocol, where known."""
    provider: str | None = None
    """Provider, where known."""
    sources: Annotated[tuple[Source, ...], Field(strict=False)] = ()
    """Coordinates of the input."""
    timestamp: Micros | None = None
    """Stream time of the input."""
    key: bytes | None = None
    """Message key."""
    value: bytes | None = None
    """Original bytes, credentials removed."""
    headers: Annotated[tuple[DeadLetterHeader, ...], Field(strict=False)] = ()
    """Message headers, credentials removed."""
    schema_version: str = "1.0.0"
    """Version of this schema."""
    normalizer: str = ""
    """Name and version of what wrote it."""
