"""`headrace config`: what the settings are and where they may come from."""

from __future__ import annotations

import typer
import yaml

from headrace.commands.options import ConfigOption, SetOption, settings_of
from headrace.settings import shown

app = typer.Typer(help="The effective configuration.", no_args_is_help=True)


@app.command("show")
def show(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Print the effective settings as YAML, secrets hidden: file, environment and flags put together."""
    typer.echo(yaml.safe_dump(shown(settings_of(config, overrides)), sort_keys=False), nl=False)
