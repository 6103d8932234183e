"""Gemini's thought signature on a whole message, at Google's compatible endpoint.

There it stands beside the content (and, in older answers, twice). In the model it belongs to the part that must go
back with it: the first call, else the first text; alone, it is a reasoning part without text.
"""

from __future__ import annotations

from typing import Any, cast

from headrace.canonical.fields import Leftover, is_text
from headrace.canonical.shape import Part
from headrace.json_text import Json

#: Where it may stand; the first is today's.
PATHS = ("extra_content.google.thought_signature", "thought_signature")
_MISSING = object()


def read_signature(wire: dict[str, Json], parts: list[Part], left: Leftover) -> None:
    """Move the signature of a message to a part; remember its place and its part."""
    if "extra_content" not in wire and "thought_signature" not in wire:
        return
    found = {path: value for path in PATHS if (value := _get(wire, path)) is not _MISSING}
    signature = next((value for value in found.values() if value and is_text(value)), None)
    paths = []
    for path, value in found.items():
        if signature is not None and value == signature:
            paths.append(path)
        elif value is None:
            left.note("null", path)
        else:
            _set(left.extras, path, value)
    if signature is not None:
        left.wire["signature"] = {"part": _give(parts, cast(str, signature)), "paths": paths}


def _give(parts: list[Part], signature: str) -> int:
    for kind in ("tool_call", "text"):
        for at, part in enumerate(parts):
            if part["type"] == kind and "signature" not in part:
                part["signature"] = signature
                part["continuation"] = [PATHS[0]]
                return at
    parts.append(
        {
            "type": "reasoning",
            "wire_type": PATHS[0],
            "reasoning": {"signature": signature},
            "continuation": [PATHS[0]],
        }
    )
    return len(parts) - 1


def _signature_beside(part: Part) -> str | None:
    """The signature that stands beside the content: of a text, or alone. A call has its own place for one."""
    if part["type"] == "text":
        return part.get("signature")
    return part.get("reasoning", {}).get("signature") if part.get("wire_type") in PATHS else None


def write_signature(parts: list[Part], body: dict[str, Json], spelled: dict[str, Json]) -> list[Part]:
    """Put the signature back into the body; returns the parts without it."""
    noted = spelled.get("signature")
    if noted is None:
        signed = next(filter(None, map(_signature_beside, parts)), None)
        if signed is not None:
            _set(body, PATHS[0], signed)
        return parts
    at = noted["part"]
    bearer: Any = dict(parts[at])
    signature = bearer.pop("signature", None) or bearer.get("reasoning", {}).get("signature")
    for path in noted["paths"]:
        _set(body, path, signature)
    return [*parts[:at], cast(Part, bearer), *parts[at + 1 :]]


def _get(wire: Json, path: str) -> Any:
    for key in path.split("."):
        if type(wire) is not dict or key not in wire:
            return _MISSING
        wire = wire[key]
    return wire


def _set(body: dict[str, Json], path: str, value: Json) -> None:
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value
