"""Settings of a request, its tools and their choice, in the target's own terms."""

from __future__ import annotations

from typing import Any

from headrace.convert.draft import Draft, json_of, set_json
from headrace.convert.matrix import LOST, matrix
from headrace.convert.rules.calls import CUSTOM_INPUT
from headrace.convert.rules.formats import read_format, write_format
from headrace.convert.rules.schemas import from_google_schema
from headrace.json_text import dumps, loads

_DEFAULT_MAX_TOKENS = 4096

#: Efforts of reasoning that a target takes; others are written as the nearest.
_EFFORTS: dict[str, frozenset[str]] = {
    "chat": frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"}),
    "responses": frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"}),
    "anthropic": frozenset({"low", "medium", "high", "xhigh", "max"}),
    "gemini": frozenset({"minimal", "low", "medium", "high", "xhigh"}),
    "interactions": frozenset({"minimal", "low", "medium", "high", "xhigh"}),
    "live": frozenset({"minimal", "low", "medium", "high", "xhigh"}),
}
_NEAREST = {"none": "minimal", "minimal": "low", "max": "xhigh", "xhigh": "high"}
_SUMMARIES: dict[str, dict[str, str]] = {
    "responses": {
        "auto": "auto",
        "concise": "concise",
        "detailed": "detailed",
        "summarized": "auto",
    },
    "interactions": {"auto": "auto", "concise": "auto", "detailed": "auto", "summarized": "auto", "none": "none"},
    "anthropic": {
        "auto": "summarized",
        "concise": "summarized",
        "detailed": "summarized",
        "summarized": "summarized",
        "omitted": "omitted",
        "none": "omitted",
    },
}
_THINKING = frozenset({"enabled", "adaptive", "between_tools", "disabled"})
_TIERS: dict[str, frozenset[str]] = {
    "chat": frozenset({"auto", "default", "flex", "scale", "priority", "fast"}),
    "responses": frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"}),
    "anthropic": frozenset({"auto", "standard_only"}),
    "gemini": frozenset({"standard", "flex", "priority"}),
    "interactions": frozenset({"flex", "standard", "priority", "deferred"}),
    "live": frozenset(),
}


def write_settings(draft: Draft) -> None:
    """Settings whose names or values differ."""
    parameters = draft.record.setdefault("parameters", {})
    _leave_defaults(draft, parameters)
    _format(draft, parameters)
    _reasoning(draft, parameters)
    _modalities(draft, parameters)
    if "service_tier" in parameters and parameters["service_tier"] not in _TIERS[draft.target.column]:
        draft.lose(parameters, "service_tier", "unsupported_parameter")
    if "include" in parameters and draft.target.column == "responses":
        draft.lose(parameters, "include", "provider_detail")
    if draft.target.column == "chat" and "stream_options" in parameters:
        draft.lose_json(parameters, "stream_options", "stream_setting")
    if draft.target.column in ("gemini", "live") and "stream" in parameters:
        draft.lose(parameters, "stream", "in_url", "streamGenerateContent")
    if draft.target.family != "google" or draft.source_family != "google":
        draft.lose(parameters, "cached_content", "provider_state")
    if "safety_settings" in parameters and not _same_safety(draft, loads(parameters["safety_settings"])):
        draft.lose_json(parameters, "safety_settings", "unsupported_parameter")
    if draft.target.column == "anthropic" and "max_output_tokens" not in parameters:
        parameters["max_output_tokens"] = _DEFAULT_MAX_TOKENS
        draft.added("parameters.max_output_tokens", "default_added", str(_DEFAULT_MAX_TOKENS))
    if draft.target.column in ("gemini",) and "model" in draft.record:
        draft.lose(draft.record, "model", "in_url", draft.record["model"])


#: What every API does when it is not told.
_DEFAULTS = {
    "n": 1,
    "logprobs": False,
    "background": False,
    "stream": False,
    "truncation": "disabled",
    "presence_penalty": 0,
    "frequency_penalty": 0,
}


def _leave_defaults(draft: Draft, parameters: Any) -> None:
    for name, default in _DEFAULTS.items():
        line = matrix().line(f"parameters.{name}", "request")
        if parameters.get(name) == default and line is not None and line.marks[draft.target.column] == LOST:
            draft.lose(parameters, name, "default_elsewhere")


def _same_safety(draft: Draft, value: Any) -> bool:
    """generateContent and Live have the same list of safety settings."""
    generating = ("gemini.generate_content", "gemini.live")
    return draft.source.get("protocol") in generating and draft.target.protocol in generating and type(value) is list


def _format(draft: Draft, parameters: Any) -> None:
    if "response_format" not in parameters:
        return
    wanted = read_format(loads(parameters["response_format"]))
    written = write_format(wanted, draft.target.column) if wanted is not None else None
    if written is None:
        draft.lose_json(parameters, "response_format", "response_format")
        return
    value, lost = written
    path = "parameters.response_format"
    for name in lost:
        draft.report(f"{path}.{name}", "strict_schema" if name == "strict" else "response_format", name)
    draft.moved(parameters, "response_format")
    if value is None:
        draft.lose(parameters, "response_format", "default_elsewhere")
    else:
        set_json(parameters, "response_format", value)


def _reasoning(draft: Draft, parameters: Any) -> None:
    column = draft.target.column
    effort = parameters.get("reasoning_effort")
    efforts = _EFFORTS[column]
    if effort is not None and effort not in efforts:
        nearest = effort
        while nearest not in efforts and nearest in _NEAREST:
            nearest = _NEAREST[nearest]
        if column == "anthropic" and effort == "none":
            draft.rewrite(parameters, "reasoning_mode", "disabled")
            draft.lose(parameters, "reasoning_effort", "value_renamed", "thinking disabled")
        elif nearest in efforts:
            draft.note(parameters, "reasoning_effort", "unsupported_value", effort)
            parameters["reasoning_effort"] = nearest
        else:
            draft.lose(parameters, "reasoning_effort", "unsupported_value", effort)
    _mode(draft, parameters)
    summary = parameters.get("reasoning_summary")
    words = _SUMMARIES.get(column)
    if summary is not None and words is not None:
        if summary not in words or (column == "anthropic" and "reasoning_mode" not in parameters):
            draft.lose(parameters, "reasoning_summary", "unsupported_parameter")
        elif words[summary] != summary:
            draft.note(parameters, "reasoning_summary", "value_renamed", summary)
            parameters["reasoning_summary"] = words[summary]


def _mode(draft: Draft, parameters: Any) -> None:
    column, mode = draft.target.column, parameters.get("reasoning_mode")
    if column == "anthropic":
        if mode is not None and mode not in _THINKING:
            draft.lose(parameters, "reasoning_mode", "unsupported_parameter")
            mode = None
        budget = parameters.get("reasoning_budget")
        if budget is not None and (budget < 0 or mode == "adaptive"):
            draft.lose(parameters, "reasoning_budget", "unsupported_value", str(budget))
            if mode is None:
                parameters["reasoning_mode"] = "adaptive"
        elif budget == 0:
            draft.lose(parameters, "reasoning_budget", "value_renamed", "thinking disabled")
            parameters["reasoning_mode"] = "disabled"
        elif budget is not None:
            parameters.setdefault("reasoning_mode", "enabled")
        elif mode == "enabled":
            draft.note(parameters, "reasoning_mode", "value_renamed", "enabled, without a budget")
            parameters["reasoning_mode"] = "adaptive"
    elif column in ("gemini", "live") and mode is not None:
        if mode == "disabled" and "reasoning_budget" not in parameters:
            parameters["reasoning_budget"] = 0
            draft.lose(parameters, "reasoning_mode", "value_renamed", "a budget of 0")
        elif mode == "enabled" and "reasoning_budget" in parameters:
            draft.lose(parameters, "reasoning_mode", "default_elsewhere")
        else:
            draft.lose(parameters, "reasoning_mode", "unsupported_parameter")


def _modalities(draft: Draft, parameters: Any) -> None:
    modalities = parameters.get("modalities")
    if not modalities:
        return
    if draft.target.column in ("gemini", "live"):
        draft.rewrite(parameters, "modalities", [word.upper() for word in modalities])
    else:
        draft.rewrite(parameters, "modalities", [word.lower() for word in modalities])
    if draft.target.column == "chat":
        kept = [word for word in parameters["modalities"] if word in ("text", "audio")]
        if len(kept) != len(modalities):
            draft.note(parameters, "modalities", "unsupported_value")
        if kept:
            parameters["modalities"] = kept
        else:
            del parameters["modalities"]


# Tools

#: Tools of Google that are the same thing in its three protocols: generateContent's name -> Interactions'.
_GOOGLE_TOOLS = {
    "googleSearch": "google_search",
    "googleMaps": "google_maps",
    "urlContext": "url_context",
    "codeExecution": "code_execution",
}
_ANY_OBJECT = '{"type":"object","properties":{}}'


def write_tools(draft: Draft) -> None:
    """Declared tools: functions everywhere, custom tools where they exist, built-in tools where they are the same."""
    kept = []
    for tool in draft.record.get("tools", ()):
        if tool.get("kind") in ("function", "custom"):
            _write_function(draft, tool)
            kept.append(tool)
        elif _is_shared(draft, tool):
            kept.append(tool)
        else:
            draft.drop(tool, "builtin_tool" if tool.get("kind") != "unknown" else "unknown_type", tool.get("name"))
    if kept:
        draft.record["tools"] = kept
    else:
        draft.record.pop("tools", None)


def _is_shared(draft: Draft, tool: Any) -> bool:
    """Whether a built-in tool is the same thing in the target, under the name it has there."""
    if draft.target.family != "google" or draft.source_family != "google":
        return False
    wire_type = tool.get("wire_type", "")
    if draft.target.column in ("gemini", "live"):
        back = {there: here for here, there in _GOOGLE_TOOLS.items()}
        name = wire_type if wire_type in _GOOGLE_TOOLS else back.get(wire_type)
        tool["kind"] = {"googleSearch": "search", "codeExecution": "code"}.get(name or "", "server")
    else:
        name = _GOOGLE_TOOLS.get(wire_type)
        tool["kind"] = "server"
    if name is None:
        return False
    if name != wire_type and "config" in tool:
        draft.lose_json(tool, "config", "unsupported_parameter")
    tool["wire_type"], tool["name"] = name, name
    if draft.target.column == "interactions":
        tool["wire"] = '{"unnamed":true}'
    draft.moved(tool, "name", "kind")
    return True


def _write_function(draft: Draft, tool: Any) -> None:
    column = draft.target.column
    tool.pop("wire_type", None)
    if "config" in tool:
        draft.lose_json(tool, "config", "unsupported_field")
    if tool["kind"] == "custom":
        draft.lose(tool, "parameters", "unsupported_field")
        draft.lose(tool, "strict", "strict_schema")
        draft.lose(tool, "output_schema", "unsupported_field")
        if not draft.target.custom_tools:
            _custom_as_function(draft, tool)
    else:
        draft.lose(tool, "format", "custom_format")
    if tool.get("defer_loading") is False:
        draft.lose(tool, "defer_loading", "default_elsewhere")
    schema = json_of(tool, "parameters")
    translated = from_google_schema(schema)
    if translated != schema:
        draft.note(tool, "parameters", "value_renamed", "Google's Schema as the JSON Schema that it means")
        set_json(tool, "parameters", translated)
    if tool["kind"] == "function" and type(translated) is not dict:
        if column in ("anthropic", "responses"):
            if translated is not None:
                draft.note(tool, "parameters", "unsupported_value")
            tool["parameters"] = _ANY_OBJECT
            draft.note(tool, "parameters", "default_added")
        elif "parameters" in tool and translated is None:
            draft.lose(tool, "parameters", "default_elsewhere")
    elif column == "anthropic" and type(translated) is dict and "type" not in translated:
        draft.rewrite(tool, "parameters", dumps({"type": "object", **translated}))
        draft.note(tool, "parameters", "default_added", "type: object")
    _strict(draft, tool)


def _custom_as_function(draft: Draft, tool: Any) -> None:
    draft.note(tool, "kind", "custom_as_function")
    tool["kind"] = "function"
    schema = {"type": "object", "properties": {CUSTOM_INPUT: {"type": "string"}}, "required": [CUSTOM_INPUT]}
    set_json(tool, "parameters", schema)
    form = json_of(tool, "format")
    if type(form) is dict and form.get("type") == "text":
        draft.lose(tool, "format", "default_elsewhere")


def _strict(draft: Draft, tool: Any) -> None:
    """Responses is strict unless told otherwise, all others are not."""
    if tool["kind"] != "function":
        return
    column = draft.target.column
    source_strict = draft.source.get("protocol") == "openai.responses"
    if column == "responses":
        if "strict" not in tool:
            tool["strict"] = False
    elif column in ("chat", "anthropic"):
        if "strict" not in tool and source_strict:
            tool["strict"] = True
    elif tool.get("strict") is False:
        draft.lose(tool, "strict", "default_elsewhere")
    elif tool.get("strict"):
        draft.lose(tool, "strict", "strict_schema")


# Choice


def write_choice(draft: Draft) -> None:
    """The choice of tools, and the switch for parallel calls."""
    record, target = draft.record, draft.target
    choice = record.get("tool_choice")
    usual = choice is not None and choice.get("mode") in ("auto", "none") and choice.keys() <= {"mode"}
    if choice is not None and not record.get("tools"):
        code = "default_elsewhere" if usual else "tool_choice"
        draft.lose(record, "tool_choice", code, "there are no tools to choose among")
        choice = None
    if choice is not None and not _fits(draft, choice):
        code = "default_elsewhere" if usual and choice["mode"] == "auto" else "tool_choice"
        draft.lose(record, "tool_choice", code, choice.get("mode"))
        choice = None
    _parallel(draft, choice)
    if choice is not None and target.family == "openai" and choice.get("mode") == "tool":
        choice.setdefault("kind", "function")


def _fits(draft: Draft, choice: Any) -> bool:
    """Bring the choice into a mode of the target; False when there is none."""
    modes, mode = draft.target.tool_choice, choice.get("mode", "auto")
    if not modes:
        return False
    if "config" in choice:
        if mode == "allowed" and choice.get("allowed"):
            # The tools themselves are declared anyway; their names are in ``allowed``.
            draft.moved(choice, "config")
            del choice["config"]
        else:
            draft.lose_json(choice, "config", "tool_choice")
    if mode != "tool":
        draft.lose(choice, "name", "tool_choice")
        draft.lose(choice, "kind", "tool_choice")
    names = {tool.get("name"): tool.get("kind") for tool in draft.record.get("tools", ())}
    if mode == "tool":
        kind = names.get(choice.get("name")) if "name" in choice else None
        if kind not in ("function", "custom"):
            return False
        choice["kind"] = kind if draft.target.family == "openai" else "function"
        draft.moved(choice, "kind")
        if draft.target.column == "interactions":
            _as_list(draft, choice)
        return True
    one = mode == "allowed" and choice.get("allowed_mode") == "required" and len(choice.get("allowed", ())) == 1
    if one and draft.target.column != "interactions":
        _as_name(draft, choice)
        return True
    if mode in modes:
        if mode == "allowed" and draft.target.family == "openai":
            choice.setdefault("allowed_mode", "auto")
        return True
    draft.note(choice, "mode", "tool_choice", mode)
    choice["mode"] = choice.get("allowed_mode", "auto") if mode == "allowed" else "auto"
    draft.lose(choice, "allowed", "tool_choice")
    draft.lose(choice, "allowed_mode", "tool_choice")
    return choice["mode"] in modes


def _as_list(draft: Draft, choice: Any) -> None:
    """Interactions names one tool by a list of one."""
    draft.moved(choice, "name", "mode")
    choice.update({"mode": "allowed", "allowed_mode": "required", "allowed": [choice.pop("name")]})


def _as_name(draft: Draft, choice: Any) -> None:
    """A list of one of which one must be called is that one tool."""
    for field in ("mode", "allowed", "allowed_mode"):
        draft.note(choice, field, "value_renamed", "the one tool")
    choice.update({"mode": "tool", "name": choice.pop("allowed")[0], "kind": "function"})
    del choice["allowed_mode"]


def _parallel(draft: Draft, choice: Any) -> None:
    parameters = draft.record.get("parameters", {})
    parallel = parameters.get("parallel_tool_calls")
    if parallel is None:
        return
    if draft.target.column == "anthropic":
        if not draft.record.get("tools"):
            draft.lose(parameters, "parallel_tool_calls", "default_elsewhere", "there are no tools")
        elif choice is None:
            draft.record["tool_choice"] = {"mode": "auto"}
        elif choice.get("mode") == "none":
            draft.lose(parameters, "parallel_tool_calls", "default_elsewhere", "no tool may be called")
    elif draft.target.family == "google":
        code = "default_elsewhere" if parallel else "parallel_control"
        draft.lose(parameters, "parallel_tool_calls", code)
    elif not draft.record.get("tools") and draft.target.column == "chat":
        draft.lose(parameters, "parallel_tool_calls", "default_elsewhere", "there are no tools")
