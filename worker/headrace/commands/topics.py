"""`headrace topics`: the cluster's topics against the manifests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from headrace.commands.options import ConfigOption, SetOption, settings_of
from headrace.kafka import topics as admin
from headrace.kafka.manifests import TopicManifest, load_manifests
from headrace.settings import Settings

app = typer.Typer(help="Topics: what the contract wants, and what the cluster has.", no_args_is_help=True)

ManifestsOption = Annotated[
    Path | None, typer.Option("--manifests", help="Folder of manifests. Default: those that ship.", file_okay=False)
]


@app.command("plan")
def plan(manifests: ManifestsOption = None, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Say what `apply` would create or change. Changes nothing."""
    settings = settings_of(config, overrides)
    _print(asyncio.run(admin.plan(settings.kafka.client(), _manifests(manifests, settings))), "would do")


@app.command("apply")
def apply(manifests: ManifestsOption = None, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Create missing topics, add partitions, set configuration. Never deletes."""
    settings = settings_of(config, overrides)
    asyncio.run(_apply(settings, _manifests(manifests, settings)))


async def _apply(settings: Settings, manifests: list[TopicManifest]) -> None:
    client = settings.kafka.client()
    planned = await admin.plan(client, manifests)
    await admin.apply(client, planned)
    _print(planned, "done")


def _print(planned: admin.Plan, done: str) -> None:
    console = Console(highlight=False)
    for line in planned.lines():
        console.print(line, soft_wrap=True, markup=False)
    count = len(planned.changes)
    if count == 0:
        console.print("the cluster agrees with the manifests")
    else:
        console.print(f"{done}: {count} change{'' if count == 1 else 's'}")


def _manifests(folder: Path | None, settings: Settings) -> list[TopicManifest]:
    named = settings.topics
    return load_manifests(
        folder,
        {
            "llm.raw.requests": named.requests,
            "llm.raw.responses": named.responses,
            "llm.raw.chunks": named.chunks,
            "llm.canonical": named.canonical,
            "llm.dead-letters": named.dead_letters,
        },
    )
