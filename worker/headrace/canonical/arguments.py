"""Tool-call arguments: the exact string, the parsed value, or why it does not parse. Nothing is repaired."""

from __future__ import annotations

from typing import Any

from headrace.canonical.shape import ToolCall
from headrace.errors import HeadraceError
from headrace.json_text import compacted, dumps


def set_text_arguments(call: ToolCall, raw: str) -> None:
    """Fill ``raw_arguments`` and ``arguments`` or ``arguments_error`` from a wire string.

    An empty string is a call without arguments: ``arguments`` is "{}" while ``raw_arguments`` stays "".
    """
    call["raw_arguments"] = raw
    try:
        call["arguments"] = compacted(raw)
    except HeadraceError as error:
        if raw.strip():
            call["arguments_error"] = error.message
        else:
            call["arguments"] = "{}"


def set_value_arguments(call: ToolCall, value: Any) -> None:
    """Fill ``arguments`` from a wire that has a JSON value."""
    call["arguments"] = dumps(value)
