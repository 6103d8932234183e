"""Chunks that look like the one before: what is taken as one more of a run is what is read on its own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from headrace.protocols import codec

_PART: dict[str, Any] = {"text": "a"}


def _google(candidate: dict[str, Any] | None = None, part: Any = _PART, **more: Any) -> dict[str, Any]:
    content = {"parts": [part], "role": "model"}
    return {"candidates": [{"content": content, "index": 0, **(candidate or {})}], "modelVersion": "m", **more}


def _bare(**fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [_PART]}, **fields}]}


def _chat(delta: Any, wire: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "created": 1, "choices": [{"index": 0, "delta": delta, **(wire or {})}], **more}


_SAID = {"content": "a"}
_CHUNKS: dict[str, tuple[list[Any], Any]] = {
    "gemini.generate_content": (
        [
            _google(),
            _google(part={"text": "b", "thought": True}),
            _google(part={"text": "", "thoughtSignature": "s"}),
            _google(part={"functionCall": {"name": "f"}}),
            _google({"index": 1}),
            _google({"index": True}),
            _google({"finishReason": "STOP"}),
            _google({"finishReason": None, "tokenCount": 1}),
            _google({"content": {"parts": [_PART, _PART], "role": "model"}}),
            _google({"content": {"parts": [_PART], "role": None}}),
            _google({"content": {"parts": [_PART], "odd": "model"}}),
            _google(usageMetadata={"totalTokenCount": 1}),
            _google(usageMetadata=None),
            _google(modelVersion="n"),
            _google(odd=1),
            _bare(),
            _bare(index=None),
            _bare(odd=None),
        ],
        {"nothing": "of ours"},
    ),
    "openai.chat": (
        [
            _chat(_SAID),
            _chat({"role": "assistant", "content": "b"}),
            _chat({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}),
            _chat(None),
            _chat(_SAID, {"text": "t"}),
            _chat(_SAID, {"text": "u", "odd": [1]}),
            _chat(_SAID, {"text": None}),
            _chat(_SAID, {"index": 1}),
            _chat(_SAID, {"finish_reason": "stop"}),
            _chat(_SAID, {"logprobs": {"content": [1]}}),
            _chat(_SAID, id="d"),
            _chat(_SAID, id="e", odd=[1]),
            _chat(_SAID, id=None),
            _chat(_SAID, obfuscation="x"),
            _chat(_SAID, odd=[1]),
            _chat(_SAID, created=2),
            {"choices": [{"index": 0, "delta": _SAID}], "created": 1, "obfuscation": "x"},
        ],
        ["nothing of ours"],
    ),
}


@pytest.mark.parametrize("protocol", _CHUNKS)
def test_a_run_says_what_its_chunks_say_one_by_one(protocol: str) -> None:
    """What is no chunk ends a run: with one between any two chunks there is none."""
    chunks, between = _CHUNKS[protocol]
    fold = codec(protocol).fold
    for said in itertools.product(chunks, repeat=3):
        # The first comes twice, so that there is a run to go on with.
        events = [said[0], *said]
        apart = [event for chunk in events for event in (chunk, between)]
        facts, wanted = (
            [(one.body, one.complete, one.events, one.layout, [item for item in one.stray if item != between])
             for one in fold(some)]
            for some in (events, apart)
        )  # fmt: skip
        assert facts == wanted, said
