"""Train the dictionary that fragments are compressed with: python -m bench.dictionary FILE.

A fragment of one or two pieces repeats little within itself, but much of what every other fragment holds: field
names, what the gateway saw of HTTP, the frame of a delta. Samples are made up here, from random words, ids and
numbers in each protocol's own spelling; no real traffic is in them. A dictionary that was ever shipped stays as it
is, for states may have been written with it: make a new file, and give it the next mark in `reassembly.packing`.
"""

from __future__ import annotations

import argparse
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from headrace.capture.model import Http
from headrace.json_text import Json
from headrace.protocols import codec
from headrace.reassembly.facts import CallFacts, Trait
from headrace.reassembly.packing import columns_of
from headrace.reassembly.pieces import Fragment, Pieces

_BYTES = 16 << 10
_CALLS = 240
_TEXT = (
    "the of and to a in is it you that was for on are with as his they be at one have this from or had by hot but some "
    "what there we can out other were all your when up use word how said an each she which do their time if will way "
    "about many then them would write like so these her long make thing see him two has look more day could go come "
    "did my sound no most number who over know water than call first people may down side been now find I'm don't "
    "weather city result error value query file path table user date list code return function import class data"
)
_WORDS = tuple(_TEXT.split())
_URLS = {
    "openai.chat": ("openai", "https://api.openai.com/v1/chat/completions"),
    "openai.responses": ("openai", "https://api.openai.com/v1/responses"),
    "anthropic.messages": ("anthropic", "https://api.anthropic.com/v1/messages"),
    "gemini.generate_content": (
        "google",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ),
    "gemini.interactions": ("google", "https://generativelanguage.googleapis.com/v1beta/interactions"),
}
_TOPICS = ("llm.raw.chunks", "llm-chunks", "raw", "gateway.llm.stream")
_LIVE = (
    {"serverContent": {"modelTurn": {"parts": [{"text": "TEXT"}]}}},
    {"serverContent": {"outputTranscription": {"text": "TEXT"}}},
    {"serverContent": {"inputTranscription": {"text": "TEXT"}}},
    {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "DATA"}}]}}},
    {"realtimeInput": {"audio": {"mimeType": "audio/pcm;rate=16000", "data": "DATA"}}},
    {"serverContent": {"turnComplete": True}, "usageMetadata": {"promptTokenCount": 9, "responseTokenCount": 8}},
)


class Maker:
    """Calls of made-up content."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._texts: list[str] = []

    def text(self) -> str:
        """Some words."""
        text = " ".join(self._random.choices(_WORDS, k=self._random.randint(8, 60))) + "."
        self._texts = [*self._texts[-4:], text]
        return text

    def id(self, prefix: str, length: int = 24) -> str:
        """An id as providers make them."""
        return prefix + "".join(self._random.choices(string.ascii_letters + string.digits, k=length))

    def number(self, most: int = 4000) -> int:
        """A count."""
        return self._random.randint(1, most)

    def arguments(self) -> dict[str, Json]:
        """Of a tool call."""
        return {word: self.text()[:30] for word in self._random.choices(_WORDS, k=2)}

    def events(self, protocol: str) -> list[Json]:
        """The events of one call."""
        if protocol == "gemini.live":
            frames = [self._random.choice(_LIVE) for _ in range(self._random.randint(5, 30))]
            texts = [json.dumps(frame).replace("TEXT", self.text()[:20]) for frame in frames]
            return [json.loads(text.replace("DATA", self.id("", 200))) for text in texts]
        events = codec(protocol).unfold(getattr(self, "_" + protocol.replace(".", "_"))())
        return [delta for event in events for delta in self._cut(event)]

    def _cut(self, event: Json) -> list[Json]:
        """An event with a text in it as so many with a word each, as models stream."""
        written = json.dumps(event)
        long = max((text for text in self._texts if text in written), key=len, default="")
        if not long or len(written) > 400 + len(long):
            return [event]
        return [json.loads(written.replace(long, " " + word)) for word in long.split()[:20]]

    def _openai_chat(self) -> dict[str, Json]:
        function = {"name": "get_" + self._random.choice(_WORDS), "arguments": json.dumps(self.arguments())}
        call = {"id": self.id("call_"), "type": "function", "function": function}
        message = {"role": "assistant", "content": self.text(), "tool_calls": [call], "refusal": None}
        usage = {"prompt_tokens": self.number(), "completion_tokens": self.number(), "total_tokens": self.number()}
        return {
            "id": self.id("chatcmpl-", 29),
            "object": "chat.completion",
            "created": 1_700_000_000 + self.number(99_999_999),
            "model": self._random.choice(("gpt-5-mini-2025-08-07", "gpt-4o-2024-08-06")),
            "service_tier": "default",
            "system_fingerprint": self.id("fp_", 10),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
            "usage": usage,
        }

    def _openai_responses(self) -> dict[str, Json]:
        part = {"type": "output_text", "text": self.text(), "annotations": [], "logprobs": []}
        message = {
            "id": self.id("msg_", 50),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [part],
        }
        call = {
            "id": self.id("fc_", 50),
            "type": "function_call",
            "status": "completed",
            "call_id": self.id("call_"),
            "name": "get_" + self._random.choice(_WORDS),
            "arguments": json.dumps(self.arguments()),
        }
        summary = [{"type": "summary_text", "text": self.text()}]
        reasoning = {"id": self.id("rs_", 50), "type": "reasoning", "summary": summary}
        usage = {"input_tokens": self.number(), "output_tokens": self.number(), "total_tokens": self.number()}
        return {
            "id": self.id("resp_", 50),
            "object": "response",
            "created_at": 1_700_000_000 + self.number(99_999_999),
            "status": "completed",
            "model": "gpt-5-mini-2025-08-07",
            "output": [reasoning, message, call],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "usage": usage,
        }

    def _anthropic_messages(self) -> dict[str, Json]:
        call = {"type": "tool_use", "id": self.id("toolu_01"), "name": "get_weather", "input": self.arguments()}
        thinking = {"type": "thinking", "thinking": self.text(), "signature": self.id("E", 60)}
        usage = {"input_tokens": self.number(), "cache_read_input_tokens": 0, "output_tokens": self.number()}
        return {
            "id": self.id("msg_01"),
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [thinking, {"type": "text", "text": self.text()}, call],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": usage,
        }

    def _gemini_generate_content(self) -> dict[str, Json]:
        call = {"functionCall": {"name": "get_weather", "args": self.arguments()}}
        content = {"parts": [{"text": self.text()}, {"text": self.text()}, call], "role": "model"}
        usage = {"promptTokenCount": self.number(), "candidatesTokenCount": self.number()}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {**usage, "totalTokenCount": self.number()},
            "modelVersion": "gemini-2.5-flash",
            "responseId": self.id("", 22),
        }

    def _gemini_interactions(self) -> dict[str, Json]:
        call = {"type": "function_call", "id": self.id("", 8), "name": "get_weather", "arguments": self.arguments()}
        text = {"type": "model_output", "content": [{"type": "text", "text": self.text()}]}
        usage = {"total_input_tokens": self.number(), "total_output_tokens": self.number()}
        return {
            "id": self.id("v1_", 40),
            "object": "interaction",
            "model": "gemini-3-flash-preview",
            "status": "requires_action",
            "steps": [text, call],
            "usage": {**usage, "total_tokens": self.number()},
        }

    def fragments(self, protocol: str) -> Iterator[bytes]:
        """A call's fragments, a few pieces each, as `reassembly.packing` packs them."""
        provider, url = _URLS.get(protocol, ("google", None))
        headers = {"content-type": "text/event-stream; charset=utf-8", "x-request-id": self.id("req_", 32)}
        http = Http(method="POST", url=url, status=200, headers=headers)
        call_id = self._random.choice((self.id("call-", 12), str(msgspec.json.encode(self.id("", 36)))[:36]))
        facts = CallFacts(call_id=call_id, protocol=protocol, provider=provider, http=http)
        topic, partition = self._random.choice(_TOPICS), self._random.randint(0, 40)
        offset, now = self.number(10**7), 1_800_000_000_000_000 + self.number(10**9)
        separators = self._random.choice(((",", ":"), (", ", ": ")))
        trait = Trait(topic, partition, "stream", "json")
        pieces = Pieces()
        for seq, event in enumerate(self.events(protocol)):
            payload = json.dumps(event, separators=separators, ensure_ascii=False).encode()
            offset, now = offset + self.number(40), now + self.number(90_000)
            at = now // 1000 * 1000
            pieces.add(trait, offset, at, seq, now, payload)
            if self._random.random() < 0.4:
                yield _encode(columns_of(Fragment(facts, pieces)))
                pieces = Pieces()


_encode = msgspec.msgpack.Encoder().encode


def samples() -> list[bytes]:
    """Fragments of all protocols."""
    maker = Maker(20_261_130)
    made: list[Any] = []
    for _ in range(_CALLS):
        for protocol in (*_URLS, "gemini.live"):
            made += maker.fragments(protocol)
    return made


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    trained = zstandard.train_dictionary(_BYTES, samples(), level=3)
    file.write_bytes(trained.as_bytes())


if __name__ == "__main__":
    main()
