"""Something unknown at every place of every protocol: it comes back, through Avro, and types are counted.

Bodies and streams of our own, and real ones where they lie beside the checkout, are walked. Into every object goes an
unknown field, into every list an unknown element, and every word that is a type, a role or a reason becomes one that
nobody knows. Each kind of place (indices left out) is tried once per protocol and source.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps
from headrace.protocols import PROTOCOLS, codec
from tests.support.everything import Seed, own_seeds, shared_seeds
from tests.support.fuzzing import same

NEW = "zz_new"
Path = tuple[str | int, ...]

#: Keys whose text value is a word of the protocol.
WORDS = frozenset(
    [
        *("type", "role", "finish_reason", "stop_reason", "status", "finishReason", "event_type", "object", "reason"),
        *("mode", "tool_choice"),
    ]
)

#: Streams: places whose value a later, whole copy replaces by the protocol's own rule, or that are no wire at all.
REPLACED: dict[str, tuple[str, ...]] = {
    # Terminal response, then output_item.done, then deltas: the more trustworthy copy stands (catalogue, 1.4).
    "openai.responses": ("$[].item", "$[].part", "$[].response", "$[].logprobs", "$[].annotation"),
    # Every chunk repeats it; the first stands.
    "openai.chat": ("$[].object",),
    # input_json_delta replaces the placeholder of content_block_start; deltas add to the first copy.
    "anthropic.messages": ("$[].content_block.input", "$[].delta.stop_reason", "$[].message"),
    # A running total's last value stands, field by field.
    "gemini.generate_content": ("$[].candidates[].content.role", "$[].usageMetadata"),
    # The last event is laid over all others; arguments_delta replaces the placeholder of step.start.
    "gemini.interactions": ("$[].interaction", "$[].status", "$[].step.arguments"),
    # The envelope of a capture, {"from", "frame"}, is ours.
    "gemini.live": ("$[].zz_new", "$[].from"),
}

#: Protocol -> kind in unknown_types -> places (of our own bodies) where an unknown type must be counted as that.
COUNTED: dict[str, dict[str, tuple[str, ...]]] = {
    "openai.chat": {
        "part": ("$.messages[].content", "$.messages[].images", "$.choices[].message.content"),
        "annotation": (
            "$.messages[].annotations",
            "$.choices[].message.annotations",
            "$[].choices[].delta.annotations",
        ),
        "reasoning_detail": ("$.messages[].reasoning_details", "$[].choices[].delta.reasoning_details"),
        "tool_call": ("$.messages[].tool_calls", "$.choices[].message.tool_calls", "$[].choices[].delta.tool_calls"),
        "tool": ("$.tools",),
        "tool_choice": ("$.tool_choice.type",),
        "finish_reason": ("$.choices[].finish_reason", "$[].choices[].finish_reason"),
        "event": ("$",),
    },
    "openai.responses": {
        "item": ("$.input", "$.output", "$[].response.output"),
        "part": ("$.input[].content", "$.output[].content", "$.input[].summary", "$.output[].output"),
        "annotation": ("$.input[].content[].annotations", "$.output[].content[].annotations"),
        "tool": ("$.tools", "$.tools[].tools"),
        "tool_choice": ("$.tool_choice.type", "$.tool_choice"),
        "status": ("$.status",),
        "event": ("$", "$[].type"),
    },
    "anthropic.messages": {
        "block": ("$.messages[].content", "$.content", "$.system", "$.messages[].content[].content"),
        "citation": ("$.messages[].content[].citations", "$.content[].citations", "$[].content_block.citations"),
        "source": ("$.messages[].content[].source.type",),
        "tool": ("$.tools",),
        "tool_choice": ("$.tool_choice.type",),
        "finish_reason": ("$.stop_reason", "$[].delta.stop_reason"),
        "delta": ("$[].delta.type",),
        "event": ("$", "$[].type"),
    },
    "gemini.generate_content": {
        "part": ("$.contents[].parts[].zz_new", "$.candidates[].content.parts[].zz_new"),
        "tool": ("$.tools[].zz_new",),
        "tool_choice": ("$.toolConfig.functionCallingConfig.mode",),
        "finish_reason": ("$.candidates[].finishReason", "$[].candidates[].finishReason"),
    },
    "gemini.interactions": {
        "step": ("$.input", "$.steps", "$.outputs", "$[].step.type"),
        "part": ("$.input[].content", "$.steps[].content"),
        "annotation": ("$.input[].content[].annotations", "$.steps[].content[].annotations"),
        "tool": ("$.tools",),
        "status": ("$.status",),
        "delta": ("$[].delta.type",),
        "event": ("$[].event_type",),
    },
    "gemini.live": {
        "entry": ("$[].frame.zz_new", "$[].frame.serverContent.zz_new", "$[].frame.realtimeInput.zz_new"),
        "tool": ("$[].frame.setup.tools[].zz_new",),
    },
}


@dataclass(slots=True)
class Injected:
    """A seed with something unknown in it, and where."""

    what: str
    place: str
    value: Any


@dataclass(slots=True)
class Fate:
    """What became of it. kept: in the body that is written back. counted: the kinds it was counted as."""

    kept: bool = False
    stray: bool = False
    refused: bool = False
    counted: set[str] = field(default_factory=set)
    fault: str = ""


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield from _walk(inner, (*path, key))


def _place(path: Path) -> str:
    return "$" + "".join("[]" if isinstance(key, int) else f".{key}" for key in path)


def _with(value: Any, path: Path, change: Callable[[Any], None]) -> Any:
    changed = copy.deepcopy(value)
    holder = changed
    for key in path:
        holder = holder[key]
    change(holder)
    return changed


def _set(key: str | int, value: Any) -> Callable[[Any], None]:
    return lambda holder: holder.__setitem__(key, value)


def _sort(value: Any, path: Path) -> str:
    """What the innermost object around a place is: its type, or its keys."""
    sort = ""
    for key in (*path, None):
        if isinstance(value, dict):
            kind = value.get("type")
            sort = kind if isinstance(kind, str) else ",".join(sorted(value))
        if key is not None:
            value = value[key]
    return sort


def injections(seed: Seed, tried: set[tuple[str, ...]], *, by_sort: bool) -> Iterator[Injected]:
    """One of each kind of place that was not tried yet; by_sort: of each sort of object, too."""
    for path, value in _walk(seed.value):
        sort = _sort(seed.value, path) if by_sort else ""
        ways: list[tuple[str, str, Path, Callable[[Any], None]]] = []
        if isinstance(value, dict):
            ways.append(("field", _place((*path, NEW)), path, _set(NEW, {"deep": [1, NEW]})))
        elif isinstance(value, list):
            element = {"type": NEW, "x": 1}
            ways.append(("element", _place(path), path, lambda holder, new=element: holder.append(dict(new))))
            ways.append(("first element", _place(path), path, lambda holder, new=element: holder.insert(0, dict(new))))
            ways.append(("text element", _place(path), path, lambda holder: holder.append(NEW)))
        elif isinstance(value, str) and path and path[-1] in WORDS:
            ways.append(("word", _place(path), path[:-1], _set(path[-1], NEW)))
        for what, place, holder, change in ways:
            key = (seed.kind, what, place, sort)
            if key not in tried and not (by_sort and what in ("first element", "text element")):
                tried.add(key)
                yield Injected(what, place, _with(seed.value, holder, change))


def fate(seed: Seed, value: Any) -> Fate:
    """Read, encode, decode, write."""
    entry = codec(seed.protocol)
    found = Fate()
    try:
        for record_type, body, layout, unknown, stray in _bodies(seed, value):
            reading = Reading("call", record_type)
            request = record_type == "request"
            shape = entry.read_request(body, reading) if request else entry.read_response(body, reading, layout)
            for kind, name in unknown:
                reading.unknown_type(kind, name)
            record = decode_record(encode_record(shape))
            written = entry.write_request(record) if request else entry.write_response(record)
            if not same(written, body):
                found.fault = "another body came back"
            found.kept |= NEW in dumps(written)
            found.stray |= NEW in dumps(stray)
            found.counted |= {kind for kind, name in reading.unknown if NEW in name}
    except WireError:
        found.refused = True
    return found


def _bodies(seed: Seed, value: Any) -> Iterator[tuple[str, Any, Any, list[tuple[str, str]], list[Any]]]:
    if seed.kind != "stream":
        yield seed.kind, value, None, [], []
        return
    for one in codec(seed.protocol).fold(value):
        yield one.record_type, one.body, one.layout, one.unknown, one.stray


@cache
def shared_by_protocol() -> dict[str, tuple[Seed, ...]]:
    """Real bodies and streams, by protocol."""
    found: dict[str, list[Seed]] = defaultdict(list)
    for seed in shared_seeds(largest=20_000):
        found[seed.protocol].append(seed)
    return {protocol: tuple(seeds) for protocol, seeds in found.items()}


def _is_replaced(seed: Seed, place: str) -> bool:
    return seed.kind == "stream" and place.startswith(REPLACED.get(seed.protocol, ()))


def _check(seeds: Iterable[Seed], totals: Counter[str], *, by_sort: bool = False) -> dict[tuple[str, str], set[str]]:
    """Inject everywhere; gives what was counted by (what, place)."""
    tried: set[tuple[str, ...]] = set()
    counted: dict[tuple[str, str], set[str]] = defaultdict(set)
    for seed in seeds:
        for injected in injections(seed, tried, by_sort=by_sort):
            found = fate(seed, injected.value)
            totals["places"] += 1
            totals["counted"] += bool(found.counted)
            where = (seed.protocol, seed.kind, injected.what, injected.place)
            assert not found.fault, (where, found.fault)
            # A stream of odd events alone has nothing to be a response: the pipeline makes it a dead letter.
            visible = found.kept or found.stray or (found.refused and seed.kind == "stream")
            if not visible:
                assert _is_replaced(seed, injected.place), where
                totals["replaced by a later copy"] += 1
            totals["kept"] += found.kept
            counted[injected.what, injected.place] |= found.counted
    return counted


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_unknown_comes_back_from_every_place(protocol: str) -> None:
    totals: Counter[str] = Counter()
    _check([seed for seed in own_seeds() if seed.protocol == protocol], totals)
    own = dict(totals)
    real = [seed for seed in shared_by_protocol().get(protocol, ()) if not fate(seed, seed.value).refused]
    _check(real, totals)
    print(protocol, "own:", own, "with real traffic:", dict(totals))
    assert totals["places"] > 30


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unknown_types_are_counted_where_types_stand(protocol: str) -> None:
    counted: dict[str, set[str]] = defaultdict(set)
    seeds = [seed for seed in own_seeds() if seed.protocol == protocol]
    for (_, place), kinds in _check(seeds, Counter(), by_sort=True).items():
        counted[place] |= kinds
    for kind, places in COUNTED[protocol].items():
        for place in places:
            assert kind in counted[place], (protocol, kind, place)
    print(protocol, {kind: len(places) for kind, places in COUNTED[protocol].items()}, "places checked by name")
