"""A whole body -> the events by which the provider would have streamed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.json_text import Json, dumps
from headrace.protocols.openai_responses import events as ev

#: Characters of a delta: about what providers send.
_CHUNK = 24
_TERMINAL_BY_STATUS = {ev.LIFECYCLE[name]: name for name in ev.TERMINAL if name != ev.DONE}
_OPENING_BY_STATUS = {"queued": "response.queued"}

#: What a response has only at its end.
_AT_THE_END = ("usage", "completed_at", "incomplete_details", "error")
_ADDED_TO_BODY = ("unknown_events", "audio")

#: Item type -> (event, key of its text).
_ITEM_TEXTS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
    "code_interpreter_call": ("response.code_interpreter_call_code", "code"),
}
#: Part type -> (event, key of its text).
_PART_TEXTS = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "reasoning_text": ("response.reasoning_text", "text"),
}
#: Item type -> progress events that the provider sends for it.
_PROGRESS = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
}


def unfold(body: dict[str, Json]) -> list[Json]:
    """Events that fold to an equal body; a response that is not finished has no terminal event."""
    events = list(_events(body))
    numbered: list[Json] = []
    for number, event in enumerate(events):
        numbered.append({"type": event["type"], "sequence_number": number, **event} if "type" in event else event)
    kept = body.get("unknown_events")
    if type(kept) is list:
        # Before the last event, as they were; their own numbers are the old stream's.
        numbered[len(numbered) - 1 : len(numbered) - 1] = kept
    return numbered


def _events(body: dict[str, Json]) -> Iterator[dict[str, Json]]:
    error = body.get("error")
    whole = {key: value for key, value in body.items() if key not in _ADDED_TO_BODY}
    if not whole.keys() - {"error"}:
        yield _error_event(error)
        return
    terminal = _TERMINAL_BY_STATUS.get(str(body.get("status")))
    output = body.get("output")
    streamed = type(output) is list and bool(output) and all(type(item) is dict and item for item in output)
    opening = _opening(whole, terminal is not None, streamed)
    status = body.get("status")
    yield {"type": "response.created", "response": opening}
    yield {"type": _OPENING_BY_STATUS.get(str(status), "response.in_progress"), "response": opening}
    if streamed:
        for index, item in enumerate(_list(output)):
            yield from _item(item, index)
    yield from _audio(body.get("audio"))
    if terminal is not None:
        yield {"type": terminal, "response": whole}
    elif error:
        yield _error_event(error)


def _opening(whole: dict[str, Json], ends: bool, streamed: bool) -> dict[str, Json]:
    """The response before it has any output."""
    opening = dict(whole)
    if streamed:
        opening["output"] = []
    if ends:
        opening["status"] = "in_progress"
        for key in _AT_THE_END:
            if key in opening:
                opening[key] = None
    elif opening.get("error"):
        opening["error"] = None
    return opening


def _error_event(error: Json) -> dict[str, Json]:
    return {"type": "error", "error": error}


# --- items ------------------------------------------------------------------------------------------------


def _item(item: dict[str, Json], index: int) -> Iterator[dict[str, Json]]:
    kind = str(item.get("type"))
    at: dict[str, Json] = {"output_index": index}
    if type(item.get("id")) is str:
        at["item_id"] = item["id"]
    yield {"type": ev.ITEM_ADDED, "output_index": index, "item": _opened(item, kind)}
    progress = _PROGRESS.get(kind, ()) if item.get("status") in ("completed", None) else ()
    for status in progress[:-1]:
        yield {"type": f"response.{kind}.{status}", **at}
    yield from _texts(item, kind, at)
    for status in progress[-1:]:
        yield {"type": f"response.{kind}.{status}", **at}
    yield {"type": ev.ITEM_DONE, "output_index": index, "item": item}


def _opened(item: dict[str, Json], kind: str) -> dict[str, Json]:
    """The item before any of its content came."""
    opened = dict(item)
    if type(opened.get("status")) is str:
        opened["status"] = "in_progress"
    if kind in _ITEM_TEXTS:
        key = _ITEM_TEXTS[kind][1]
        if type(opened.get(key)) is str:
            opened[key] = ""
    for key in {"message": ("content",), "reasoning": ("summary", "content")}.get(kind, ()):
        if type(opened.get(key)) is list:
            opened[key] = []
    return opened


def _texts(item: dict[str, Json], kind: str, at: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if kind in _ITEM_TEXTS:
        event, key = _ITEM_TEXTS[kind]
        if type(item.get(key)) is str:
            yield from _text(event, key, item[key], at)
    elif kind == "reasoning":
        yield from _summary(item.get("summary"), at)
    for number, part in enumerate(_list(item.get("content")) if kind in ("message", "reasoning") else ()):
        yield from _part(part, {**at, "content_index": number}, kind)


def _summary(summary: Json, at: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for number, part in enumerate(_list(summary)):
        if type(part) is not dict or type(part.get("text")) is not str:
            continue
        here = {**at, "summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": {**part, "text": ""}}
        yield from _text("response.reasoning_summary_text", "text", part["text"], here)
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}


def _part(part: Json, at: dict[str, Json], kind: str) -> Iterator[dict[str, Json]]:
    known = _PART_TEXTS.get(str(part.get("type"))) if type(part) is dict else None
    if known is None or type(part.get(known[1])) is not str:
        return
    event, key = known
    opened = {**part, key: ""}
    if type(part.get("annotations")) is list:
        opened["annotations"] = []
    if kind == "message":
        yield {"type": "response.content_part.added", **at, "part": opened}
    yield from _text(event, key, part[key], at, [] if event == "response.output_text" else None)
    for number, annotation in enumerate(_list(part.get("annotations"))):
        if annotation is not None:
            yield {"type": ev.ANNOTATION, **at, "annotation_index": number, "annotation": annotation}
    if kind == "message":
        yield {"type": "response.content_part.done", **at, "part": part}


def _text(
    event: str, key: str, text: str, at: dict[str, Json], logprobs: list[Json] | None = None
) -> Iterator[dict[str, Json]]:
    extra: dict[str, Json] = {} if logprobs is None else {"logprobs": logprobs}
    for start in range(0, len(text), _CHUNK):
        yield {"type": f"{event}.delta", **at, "delta": text[start : start + _CHUNK], **extra}
    yield {"type": f"{event}.done", **at, key: text, **extra}


def _audio(audio: Json) -> Iterator[dict[str, Json]]:
    if type(audio) is not dict:
        return
    for event, key in ev.AUDIO.items():
        if type(audio.get(key)) is str:
            yield {"type": event, "delta": audio[key]}


def _list(value: Json) -> list[Any]:
    return value if type(value) is list else []


def sse(events: Sequence[Json]) -> str:
    """SSE text as the provider writes it: the event's name repeats its type, and no line ends the stream."""
    blocks: list[str] = []
    for event in events:
        kind = event.get("type") if type(event) is dict else None
        name = f"event: {kind}\n" if type(kind) is str and kind.isprintable() else ""
        data = event if type(event) is str else dumps(event)
        blocks.append(f"{name}data: {data}\n\n")
    return "".join(blocks)
