"""The item types, as facts: what each is in the canonical model and where its fields go.

Every item becomes one part; an item that holds a call and its result (``mcp_call``, ``code_interpreter_call``,
``file_search_call``, ``image_generation_call``, ``web_search_call`` with sources) becomes two. Message items are
not here: they are messages (see ``messages``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.canonical.fields import JSON, NAME, OBJECT, Const, Field, Other, Table

Entry = Field | Other


@dataclass(frozen=True, slots=True)
class Result:
    """Where an item has its result: ``key`` (inside ``parent`` where given), typed parts or plain objects.

    form: "string" (for one plain text, else a list), "list" or "object" (for one piece): the usual one. text, image:
    wire types of pieces without one. demanded: the key is there, null, before there is a result.
    """

    key: str
    parent: str = ""
    typed: bool = False
    media: str = ""
    error: str = ""
    form: str = "string"
    text: str = "input_text"
    image: str = "input_image"
    demanded: bool = False

    #: Top-level keys that hold the result.
    keys: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        keys = tuple(key for key in ("" if self.parent else self.key, self.error) if key)
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, slots=True)
class ItemType:
    """One item type.

    part: canonical type of its part. kind and name: of the tool, where the wire does not say. role: of the
    message it stands in when it is no part of the assistant's turn. arguments: key of the argument string, where
    it has one; free_text: that string is text, not JSON; table_arguments: other keys are the arguments. own_id: the
    call's id is ``call_id``, else the item's ``id`` (hosted tools). answers: call type that a result without call id
    belongs to. continuation: keys that the provider needs back verbatim.
    """

    type: str
    part: str
    table: Table
    kind: str = ""
    name: str = ""
    role: str = "assistant"
    arguments: str = ""
    free_text: bool = False
    own_id: bool = False
    table_arguments: bool = False
    result: Result | None = None
    answers: str = ""
    continuation: tuple[str, ...] = ()


#: Keys that server copies of any item may carry.
_SERVER_KEYS = ("created_by", "agent")
_ANY = tuple(Other(key, "detail") for key in _SERVER_KEYS)


def _call(
    wire_type: str,
    kind: str,
    *entries: Entry,
    name: str = "",
    arguments: str = "",
    free_text: bool = False,
    result: Result | None = None,
    own_id: bool = True,
    continuation: tuple[str, ...] = (),
) -> ItemType:
    """A tool call."""
    common: list[Entry] = [
        Field("id", "provider_item_id"),
        Field("call_id", "tool_call.provider_id") if own_id else Other("call_id", "detail"),
        Field("status", "tool_call.status"),
        Field("namespace", "tool_call.namespace"),
        Field("caller", "tool_call.caller", OBJECT),
        Other("async", "detail"),
        *_ANY,
    ]
    if arguments:
        common.append(Field(arguments, "tool_call.raw_arguments"))
    taken = {entry.wire for entry in entries}
    if "name" not in taken:
        common.append(Field("name", "tool_call.name"))
    table = Table(Const("type", wire_type), *entries, *(entry for entry in common if entry.wire not in taken))
    return ItemType(
        wire_type,
        "tool_call",
        table,
        kind,
        name,
        arguments=arguments,
        free_text=free_text,
        own_id=own_id,
        table_arguments=any(entry.name == "tool_call.arguments" for entry in entries),
        result=result,
        continuation=("caller", *continuation),
    )


def _argument(*keys: str) -> tuple[Other, ...]:
    """Keys that together are the call's arguments, as one object."""
    return tuple(Other(key, "tool_call.arguments") for key in keys)


def _output(wire_type: str, kind: str, result: Result, *data: str, name: str = "name", answers: str = "") -> ItemType:
    """The result of a call, as an item of its own."""
    table = Table(
        Const("type", wire_type),
        Field("id", "provider_item_id"),
        Field("call_id", "tool_result.tool_call_id", NAME),
        Field("status", "tool_result.status"),
        Field("caller", "tool_result.caller", OBJECT),
        Field(name, "tool_result.name"),
        Other("namespace", "detail"),
        *(Other(path, "detail") for path in data),
        *_ANY,
    )
    return ItemType(
        wire_type,
        "tool_result",
        table,
        kind,
        role="tool",
        result=result,
        answers=answers,
        continuation=("caller",),
    )


def _data(wire_type: str, *keys: str, role: str = "assistant", continuation: tuple[str, ...] = ()) -> ItemType:
    """An item that is neither call nor result: its fields are one JSON object."""
    table = Table(
        Const("type", wire_type),
        Field("id", "provider_item_id"),
        Field("status", "status"),
        *(Other(key, "data") for key in keys),
        *(Other(key, "data") for key in _SERVER_KEYS),
    )
    return ItemType(wire_type, "data", table, role=role, continuation=continuation)


#: The reasoning item without its lists of texts, which ``reasoning`` reads.
_REASONING = Table(
    Const("type", "reasoning"),
    Field("id", "provider_item_id"),
    Field("status", "status"),
    Field("encrypted_content", "reasoning.encrypted"),
    Field("signature", "reasoning.signature"),
    Field("format", "reasoning.format"),
    *_ANY,
)

_TYPED, _PLAIN = Result("output", typed=True), Result("output")
_SCREENSHOT = Result("output", typed=True, form="object", image="computer_screenshot")
_SOURCES = Result("sources", parent="action")
_ACTION = Field("action", "tool_call.arguments", JSON)

ITEM_TYPES: dict[str, ItemType] = {
    item.type: item
    for item in (
        ItemType("reasoning", "reasoning", _REASONING, continuation=("encrypted_content", "signature")),
        _call("function_call", "function", arguments="arguments"),
        _call("custom_tool_call", "custom", arguments="input", free_text=True),
        _call("multi_agent_call", "agent", Field("action", "tool_call.name"), arguments="arguments"),
        _call(
            "program",
            "code",
            *_argument("code"),
            Field("fingerprint", "signature"),
            name="program",
            continuation=("fingerprint",),
        ),
        _call("web_search_call", "search", _ACTION, name="web_search", result=_SOURCES, own_id=False),
        _call(
            "file_search_call",
            "search",
            *_argument("queries"),
            name="file_search",
            result=Result("results"),
            own_id=False,
        ),
        _call(
            "code_interpreter_call",
            "code",
            *_argument("code", "container_id"),
            name="code_interpreter",
            # xAI sends the code as an argument string, under the name of its own tool.
            arguments="arguments",
            result=Result("outputs", typed=True, form="list", text="logs", image="image", demanded=True),
            own_id=False,
            continuation=("container_id",),
        ),
        _call(
            "image_generation_call",
            "image",
            *_argument("prompt", "revised_prompt", "action", "background", "output_format", "quality", "size"),
            Other("svg_usage", "detail"),
            Other("partial_image_b64", "detail"),
            name="image_generation",
            result=Result("result", media="image", error="error"),
            own_id=False,
        ),
        _call(
            "mcp_call",
            "mcp",
            Field("server_label", "tool_call.server_name"),
            Other("approval_request_id", "detail"),
            arguments="arguments",
            result=Result("output", error="error"),
            own_id=False,
            continuation=("approval_request_id",),
        ),
        _call(
            "computer_call",
            "computer",
            *_argument("action", "actions"),
            Other("pending_safety_checks", "detail"),
            name="computer",
            continuation=("pending_safety_checks",),
        ),
        _call("local_shell_call", "shell", _ACTION, name="local_shell"),
        _call("shell_call", "shell", _ACTION, Other("environment", "detail"), name="shell"),
        _call("apply_patch_call", "patch", Field("operation", "tool_call.arguments", JSON), name="apply_patch"),
        _call(
            "tool_search_call",
            "search",
            Field("arguments", "tool_call.arguments", JSON),
            Other("execution", "detail"),
            name="tool_search",
        ),
        _output("function_call_output", "function", _TYPED),
        _output("custom_tool_call_output", "custom", _TYPED),
        _output("multi_agent_call_output", "agent", _TYPED, name="action"),
        _output("program_output", "code", Result("result")),
        _output("computer_call_output", "computer", _SCREENSHOT, "acknowledged_safety_checks"),
        _output("local_shell_call_output", "shell", _PLAIN, answers="local_shell_call"),
        _output("shell_call_output", "shell", _PLAIN, "max_output_length"),
        _output("apply_patch_call_output", "patch", _PLAIN),
        _output("tool_search_output", "search", Result("tools"), "execution", answers="tool_search_call"),
        _data("compaction", "encrypted_content", continuation=("encrypted_content",)),
        _data("mcp_list_tools", "server_label", "tools", "error"),
        _data("mcp_approval_request", "server_label", "name", "arguments"),
        _data(
            "mcp_approval_response",
            "approval_request_id",
            "approve",
            "reason",
            role="user",
            continuation=("approval_request_id",),
        ),
        _data("item_reference"),
        _data("agent_message", "author", "recipient", "content", continuation=("content",)),
        _data("additional_tools", "role", "tools", role="developer"),
        _data("configuration_update", "reasoning", "text", role="developer"),
        _data("compaction_trigger", role="developer"),
    )
}

#: Item type by which a part of another protocol is written: (canonical part type, kind) -> wire type.
WRITTEN_AS = {
    ("tool_call", "function"): "function_call",
    ("tool_call", "custom"): "custom_tool_call",
    ("tool_result", "function"): "function_call_output",
    ("tool_result", "custom"): "custom_tool_call_output",
    ("reasoning", ""): "reasoning",
}
