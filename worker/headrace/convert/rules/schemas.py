"""Google's own Schema (upper-case types, ``nullable``) -> the JSON Schema that it means.

The other way is not needed: Google takes JSON Schema under ``parametersJsonSchema`` and ``responseJsonSchema``.
"""

from __future__ import annotations

from headrace.json_text import Json

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_MAPS = ("properties",)
_LISTS = ("anyOf",)
#: Counts that proto-JSON writes as text.
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})


def from_google_schema(schema: Json) -> Json:
    """The JSON Schema of a Google Schema; any other value is given back as it is."""
    if not _is_google(schema):
        return schema
    return _translated(schema)


def _is_google(schema: Json) -> bool:
    if type(schema) is not dict:
        return False
    if _is_type(schema.get("type")):
        return True
    inner = [*schema["properties"].values()] if type(schema.get("properties")) is dict else []
    inner += schema["anyOf"] if type(schema.get("anyOf")) is list else []
    return any(map(_is_google, [*inner, schema.get("items")]))


def _is_type(value: Json) -> bool:
    return type(value) is str and value in _TYPES


def _translated(schema: Json) -> Json:
    if type(schema) is not dict:
        return schema
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "type" and _is_type(value):
            out[key] = value.lower()
        elif key in _MAPS and type(value) is dict:
            out[key] = {name: _translated(inner) for name, inner in value.items()}
        elif key in _LISTS and type(value) is list:
            out[key] = [_translated(inner) for inner in value]
        elif key == "items":
            out[key] = _translated(value)
        elif key in _COUNTS and type(value) is str and value.isdigit():
            out[key] = int(value)
        elif key != "nullable":
            out[key] = value
    return _with_null(out) if schema.get("nullable") is True else out


def _with_null(schema: dict[str, Json]) -> dict[str, Json]:
    if type(schema.get("type")) is str:
        schema["type"] = [schema["type"], "null"]
        if type(schema.get("enum")) is list:
            schema["enum"] = [*schema["enum"], None]
    elif type(schema.get("anyOf")) is list:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    return schema
