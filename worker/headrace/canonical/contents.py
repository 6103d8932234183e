"""What a part of a message holds: media, calls and results of tools, reasoning, code, citations."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from headrace.canonical.shaped import JsonProperty, Micros, Shaped, Texts, lazy_json


class Media(Shaped):
    """An image, audio, video, document or other file, by value or by reference."""

    kind: str | None = None
    """image | audio | video | document | file."""
    mime_type: str | None = None
    """MIME type as given, or from a data: URL."""
    uri: str | None = None
    """URL of the media, as given (data: URLs are split into mime_type and data)."""
    file_id: str | None = None
    """Provider's id of an uploaded file."""
    data: str | None = None
    """Content as base64, as given."""
    text: str | None = None
    """Content as plain text (text documents)."""
    filename: str | None = None
    """File name or title as given."""
    format: str | None = None
    """Short format name where the wire has no MIME type (wav, mp3, png)."""
    detail: str | None = None
    """Resolution or detail setting asked for."""
    transcript: str | None = None
    """Transcript of audio, where given."""
    size_bytes: int | None = None
    """Decoded size, where known."""
    sha256: str | None = None
    """Hex digest of the content moved to a claim check."""
    sample_rate: int | None = None
    """Audio sample rate in Hz."""
    channels: int | None = None
    """Audio channels."""
    expires_at: Micros | None = None
    """When the provider forgets the media."""
    metadata: str | None = None
    """Other settings of the medium (video offsets, transformations, context). JSON text."""

    metadata_value: ClassVar[JsonProperty] = lazy_json("metadata")


class ToolCall(Shaped):
    """One call of one tool. Never merged with another."""

    id: str = ""
    """Id by which results reference the call: the provider's, or a stable UUIDv5 where the wire has none."""
    provider_id: str | None = None
    """The id on the wire; null where the wire has none."""
    name: str | None = None
    """Tool name."""
    kind: str | None = None
    """function | custom | server | mcp | computer | shell | patch | code | search | … : who runs it and how it is
    declared."""
    wire_type: str | None = None
    """The wire's own type of the call (server_tool_use, web_search_call, …)."""
    server_name: str | None = None
    """MCP server or toolset that has the tool."""
    namespace: str | None = None
    """Namespace of the tool."""
    arguments: str | None = None
    """Parsed arguments, compact; null when they do not parse. '{}' for an empty string. JSON text."""
    raw_arguments: str | None = None
    """The exact argument string where the wire has a string."""
    arguments_error: str | None = None
    """Why raw_arguments does not parse as JSON."""
    index: int | None = None
    """Position among the calls of its message, from 0."""
    status: str | None = None
    """The call's own status, where the wire has one."""
    caller: str | None = None
    """Who called: the model itself, or a program. JSON text."""

    arguments_value: ClassVar[JsonProperty] = lazy_json("arguments")
    caller_value: ClassVar[JsonProperty] = lazy_json("caller")


class ToolResultContent(Shaped):
    """One piece of a tool's result."""

    type: str = "json"
    """text | media | json."""
    text: str | None = None
    """Text."""
    media: Media | None = None
    """Media."""
    json_text: str | None = Field(None, alias="json")
    """Structured result, or a piece of a type without fields of its own. JSON text."""
    cache_control: str | None = None
    """Cache breakpoint on this piece. JSON text."""
    extras: str | None = None
    """Fields of the piece that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the piece was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    json_value: ClassVar[JsonProperty] = lazy_json("json_text")
    cache_control_value: ClassVar[JsonProperty] = lazy_json("cache_control")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class ToolResult(Shaped):
    """What a tool returned. Always references its call."""

    tool_call_id: str = ""
    """ToolCall.id of the call that this answers; empty where the wire names none (see name and order)."""
    name: str | None = None
    """Tool name, where the wire repeats it."""
    kind: str | None = None
    """As ToolCall.kind."""
    wire_type: str | None = None
    """The wire's own type of the result."""
    server_name: str | None = None
    """MCP server or toolset."""
    is_error: bool | None = None
    """The tool failed."""
    error_code: str | None = None
    """Provider's code of a server tool's failure."""
    status: str | None = None
    """The result's own status."""
    content: Annotated[tuple[ToolResultContent, ...], Field(strict=False)] = ()
    """The result, in order."""
    caller: str | None = None
    """Echo of ToolCall.caller. JSON text."""

    caller_value: ClassVar[JsonProperty] = lazy_json("caller")


class Reasoning(Shaped):
    """The model's reasoning."""

    text: str | None = None
    """Visible reasoning text."""
    summary: Texts = ()
    """Summary texts, in order."""
    signature: str | None = None
    """Signature that the provider checks when it gets the block back."""
    encrypted: str | None = None
    """Encrypted or redacted reasoning, opaque."""
    redacted: bool | None = None
    """True when the provider hid the text."""
    format: str | None = None
    """Format tag of the reasoning, where given."""


class Code(Shaped):
    """Code a model or server ran, or what came of it."""

    language: str | None = None
    """Programming language."""
    code: str | None = None
    """Source."""
    outcome: str | None = None
    """Outcome, as on the wire."""
    output: str | None = None
    """Output as one string."""
    stdout: str | None = None
    """Standard output."""
    stderr: str | None = None
    """Standard error."""
    exit_code: int | None = None
    """Exit code."""
    container_id: str | None = None
    """Container it ran in."""
    outputs: str | None = None
    """Outputs of other forms. JSON text."""

    outputs_value: ClassVar[JsonProperty] = lazy_json("outputs")


class Citation(Shaped):
    """A source, for the text it belongs to."""

    type: str = ""
    """The wire's type of the citation."""
    cited_text: str | None = None
    """The quoted text."""
    url: str | None = None
    """URL of the source."""
    title: str | None = None
    """Title of the source."""
    source: str | None = None
    """Name of the source, where it is no URL."""
    start_index: int | None = None
    """First index."""
    end_index: int | None = None
    """End index."""
    unit: str | None = None
    """What the indices count: char | byte | page | block."""
    document_index: int | None = None
    """Which document of the request."""
    search_result_index: int | None = None
    """Which search result of the request."""
    file_id: str | None = None
    """File cited."""
    filename: str | None = None
    """Its name."""
    container_id: str | None = None
    """Container of the file."""
    index: int | None = None
    """Index of the citation, where given."""
    encrypted_index: str | None = None
    """Opaque pointer that the provider needs back."""
    license: str | None = None
    """License."""
    detail: str | None = None
    """Structured rest of the citation. JSON text."""
    extras: str | None = None
    """Fields of the citation that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the citation was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")
