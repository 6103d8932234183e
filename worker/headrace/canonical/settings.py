"""What a request asks for: tools, their choice, sampling and other settings."""

from __future__ import annotations

from typing import ClassVar

from headrace.canonical.shaped import JsonProperty, Shaped, Texts, lazy_json


class Tool(Shaped):
    """A tool that the model may call."""

    name: str = ""
    """Name; the type's name for built-in tools without one."""
    kind: str = "function"
    """function | custom | server | mcp | computer | …"""
    wire_type: str | None = None
    """The wire's own type, with its version."""
    description: str | None = None
    """Description."""
    parameters: str | None = None
    """JSON Schema of the arguments, as given. JSON text."""
    output_schema: str | None = None
    """Schema of the result. JSON text."""
    strict: bool | None = None
    """Arguments must match the schema."""
    namespace: str | None = None
    """Namespace of the tool."""
    server_name: str | None = None
    """MCP server."""
    defer_loading: bool | None = None
    """Loaded only when searched for."""
    format: str | None = None
    """Grammar or text format of a custom tool's input. JSON text."""
    config: str | None = None
    """Settings of a built-in tool. JSON text."""
    cache_control: str | None = None
    """Cache breakpoint set on this tool. JSON text."""
    extras: str | None = None
    """Fields of the tool that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the tool was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    parameters_value: ClassVar[JsonProperty] = lazy_json("parameters")
    output_schema_value: ClassVar[JsonProperty] = lazy_json("output_schema")
    format_value: ClassVar[JsonProperty] = lazy_json("format")
    config_value: ClassVar[JsonProperty] = lazy_json("config")
    cache_control_value: ClassVar[JsonProperty] = lazy_json("cache_control")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class ToolChoice(Shaped):
    """Which tools the model may or must call."""

    mode: str | None = None
    """auto | none | required | tool | allowed | validated; null where the wire names tools and no mode."""
    name: str | None = None
    """The one tool, for mode tool."""
    kind: str | None = None
    """Kind of that tool."""
    server_name: str | None = None
    """MCP server of that tool."""
    allowed: Texts = ()
    """Names of allowed tools."""
    allowed_mode: str | None = None
    """auto | required, for mode allowed."""
    config: str | None = None
    """The rest of the choice. JSON text."""
    extras: str | None = None
    """Fields of the choice that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the choice was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    config_value: ClassVar[JsonProperty] = lazy_json("config")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class Parameters(Shaped):
    """Sampling and other settings of a request."""

    temperature: float | None = None
    """Sampling temperature."""
    top_p: float | None = None
    """Nucleus sampling."""
    top_k: float | None = None
    """Top-k sampling."""
    max_output_tokens: int | None = None
    """Most tokens to write."""
    n: int | None = None
    """Number of choices asked for."""
    seed: int | None = None
    """Seed."""
    stop: Texts = ()
    """Stop sequences."""
    presence_penalty: float | None = None
    """Presence penalty."""
    frequency_penalty: float | None = None
    """Frequency penalty."""
    logprobs: bool | None = None
    """Log probabilities asked for."""
    top_logprobs: int | None = None
    """How many alternatives."""
    stream: bool | None = None
    """A stream was asked for."""
    parallel_tool_calls: bool | None = None
    """May several tools be called at once."""
    max_tool_calls: int | None = None
    """Most tool calls."""
    store: bool | None = None
    """May the provider keep the exchange."""
    background: bool | None = None
    """Runs in the background."""
    response_format: str | None = None
    """Format of the answer, with its schema. JSON text."""
    modalities: Texts = ()
    """Kinds of output asked for."""
    reasoning_effort: str | None = None
    """Effort asked for."""
    reasoning_summary: str | None = None
    """Summary of reasoning asked for."""
    reasoning_budget: int | None = None
    """Most reasoning tokens; -1: the model decides."""
    reasoning_mode: str | None = None
    """Mode of thinking (enabled, adaptive, disabled, …)."""
    verbosity: str | None = None
    """Verbosity asked for."""
    service_tier: str | None = None
    """Service tier asked for."""
    truncation: str | None = None
    """Truncation of the input."""
    include: Texts = ()
    """Extra output asked for."""
    user: str | None = None
    """End user's id."""
    safety_identifier: str | None = None
    """Safety identifier."""
    cache_key: str | None = None
    """Prompt cache key."""
    cached_content: str | None = None
    """Name of cached content."""
    safety_settings: str | None = None
    """Safety settings. JSON text."""
    stream_options: str | None = None
    """Settings of the stream. JSON text."""
    other: str | None = None
    """Known settings of this protocol without a field of their own, as one JSON object. JSON text."""

    response_format_value: ClassVar[JsonProperty] = lazy_json("response_format")
    safety_settings_value: ClassVar[JsonProperty] = lazy_json("safety_settings")
    stream_options_value: ClassVar[JsonProperty] = lazy_json("stream_options")
    other_value: ClassVar[JsonProperty] = lazy_json("other")
