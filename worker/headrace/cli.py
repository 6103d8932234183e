"""The command line. Each command lives in `headrace.commands`; this file joins them and gives errors a face.

Exit codes: 0 all went well; 1 it could not be done (the message says why and what to change); 2 wrong usage;
3 it was done, but some input ended as dead letters, or some schema is incompatible.
"""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from headrace import __version__
from headrace.commands import (
    check,
    config,
    convert,
    dead_letters,
    demo,
    inspect,
    normalize,
    replay,
    schemas,
    topics,
    worker,
)
from headrace.commands.page import Page, visible
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    help="Raw LLM provider traffic in, canonical records out: from Kafka (worker) or from files (normalize).",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("normalize")(normalize.normalize)
app.command("convert")(convert.convert_files)
app.command("check")(check.check_files)
app.command("worker")(worker.worker)
app.command("replay")(replay.replay)
app.command("inspect")(inspect.inspect)
app.command("demo")(demo.demo)
app.add_typer(topics.app, name="topics")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(schemas.app, name="schemas")
app.add_typer(config.app, name="config")


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Options before the command."""
    if version:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point: typed errors become one message on standard error and exit code 1."""
    try:
        app()
    except HeadraceError as error:
        # Messages quote input: it must not act as markup.
        page = Page(Console(stderr=True, highlight=False))
        where = f" ({visible(error.place)})" if error.place else ""
        page.line((error.code, "bold red"), f": {visible(error.message)}", (where, "dim"))
        if error.fix:
            page.line(("Fix: ", "bold"), visible(error.fix))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
