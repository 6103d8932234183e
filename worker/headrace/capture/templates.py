"""Templates: a body built out of the parts that a log kept of it.

A template is a JSON value. Every string in it that begins with "$" is a path; an object's member whose path finds
nothing is left out, a list with such an element too, and an object in which no path finds anything. The members of
what a path under the name "..." finds are laid over the object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.json_text import Json

_MISSING = object()


def filled(template: Json, look_up: Callable[[str], Json]) -> Json:
    """A template with its paths looked up; None when nothing at all was found."""
    filled = _fill(template, look_up)
    return None if filled is _MISSING else filled


def _fill(template: Json, look_up: Callable[[str], Json]) -> Any:
    if isinstance(template, str) and template.startswith("$"):
        found = look_up(template)
        return _MISSING if found is None else found
    if isinstance(template, list):
        elements = [_fill(element, look_up) for element in template]
        return _MISSING if any(element is _MISSING for element in elements) else elements
    if not isinstance(template, dict):
        return template
    filled: dict[str, Json] = {}
    found_any = False
    for name, member in template.items():
        value = _fill(member, look_up)
        if value is _MISSING:
            continue
        found_any = found_any or _has_path(member)
        if name == "...":
            filled.update(value if isinstance(value, dict) else {})
        else:
            filled[name] = value
    return filled if found_any or not _has_path(template) else _MISSING


def _has_path(template: Json) -> bool:
    if isinstance(template, dict):
        return any(_has_path(member) for member in template.values())
    if isinstance(template, list):
        return any(_has_path(element) for element in template)
    return isinstance(template, str) and template.startswith("$")
