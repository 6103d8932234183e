"""The format asked for: one meaning in six spellings.

Between protocols it is {"type": "text" | "json_object" | "json_schema", "name", "description", "schema", "strict"}.
"""

from __future__ import annotations

from typing import Any

from headrace.convert.rules.schemas import from_google_schema
from headrace.json_text import Json

_JSON, _TEXT = "application/json", "text/plain"
_NAME = "answer"


def read_format(value: Json) -> dict[str, Json] | None:
    """Any protocol's format; None for one that is not understood."""
    if type(value) is list:
        return read_format(value[0]) if len(value) == 1 else None
    if type(value) is not dict:
        return None
    if "generationConfig" in value or "setup" in value:
        return _read_google(value)
    kind = value.get("type")
    if kind == "json_schema":
        inner = value.get("json_schema")
        named = inner if type(inner) is dict else value
        keys = ("name", "description", "schema", "strict")
        known = {"type", "json_schema"} if named is inner else {"type", *keys}
        if value.keys() - known or (named is inner and named.keys() - set(keys)):
            return None
        return {"type": kind, **{key: named[key] for key in keys if named.get(key) is not None}}
    if kind == "json_object" and len(value) == 1:
        return {"type": kind}
    if kind == "text" and value.keys() <= {"type", "mime_type", "schema"}:
        if type(value.get("schema")) is dict:
            return {"type": "json_schema", "schema": value["schema"]}
        return {"type": "json_object" if value.get("mime_type") == _JSON else "text"}
    if (kind == "object" or "properties" in value) and "schema" not in value:
        return {"type": "json_schema", "schema": value}
    return None


def _read_google(value: dict[str, Json]) -> dict[str, Json] | None:
    outer: Any = value.get("setup", value)
    config: Any = outer.get("generationConfig") if type(outer) is dict else None
    if type(config) is not dict or "responseFormat" in config:
        return None
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    if schema is not None:
        return {"type": "json_schema", "schema": from_google_schema(schema)}
    mime = config.get("responseMimeType")
    return {"type": "json_object" if mime == _JSON else "text"} if mime in (_JSON, _TEXT) else None


def write_format(wanted: dict[str, Json], column: str) -> tuple[Json, list[str]] | None:
    """(the target's value, None where it needs none; names of what it cannot say); None: not at all."""
    kind = wanted["type"]
    if column == "chat":
        named = {key: value for key, value in wanted.items() if key != "type"}
        return {"type": kind, kind: {"name": _NAME, **named}} if kind == "json_schema" else {"type": kind}, []
    if column == "responses":
        return {"type": kind, "name": _NAME, **wanted} if kind == "json_schema" else {"type": kind}, []
    if column == "anthropic":
        if kind == "json_schema":
            return {"type": kind, "schema": wanted.get("schema", {})}, _beside(wanted, ("name", "description"))
        return (None, []) if kind == "text" else None
    lost = _beside(wanted, ("name", "description", "strict"))
    if column == "interactions":
        body: dict[str, Json] = {"type": "text", "mime_type": _TEXT if kind == "text" else _JSON}
        return (body | {"schema": wanted["schema"]} if "schema" in wanted else body), lost
    config: dict[str, Json] = {"responseMimeType": _TEXT if kind == "text" else _JSON}
    if "schema" in wanted:
        config["responseJsonSchema"] = wanted["schema"]
    google: dict[str, Json] = {"generationConfig": config}
    return {"setup": google} if column == "live" else google, lost


def _beside(wanted: dict[str, Json], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in wanted and wanted[name] is not False]
