"""There and back: what differs after A -> B -> A is exactly what the two lists of losses name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.convert import Conversion, Loss, convert
from headrace.convert.matrix import is_envelope, is_spelling, pattern_of
from headrace.errors import FramingError
from headrace.json_text import loads
from headrace.protocols import codec
from tests.conformance.test_convert_corpus import PAIRS, conversions

#: What a reader derives from the rest, and how a protocol words what the rules' own tests check.
DERIVED = frozenset(
    {
        *("role", "kind", "status", "status_reason", "finish_reason", "raw_finish_reason", "choice_index", "unit"),
        *("provider_id", "provider_item_id", "total_tokens", "raw", "detail", "type"),
    }
)


def leaves(shape: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, value) of everything that a record says."""
    for key, value in shape.items():
        inner = f"{path}.{key}" if path else key
        if is_envelope(inner) or is_spelling(path, key) or key in DERIVED:
            continue
        if isinstance(value, dict):
            yield from leaves(value, inner)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for at, item in enumerate(value):
                yield from leaves(item, f"{inner}[{at}]")
        elif value not in (None, "", []):
            yield inner, said(value)


def said(value: Any) -> str:
    """A value as text; JSON text as the value that it is, a number as a number."""
    if isinstance(value, str):
        try:
            return json.dumps(loads(value), sort_keys=True)
        except FramingError:
            return value
    return json.dumps(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def read(protocol: str, made: Conversion) -> Any:
    """The record of what was written."""
    reading = Reading(made.call_id, made.record_type)
    reader = codec(protocol)
    if made.record_type == "request":
        record: Any = reader.read_request(made.body or {}, reading)
    else:
        record = reader.read_response(made.body or {}, reading, None)
    return record | {"protocol": protocol, "record_type": made.record_type, "call_id": made.call_id}


def is_named(path: str, losses: tuple[Loss, ...]) -> bool:
    """Whether a loss speaks of the place, of the object that it took away whole, or of something in it."""
    return any(
        loss.path == path
        or (_is_under(path, loss.path) and (loss.severity != "form" or not loss.path.endswith("]")))
        or _is_under(loss.path, path)
        for loss in losses
    )


def _is_under(path: str, holder: str) -> bool:
    return path.startswith(holder) and path[len(holder) :][:1] in (".", "[")


def place(path: str) -> str:
    """The place, without the lists that it lies in: merging and splitting move things among them."""
    return re.sub(r"^messages\[\](\.parts\[\])?(\.|$)", "", pattern_of(path))


def unlisted(record: Any, there: Conversion, middle: Any, back: Conversion, again: Any) -> list[tuple[str, str]]:
    """What the first record says and the last does not, and neither list names."""
    last = Counter((place(path), value) for path, value in leaves(again))
    gone = dropped(middle, back.losses)
    named_back = {place(loss.path) for loss in back.losses if not loss.path.endswith("]")}
    missing = []
    for path, value in leaves(record):
        fact = (place(path), value)
        if last[fact]:
            last[fact] -= 1
        elif not is_named(path, there.losses) and fact not in gone and not _is_named_back(fact[0], named_back):
            missing.append((path, value[:80]))
    return missing


def dropped(middle: Any, losses: tuple[Loss, ...]) -> set[tuple[str, str]]:
    """What stood in the objects (parts, messages, tools) that the way back left out as a whole."""
    whole = [loss.path for loss in losses if loss.path.endswith("]") and loss.severity != "form"]
    return {
        (place(path), value)
        for path, value in leaves(middle)
        if any(_is_under(path, object_path) for object_path in whole)
    }


def _is_named_back(wanted: str, places: set[str]) -> bool:
    return any(one == wanted or _is_under(wanted, one) or _is_under(one, wanted) for one in places if one)


@pytest.mark.parametrize(
    ("source", "target"), [pair for pair in PAIRS if "gemini.live" not in pair], ids=lambda name: str(name)
)
def test_there_and_back_differs_by_what_the_lists_name(source: str, target: str) -> None:
    checked = differing = 0
    for record, there in conversions(source, target):
        if there.body is None or not there.body:
            continue
        middle = read(target, there)
        back = convert(middle, source, policy="lossy")
        assert unlisted(record, there, middle, back, read(source, back)) == [], record["call_id"]
        checked += 1
        differing += bool(there.losses or back.losses)
    assert checked > 0
    print(f"{source} -> {target} -> {source}: {checked} records, {differing} with listed differences, 0 unlisted")
