"""The stream events, as facts: what each one does to the response.

`LIFECYCLE` events carry the whole response; `ITEM` events a whole item; `DELTAS` append to one text, `WHOLE`
replace it; `PARTS` open or replace an element of a list; `STATUS` set an item's status; `IGNORED` only report
progress. `ERROR` ends a stream. All other events are unknown: counted and kept.
"""

from __future__ import annotations

from dataclasses import dataclass

#: How backends of Codex end a response over WebSocket. Its snapshot says only what is new, as the usage.
DONE = "response.done"
#: Lifecycle event -> the status it stands for.
LIFECYCLE = {
    "response.created": "in_progress",
    "response.queued": "queued",
    "response.in_progress": "in_progress",
    "response.completed": "completed",
    "response.failed": "failed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    DONE: "completed",
}
TERMINAL = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled", DONE})
ERROR = "error"
ITEM_ADDED, ITEM_DONE = "response.output_item.added", "response.output_item.done"
ANNOTATION = "response.output_text.annotation.added"
PARTIAL_IMAGE = "response.image_generation_call.partial_image"
SHELL_DELTA, SHELL_DONE = "response.shell_call_output_content.delta", "response.shell_call_output_content.done"


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text of an item that deltas build. There is one object of each: it is a key of dicts.

    item: type of the item, for events without one. list: key of the list whose element has the text ("" where
    the item itself has it), index: the event's key for the position in it. element: type of an element that no
    event opened. field: key of the text. whole: key of the full text in the done event.
    """

    item: str
    field: str
    whole: str
    list: str = ""
    index: str = ""
    element: str = ""


_TEXTS = {
    "response.output_text": Text("message", "text", "text", "content", "content_index", "output_text"),
    "response.refusal": Text("message", "refusal", "refusal", "content", "content_index", "refusal"),
    "response.reasoning_text": Text("reasoning", "text", "text", "content", "content_index", "reasoning_text"),
    "response.reasoning_summary_text": Text("reasoning", "text", "text", "summary", "summary_index", "summary_text"),
    "response.function_call_arguments": Text("function_call", "arguments", "arguments"),
    "response.custom_tool_call_input": Text("custom_tool_call", "input", "input"),
    "response.mcp_call_arguments": Text("mcp_call", "arguments", "arguments"),
    "response.code_interpreter_call_code": Text("code_interpreter_call", "code", "code"),
    # An element of this list is the text itself.
    "response.shell_call_command": Text("shell_call", "", "command", "action.commands", "command_index"),
}
DELTAS = {f"{name}.delta": text for name, text in _TEXTS.items()}
WHOLE = {f"{name}.done": text for name, text in _TEXTS.items()} | {
    "response.shell_call_command.added": _TEXTS["response.shell_call_command"]
}

#: Event -> (item type, list, index key) of the element it carries as ``part``.
PARTS = {
    "response.content_part.added": ("message", "content", "content_index"),
    "response.content_part.done": ("message", "content", "content_index"),
    "response.reasoning_summary_part.added": ("reasoning", "summary", "summary_index"),
    "response.reasoning_summary_part.done": ("reasoning", "summary", "summary_index"),
}

#: Event -> (item type, status). An item without a status key keeps none.
STATUS = {
    f"response.{item}.{status}": (item, status)
    for item, statuses in {
        "code_interpreter_call": ("in_progress", "interpreting", "completed"),
        "file_search_call": ("in_progress", "searching", "completed"),
        "web_search_call": ("in_progress", "searching", "completed"),
        "image_generation_call": ("in_progress", "generating", "completed"),
        "mcp_call": ("in_progress", "completed", "failed"),
        "mcp_list_tools": ("in_progress", "completed", "failed"),
    }.items()
    for status in statuses
}
IGNORED = frozenset({"response.compaction.compacting", "response.audio.done", "response.audio.transcript.done"})

#: Event -> key of the response's ``audio`` that it appends to. They name no item.
AUDIO = {"response.audio.delta": "data", "response.audio.transcript.delta": "transcript"}

#: Fields that a dialect (Copilot) is known to put beside a snapshot; they become fields of the response.
BESIDE_SNAPSHOT = frozenset({"copilot_usage"})

#: What WebSocket peers say around responses: no part of any.
AROUND = frozenset(
    {
        *("response.create", "response.steer", "response.inject"),
        *("response.steer.accepted", "response.steer.pending", "response.steer.failed"),
        *("response.inject.created", "response.inject.failed"),
    }
)

#: Keys that tell which text a delta is of, and those of its position in a list of the item.
PLACE = ("type", "item_id", "output_index")
INDICES = ("content_index", "summary_index", "command_index")

#: Keys of events that say where and when, not what; ``obfuscation`` is padding. None of them is content.
ENVELOPE = frozenset(
    {
        *("type", "sequence_number", "stream_id", "item_id", "output_index", "obfuscation", "agent"),
        *("content_index", "summary_index", "command_index", "annotation_index"),
    }
)


_CONTENT_KEYS: dict[str, frozenset[str]] = {
    **dict.fromkeys(LIFECYCLE, frozenset({"response"})),
    **dict.fromkeys((ITEM_ADDED, ITEM_DONE), frozenset({"item"})),
    **dict.fromkeys(DELTAS, frozenset({"delta", "logprobs"})),
    **{kind: frozenset({text.whole, "logprobs"}) for kind, text in WHOLE.items()},
    # The status of a summary part (incomplete) is repeated by its item.
    **dict.fromkeys(PARTS, frozenset({"part", "status"})),
    **dict.fromkeys(AUDIO, frozenset({"delta", "response_id"})),
    **dict.fromkeys(IGNORED, frozenset({"response_id"})),
    ANNOTATION: frozenset({"annotation"}),
    PARTIAL_IMAGE: frozenset(
        {"partial_image_index", "partial_image_b64", "background", "output_format", "quality", "size"}
    ),
    SHELL_DELTA: frozenset({"delta"}),
    SHELL_DONE: frozenset({"output"}),
}

#: All events that the fold knows.
KNOWN_EVENTS = frozenset({*_CONTENT_KEYS, *STATUS, *AUDIO, *IGNORED, ERROR})

#: Event -> keys that the fold takes up or drops by rule; others are kept as unknown.
KNOWN_KEYS = {kind: ENVELOPE | _CONTENT_KEYS.get(kind, frozenset()) for kind in KNOWN_EVENTS}
