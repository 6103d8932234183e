"""Steps that are one part: thoughts, calls and results. The same objects stood in `outputs` before 2026-05."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.canonical.arguments import set_text_arguments, set_value_arguments
from headrace.canonical.fields import BOOL, NAME, Field, Leftover, Other, Table, is_text, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Part, ToolResult, ToolResultContent
from headrace.json_text import Json, dumps, loads
from headrace.protocols.gemini_interactions.contents import read_result_content, type_of, write_result_content

#: What a stream says of one step alone.
STEP_USAGE: Other = Other("step_usage", "detail")
_SIGNATURE = Field("signature", "signature")

_CALL = (Field("id", "tool_call.provider_id"), _SIGNATURE, STEP_USAGE)
_NAMED_CALL = Table(*_CALL, Field("name", "tool_call.name"), Field("server_name", "tool_call.server_name"))
_BUILT_IN_CALL = Table(*_CALL, Other("search_type", "detail"), Other("retrieval_type", "detail"))

_RESULT = (
    Field("call_id", "tool_result.tool_call_id", NAME),
    Field("is_error", "tool_result.is_error", BOOL),
    _SIGNATURE,
    STEP_USAGE,
)
_NAMED_RESULT = Table(*_RESULT, Field("name", "tool_result.name"), Field("server_name", "tool_result.server_name"))
_BUILT_IN_RESULT = Table(*_RESULT)

_THOUGHT = Table(Field("signature", "reasoning.signature"), STEP_USAGE)


@dataclass(frozen=True, slots=True)
class StepType:
    """One wire type of step: its table, the canonical kind, and the tool's name where the wire gives none."""

    table: Table
    kind: str
    name: str | None = None


_BUILT_IN = (
    "code_execution",
    "url_context",
    "google_search",
    "google_maps",
    "file_search",
    "retrieval",
    "tool_search",
    "processing",
)
CALLS = {
    "function_call": StepType(_NAMED_CALL, "function"),
    "mcp_server_tool_call": StepType(_NAMED_CALL, "mcp"),
    **{f"{name}_call": StepType(_BUILT_IN_CALL, "server", name) for name in _BUILT_IN},
}
#: The wire has no function_response; clients that think so are read leniently.
FUNCTION_RESULTS = frozenset({"function_result", "function_response"})
RESULTS = {
    **dict.fromkeys(FUNCTION_RESULTS, StepType(_NAMED_RESULT, "function")),
    "mcp_server_tool_result": StepType(_NAMED_RESULT, "mcp"),
    **{f"{name}_result": StepType(_BUILT_IN_RESULT, "server", name) for name in _BUILT_IN},
}
_CALL_OF_KIND = {"mcp": "mcp_server_tool_call"}
_RESULT_OF_KIND = {"mcp": "mcp_server_tool_result"}


def read_call(step: dict[str, Json], reading: Reading, position: tuple[int, int]) -> Part:
    """A call; position: of its message and of itself in it, from which an id derives when the wire has none."""
    wire_type = step["type"]
    known = CALLS[wire_type]
    part: Part = {"type": "tool_call", "tool_call": {"id": "", "kind": known.kind, "wire_type": wire_type}}
    call = part["tool_call"]
    if known.name is None and _is_plain(step, "id", "arguments"):
        call["provider_id"], call["name"], left = step["id"], step["name"], Leftover()
    else:
        left = known.table.read(step, part, ("type", "arguments"))
    call["id"] = call.get("provider_id") or reading.tool_call_id(*position)
    if "id" not in step:
        left.wire["id"] = "derived"
    if known.name is not None:
        call["name"] = known.name
    if "arguments" in step:
        arguments = step["arguments"]
        if type(arguments) is not str:
            set_value_arguments(call, arguments)
        elif is_text(arguments):
            # Only an argument string that broke off, or a foreign client, brings text here.
            set_text_arguments(call, arguments)
            left.wire["arguments"] = "text"
        else:
            left.extras["arguments"] = arguments
    elif known.name is None:
        left.note("absent", "arguments")
    _sign(part)
    left.store(part)
    return part


def _is_plain(step: dict[str, Json], reference: str, value: str) -> bool:
    """Whether a step has a name, an id and a value beside its type, and nothing that its table must be asked about."""
    name, identity = step.get("name"), step.get(reference)
    return len(step) == 4 and value in step and bool(name and identity) and is_text(name) and is_text(identity)


def _write_call(part: Part) -> dict[str, Json]:
    call = part["tool_call"]
    wire_type = call.get("wire_type", "")
    if wire_type not in CALLS:
        wire_type = _CALL_OF_KIND.get(call.get("kind", ""), "function_call")
    spelled = spelling(part)
    step = CALLS[wire_type].table.write(part, spelled)
    step["type"] = wire_type
    if "id" not in step and "id" not in spelled:
        step["id"] = call["id"]
    if spelled.get("arguments") == "text" or ("arguments" not in call and "raw_arguments" in call):
        step["arguments"] = call["raw_arguments"]
    elif "arguments" in call:
        step["arguments"] = loads(call["arguments"])
    elif CALLS[wire_type].name is None and "arguments" not in {*step, *spelled.get("absent", ())}:
        step["arguments"] = {}
    return step


def read_result(step: dict[str, Json], reading: Reading, position: tuple[int, int]) -> Part:
    """A result, which always references its call."""
    wire_type = step["type"]
    known = RESULTS[wire_type]
    part: Part = {"type": "tool_result", "tool_result": {"kind": known.kind, "wire_type": wire_type}}
    result = part["tool_result"]
    if known.name is None and _is_plain(step, "call_id", "result"):
        result["tool_call_id"], result["name"], left = step["call_id"], step["name"], Leftover()
    else:
        left = known.table.read(step, part, ("type", "result"))
    result.setdefault("tool_call_id", "")
    if known.name is not None:
        result["name"] = known.name
    _read_result_value(step, result, left)
    _sign(part)
    left.store(part)
    return part


def _read_result_value(step: dict[str, Json], result: ToolResult, left: Leftover) -> None:
    value = step.get("result")
    content: list[ToolResultContent]
    if type(value) is list or value is None:
        form, content = "list", [read_result_content(element) for element in listed(step, "result", left)]
    elif type(value) is str and is_text(value):
        form, content = "text", [{"type": "text", "text": value}]
    else:
        form, content = "json", [{"type": "json", "json": dumps(value)}]
    if content:
        result["content"] = content
        if form != _likely_form(step["type"], content):
            left.wire["result"] = form
    elif "result" not in step and RESULTS[step["type"]].name is None:
        left.note("absent", "result")


def _likely_form(wire_type: str, content: list[ToolResultContent]) -> str:
    """A function's one JSON object is the result itself; anything else is a list of contents."""
    is_object = RESULTS[wire_type].name is None and len(content) == 1 and content[0]["type"] == "json"
    return "json" if is_object and content[0]["json"].startswith("{") else "list"


def _write_result(part: Part) -> dict[str, Json]:
    result = part["tool_result"]
    wire_type = result.get("wire_type", "")
    if wire_type not in RESULTS:
        wire_type = _RESULT_OF_KIND.get(result.get("kind", ""), "function_result")
    spelled = spelling(part)
    step = RESULTS[wire_type].table.write(part, spelled)
    step["type"] = wire_type
    content = result.get("content")
    if content:
        form = spelled.get("result") or _likely_form(wire_type, content)
        if form == "text":
            step["result"] = content[0]["text"]
        elif form == "json":
            step["result"] = loads(content[0]["json"])
        else:
            step["result"] = [write_result_content(piece) for piece in content]
    elif RESULTS[wire_type].name is None and "result" not in {*step, *spelled.get("absent", ())}:
        step["result"] = []
    return step


def read_thought(step: dict[str, Json], reading: Reading, position: tuple[int, int]) -> Part:
    """A thought. A summary of anything but plain texts is kept in ``data`` as well, as it was."""
    part: Part = {"type": "reasoning", "reasoning": {}}
    left = _THOUGHT.read(step, part, ("type", "summary"))
    summary = listed(step, "summary", left)
    texts = [element["text"] for element in summary if type_of(element) == "text" and is_text(element.get("text"))]
    if texts:
        part["reasoning"]["summary"] = texts
    if len(texts) < len(summary) or any(len(element) != 2 for element in summary):
        part["data"] = dumps(summary)
    _sign(part)
    left.store(part)
    return part


def _write_thought(part: Part) -> dict[str, Json]:
    step = _THOUGHT.write(part)
    step["type"] = "thought"
    reasoning = part["reasoning"]
    texts = reasoning.get("summary") or ([reasoning["text"]] if "text" in reasoning else None)
    if "data" in part:
        step["summary"] = loads(part["data"])
    elif texts:
        step["summary"] = [{"type": "text", "text": text} for text in texts]
    return step


def _sign(part: Part) -> None:
    """Name the one field that the provider checks when it gets a step back."""
    if part.get("signature") or part.get("reasoning", {}).get("signature"):
        part["continuation"] = ["signature"]


ReadStep = Callable[[dict[str, Json], Reading, tuple[int, int]], Part]
#: Wire type of a step that is one part -> its reader.
READERS: dict[str, ReadStep] = {
    "thought": read_thought,
    **dict.fromkeys(CALLS, read_call),
    **dict.fromkeys(RESULTS, read_result),
}


def write_step(part: Part) -> Json:
    """The inverse of all `READERS`; an unknown part is the JSON it was."""
    match part["type"]:
        case "tool_call":
            return _write_call(part)
        case "tool_result":
            return _write_result(part)
        case "reasoning":
            return _write_thought(part)
    return loads(part.get("raw") or part.get("data") or "null")
