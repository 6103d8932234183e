"""Usage. The wire's input_tokens leave cache reads and writes out; the canonical ones include them.

``raw`` is the whole object and what the writer writes. `iterations` repeat the figures by model call (a
compaction's are in no sum), so they are detail and nothing is added from them.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.canonical.fields import LONG, Field, Other, Table
from headrace.canonical.shape import Usage
from headrace.json_text import Json, dumps, loads

_USAGE = Table(
    Field("cache_read_input_tokens", "cache_read_tokens", LONG),
    Field("cache_creation_input_tokens", "cache_write_tokens", LONG),
    Field("output_tokens", "output_tokens", LONG),
    Field("output_tokens_details.thinking_tokens", "reasoning_tokens", LONG),
    Field("service_tier", "service_tier"),
    Other("cache_creation", "detail"),
    Other("server_tool_use", "detail"),
    Other("iterations", "detail"),
    Other("inference_geo", "detail"),
    Other("speed", "detail"),
    Other("fallback_credit", "detail"),
)
_INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
#: Wire paths that named fields or ``detail`` carry.
PATHS = frozenset([*_USAGE.paths, "input_tokens"])


def read_usage(wire: dict[str, Json]) -> Usage:
    """The usage object, in the one arithmetic."""
    usage: Usage = {}
    _USAGE.read(wire, usage)
    _set(usage, "input_tokens", _sum(wire.get(name) for name in _INPUTS))
    if "input_tokens" in usage and "output_tokens" in usage:
        _set(usage, "total_tokens", usage["input_tokens"] + usage["output_tokens"])
    served = wire.get("server_tool_use")
    if type(served) is dict:
        _set(usage, "server_tool_calls", _sum(count for name, count in served.items() if name.endswith("_requests")))
    usage["raw"] = dumps(wire)
    return usage


def _sum(values: Iterable[Json]) -> int | None:
    numbers = [value for value in values if type(value) is int]
    return sum(numbers) if numbers else None


def _set(usage: Usage, name: str, value: int | None) -> None:
    if LONG.fits(value):
        usage[name] = value  # type: ignore[literal-required]


def write_usage(usage: Usage) -> dict[str, Json]:
    """The wire's usage: the raw object, or, where another protocol gave the figures, made from them."""
    if "raw" in usage:
        raw: dict[str, Json] = loads(usage["raw"])
        return raw
    wire = _USAGE.write(usage)
    cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
    wire["input_tokens"] = max(usage.get("input_tokens", 0) - cached, 0)
    wire.setdefault("output_tokens", 0)
    return wire
