"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.capture.mapping import Mapping, load_mapping
from headrace.contract import mapping_text
from headrace.errors import SettingsError
from headrace.settings import Settings, load

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="Settings file (YAML). Default: headrace.yaml, if it is there.", dir_okay=False
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="One setting, for instance kafka.group=mine. May be repeated."),
]
MappingOption = Annotated[
    str | None, typer.Option(help="Source mapping for logs of another producer: a name or a YAML file.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def settings_of(config: Path | None, overrides: list[str] | None) -> Settings:
    """The effective settings of a command; raises SettingsError."""
    pairs: dict[str, str] = {}
    for text in overrides or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(
                "a setting is NAME=VALUE", place=f"--set {text}", fix="write for instance kafka.group=mine"
            )
        pairs[name.strip()] = value
    return load(config, pairs)


def mapping_of(name: str | None) -> Mapping | None:
    """The source mapping of ``--mapping``; raises SettingsError."""
    return None if name is None else load_mapping(mapping_text(name), Path(name).stem)
