"""Content (role and parts) of Google's wire <-> canonical message.

The same two keys are the whole of a request's content and sit under ``content`` in a response's candidate, so
everything here takes the dotted ``prefix`` ("" or "content.") that its spelling notes carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.canonical.fields import Leftover, Table, is_text, spelling
from headrace.canonical.shape import Message, Part
from headrace.json_text import Json, dumps, loads
from headrace.protocols.google.parts import Place, read_part, write_part

#: Wire role <-> canonical role. ``function`` was the role of results before they moved to ``user``.
_ROLES = {"model": "assistant", "function": "tool"}
_WIRE_ROLES = {"assistant": "model", "tool": "user"}

#: Roles of nearly every content, which is nothing but role and parts.
_PLAIN_ROLES = {"user": "user", "model": "assistant"}

_CONTENT = Table()
_OWN = frozenset({"role", "parts"})


def read_content(value: Json, place: Place, default_role: str) -> Message:
    """One content -> message; text alone and foreign JSON are carried too. Never raises."""
    place.part = place.call = 0
    if type(value) is dict:
        role: Json = value.get("role")
        parts: Json = value.get("parts")
        plain = _PLAIN_ROLES.get(role) if len(value) == 2 and type(role) is str and type(parts) is list else None
        if plain is not None and default_role != "system":
            return {"role": plain, "parts": [read_part(part, place) for part in parts]}
        message: Message = {"role": default_role}
        left = _CONTENT.read(value, message, skip=_OWN)
        read_turn(value, message, left, place, "")
        left.store(message)
        return message
    if is_text(value):
        return {"role": default_role, "parts": [{"type": "text", "text": value}], "wire": '{"content":"string"}'}
    place.reading.unknown_type("item", None)
    raw: Part = {"type": "unknown", "raw": dumps(value)}
    return {"role": default_role, "parts": [raw], "wire": '{"content":"raw"}'}


def read_turn(content: Mapping[str, Json], message: Message, left: Leftover, place: Place, prefix: str) -> None:
    """Fill role and parts of a message whose ``role`` already is the default."""
    _read_role(content, message, left, prefix)
    parts = content.get("parts")
    if type(parts) is list:
        message["parts"] = [read_part(part, place) for part in parts]
    elif type(parts) is dict or is_text(parts):
        message["parts"] = [read_part(parts, place)]
        left.wire["parts"] = "single"
    elif parts is not None:
        _nested(left.extras, prefix)["parts"] = parts
        left.note("absent", prefix + "parts")
    else:
        left.note("null" if "parts" in content else "absent", prefix + "parts")


def _read_role(content: Mapping[str, Json], message: Message, left: Leftover, prefix: str) -> None:
    role: Json = content.get("role")
    if is_text(role):
        default = message["role"]
        canonical = _ROLES.get(role) or role
        message["role"] = default if default == "system" else canonical
        if _wire_role(message["role"]) != role:
            left.wire["role"] = role
    else:
        if role is not None:
            _nested(left.extras, prefix)["role"] = role
        left.note("null" if "role" in content and role is None else "absent", prefix + "role")


def _wire_role(role: str) -> str | None:
    """The wire's role of a canonical one; None where the wire needs none."""
    return None if role == "system" else _WIRE_ROLES.get(role, role)


def _nested(extras: dict[str, Json], prefix: str) -> dict[str, Json]:
    for key in prefix.split(".")[:-1]:
        extras = extras.setdefault(key, {})
    return extras


def write_content(message: Message) -> Json:
    """A message -> content, as it was spelled."""
    if len(message) == 2 and message["role"] in _PLAIN_ROLES.values() and "parts" in message:
        parts = [write_part(part) for part in message["parts"]]
        return {"role": _WIRE_ROLES.get(message["role"], "user"), "parts": parts}
    wire = spelling(message)
    if wire.get("content") == "string":
        return message["parts"][0]["text"]
    if wire.get("content") == "raw":
        return loads(message["parts"][0]["raw"])
    body = _CONTENT.write(message, wire)
    write_turn(message, wire, body, "")
    return body


def write_turn(message: Message, wire: Mapping[str, Any], content: dict[str, Json], prefix: str) -> None:
    """Lay role and parts of a message into a content."""
    unsaid = {*wire.get("absent", ()), *wire.get("null", ())}
    role = wire.get("role", _wire_role(message["role"]))
    if role is not None and prefix + "role" not in unsaid:
        content["role"] = role
    if prefix + "parts" not in unsaid:
        parts = [write_part(part) for part in message.get("parts", ())]
        content["parts"] = parts[0] if wire.get("parts") == "single" else parts
