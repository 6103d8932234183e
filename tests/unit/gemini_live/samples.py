"""Frames of Live sessions, small and ours."""

from __future__ import annotations

import base64
from typing import Any

SETUP: dict[str, Any] = {
    "setup": {
        "model": "models/gemini-live-test",
        "generationConfig": {"responseModalities": ["AUDIO"], "temperature": 0.5, "enableAffectiveDialog": True},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "look", "behavior": "NON_BLOCKING"}]}, {"googleSearch": {}}],
        "sessionResumption": {"handle": "h0", "transparent": True},
        "contextWindowCompression": {"triggerTokens": 100, "slidingWindow": {"targetTokens": 50}},
        "realtimeInputConfig": {"activityHandling": "NO_INTERRUPTION"},
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
        "proactivity": {"proactiveAudio": True},
        "historyConfig": {"initialHistoryInClientContent": True},
        "avatarConfig": {"avatarName": "Ann"},
        "explicitVadSignal": True,
        "safetySettings": [{"category": "c", "threshold": "t"}],
        "labels": {"team": "rivers"},
    }
}
USAGE = {"promptTokenCount": 10, "responseTokenCount": 4, "totalTokenCount": 14}


def client(**frame: Any) -> dict[str, Any]:
    return {"from": "client", "frame": frame}


def server(**frame: Any) -> dict[str, Any]:
    return {"from": "server", "frame": frame}


def content(**fields: Any) -> dict[str, Any]:
    return server(serverContent=fields)


def said(text: str) -> dict[str, Any]:
    """Client content of one turn of text."""
    return client(clientContent={"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": True})


def heard(data: bytes, mime: str = "audio/pcm;rate=16000", key: str = "audio") -> dict[str, Any]:
    """A chunk of realtime input."""
    return client(realtimeInput={key: {"mimeType": mime, "data": base64.b64encode(data).decode()}})


def spoke(*parts: Any) -> dict[str, Any]:
    """A piece of the model's turn."""
    return content(modelTurn={"role": "model", "parts": list(parts)})


def audio(data: bytes, mime: str = "audio/pcm;rate=24000") -> dict[str, Any]:
    """A part of audio."""
    return {"inlineData": {"mimeType": mime, "data": base64.b64encode(data).decode()}}


DONE = [content(generationComplete=True), content(turnComplete=True)]
