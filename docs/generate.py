"""Writes the pages that repeat the code: docs/record.md from the schemas, docs/configuration.md from the settings.

python docs/generate.py           write them
python docs/generate.py --check   exit with 1 when one of them is not what this would write
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from headrace.canonical.avro import load_schema
from headrace.canonical.schema_tree import Array, Node, Nullable, Primitive, Record, parse
from headrace.settings import COMMON_ENVIRONMENT, Settings

DOCS = Path(__file__).resolve().parent
_MARK = "<!-- Written by docs/generate.py. -->"

_RECORD = f"""{_MARK}
# The record, field by field

A canonical record is a request to a model, or one response of a model. JSON Lines, Avro and Parquet carry the same
names. A field that is absent is null or empty. Times are microseconds since the epoch. "JSON text" is a string that
holds JSON: storage engines take it everywhere, and no value of a provider is lost to a schema.

The contract is `schemas/*.avsc`. It has no enums, no recursion and no unions but `null | T`, so that Parquet, Iceberg,
Spark and BigQuery read it as it is. Open sets (status, role, type) are strings: be ready for a value you do not know.
"""

_CONFIGURATION = f"""{_MARK}
# Configuration

Four layers; the later one wins:

1. the defaults below
2. a YAML file: `headrace.yaml` in the current folder, or the one that `--config` names
3. environment variables: `HEADRACE_<SECTION>__<NAME>`, and the names that platforms set anyway (see the table's end)
4. flags: `--set section.name=value`, as often as needed

`headrace config show` prints what comes of them, secrets hidden. A name that does not exist is an error, so a misspelt
setting never goes unnoticed.

```yaml file=headrace.yaml
kafka:
  group: billing
  batch_messages: 2000
state:
  idle_seconds: 300
topics:
  more: [gateway-logs]
  mappings: {{gateway-logs: litellm}}
```

```console
$ HEADRACE_KAFKA__BATCH_MESSAGES=500 headrace config show --set state.idle_seconds=60 | grep -E 'group|batch_m|idle'
  group: billing
  batch_messages: 500
  idle_seconds: 60.0
```
"""


def record_page() -> str:
    """docs/record.md."""
    top = parse(load_schema("canonical_record"))
    sections = [_section(record) for record in _records(top, {})]
    letter = parse(load_schema("dead_letter"))
    others = [_section(record) for record in _records(letter, {}) if record.name.rpartition(".")[2] != "Source"]
    return "\n".join([_RECORD, *sections, *others])


def _records(record: Record, seen: dict[str, Record]) -> Iterator[Record]:
    """The record and those inside of it, each once, outer ones first."""
    if record.name in seen:
        return
    seen[record.name] = record
    yield record
    for field in record.fields:
        inner = _inner(field.type)
        if isinstance(inner, Record):
            yield from _records(inner, seen)


def _inner(node: Node) -> Node:
    if isinstance(node, Nullable):
        return _inner(node.of)
    return _inner(node.items) if isinstance(node, Array) else node


def _section(record: Record) -> str:
    rows = [f"| `{field.name}` | {_type(field.type)} | {_cell(field.doc)} |" for field in record.fields]
    name = record.name.rpartition(".")[2]
    return "\n".join([f"## {name}", "", record.doc, "", "| field | type | meaning |", "|---|---|---|", *rows, ""])


def _type(node: Node) -> str:
    if isinstance(node, Nullable):
        return _type(node.of)
    if isinstance(node, Array):
        return f"{_type(node.items)}[]"
    if isinstance(node, Record):
        name = node.name.rpartition(".")[2]
        return f"[{name}](#{name.lower()})"
    assert isinstance(node, Primitive)
    return "time" if node.logical == "timestamp-micros" else node.name


def configuration_page() -> str:
    """docs/configuration.md."""
    common = {setting: variable for variable, setting in COMMON_ENVIRONMENT.items()}
    parts = [_CONFIGURATION]
    head = ["| setting | default | values | meaning |", "|---|---|---|---|"]
    for section, info in Settings.model_fields.items():
        model, place = _section_model(section, info)
        rows = [_setting(place, name, field) for name, field in model.model_fields.items()]
        parts.append("\n".join([f"## {section}", "", (model.__doc__ or "").strip(), "", *head, *rows, ""]))
    rows = [f"| `{variable}` | `{setting}` |" for setting, variable in common.items()]
    parts.append("\n".join(["## Names that platforms set", "", "| variable | setting |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def _section_model(section: str, info: FieldInfo) -> tuple[type[BaseModel], str]:
    """The model of a section, and what its settings' names begin with: a section may be a list of such models."""
    annotation: Any = info.annotation
    is_list = typing.get_origin(annotation) is list
    model = typing.get_args(annotation)[0] if is_list else annotation
    assert issubclass(model, BaseModel)
    return model, f"{section}[]" if is_list else section


def _setting(section: str, name: str, field: FieldInfo) -> str:
    meaning = _cell(field.description or "")
    unset = field.default is None or field.is_required() or field.default == ""
    default = "" if unset else f"`{_plain(field.default)}`"
    return f"| `{section}.{name}` | {default} | {_values(field)} | {meaning} |"


def _plain(default: Any) -> str:
    return str(default) if not isinstance(default, bool) else str(default).lower()


def _values(field: FieldInfo) -> str:
    kinds = [kind for kind in typing.get_args(field.annotation) if kind is not type(None)]
    if typing.get_origin(field.annotation) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(field.annotation))
    kind = kinds[0] if kinds and typing.get_origin(field.annotation) not in (list, dict) else field.annotation
    bounds = [str(limit).partition("(")[2].rstrip(")") for limit in field.metadata]
    named = {str: "text", int: "whole number", float: "number", bool: "true, false", SecretStr: "text, secret"}
    shown = named.get(kind) if isinstance(kind, type) else None  # type: ignore[arg-type]
    if shown is None:
        shown = "list" if typing.get_origin(field.annotation) is list else "mapping"
    return ", ".join(
        [shown, *(bound.replace("ge=", "≥ ").replace("gt=", "> ").replace("le=", "≤ ") for bound in bounds)]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {"record.md": record_page, "configuration.md": configuration_page}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit status."""
    stale = []
    for name, page in PAGES.items():
        file, text = DOCS / name, page()
        if "--check" in arguments:
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}. Fix: python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
