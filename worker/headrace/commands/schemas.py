"""`headrace schemas`: the Avro contract and whether it stays compatible."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from headrace.canonical.schema_check import check_schemas
from headrace.contract import contract_path

app = typer.Typer(help="The Avro schemas.", no_args_is_help=True)


@app.command("check")
def check(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder with *.avsc and released/. Default: the schemas that ship.")
    ] = None,
) -> None:
    """Check every schema against every released version (FULL_TRANSITIVE) and the contract's own rules.

    Exits with 3 when something is incompatible.
    """
    console = Console(highlight=False)
    problems = check_schemas(folder or Path(str(contract_path("schemas"))))
    for problem in problems:
        console.print(str(problem), style="red", soft_wrap=True, markup=False)
    if problems:
        raise typer.Exit(3)
    console.print("all schemas are compatible with every released version")
