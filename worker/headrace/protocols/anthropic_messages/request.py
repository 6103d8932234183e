"""Requests: `POST /v1/messages`, and `/count_tokens`, which has the same body.

Both generations of the API are read: the one with sampling parameters (anthropic-version 2023-06-01) and the one
without. Bedrock and Vertex leave the model out (it is in the URL) and name ``anthropic_version`` in the body.
"""

from __future__ import annotations

from itertools import takewhile

from headrace.canonical.fields import (
    BOOL,
    DOUBLE,
    JSON,
    LONG,
    OBJECT,
    TEXTS,
    Field,
    Leftover,
    Other,
    Table,
    listed,
    spelling,
)
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.errors import WireError
from headrace.json_text import Json
from headrace.protocols.anthropic_messages import batch
from headrace.protocols.anthropic_messages.messages import (
    is_system,
    mark_opening,
    read_message,
    read_system,
    write_message,
    write_system,
)
from headrace.protocols.anthropic_messages.tools import MODE, read_tool, write_tool
from headrace.protocols.anthropic_messages.wire import NEGATED, paths, present

#: Settings without a field of their own. Secrets of mcp_servers are redacted before a codec sees them.
OTHER_SETTINGS = (
    *("anthropic_version", "anthropic_beta", "betas", "user_profile_id", "workspace_id"),
    *("thinking.block_binding", "output_config.task_budget", "speed", "inference_geo", "diagnostics"),
    *("cache_control", "context_management", "compaction", "mcp_servers", "thread.type"),
    *("fallbacks", "fallback_credit_token", "billing_policy"),
)
_REQUEST = Table(
    Field("model", "model"),
    Field("max_tokens", "parameters.max_output_tokens", LONG),
    Field("temperature", "parameters.temperature", DOUBLE),
    Field("top_p", "parameters.top_p", DOUBLE),
    Field("top_k", "parameters.top_k", DOUBLE),
    Field("stop_sequences", "parameters.stop", TEXTS),
    Field("stream", "parameters.stream", BOOL),
    Field("service_tier", "parameters.service_tier"),
    Field("thinking.type", "parameters.reasoning_mode"),
    Field("thinking.budget_tokens", "parameters.reasoning_budget", LONG),
    Field("thinking.display", "parameters.reasoning_summary"),
    Field("output_config.effort", "parameters.reasoning_effort"),
    Field("output_config.format", "parameters.response_format", OBJECT),
    Field("output_format", "parameters.response_format", OBJECT),
    Field("metadata.user_id", "parameters.user"),
    Field("tool_choice.type", "tool_choice.mode", MODE),
    Field("tool_choice.name", "tool_choice.name"),
    Field("tool_choice.disable_parallel_tool_use", "parameters.parallel_tool_calls", NEGATED),
    Field("container", "container", JSON),
    Field("thread.previous_message_id", "previous_response_id"),
    *(Other(key, "parameters.other") for key in OTHER_SETTINGS),
)
_STRUCTURED = ("messages", "system", "tools")
_CONTINUATION = paths("container", "fallback_credit_token", "thread.previous_message_id")


def read_request(body: Json, reading: Reading) -> CanonicalRecord:
    """A request body, or one line of a batch (its ``custom_id`` becomes metadata)."""
    if batch.is_request(body):
        return batch.wrap(body, lambda inner: read_request(inner, reading))
    if type(body) is not dict or not ("messages" in body or ("model" in body and "max_tokens" in body)):
        raise WireError(
            "a request to Anthropic Messages has `messages`",
            place="$.messages",
            fix="name the protocol that this body is of, or send the whole body",
        )
    record: CanonicalRecord = {}
    left = _REQUEST.read(body, record, skip=_STRUCTURED)
    _read_messages(body, record, left, reading)
    tools = [read_tool(tool, reading) for tool in listed(body, "tools", left)]
    if tools:
        record["tools"] = tools
    _check_choice(body, record, left, reading)
    continuation = present(body, _CONTINUATION)
    if continuation:
        record["continuation"] = continuation
    left.store(record)
    return record


def _read_messages(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    system = read_system(body, left, reading)
    messages = [
        read_message(message, reading, position)
        for position, message in enumerate(listed(body, "messages", left), len(system))
    ]
    mark_opening(messages)
    if system or messages:
        record["messages"] = [*system, *messages]


#: Settings that have a type, and the one that is meant where another protocol's record names none.
_TYPED = {"tool_choice": "auto", "thinking": "enabled"}


def _check_choice(body: dict[str, Json], record: CanonicalRecord, left: Leftover, reading: Reading) -> None:
    unknown = left.extras.get("tool_choice")
    if type(unknown) is dict and "type" in unknown:
        reading.unknown_type("tool_choice", unknown["type"])
    for key in _TYPED:
        if type(body.get(key)) is dict and "type" not in body[key]:
            left.note("untyped", key)


def write_request(record: CanonicalRecord) -> dict[str, Json]:
    """The inverse of `read_request`."""
    if batch.is_wrapped(record):
        return batch.unwrap(record, write_request)
    spelled = spelling(record)
    body = _REQUEST.write(record, spelled)
    for key, meant in _TYPED.items():
        if type(body.get(key)) is dict:
            if key in spelled.get("untyped", ()):
                body[key].pop("type", None)
            elif "type" not in body[key]:
                body[key]["type"] = meant
    messages = record.get("messages") or []
    system = list(takewhile(is_system, messages))
    if system and (content := write_system(system)) is not None:
        body["system"] = content
    if len(system) < len(messages):
        body["messages"] = [write_message(message) for message in messages[len(system) :]]
    if record.get("tools"):
        body["tools"] = [write_tool(tool) for tool in record["tools"]]
    return body
