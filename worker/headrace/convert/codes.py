"""What can happen to a value on its way into another protocol: stable codes, and how grave each is.

``meaning``: the receiver reads or does something else; policy ``strict`` refuses. ``context``: it served only the
provider it came from (signatures, cache hints, timing, usage detail) or repeats what is known from elsewhere.
``form``: it is there, in another form; nothing is lost that cannot be brought back.

Codes are data that users alert on: never rename one, add another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["meaning", "context", "form"]

_MEANING = {
    "not_carried": "found in neither the output nor any rule's report: a fault of the converter, reported all the same",
    "unsupported_parameter": "the target has no such setting",
    "unsupported_field": "the target has no such field",
    "unsupported_value": "the target has the field, but not this value",
    "unknown_field": "a field that the canonical model does not name",
    "unknown_type": "a part, tool or setting of a type that nobody knows",
    "server_tool": "work of a tool that the provider ran itself",
    "builtin_tool": "a tool of one provider that is not the same thing anywhere else",
    "provider_item": "an item that only its provider understands (compaction, approvals, fallbacks, …)",
    "provider_state": "state on the provider's side: an earlier response, a conversation, a container, cached content",
    "provider_file": "a file that was uploaded to another provider",
    "tool_choice": "this way of choosing tools",
    "parallel_control": "the switch that forbids parallel calls",
    "response_format": "this format of the answer",
    "strict_schema": "the guarantee that arguments match the schema",
    "custom_format": "the grammar of a custom tool's input",
    "media_kind": "media of this kind have no place here",
    "media_form": "media given this way (URL, bytes, text) have no place here",
    "result_media": "media in a tool result",
    "citation": "sources in this form",
    "choices": "more than one answer",
    "system_in_conversation": "a system message in mid conversation, which the target takes only at the top",
    "orphan_result": "a tool result that answers no call",
    "unanswered_call": "a call without a result before the next turn",
    "first_role": "the conversation does not begin with the user",
    "missing_content": "the record says that there is more than it holds",
    "finish_reason": "the target has no word for this way of ending",
    "unfinished": "the response has no end, and the target has no way to say so",
}
_CONTEXT = {
    "reasoning_foreign": "reasoning of another provider's model is left out of the history",
    "signature_foreign": "only the provider that made a signature takes it back",
    "encrypted_foreign": "only the provider that encrypted it can read it",
    "cache_hint": "cache breakpoints and keys",
    "usage_detail": "figures of usage that the target has no name for",
    "timing": "times",
    "request_echo": "a setting of the request that the response repeats",
    "provider_id": "an id that only the provider looks up",
    "provider_detail": "facts of the exchange that only its provider gives",
    "media_setting": "resolution, type or processing of media",
    "stream_setting": "settings of the stream itself",
    "missing_signature": "Gemini 3 refuses the first call of a step without its signature",
    "prefill": "the history ends with the assistant: newer models refuse to continue it",
}
_FORM = {
    "role_renamed": "the role has another name here",
    "id_renamed": "the id is not valid here; the new one is derived from it, always in the same way",
    "order_changed": "the target keeps these parts in an order of its own",
    "texts_joined": "several texts are one",
    "messages_merged": "several messages are one turn",
    "message_split": "one message is several",
    "results_reordered": "results stand in the order of their calls",
    "error_in_text": "the target has no mark for a failed tool: the text says so",
    "result_as_text": "a structured result is JSON text",
    "arguments_wrapped": "arguments that are no object stand inside one",
    "arguments_invalid": "arguments that are no JSON stand as text inside an object",
    "custom_as_function": "a custom tool is a function with one text argument",
    "kind_as_function": "a tool that the client runs is an ordinary function here",
    "document_as_text": "a text document is text",
    "refusal_as_text": "a refusal is text",
    "reasoning_form": "visible reasoning has another form",
    "citation_moved": "positions of a citation are counted otherwise",
    "empty_text": "an empty text, which the target refuses",
    "default_added": "the target demands a value that the source leaves to its default",
    "default_elsewhere": "the value is what the target does anyway",
    "value_renamed": "the same value under another name",
    "in_url": "the target has it in the URL, not in the body",
    "error_renamed": "the error's type has another name here",
}


@dataclass(frozen=True, slots=True)
class Code:
    """severity: see the module. text: what happened, in general."""

    severity: Severity
    text: str


_BY_SEVERITY: dict[Severity, dict[str, str]] = {"meaning": _MEANING, "context": _CONTEXT, "form": _FORM}
CODES: dict[str, Code] = {
    code: Code(severity, text) for severity, texts in _BY_SEVERITY.items() for code, text in texts.items()
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is not carried as it was. path: where it is in the canonical record."""

    path: str
    code: str
    detail: str | None = None

    @property
    def severity(self) -> Severity:
        """How grave it is; see `CODES`."""
        return CODES[self.code].severity
