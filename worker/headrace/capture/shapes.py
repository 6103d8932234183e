"""What the bodies of each protocol look like: facts that only one protocol shows.

One table for requests, one for answers (whole bodies, stream events and error bodies alike). Facts are about keys
and the values of discriminators, never about content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from headrace.json_text import Json

CHAT, RESPONSES = "openai.chat", "openai.responses"
MESSAGES = "anthropic.messages"
GENERATE, INTERACTIONS, LIVE = "gemini.generate_content", "gemini.interactions", "gemini.live"
PROTOCOLS = frozenset({CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS, LIVE})

_LOOKED_AT = 50  # events of a stream that are looked at before it counts as undecided

Object = dict[str, Json]
Fact = Callable[[Object], bool]


def protocols_of_shape(kind: str, value: Json) -> set[str]:
    """The protocols whose facts a body (or a list of events) shows; one, none, or several in conflict."""
    events = value[:_LOOKED_AT] if isinstance(value, list) else [value]
    for event in events:
        if isinstance(event, dict):
            found = _fitting(kind, event)
            if found:
                return found
    return set()


def _fitting(kind: str, body: Object) -> set[str]:
    facts = _FACTS.get(kind, _ANSWERS)
    found = {protocol for protocol, fact in facts if fact(body)}
    return found if found or kind != "request" else _left_over(body)


def _left_over(body: Object) -> set[str]:
    """A request with messages and nothing special: Anthropic needs max_tokens; with it, both read the same."""
    if not isinstance(body.get("messages"), list):
        return set()
    return {CHAT, MESSAGES} if "max_tokens" in body else {CHAT}


def _has(*names: str) -> Fact:
    return lambda body: any(name in body for name in names)


def _is(name: str, *values: str) -> Fact:
    allowed = frozenset(values)
    return lambda body: isinstance(body.get(name), str) and body[name] in allowed


def _starts(name: str, *starts: str) -> Fact:
    return lambda body: isinstance(body.get(name), str) and body[name].startswith(starts)


def _objects(value: Json) -> Iterable[Object]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _has_type(value: Object, types: frozenset[str]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in types


def _blocks(body: Object) -> Iterable[Object]:
    """The content parts of a request's messages."""
    return (block for message in _objects(body.get("messages")) for block in _objects(message.get("content")))


_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "video_url"})
_MESSAGES_PARTS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "image",
        "document",
        "search_result",
    }
)
_CHAT_SETTINGS = _has(
    "stream_options", "max_completion_tokens", "response_format", "n", "stop", "frequency_penalty", "presence_penalty",
    "logprobs", "top_logprobs", "logit_bias", "seed", "functions", "function_call", "reasoning_effort", "modalities",
    "prediction", "web_search_options", "parallel_tool_calls", "verbosity",
)  # fmt: skip
_MESSAGES_SETTINGS = _has("anthropic_version", "system", "stop_sequences", "mcp_servers", "output_config")


def _is_chat_request(body: Object) -> bool:
    messages = body.get("messages")
    if not isinstance(messages, list):
        return False
    roles = [message.get("role") for message in _objects(messages)]
    return (
        _CHAT_SETTINGS(body)
        or roles[:1] in (["system"], ["developer"])
        or any(role in ("tool", "function", "developer") for role in roles)
        or any("function" in tool for tool in _objects(body.get("tools")))
        or isinstance(body.get("tool_choice"), str)
        or any("tool_calls" in message or "tool_call_id" in message for message in _objects(messages))
        or any(_has_type(block, _CHAT_PARTS) for block in _blocks(body))
    )


def _is_messages_request(body: Object) -> bool:
    if not isinstance(body.get("messages"), list):
        return False
    return (
        _MESSAGES_SETTINGS(body)
        or any("input_schema" in tool for tool in _objects(body.get("tools")))
        or any(_has_type(block, _MESSAGES_PARTS) for block in _blocks(body))
    )


_RESPONSES_SETTINGS = _has(
    "instructions", "max_output_tokens", "previous_response_id", "reasoning", "text", "truncation", "include",
    "parallel_tool_calls", "prompt", "conversation", "max_tool_calls", "tool_choice", "temperature", "top_p",
    "metadata",
)  # fmt: skip
_RESPONSES_ITEMS = frozenset(
    {"message", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "item_reference"}
    | {"computer_call", "computer_call_output", "web_search_call", "mcp_call", "mcp_list_tools", "compaction"}
)
_INTERACTIONS_SETTINGS = _has(
    "agent", "system_instruction", "generation_config", "previous_interaction_id", "agent_config", "environment",
    "response_modalities", "continuation_token",
)  # fmt: skip
_STEPS = frozenset({"user_input", "model_output", "thought", "function_result", "mcp_server_tool_call"})
#: Models that are named in `input` requests of other APIs (embeddings, moderations, speech).
_OTHER_MODEL = re.compile(r"embed|moderation|tts|whisper|rerank", re.IGNORECASE)
_GEMINI_MODEL = re.compile(r"(?:models/)?(?:gemini|gemma|deep-research|antigravity)", re.IGNORECASE)


def _is_responses_request(body: Object) -> bool:
    if body.get("type") == "response.create":
        return True
    if ("input" not in body and "prompt" not in body and "previous_response_id" not in body) or "messages" in body:
        return False
    model = body.get("model")
    if isinstance(model, str) and (_OTHER_MODEL.search(model) or _GEMINI_MODEL.match(model)):
        return False
    items = list(_objects(body.get("input")))
    if _RESPONSES_SETTINGS(body) or any(_has_type(item, _RESPONSES_ITEMS) or "role" in item for item in items):
        return True
    # Interactions take a Gemini model or an agent; the model is neither.
    return isinstance(model, str) and "input" in body and not _INTERACTIONS_SETTINGS(body)


def _is_interactions_request(body: Object) -> bool:
    if "input" not in body and not _has("previous_interaction_id", "continuation_token")(body):
        return False
    model = body.get("model")
    if isinstance(model, str) and _GEMINI_MODEL.match(model) and not _OTHER_MODEL.search(model):
        return True
    if any(_has_type(item, _STEPS) for item in _objects(body.get("input"))):
        return True
    return model is None and _INTERACTIONS_SETTINGS(body)


def _is_anthropic_error(body: Object) -> bool:
    error = body.get("error")
    return (
        body.get("type") == "error"
        and isinstance(error, dict)
        and "sequence_number" not in body
        and not error.keys() & {"code", "param"}
    )


def _is_responses_error(body: Object) -> bool:
    return body.get("type") == "error" and ("sequence_number" in body or "message" in body or "status" in body)


def _is_google_usage(body: Object) -> bool:
    usage = body.get("usageMetadata")
    return (
        isinstance(usage, dict)
        and "responseTokenCount" not in usage
        and ("modelVersion" in body or "responseId" in body)
    )


def _is_live_usage(body: Object) -> bool:
    usage = body.get("usageMetadata")
    return isinstance(usage, dict) and "responseTokenCount" in usage


def _is_chat_answer(body: Object) -> bool:
    choices = body.get("choices")
    return any("message" in choice or "delta" in choice for choice in _objects(choices)) or (
        choices == [] and isinstance(body.get("usage"), dict)
    )


_LIVE_CLIENT = _has(
    "setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate", "client_content", "realtime_input",
    "tool_response", "context_update",
)  # fmt: skip
_LIVE_SERVER = _has(
    "setupComplete", "serverContent", "toolCall", "toolCallCancellation", "goAway", "sessionResumptionUpdate",
    "voiceActivity", "voiceActivityDetectionSignal",
)  # fmt: skip

_ANSWERS: tuple[tuple[str, Fact], ...] = (
    (CHAT, _is("object", "chat.completion", "chat.completion.chunk")),
    (CHAT, _is_chat_answer),
    (RESPONSES, _is("object", "response", "response.compaction", "response.input_tokens")),
    (RESPONSES, _starts("type", "response.")),
    (RESPONSES, _is_responses_error),
    (MESSAGES, lambda body: body.get("type") == "message" and "content" in body and "role" in body),
    (MESSAGES, _starts("type", "message_", "content_block_")),
    (MESSAGES, _is("type", "ping")),
    (MESSAGES, _is_anthropic_error),
    (GENERATE, _has("candidates", "promptFeedback")),
    (GENERATE, _is_google_usage),
    (INTERACTIONS, _is("object", "interaction")),
    (INTERACTIONS, lambda body: "status" in body and ("steps" in body or "outputs" in body)),
    (INTERACTIONS, _starts("event_type", "interaction.", "step.", "content.", "error")),
    (LIVE, _LIVE_SERVER),
    (LIVE, _is_live_usage),
)
_FACTS: dict[str, tuple[tuple[str, Fact], ...]] = {
    "request": (
        (CHAT, _is_chat_request),
        (MESSAGES, _is_messages_request),
        (RESPONSES, _is_responses_request),
        (INTERACTIONS, _is_interactions_request),
        (GENERATE, lambda body: isinstance(body.get("contents"), list | dict | str)),
        (LIVE, _LIVE_CLIENT),
    ),
    "response": _ANSWERS,
    "stream": (*_ANSWERS, (LIVE, _LIVE_CLIENT)),
}
