"""The protocol of a capture: right, or undecided; never wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.capture.detection import ALIASES, PROTOCOLS, detect, model_of, protocol_named, protocol_of_url
from headrace.capture.framing import frame
from headrace.capture.providers import provider_of
from headrace.capture.shapes import protocols_of_shape
from headrace.errors import DetectionError
from tests.support.shared import corpus

CHAT, RESPONSES, MESSAGES = "openai.chat", "openai.responses", "anthropic.messages"
GENERATE, INTERACTIONS, LIVE = "gemini.generate_content", "gemini.interactions", "gemini.live"

URLS = [
    (CHAT, "https://api.openai.com/v1/chat/completions"),
    (CHAT, "https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"),
    (CHAT, "https://proxy.internal/openai/deployments/d/chat/completions"),
    (CHAT, "https://openrouter.ai/api/v1/chat/completions"),
    (CHAT, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
    (CHAT, "https://gateway.ai.cloudflare.com/v1/acc/gw/compat/chat/completions"),
    (CHAT, "/v1/chat/completions"),
    (CHAT, "http://localhost:8000/v1/chat/completions/"),
    (
        CHAT,
        "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
    ),
    (RESPONSES, "https://api.openai.com/v1/responses"),
    (RESPONSES, "https://api.openai.com/v1/responses/resp_1?stream=true"),
    (RESPONSES, "https://api.openai.com/v1/responses/compact"),
    (RESPONSES, "wss://api.openai.com/v1/responses"),
    (RESPONSES, "https://x.openai.azure.com/openai/v1/responses?api-version=preview"),
    (MESSAGES, "https://api.anthropic.com/v1/messages?beta=true"),
    (MESSAGES, "https://gw.test/anthropic/v1/messages"),
    (
        MESSAGES,
        "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models/c:streamRawPredict",
    ),
    (MESSAGES, "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke"),
    (MESSAGES, "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-x/invoke-with-response-stream"),
    (GENERATE, "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"),
    (
        GENERATE,
        "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/g%3AgenerateContent",
    ),
    (GENERATE, "/v1/models/gemini-x:generateContent"),
    (INTERACTIONS, "https://generativelanguage.googleapis.com/v1beta/interactions"),
    (INTERACTIONS, "https://generativelanguage.googleapis.com/v1beta/interactions/int_1?stream=true"),
    (LIVE, "wss://g.test/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=x"),
    (LIVE, "wss://g.test/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained"),
]


@pytest.mark.parametrize(("protocol", "url"), URLS)
def test_urls_decide(protocol: str, url: str) -> None:
    assert protocol_of_url(url) == protocol
    assert detect("response", url, {"anything": 1}) == protocol


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/embeddings",
        "https://api.openai.com/v1/threads/t_1/messages",
        "http://localhost:11434/api/chat",
        "https://api.anthropic.com/v1/messages/batches",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
        "https://api.openai.com/v1/completions",
        "https://api.openai.com/v1/realtime?model=x",
        "https://gw.test/llm",
        "",
    ],
)
def test_other_urls_do_not(url: str) -> None:
    assert protocol_of_url(url) is None


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
    (CHAT, {"model": "m", "max_tokens": 5, "messages": [{"role": "system", "content": "x"}]}),
    (CHAT, {"model": "m", "max_tokens": 5, "messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]}),
    (
        CHAT,
        {"max_tokens": 5, "messages": [{"role": "assistant", "tool_calls": []}, {"role": "tool", "tool_call_id": "1"}]},
    ),
    (CHAT, {"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}),
    (MESSAGES, {"model": "m", "max_tokens": 5, "system": "s", "messages": []}),
    (MESSAGES, {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": []}),
    (MESSAGES, {"max_tokens": 5, "messages": [], "tools": [{"name": "f", "input_schema": {}}]}),
    (
        MESSAGES,
        {"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}]},
    ),
    (RESPONSES, {"model": "m", "input": "x"}),
    (RESPONSES, {"model": "m", "input": [{"role": "user", "content": "x"}], "instructions": "i"}),
    (RESPONSES, {"type": "response.create", "model": "m", "input": []}),
    (RESPONSES, {"model": "m", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
    (INTERACTIONS, {"model": "gemini-3-flash", "input": "x"}),
    (INTERACTIONS, {"agent": "deep-research", "input": "x", "background": True}),
    (INTERACTIONS, {"model": "gemini-3", "input": [{"type": "function_result", "call_id": "c", "result": "x"}]}),
    (GENERATE, {"contents": [{"parts": [{"text": "x"}]}]}),
    (LIVE, {"setup": {"model": "models/gemini-live"}}),
    (LIVE, {"realtimeInput": {"text": "x"}}),
]
ANSWERS: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"object": "chat.completion", "choices": []}),
    (CHAT, {"choices": [{"index": 0, "delta": {"content": "x"}}]}),
    (CHAT, {"choices": [], "usage": {"prompt_tokens": 1}}),
    (RESPONSES, {"object": "response", "output": [], "status": "completed"}),
    (RESPONSES, {"type": "response.output_text.delta", "delta": "x"}),
    (RESPONSES, {"type": "error", "sequence_number": 3, "error": {"type": "server_error", "message": "x"}}),
    (RESPONSES, {"type": "error", "code": "x", "message": "y", "param": None}),
    (MESSAGES, {"type": "message", "role": "assistant", "content": []}),
    (MESSAGES, {"type": "content_block_delta", "index": 0}),
    (MESSAGES, {"type": "ping"}),
    (MESSAGES, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    (GENERATE, {"candidates": [{"content": {"parts": []}}]}),
    (GENERATE, {"promptFeedback": {"blockReason": "SAFETY"}}),
    (GENERATE, {"usageMetadata": {"promptTokenCount": 1}, "modelVersion": "g"}),
    (INTERACTIONS, {"object": "interaction", "id": "i", "status": "completed"}),
    (INTERACTIONS, {"event_type": "step.delta", "index": 0, "delta": {}}),
    (INTERACTIONS, {"event_type": "content.delta", "delta": {}}),
    (LIVE, {"serverContent": {"turnComplete": True}}),
    (LIVE, {"toolCall": {"functionCalls": []}}),
    (LIVE, {"usageMetadata": {"responseTokenCount": 1}}),
]


@pytest.mark.parametrize(("protocol", "body"), REQUESTS)
def test_request_shapes(protocol: str, body: dict[str, Any]) -> None:
    assert detect("request", None, body) == protocol
    assert detect("request", "https://gw.test/llm", body) == protocol


@pytest.mark.parametrize(("protocol", "body"), ANSWERS)
@pytest.mark.parametrize("kind", ["response", "stream", "error"])
def test_answer_shapes(protocol: str, body: dict[str, Any], kind: str) -> None:
    assert detect(kind, None, body) == protocol
    assert detect(kind, None, ["[DONE]", {"unknown": 1}, body]) == protocol


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        (
            "request",
            {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]},
            "ambiguous_protocol",
        ),
        (
            "request",
            {"model": "m", "max_tokens": 5, "messages": [], "stop_sequences": [], "n": 2},
            "ambiguous_protocol",
        ),
        ("request", {"model": "text-embedding-3-small", "input": "x"}, "unknown_protocol"),
        ("request", {"contents": 1}, "unknown_protocol"),
        ("response", {"error": {"message": "x", "type": "invalid_request_error"}}, "unknown_protocol"),
        ("response", {"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}, "unknown_protocol"),
        ("response", "[DONE]", "unknown_protocol"),
        ("stream", [], "unknown_protocol"),
        ("response", {"type": "error"}, "unknown_protocol"),
    ],
)
def test_what_is_not_told_is_an_error_not_a_guess(kind: str, body: Any, code: str) -> None:
    with pytest.raises(DetectionError) as caught:
        detect(kind, None, body)
    assert caught.value.code == code and caught.value.fix


def test_names_and_aliases() -> None:
    assert protocol_named("gemini.generateContent") == GENERATE
    assert protocol_named(" OpenAI.Chat_Completions ") == CHAT
    assert all(protocol_named(name) == name for name in PROTOCOLS) and set(ALIASES.values()) == PROTOCOLS
    with pytest.raises(DetectionError):
        protocol_named("openai.realtime")


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("https://g.test/v1beta/models/gemini-x:streamGenerateContent?alt=sse", "gemini-x"),
        ("https://b.test/model/us.anthropic.claude-v1%3A0/invoke", "us.anthropic.claude-v1:0"),
        ("https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions", "gpt-4o"),
        ("https://api.openai.com/v1/chat/completions", None),
        (None, None),
    ],
)
def test_models_in_urls(url: str | None, model: str | None) -> None:
    assert model_of(url) == model


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1/responses", "openai"),
        ("https://x.openai.azure.com/openai", "azure"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.deepseek.com/x", "deepseek"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.x.ai/v1", "xai"),
        ("https://api.z.ai/api", "zai"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.together.xyz/v1", "together"),
        ("https://api.fireworks.ai/inference", "fireworks"),
        ("https://api.cerebras.ai/v1", "cerebras"),
        ("http://localhost:11434/v1", "ollama"),
        ("http://127.0.0.1:11434/v1", "ollama"),
        ("https://us-central1-aiplatform.googleapis.com/v1", "vertex"),
        ("https://aiplatform.googleapis.com/v1", "vertex"),
        ("https://generativelanguage.googleapis.com/v1beta", "gemini"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model", "bedrock"),
        ("https://bedrock-mantle.us-east-1.api.aws/v1", "bedrock"),
        ("https://user@api.openai.com:443/v1", "openai"),
        ("https://gw.corp.test:8443/v1", "gw.corp.test"),
        ("http://[::1]:8000/v1", "[::1]"),
        ("https://notopenai.com/", "notopenai.com"),
        ("/v1/messages", None),
        ("", None),
    ],
)
def test_providers(url: str, provider: str | None) -> None:
    assert provider_of(url) == provider


def test_real_exchanges_are_never_taken_for_another_protocol() -> None:
    undecided: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for protocol in sorted(PROTOCOLS):
        for exchange in corpus(protocol):
            if exchange["url"]:
                assert protocol_of_url(exchange["url"]) == protocol, exchange["url"]
            for kind, body in _bodies(exchange):
                found = protocols_of_shape(kind, body)
                total[kind] += 1
                undecided[kind] += len(found) != 1
                assert not found or protocol in found, (exchange["id"], kind, found)
    if total:
        assert undecided["request"] / total["request"] < 0.05, undecided
        assert undecided["stream"] / total["stream"] < 0.01, undecided
    print(f"undecided by shape alone: {dict(undecided)} of {dict(total)}")


def _bodies(exchange: dict[str, Any]) -> list[tuple[str, Any]]:
    bodies: list[tuple[str, Any]] = []
    if exchange.get("request") is not None:
        bodies.append(("request", exchange["request"]))
    if exchange.get("response") is not None:
        bodies.append(("response", exchange["response"]))
    events = exchange.get("ndjson_chunks") or []
    if exchange.get("sse"):
        events = frame(exchange["sse"].encode()).values
    bodies += [("stream", event) for event in events]
    bodies += [("stream", frame_["frame"]) for frame_ in exchange.get("frames") or []]
    if events:
        bodies.append(("response", events))
    return bodies
