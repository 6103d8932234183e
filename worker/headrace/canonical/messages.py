"""Messages and their parts: a part is one of ten small classes, told apart by ``type``; order is content."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from headrace.canonical.contents import Citation, Code, Media, Reasoning, ToolCall, ToolResult
from headrace.canonical.shaped import JsonProperty, Shaped, Texts, lazy_json


class AnyPart(Shaped):
    """What every part can carry."""

    always: ClassVar[frozenset[str]] = frozenset({"type"})

    type: str = "unknown"
    """text | refusal | media | tool_call | tool_result | reasoning | code | citation | data | unknown."""
    wire_type: str | None = None
    """The wire's own type, where one canonical type has several."""
    provider_item_id: str | None = None
    """Id of the item on the wire."""
    data: str | None = None
    """data parts: a known wire type whose fields are carried as one JSON value (compaction, tool listings, approvals).
    JSON text."""
    signature: str | None = None
    """Signature on a part that is not reasoning."""
    status: str | None = None
    """The item's own status."""
    cache_control: str | None = None
    """Cache breakpoint set on this part. JSON text."""
    detail: str | None = None
    """Known facts of the part without a field of their own (thought flag on media, scheduling of a result, custom
    metadata). JSON text."""
    continuation: Texts = ()
    """Wire fields of this part that the provider needs back verbatim."""
    extras: str | None = None
    """Fields of the part that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the part was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    data_value: ClassVar[JsonProperty] = lazy_json("data")
    cache_control_value: ClassVar[JsonProperty] = lazy_json("cache_control")
    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")


class TextPart(AnyPart):
    """Text, with the sources it names."""

    type: Literal["text"] = "text"
    text: str | None = None
    """Text of text and refusal parts."""
    citations: Annotated[tuple[Citation, ...], Field(strict=False)] = ()
    """Sources of this text, in order; the source itself on a citation part."""
    logprobs: str | None = None
    """Token log probabilities of this text. JSON text."""

    logprobs_value: ClassVar[JsonProperty] = lazy_json("logprobs")


class RefusalPart(AnyPart):
    """The model said that it will not answer."""

    type: Literal["refusal"] = "refusal"
    text: str | None = None
    """Text of text and refusal parts."""
    logprobs: str | None = None
    """Token log probabilities of this text. JSON text."""

    logprobs_value: ClassVar[JsonProperty] = lazy_json("logprobs")


class MediaPart(AnyPart):
    """An image, audio, video, document or other file."""

    type: Literal["media"] = "media"
    media: Media | None = None
    """Media part."""


class ToolCallPart(AnyPart):
    """A call of a tool."""

    type: Literal["tool_call"] = "tool_call"
    tool_call: ToolCall | None = None
    """Tool call part."""


class ToolResultPart(AnyPart):
    """What a tool returned."""

    type: Literal["tool_result"] = "tool_result"
    tool_result: ToolResult | None = None
    """Tool result part."""


class ReasoningPart(AnyPart):
    """The model's reasoning."""

    type: Literal["reasoning"] = "reasoning"
    reasoning: Reasoning | None = None
    """Reasoning part."""


class CodePart(AnyPart):
    """Code that a model or server ran, or what came of it."""

    type: Literal["code"] = "code"
    code: Code | None = None
    """Code part."""


class CitationPart(AnyPart):
    """A source that stands alone."""

    type: Literal["citation"] = "citation"
    citations: Annotated[tuple[Citation, ...], Field(strict=False)] = ()
    """Sources of this text, in order; the source itself on a citation part."""


class DataPart(AnyPart):
    """A known wire type whose fields are one JSON value."""

    type: Literal["data"] = "data"


class UnknownPart(AnyPart):
    """A wire type that the model does not know; its JSON is whole."""

    type: Literal["unknown"] = "unknown"
    raw: str | None = None
    """The whole part as on the wire, for type unknown. JSON text."""

    raw_value: ClassVar[JsonProperty] = lazy_json("raw")


def _type_of(part: Any) -> Any:
    return part.get("type", "unknown") if isinstance(part, dict) else getattr(part, "type", None)


Part = Annotated[
    Annotated[TextPart, Tag("text")]
    | Annotated[RefusalPart, Tag("refusal")]
    | Annotated[MediaPart, Tag("media")]
    | Annotated[ToolCallPart, Tag("tool_call")]
    | Annotated[ToolResultPart, Tag("tool_result")]
    | Annotated[ReasoningPart, Tag("reasoning")]
    | Annotated[CodePart, Tag("code")]
    | Annotated[CitationPart, Tag("citation")]
    | Annotated[DataPart, Tag("data")]
    | Annotated[UnknownPart, Tag("unknown")],
    Discriminator(
        _type_of, custom_error_type="unknown_part", custom_error_message="this version knows no such type of part"
    ),
]


class Message(Shaped):
    """One turn, or one item that stands for a turn."""

    id: str | None = None
    """Id on the wire."""
    role: str = ""
    """system | developer | user | assistant | tool | … as on the wire, named alike over protocols."""
    name: str | None = None
    """Name of the speaker."""
    phase: str | None = None
    """commentary | final_answer."""
    status: str | None = None
    """Status on the wire."""
    choice_index: int | None = None
    """Which choice of the response."""
    finish_reason: str | None = None
    """Canonical reason of this choice."""
    raw_finish_reason: str | None = None
    """The wire's reason of this choice."""
    parts: Annotated[tuple[Part, ...], Field(strict=False)] = ()
    """The content, in order."""
    logprobs: str | None = None
    """Token log probabilities of the choice. JSON text."""
    safety: str | None = None
    """Safety ratings or content filter results of the choice. JSON text."""
    grounding: str | None = None
    """Grounding, retrieval and URL context metadata of the choice. JSON text."""
    detail: str | None = None
    """Known facts of the choice or turn without a field of their own (finish message, token count, continuation
    token). JSON text."""
    extras: str | None = None
    """Fields of the message that the model does not name, nested as on the wire. JSON text."""
    wire: str | None = None
    """How the message was spelled where the meaning is the same: explicit nulls, string or list content, absent
    constants, alias names. Only the same-protocol writer needs it. JSON text."""

    logprobs_value: ClassVar[JsonProperty] = lazy_json("logprobs")
    safety_value: ClassVar[JsonProperty] = lazy_json("safety")
    grounding_value: ClassVar[JsonProperty] = lazy_json("grounding")
    detail_value: ClassVar[JsonProperty] = lazy_json("detail")
    extras_value: ClassVar[JsonProperty] = lazy_json("extras")
    wire_value: ClassVar[JsonProperty] = lazy_json("wire")
