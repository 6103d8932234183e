"""An interaction -> the events it would have been streamed as.

Each step is skeletal in its start event and comes in deltas where deltas can say it; `slots` is asked whether they
do, and a step that they cannot say (two neighbouring texts, fields nobody knows) comes whole in its start event.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.json_text import Json, dumps
from headrace.protocols.gemini_interactions.contents import MEDIA_TYPES, type_of
from headrace.protocols.gemini_interactions.finish import goes_on
from headrace.protocols.gemini_interactions.slots import Slot
from headrace.protocols.gemini_interactions.steps import CALLS, RESULTS

#: What the first event says of an interaction.
_FIRST = ("id", "object", "model", "agent")
#: What the start event of a call or result says; the rest comes in its delta.
_SKELETON = ("type", "id", "call_id")


def unfold(body: dict[str, Json]) -> list[Json]:
    """Events that `fold` makes the same body of. An error comes last; an interaction that goes on has no last event."""
    error = body.get("error")
    if error is not None and len(body) == 1:
        return [{"event_type": "error", "error": error}]
    steps, outputs = body.get("steps"), body.get("outputs")
    list_key = "outputs" if _is_filled(outputs) and not _is_filled(steps) else "steps"
    elements: list[Json] = body[list_key] if _is_filled(body.get(list_key)) else []
    header = {key: value for key, value in body.items() if key != "error" or value is None}
    if elements:
        del header[list_key]
    is_old = list_key == "outputs"
    events = _opening(header, is_old=is_old, is_last=error is not None or goes_on(body.get("status")))
    for index, element in enumerate(elements):
        events += _content_events(index, element) if is_old else _step_events(index, element)
    if error is not None:
        events.append({"event_type": "error", "error": error})
    elif not goes_on(body.get("status")):
        last: dict[str, Json] = {"event_type": "interaction.complete" if is_old else "interaction.completed"}
        if header.get("event_id") is not None:
            last["event_id"] = header.pop("event_id")
        events.append({"interaction": header, **last})
    return events


def sse(events: Sequence[Json]) -> str:
    """Event stream text, with the terminator."""
    return "".join(_sse_event(event) for event in events if type(event) is dict) + "event: done\ndata: [DONE]\n\n"


def _sse_event(event: dict[str, Json]) -> str:
    name = f"event: {event['event_type']}\n" if "event_type" in event else ""
    return f"{name}data: {dumps(event)}\n\n"


def _is_filled(value: Json) -> bool:
    return type(value) is list and bool(value)


def _opening(header: dict[str, Json], *, is_old: bool, is_last: bool) -> list[Json]:
    """The first events. is_last: no later event tells of the interaction, so they tell all."""
    first = header if is_last else {key: header[key] for key in _FIRST if key in header}
    if not is_last and type(header.get("status")) is str:
        first["status"] = "in_progress"
    events: list[Json] = [
        {"interaction": first, "event_type": "interaction.start" if is_old else "interaction.created"}
    ]
    if type(header.get("id")) is str and first.get("status") == "in_progress":
        events.append(
            {"interaction_id": header["id"], "status": "in_progress", "event_type": "interaction.status_update"}
        )
    return events


def _step_events(index: int, step: Json) -> list[Json]:
    start, deltas = _skeleton(step)
    return [
        {"index": index, "step": start, "event_type": "step.start"},
        *({"index": index, "delta": delta, "event_type": "step.delta"} for delta in deltas),
        {"index": index, "event_type": "step.stop"},
    ]


def _content_events(index: int, content: Json) -> list[Json]:
    start, deltas = _flat_skeleton(content)
    return [
        {"index": index, "content": start, "event_type": "content.start"},
        *({"index": index, "delta": delta, "event_type": "content.delta"} for delta in deltas),
        {"index": index, "event_type": "content.stop"},
    ]


def _skeleton(step: Json) -> tuple[Json, list[Json]]:
    """(step of the start event, deltas) of one step."""
    kind = type_of(step)
    if kind == "model_output" and _is_filled(step.get("content")):
        start = _without(step, "content")
        return _checked(step, start, [delta for content in step["content"] for delta in _content_deltas(content)])
    if kind == "function_call" and "arguments" in step:
        arguments = step["arguments"]
        text = arguments if type(arguments) is str else dumps(arguments)
        return _checked(step, {**step, "arguments": {}}, [{"arguments": text, "type": "arguments_delta"}])
    return _one_object(step, kind, flat=False)


def _flat_skeleton(content: Json) -> tuple[Json, list[Json]]:
    kind = type_of(content)
    if kind == "text":
        return _checked(content, {"type": "text"}, _content_deltas(content, "text_annotation"), flat=True)
    if kind in MEDIA_TYPES:
        return _checked(content, {"type": kind}, [content], flat=True)
    return _one_object(content, kind, flat=True)


def _one_object(step: Json, kind: str | None, *, flat: bool) -> tuple[Json, list[Json]]:
    """Thoughts, and calls and results whose delta is an object."""
    if kind == "thought":
        deltas = _thought_deltas(step)
        return _checked(step, _without(step, "summary", "signature"), deltas, flat=flat)
    if kind in CALLS or kind in RESULTS:
        start = {key: step[key] for key in _SKELETON if key in step}
        return _checked(step, start, [{**_without(step, "id", "call_id"), "type": kind}], flat=flat)
    return step, []


def _content_deltas(content: Json, annotation_type: str = "text_annotation_delta") -> list[Json]:
    if type_of(content) != "text":
        return [content]
    deltas: list[Json] = [{"text": content.get("text"), "type": "text"}]
    if "annotations" in content:
        deltas.append({"annotations": content["annotations"], "type": annotation_type})
    return deltas


def _thought_deltas(step: dict[str, Json]) -> list[Json]:
    summary = step.get("summary")
    deltas: list[Json] = [
        {"content": content, "type": "thought_summary"} for content in (summary if type(summary) is list else ())
    ]
    if "signature" in step:
        deltas.append({"signature": step["signature"], "type": "thought_signature"})
    return deltas


def _checked(step: Json, start: dict[str, Json], deltas: list[Json], *, flat: bool = False) -> tuple[Json, list[Json]]:
    """The start and deltas if they add up to the step, else the whole step as its start."""
    slot = Slot(start, flat=flat)
    if all(slot.delta(delta) for delta in deltas) and slot.taken() == step:
        return start, deltas
    return step, []


def _without(value: dict[str, Json], *keys: str) -> dict[str, Json]:
    return {key: held for key, held in value.items() if key not in keys}
