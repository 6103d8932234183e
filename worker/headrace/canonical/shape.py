"""The canonical shape: records as plain dicts, exactly as `schemas/*.avsc` lay them out.

This is what codecs build and what Avro and JSON Lines carry. Dicts are sparse: an absent key is the schema's
default (null or an empty array). TypedDict costs nothing at run time and lets the type checker know every
field; a test keeps these classes and the schemas equal. `headrace.canonical.model` is the same shape as frozen
classes, for people and for checks at the edges.

The meaning of each field is in the schema's ``doc``; docs/record.md prints them.
"""

from __future__ import annotations

from typing import TypedDict


class Media(TypedDict, total=False):
    """An image, audio, video, document or other file, by value or by reference."""

    kind: str
    mime_type: str
    uri: str
    file_id: str
    data: str
    text: str
    filename: str
    format: str
    detail: str
    transcript: str
    size_bytes: int
    sha256: str
    sample_rate: int
    channels: int
    expires_at: int
    metadata: str


class ToolCall(TypedDict, total=False):
    """One call of one tool. Never merged with another."""

    id: str
    provider_id: str
    name: str
    kind: str
    wire_type: str
    server_name: str
    namespace: str
    arguments: str
    raw_arguments: str
    arguments_error: str
    index: int
    status: str
    caller: str


class ToolResultContent(TypedDict, total=False):
    """One piece of a tool's result."""

    type: str
    text: str
    media: Media
    json: str
    cache_control: str
    extras: str
    wire: str


class ToolResult(TypedDict, total=False):
    """What a tool returned. Always references its call."""

    tool_call_id: str
    name: str
    kind: str
    wire_type: str
    server_name: str
    is_error: bool
    error_code: str
    status: str
    content: list[ToolResultContent]
    caller: str


class Reasoning(TypedDict, total=False):
    """The model's reasoning."""

    text: str
    summary: list[str]
    signature: str
    encrypted: str
    redacted: bool
    format: str


class Code(TypedDict, total=False):
    """Code a model or server ran, or what came of it."""

    language: str
    code: str
    outcome: str
    output: str
    stdout: str
    stderr: str
    exit_code: int
    container_id: str
    outputs: str


class Citation(TypedDict, total=False):
    """A source, for the text it belongs to."""

    type: str
    cited_text: str
    url: str
    title: str
    source: str
    start_index: int
    end_index: int
    unit: str
    document_index: int
    search_result_index: int
    file_id: str
    filename: str
    container_id: str
    index: int
    encrypted_index: str
    license: str
    detail: str
    extras: str
    wire: str


class Part(TypedDict, total=False):
    """One piece of a message. Exactly one of the sub-records fits its type; order is content."""

    type: str
    wire_type: str
    provider_item_id: str
    text: str
    media: Media
    tool_call: ToolCall
    tool_result: ToolResult
    reasoning: Reasoning
    code: Code
    citations: list[Citation]
    data: str
    signature: str
    status: str
    cache_control: str
    logprobs: str
    detail: str
    continuation: list[str]
    raw: str
    extras: str
    wire: str


class Message(TypedDict, total=False):
    """One turn, or one item that stands for a turn."""

    id: str
    role: str
    name: str
    phase: str
    status: str
    choice_index: int
    finish_reason: str
    raw_finish_reason: str
    parts: list[Part]
    logprobs: str
    safety: str
    grounding: str
    detail: str
    extras: str
    wire: str


class Tool(TypedDict, total=False):
    """A tool that the model may call."""

    name: str
    kind: str
    wire_type: str
    description: str
    parameters: str
    output_schema: str
    strict: bool
    namespace: str
    server_name: str
    defer_loading: bool
    format: str
    config: str
    cache_control: str
    extras: str
    wire: str


class ToolChoice(TypedDict, total=False):
    """Which tools the model may or must call."""

    mode: str
    name: str
    kind: str
    server_name: str
    allowed: list[str]
    allowed_mode: str
    config: str
    extras: str
    wire: str


class Parameters(TypedDict, total=False):
    """Sampling and other settings of a request."""

    temperature: float
    top_p: float
    top_k: float
    max_output_tokens: int
    n: int
    seed: int
    stop: list[str]
    presence_penalty: float
    frequency_penalty: float
    logprobs: bool
    top_logprobs: int
    stream: bool
    parallel_tool_calls: bool
    max_tool_calls: int
    store: bool
    background: bool
    response_format: str
    modalities: list[str]
    reasoning_effort: str
    reasoning_summary: str
    reasoning_budget: int
    reasoning_mode: str
    verbosity: str
    service_tier: str
    truncation: str
    include: list[str]
    user: str
    safety_identifier: str
    cache_key: str
    cached_content: str
    safety_settings: str
    stream_options: str
    other: str


class Usage(TypedDict, total=False):
    """Tokens, in one arithmetic: input includes cache, output includes reasoning."""

    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    total_tokens: int
    input_audio_tokens: int
    output_audio_tokens: int
    input_image_tokens: int
    output_image_tokens: int
    tool_use_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int
    server_tool_calls: int
    service_tier: str
    cost: float
    detail: str
    raw: str


class Error(TypedDict, total=False):
    """What went wrong."""

    type: str
    code: str
    message: str
    param: str
    http_status: int
    request_id: str
    detail: str
    extras: str
    wire: str


class Timing(TypedDict, total=False):
    """When things were seen."""

    first_captured_at: int
    last_captured_at: int
    created_at: int
    completed_at: int


class CaptureInfo(TypedDict, total=False):
    """What is known of how the traffic was seen."""

    origin: str
    side: str
    attempt: int
    truncated: bool
    fidelity: str


class Source(TypedDict, total=False):
    """Where the record's input lies: a range of one partition's log, or of one file."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int


class UnknownType(TypedDict, total=False):
    """A wire type that the model does not know; carried raw."""

    kind: str
    type: str
    count: int


class Gap(TypedDict, total=False):
    """A range of numbers that never came."""

    first: int
    last: int


class CanonicalRecord(TypedDict, total=False):
    """A request to a model, or one response of a model."""

    record_id: str
    record_type: str
    revision: int
    ordinal: int
    call_id: str
    task_id: str
    tenant: str
    request_version: str
    protocol: str
    provider: str
    model: str
    served_model: str
    response_id: str
    previous_response_id: str
    conversation_id: str
    container: str
    continuation_token: str
    messages: list[Message]
    tools: list[Tool]
    tool_choice: ToolChoice
    parameters: Parameters
    metadata: str
    status: str
    status_reason: str
    finish_reason: str
    raw_finish_reason: str
    stop_sequence: str
    usage: Usage
    error: Error
    service_tier: str
    system_fingerprint: str
    safety: str
    timing: Timing
    detail: str
    chunk_count: int
    capture: CaptureInfo
    sources: list[Source]
    missing_events: list[Gap]
    unknown_types: list[UnknownType]
    continuation: list[str]
    extras: str
    wire: str
    schema_version: str
    normalizer: str


class DeadLetterHeader(TypedDict, total=False):
    """One Kafka header."""

    name: str
    value: bytes


class DeadLetter(TypedDict, total=False):
    """An input that could not become (all of) a record, with its original bytes."""

    dead_letter_id: str
    code: str
    message: str
    place: str
    fix: str
    cause: str
    call_id: str
    tenant: str
    protocol: str
    provider: str
    sources: list[Source]
    timestamp: int
    key: bytes
    value: bytes
    headers: list[DeadLetterHeader]
    schema_version: str
    normalizer: str
