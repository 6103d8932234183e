"""Content blocks of messages <-> parts, in order. The same blocks stand in requests and in responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.canonical.fields import Const, Field, Other, Table, is_text, listed
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part
from headrace.json_text import Json, dumps, loads
from headrace.protocols.anthropic_messages import calls, media, results
from headrace.protocols.anthropic_messages.citations import read_citation, write_citation
from headrace.protocols.anthropic_messages.media import CACHE_CONTROL
from headrace.protocols.anthropic_messages.wire import paths, present

_TEXT = Table(Const("type", "text"), Field("text", "text", default=""), CACHE_CONTROL)
_THINKING = Table(
    Const("type", "thinking"),
    Field("thinking", "reasoning.text", default=""),
    Field("signature", "reasoning.signature", default=""),
    CACHE_CONTROL,
)
_REDACTED = Table(Const("type", "redacted_thinking"), Field("data", "reasoning.encrypted"), CACHE_CONTROL)

#: Blocks whose fields are carried together as one JSON value.
DATA_BLOCKS = {
    "search_result": ("source", "title", "content", "citations"),
    "compaction": ("content", "encrypted_content", "signature", "tool_changes"),
    "fallback": ("from", "to", "trigger"),
    "mcp_tool_listing": ("mcp_server_name", "tools"),
    "tool_addition": ("tool",),
    "tool_removal": ("tool",),
}
_DATA = {
    name: Table(Const("type", name), *(Other(key, "data") for key in keys), CACHE_CONTROL)
    for name, keys in DATA_BLOCKS.items()
}

#: What the provider needs back verbatim, by block type; calls and results name theirs themselves.
CONTINUATION = {
    "text": paths("citations[].encrypted_index"),
    "thinking": paths("signature"),
    "redacted_thinking": paths("data"),
    "compaction": paths("encrypted_content", "signature", "tool_changes"),
    "fallback": paths("from", "to", "trigger"),
    "mcp_tool_listing": paths("mcp_server_name", "tools"),
}


def read_blocks(
    blocks: list[Json], reading: Reading, message: int, streamed: Mapping[int, str] | None = None
) -> list[Part]:
    """The blocks of one message. ``message``: its position. ``streamed``: block position -> argument string."""
    parts: list[Part] = []
    call_count = 0
    for position, block in enumerate(blocks):
        wire_type = block.get("type") if type(block) is dict else None
        name = wire_type if type(wire_type) is str else ""
        if name == "text" and len(block) == 2 and is_text(block.get("text")):
            parts.append({"type": "text", "text": block["text"]})
        elif name in calls.KINDS:
            exact = streamed.get(position) if streamed else None
            parts.append(calls.read_call(block, reading, (message, position, call_count), exact))
            call_count += 1
        elif name in _READERS:
            parts.append(_read_known(block, name, reading))
        else:
            parts.append(_read_unknown(block, wire_type, reading))
    return parts


def _read_known(block: dict[str, Json], name: str, reading: Reading) -> Part:
    part = _READERS[name](block, reading)
    if name in CONTINUATION:
        continuation = present(block, CONTINUATION[name])
        if continuation:
            part["continuation"] = continuation
    return part


def _read_text(block: dict[str, Json], reading: Reading) -> Part:
    part: Part = {"type": "text"}
    left = _TEXT.read(block, part, skip=("citations",))
    citations = [read_citation(citation, reading) for citation in listed(block, "citations", left)]
    if citations:
        part["citations"] = citations
    left.store(part)
    return part


def _read_thinking(block: dict[str, Json], reading: Reading) -> Part:
    part: Part = {"type": "reasoning", "reasoning": {}}
    _THINKING.read(block, part).store(part)
    return part


def _read_redacted(block: dict[str, Json], reading: Reading) -> Part:
    part: Part = {"type": "reasoning", "reasoning": {"redacted": True}}
    _REDACTED.read(block, part).store(part)
    return part


def _read_media(block: dict[str, Json], reading: Reading) -> Part:
    part: Part = {"type": "media", "wire_type": block["type"]}
    media.read_media(block, part, reading).store(part)
    return part


def _read_data(block: dict[str, Json], reading: Reading) -> Part:
    part: Part = {"type": "data", "wire_type": block["type"]}
    _DATA[block["type"]].read(block, part).store(part)
    return part


def _read_unknown(block: Json, wire_type: Json, reading: Reading) -> Part:
    reading.unknown_type("block", wire_type)
    part: Part = {"type": "unknown", "raw": dumps(block)}
    if is_text(wire_type):
        part["wire_type"] = wire_type
    return part


_READERS: dict[str, Callable[[dict[str, Json], Reading], Part]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    **dict.fromkeys(media.TYPES, _read_media),
    **dict.fromkeys(results.KINDS, results.read_result),
    **dict.fromkeys(DATA_BLOCKS, _read_data),
}


def write_block(part: Part) -> Json:
    """The inverse of reading one block."""
    return _WRITERS.get(part.get("type", ""), _write_raw)(part)


def _write_text(part: Part) -> Json:
    if len(part) == 2 and "text" in part:
        return {"type": "text", "text": part["text"]}
    body = _TEXT.write(part)
    if part.get("citations"):
        body["citations"] = [write_citation(citation) for citation in part["citations"]]
    return body


def _write_reasoning(part: Part) -> Json:
    redacted = (part.get("reasoning") or {}).get("redacted")
    return (_REDACTED if redacted else _THINKING).write(part)


def _write_data(part: Part) -> Json:
    table = _DATA.get(part.get("wire_type", ""))
    return table.write(part) if table else loads(part.get("data", "{}"))


def _write_raw(part: Part) -> Json:
    return loads(part.get("raw", "{}"))


_WRITERS: dict[str, Callable[[Part], Json]] = {
    "text": _write_text,
    "refusal": _write_text,
    "reasoning": _write_reasoning,
    "media": media.write_media,
    "data": _write_data,
    "tool_call": calls.write_call,
    "tool_result": results.write_result,
}
