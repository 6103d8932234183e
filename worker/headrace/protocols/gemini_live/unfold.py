"""A setup or a turn -> the frames by which it would have come, and frames as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.json_text import Json, dumps
from headrace.protocols.gemini_live.grammar import FLAGS, TRANSCRIPTS
from headrace.protocols.google.cutting import cut, cut_text

_CONTENT = frozenset({"modelTurn", *TRANSCRIPTS})
#: Flags that have a frame of their own before the last one.
_EARLY_FLAGS = ("generationComplete", "interrupted")
_METADATA = ("groundingMetadata", "urlContextMetadata")


def unfold(body: dict[str, Json]) -> list[Json]:
    """Events that fold back to an equal body. Audio that is only referred to stays a reference."""
    if "setup" in body:
        return [_event("client", body)]
    entries = body.get("turn", ())
    events = [event for entry in entries for event in _entry_events(entry)]
    if "error" in body:
        events.append(_event("server", {"error": body["error"]}))
    events += [_server({flag: body[flag]}) for flag in _EARLY_FLAGS if flag in body]
    events += [_event("server", {"usageMetadata": usage}) for usage in body.get("usageUpdates", ())]
    last = {key: body[key] for key in (*FLAGS, *_METADATA) if key in body and key not in _EARLY_FLAGS}
    frame: dict[str, Json] = {"serverContent": last} if last else {}
    if "usageMetadata" in body:
        frame["usageMetadata"] = body["usageMetadata"]
    if frame:
        events.append(_event("server", frame))
    return list(events)


def _event(side: str, frame: Json) -> dict[str, Json]:
    return {"from": side, "frame": frame}


def _server(content: Json) -> dict[str, Json]:
    return _event("server", {"serverContent": content})


def _entry_events(entry: dict[str, Json]) -> Iterator[dict[str, Json]]:
    side = entry["from"]
    for key, value in entry.items():
        if key == "from":
            continue
        if key == "frame":
            yield _event(side, value)
        elif key == "modelTurn":
            parts: Any = value.get("parts")
            groups = cut(parts) if type(parts) is list else []
            for group in groups:
                yield _server({key: {**value, "parts": group}})
            if not groups:
                yield _server({key: value})
        elif key in TRANSCRIPTS:
            yield from _transcript_events(key, value)
        else:
            yield _event(side, {key: value})


def _transcript_events(key: str, value: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Text in pieces; ``finished`` comes with the last."""
    text = value.get("text")
    others = {name: item for name, item in value.items() if name not in ("text", "finished")}
    if type(text) is not str or any(type(item) is list for item in others.values()):
        yield _server({key: value})
        return
    pieces = cut_text(text) if key != "interimInputTranscription" else [text]
    for piece in pieces[:-1]:
        yield _server({key: {"text": piece, **others}})
    yield _server({key: {**value, "text": pieces[-1]}})


def frames_text(events: Sequence[Json]) -> str:
    """Frames as text, one JSON object a line. Live has WebSocket messages, not server-sent events."""
    lines = (event["frame"] if type(event) is dict and "frame" in event else event for event in events)
    return "".join(dumps(line) + "\n" for line in lines)
