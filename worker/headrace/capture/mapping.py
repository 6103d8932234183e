"""Source mappings: how to read the messages of a producer that was there before Headrace.

A mapping is a YAML file (`topics/mappings/`, which has a README). It says which entries one Kafka value holds, which
captures one entry becomes (a log entry usually has a request and its response) and where each field of a capture
comes from: a path in the entry, a Kafka header, the Kafka key, a constant, or a template that builds a body out of
parts.

What form a body has (JSON, escaped JSON, base64, compressed bytes, an event stream) is told by its content
(`bodies`); `mapped` does the reading.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from headrace.capture.paths import parse_path
from headrace.errors import SettingsError


def _checked_path(text: str) -> str:
    try:
        parse_path(text)
    except SettingsError as error:
        raise ValueError(f"{error.message}, {error.place}") from None
    return text


def _checked_paths(value: Any) -> Any:
    """Every path in a short form or a template."""
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _checked_paths(member)
    return _checked_path(value) if isinstance(value, str) and value.startswith("$") else value


Path = Annotated[str, AfterValidator(_checked_path)]
Text = Annotated[str, AfterValidator(_checked_paths)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(_Strict):
    """Where one field comes from: one of path, header, key, coordinates, const and template.

    path: in the entry. header: name of a Kafka header. key: the Kafka key as text. coordinates: the entry's place in
    the log, for producers that give calls no id. const: this value. template: see `templates`. translate: value ->
    value, for names of other systems.
    """

    path: Path | None = None
    header: str | None = None
    key: Literal[True] | None = None
    coordinates: Literal[True] | None = None
    const: str | int | bool | None = None
    template: Annotated[Any, AfterValidator(_checked_paths)] = None
    translate: dict[str, str] | None = None


#: Short forms: "$.a" is a path, "header:NAME" a header, "key" and "coordinates" are those, any other text or number is
#: a constant. In a list, the first that gives something counts.
Source = Text | int | bool | Origin | list[Text | Origin]


class When(_Strict):
    """A condition on an entry. one_of: the value at the path is one of these; without it, the path finds something."""

    path: Path
    one_of: list[str | int | bool] | None = None
    absent: bool = False


class HttpSources(_Strict):
    """Sources of the HTTP facts. headers: a map, or a list of name and value objects."""

    method: Source | None = None
    url: Source | None = None
    status: Source | None = None
    headers: Source | None = None


class CaptureSources(_Strict):
    """One capture that an entry becomes. kind: a constant, or a source.

    when: all conditions must hold. Without a body, a request, response or stream is left out. Fields that are not
    named here come from the mapping's ``common``.
    """

    kind: Source | None = None
    when: list[When] = Field(default_factory=list)
    body: Source | None = None
    http: HttpSources | None = None
    call_id: Source | None = None
    task_id: Source | None = None
    request_version: Source | None = None
    tenant: Source | None = None
    protocol: Source | None = None
    provider: Source | None = None
    direction: Source | None = None
    seq: Source | None = None
    captured_at: Source | None = None
    count: Source | None = None
    outcome: Source | None = None
    message: Source | None = None
    side: Source | None = None
    attempt: Source | None = None
    truncated: Source | None = None
    fidelity: Source | None = None


class Mapping(_Strict):
    """A source mapping. name: recorded as ``origin`` on every capture.

    form: of the Kafka value: "json" (entries, one or many) or "body" (the value is the body itself, everything else
    comes from headers and key). entries: path to the entries of one value; without it, a value that is an array, or
    has a JSON value a line, has one entry each. only: entries that are model calls; others are counted as ignored.
    empty: what happens to an entry that gives no capture at all.
    """

    name: str = Field(min_length=1)
    description: str = ""
    form: Literal["json", "body"] = "json"
    entries: Path | None = None
    only: list[When] = Field(default_factory=list)
    empty: Literal["reject", "ignore"] = "reject"
    common: CaptureSources = Field(default_factory=CaptureSources)
    captures: list[CaptureSources] = Field(min_length=1)


def load_mapping(text: str, place: str = "") -> Mapping:
    """A mapping of its YAML text; raises SettingsError (`bad_mapping`) with the field.

    place: where the text is from, for the error.
    """
    try:
        return Mapping.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise SettingsError(f"not YAML: {error}", code="bad_mapping", place=place) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"{first['msg']} ({error.error_count()} faults)",
            code="bad_mapping",
            place=f"{place}: {field}" if place else field,
            fix="see topics/mappings/README.md for the fields of a mapping",
        ) from None
