"""Rules: named checks that bring a record into the form of its target, each a small function over a draft.

They run in order. A rule changes the draft and reports what it could not keep (see `headrace.convert.codes`); what no
rule concerns itself with is decided by the matrix afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.convert.draft import Draft
from headrace.convert.rules import calls, content, errors, items, media, outcome, required, settings, turns, usage


@dataclass(frozen=True, slots=True)
class Rule:
    """name: stable. on: which records it is for."""

    name: str
    run: Callable[[Draft], None]
    on: frozenset[str]


_BOTH = frozenset({"request", "response"})
_REQUEST, _RESPONSE = frozenset({"request"}), frozenset({"response"})

RULES: tuple[Rule, ...] = (
    Rule("absent_roles", items.name_roles, _BOTH),
    Rule("request_echo", items.leave_out_echoes, _RESPONSE),
    Rule("spelling", items.drop_spelling, _BOTH),
    Rule("one_answer", turns.keep_one_choice, _RESPONSE),
    Rule("foreign_items", items.leave_out_foreign_items, _BOTH),
    Rule("tool_kinds", items.make_functions, _BOTH),
    Rule("reasoning", content.place_reasoning, _BOTH),
    Rule("refusals", content.write_refusals, _BOTH),
    Rule("citations", content.place_citations, _BOTH),
    Rule("result_links", calls.link_results, _BOTH),
    Rule("media", media.place_media, _BOTH),
    Rule("result_content", calls.write_results, _BOTH),
    Rule("empty_text", content.drop_empty_texts, _BOTH),
    Rule("cache_breakpoints", content.keep_breakpoints, _BOTH),
    Rule("arguments", calls.write_arguments, _BOTH),
    Rule("empty_messages", items.drop_empty_messages, _BOTH),
    Rule("system", turns.place_system, _REQUEST),
    Rule("system_left_empty", items.drop_empty_messages, _REQUEST),
    Rule("consecutive_roles", turns.merge_turns, _BOTH),
    Rule("unanswered_calls", calls.report_unanswered, _REQUEST),
    Rule("result_placement", turns.place_results, _BOTH),
    Rule("part_order", turns.order_parts, _BOTH),
    Rule("call_ids", calls.make_ids_valid, _BOTH),
    Rule("first_and_last", turns.report_ends, _REQUEST),
    Rule("signatures", turns.report_signatures, _REQUEST),
    Rule("settings", settings.write_settings, _REQUEST),
    Rule("tools", settings.write_tools, _REQUEST),
    Rule("tool_choice", settings.write_choice, _REQUEST),
    Rule("finish", outcome.write_finish, _RESPONSE),
    Rule("usage", usage.write_usage, _RESPONSE),
    Rule("service_tier", usage.write_tier, _RESPONSE),
    Rule("error", errors.write_error, _RESPONSE),
)
#: What completes the form after the matrix has taken its part.
COMPLETIONS: tuple[Rule, ...] = (
    Rule("required", required.fill_response, _RESPONSE),
    Rule("required", required.fill_request, _REQUEST),
)
