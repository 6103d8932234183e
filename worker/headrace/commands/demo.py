"""`headrace demo`: eleven calls with the faults of real traffic, through a worker, in under a minute."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError
from rich.console import Console

from headrace.commands.page import Page
from headrace.demo.embedded import run_embedded
from headrace.demo.on_kafka import KafkaRun, reachable
from headrace.demo.outcome import Outcome
from headrace.demo.report import report
from headrace.demo.traffic import Traffic, traffic
from headrace.errors import HeadraceError


def demo(
    embedded: Annotated[
        bool, typer.Option("--embedded", help="No servers: a log and a store in this process.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the demo's topics, to look into them.")] = False,
    captures: Annotated[
        Path | None, typer.Option(help="Only write the demo's captures to this file, for normalize, inspect, replay.")
    ] = None,
) -> None:
    """Show a worker at work: calls of all six protocols, and the faults that real traffic has.

    Uses the Kafka of KAFKA_BOOTSTRAP_SERVERS and the Redis of REDIS_URL, with topics and keys of its own that it
    deletes at the end. Without them it runs in this process and says so.

    Exits with 1 when a count is not what it has to be.
    """
    sent = traffic()
    page = Page()
    if captures is not None:
        captures.write_bytes(b"".join(line + b"\n" for line in sent.lines))
        page.line(f"wrote {len(sent.lines)} captures of {sent.calls} calls to {captures}")
        return
    _introduce(page, sent)
    outcome = asyncio.run(_outcome(page, sent, embedded=embedded, keep=keep))
    page.blank()
    if not report(page, sent, outcome):
        raise HeadraceError(
            "a count is not what it has to be", code="demo_failed", fix="please report the output above"
        )
    page.blank()
    page.line("Nothing lost, nothing twice, no key let out. Next:")
    page.line("headrace demo --captures captures.jsonl", indent=2)
    page.line("headrace normalize captures.jsonl --output records.jsonl", indent=2)
    page.line("headrace inspect records.jsonl --call research-1", indent=2)


def _introduce(page: Page, sent: Traffic) -> None:
    page.line((f"{sent.calls} model calls, {len(sent.lines)} messages", "bold"))
    for call, about in sent.stories:
        page.line((f"{call:12}", "cyan"), about, indent=2)
    page.line(("poison-1    ", "cyan"), "half a line that is no JSON", indent=2)
    page.blank()


async def _outcome(page: Page, sent: Traffic, *, embedded: bool, keep: bool) -> Outcome:
    kafka, redis_url = os.environ.get("KAFKA_BOOTSTRAP_SERVERS"), os.environ.get("REDIS_URL")
    missing = await _missing(kafka, redis_url, embedded=embedded)
    if missing is not None or not kafka or not redis_url:
        page.line(
            (f"embedded, because {missing}:", "bold"),
            " a log and a store in this process, the worker's code between them",
        )
        return await run_embedded(sent)
    page.line((f"Kafka at {kafka}, state in Redis", "bold"))
    run = KafkaRun(kafka, redis_url)
    try:
        outcome = await run.run(sent, _say)
        if keep:
            page.line(f"kept: topics {run.name}.llm.*, consumer group {run.name}")
        else:
            await run.clean()
        return outcome
    except (KafkaError, RedisError, OSError) as error:
        raise HeadraceError(
            f"{type(error).__name__}: {error}",
            code="demo_failed",
            fix=f"try again, or use --embedded; topics {run.name}.llm.* may be left",
        ) from error


async def _missing(kafka: str | None, redis_url: str | None, *, embedded: bool) -> str | None:
    """Why the demo cannot use servers; None when it can."""
    if embedded:
        return "--embedded asks for it"
    if not kafka:
        return "KAFKA_BOOTSTRAP_SERVERS is not set"
    if not redis_url:
        return "REDIS_URL is not set"
    return await reachable(kafka, redis_url)


def _say(text: str) -> None:
    Console(stderr=True, highlight=False).print(f"  {text}", style="dim", markup=False)
