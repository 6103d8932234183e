"""The matrix is true of rules and writers: what a line calls carried is in the output, what it calls lost is not."""

from __future__ import annotations

import re
import typing
from typing import Any

import pytest

from headrace.canonical import shape
from headrace.convert import convert
from headrace.convert.dialects import DIALECTS
from headrace.convert.matrix import BY_RULE, CARRIED, COLUMNS, LOST, is_envelope, is_spelling, matrix
from headrace.convert.targets import TARGETS
from headrace.json_text import dumps
from tests.property.test_convert_marks import found, is_listed, record

SUBS = {"media", "tool_call", "tool_result", "reasoning", "code"}


def places(kind: Any, prefix: str = "") -> set[str]:
    """Every place of a record, from its schema."""
    found_places = set()
    for name, hint in typing.get_type_hints(kind).items():
        place = f"{prefix}.{name}" if prefix else name
        item = typing.get_args(hint)[0] if typing.get_origin(hint) is list else None
        if is_envelope(place) or is_spelling(prefix, name):
            continue
        if typing.is_typeddict(hint):
            inner = re.sub(r"parts\[\]\.(\w+)$", r"parts[\1].\1", place) if name in SUBS else place
            found_places |= places(hint, inner)
        elif item is not None and typing.is_typeddict(item):
            found_places |= places(item, f"{place}[]")
        else:
            found_places.add(f"{place}[]" if item is not None else place)
    return found_places


def test_every_place_of_a_record_has_a_line_and_every_line_is_a_place() -> None:
    known = {path.partition(":")[2] or path for path in matrix().lines}
    assert places(shape.CanonicalRecord) - known == set()
    assert known - places(shape.CanonicalRecord) == set()


@pytest.mark.parametrize("protocol", list(TARGETS))
def test_every_line_is_true_of_what_is_written(protocol: str) -> None:
    source = next(one for one in TARGETS if TARGETS[one].family != TARGETS[protocol].family)
    column, checked = TARGETS[protocol].column, {CARRIED: 0, LOST: 0, BY_RULE: 0}
    for record_type in ("request", "response"):
        made, marks = record(source, record_type)
        result = convert(made, protocol, policy="lossy")  # type: ignore[arg-type]
        text = dumps(result.body if result.body is not None else list(result.events or ()))
        for path, mark in marks.items():
            line = line_of(path, made, record_type)
            # Tools and parts that go as a whole say nothing of their fields.
            if line is None or any(loss.path.endswith("]") and path.startswith(loss.path) for loss in result.losses):
                continue
            verdict = line.marks[column]
            checked[verdict] += 1
            if verdict == LOST:
                assert not found(mark, text), (path, line.path)
                assert is_listed(path, result.losses), path
            elif verdict == CARRIED:
                assert found(mark, text) or is_listed(path, result.losses), path
    assert min(checked.values()) > 5


def line_of(path: str, made: Any, record_type: str) -> Any:
    """The line of a path in a record."""
    place = re.sub(r"\[\d+\]", "[]", path)
    for part in re.findall(r"^(messages\[(\d+)\]\.parts\[(\d+)\])", path):
        kind = made["messages"][int(part[1])]["parts"][int(part[2])]["type"]
        place = place.replace("parts[]", f"parts[{kind}]", 1)
    table = matrix()
    return table.line(place, record_type) or table.line(f"{place}[]", record_type)


def test_the_matrix_names_its_version_and_all_protocols() -> None:
    assert re.fullmatch(r"\d{4}\.\d+\.\d+", matrix().version)
    assert {target.column for target in TARGETS.values()} == set(COLUMNS)


def test_dialects_speak_of_lines_of_the_matrix() -> None:
    for dialect in DIALECTS.values():
        assert dialect.carries | dialect.refuses <= {line.place for line in matrix().lines.values()}, dialect.name
