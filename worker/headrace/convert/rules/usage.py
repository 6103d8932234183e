"""What a response cost, in the target's own figures, and the tier that served it."""

from __future__ import annotations

from typing import Any

from headrace.convert.draft import Draft
from headrace.json_text import Json, loads
from headrace.protocols import codec

_ADDED_UP = ("input_tokens", "output_tokens")


def write_usage(draft: Draft) -> None:
    """The same arithmetic under other names; the raw object's other figures are listed."""
    usage = draft.record.get("usage")
    if usage is None:
        return
    if "raw" in usage:
        _list_raw(draft, usage)
    if "detail" in usage:
        draft.lose_json(usage, "detail", "usage_detail")
    if draft.target.family == "google":
        _keep_sums(draft, usage)
    if all(name in usage for name in _ADDED_UP) and "total_tokens" not in usage:
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    if draft.target.column in ("chat", "responses", "anthropic"):
        for name in _ADDED_UP:
            usage.setdefault(name, 0)
    if draft.target.column == "responses":
        usage.setdefault("cache_write_tokens", 0)
    if draft.target.column in ("chat", "responses"):
        usage.setdefault("total_tokens", usage["input_tokens"] + usage["output_tokens"])
    if draft.target.column == "anthropic":
        cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
        if cached > usage["input_tokens"]:
            # The wire's figures add up; what came does not.
            draft.note(usage, "input_tokens", "usage_detail", str(usage["input_tokens"]))
            usage["input_tokens"] = cached
    if draft.target.column == "anthropic" and "total_tokens" in usage:
        total = usage.pop("total_tokens")
        code = "default_elsewhere" if total == usage["input_tokens"] + usage["output_tokens"] else "usage_detail"
        draft.note(usage, "total_tokens", code)


def _keep_sums(draft: Draft, usage: Any) -> None:
    """Google counts parts beside their wholes: a part that is larger than its whole cannot be said."""
    for name in [name for name, count in usage.items() if type(count) is int and not 0 <= count < 1 << 53]:
        draft.lose(usage, name, "usage_detail")
    for part, whole in (("tool_use_tokens", "input_tokens"), ("reasoning_tokens", "output_tokens")):
        if usage.get(part, 0) > usage.get(whole, 0):
            draft.lose(usage, part, "usage_detail")


def _list_raw(draft: Draft, usage: Any) -> None:
    """Figures of the raw object that no named field or ``detail`` repeats."""
    raw = loads(usage.pop("raw"))
    protocol = draft.source.get("protocol")
    named = codec(protocol).usage_paths if protocol else frozenset()
    for path in _leaves(raw, ""):
        if path not in named and not any(path.startswith(f"{one}.") for one in named):
            draft.report(f"usage.raw.{path}", "usage_detail")
    draft.moved(usage, "raw")


def _leaves(value: Json, path: str) -> list[str]:
    if type(value) is dict:
        return [leaf for key, held in value.items() for leaf in _leaves(held, f"{path}.{key}" if path else key)]
    return [] if value in (None, [], 0) else [path]


#: Tiers that OpenAI's answers name.
_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast"})


def write_tier(draft: Draft) -> None:
    """The tier that served, where the target has that word."""
    if draft.record.get("service_tier") not in _TIERS:
        draft.lose(draft.record, "service_tier", "provider_detail")
