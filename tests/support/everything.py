"""Bodies and streams that hold every type of every protocol, for the harshest tests to break and inject into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from headrace.protocols import codec
from tests.support import traffic
from tests.support.own import OWN_EXCHANGES
from tests.support.shared import corpus
from tests.unit.anthropic_messages import samples as messages
from tests.unit.gemini_generate import samples as gemini
from tests.unit.gemini_interactions import wire as interactions
from tests.unit.gemini_live import samples as live
from tests.unit.openai_chat import samples as chat
from tests.unit.openai_responses import samples as responses

Kind = Literal["request", "response", "stream"]


@dataclass(frozen=True, slots=True)
class Seed:
    """One body, or the events of one stream (a list)."""

    protocol: str
    kind: Kind
    value: Any


def _live_frames() -> list[Any]:
    call = {"functionCalls": [{"id": "c1", "name": "look", "args": {"at": "river"}}, {"name": "wait", "args": {}}]}
    return [
        live.client(**live.SETUP),
        live.server(setupComplete={"sessionId": "s"}),
        live.said("Hi"),
        live.heard(b"\1\2" * 40),
        live.client(realtimeInput={"activityStart": {}}),
        live.client(realtimeInput={"text": "typed"}),
        live.spoke({"text": "thinking", "thought": True}, {"text": "A", "thoughtSignature": "c2ln"}),
        live.spoke(live.audio(b"\3\4" * 40)),
        live.content(outputTranscription={"text": "spoken"}),
        live.content(inputTranscription={"text": "heard", "finished": True}),
        live.server(toolCall=call),
        live.client(toolResponse={"functionResponses": [{"id": "c1", "name": "look", "response": {"result": "wet"}}]}),
        live.server(toolCallCancellation={"ids": ["c1"]}),
        live.spoke({"executableCode": {"code": "1", "language": "PYTHON"}}),
        live.spoke({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        live.content(groundingMetadata=gemini.GROUNDING),
        live.server(sessionResumptionUpdate={"newHandle": "h1", "resumable": True}),
        live.server(goAway={"timeLeft": "10s"}),
        live.content(interrupted=True),
        *live.DONE,
        live.server(usageMetadata=live.USAGE),
        live.client(contextUpdate={"systemInstruction": {"parts": [{"text": "New."}]}}),
        live.said("Bye"),
        live.spoke({"text": "Bye"}),
        *live.DONE,
    ]


def _bodies() -> Iterator[Seed]:
    for body in chat.REQUESTS:
        yield Seed("openai.chat", "request", body)
    for body in (*chat.RESPONSES, *chat.ERRORS.values()):
        yield Seed("openai.chat", "response", body)
    yield Seed("openai.responses", "request", responses.REQUEST)
    for body in (responses.RESPONSE, *responses.ERRORS.values()):
        yield Seed("openai.responses", "response", body)
    blocks = list(messages.BLOCKS.values())
    turns = [{"role": role, "content": blocks} for role in ("user", "assistant")]
    yield Seed("anthropic.messages", "request", messages.REQUEST)
    yield Seed(
        "anthropic.messages",
        "request",
        {"model": "m", "max_tokens": 1, "messages": turns, "tools": list(messages.TOOLS.values())},
    )
    for body in (messages.RESPONSE, {**messages.RESPONSE, "content": blocks}, messages.ERROR):
        yield Seed("anthropic.messages", "response", body)
    parts = list(gemini.PARTS.values())
    yield Seed("gemini.generate_content", "request", gemini.REQUEST)
    yield Seed(
        "gemini.generate_content",
        "request",
        {
            "contents": [{"role": role, "parts": parts} for role in ("user", "model")],
            "tools": list(gemini.TOOLS.values()),
        },
    )
    for body in (gemini.RESPONSE, gemini.chunk(*parts, finishReason="STOP"), *gemini.ERRORS.values()):
        yield Seed("gemini.generate_content", "response", body)
    yield Seed("gemini.interactions", "request", interactions.REQUEST)
    for body in (interactions.INTERACTION, interactions.LEGACY):
        yield Seed("gemini.interactions", "response", body)


def _streams() -> Iterator[Seed]:
    """Our own streams, and every body of a response as its provider would stream it."""
    for exchange in OWN_EXCHANGES:
        events = exchange.get("frames") or exchange.get("ndjson_chunks")
        yield Seed(exchange["protocol"], "stream", list(events))
    for seed in _bodies():
        if seed.kind == "response":
            yield Seed(seed.protocol, "stream", codec(seed.protocol).unfold(seed.value))
    yield Seed("gemini.live", "stream", _live_frames())


@cache
def own_seeds() -> tuple[Seed, ...]:
    """All seeds that the project itself holds."""
    return (*_bodies(), *_streams())


def shared_seeds(largest: int = 40_000) -> Iterator[Seed]:
    """Seeds from the exchanges that may lie beside the checkout; nothing where they do not.

    largest: bodies longer than this, as text, are left out.
    """
    for protocol in traffic_protocols():
        for exchange in corpus(protocol):
            if exchange["request"] is not None and len(str(exchange["request"])) <= largest:
                yield Seed(protocol, "request", exchange["request"])
            streamed = traffic.is_stream(exchange)
            value = (exchange.get("frames") or traffic.events_of(exchange)) if streamed else exchange["response"]
            if len(str(value)) <= largest:
                yield Seed(protocol, "stream" if streamed else "response", value)


def traffic_protocols() -> tuple[str, ...]:
    """The six, in the catalogue's order."""
    return tuple(dict.fromkeys(seed.protocol for seed in own_seeds()))
