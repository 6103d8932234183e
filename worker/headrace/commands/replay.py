"""`headrace replay`: capture files into raw topics, as a gateway would have written them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Annotated

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from headrace.commands.options import ConfigOption, QuietOption, SetOption, settings_of
from headrace.commands.page import Page
from headrace.errors import HeadraceError
from headrace.offline.inputs import Reader, open_inputs
from headrace.offline.routing import route
from headrace.settings import Settings

#: Sent between two looks at the clock: fine enough for any rate, cheap at full speed.
_BURST = 200


def replay(
    files: Annotated[list[str], typer.Argument(help="Capture files, as for normalize.")],
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Messages a second. Default: as fast as it goes.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="One topic for all. Default: by kind of capture.")] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write capture files to the raw topics, keyed by call id, lines untouched.

    Lines that are no captures are sent too: the worker dead-letters them, as it would in life.
    """
    settings = settings_of(config, overrides)
    sent = asyncio.run(_replay(files, settings, topic, rate, quiet))
    if not quiet:
        counts = ", ".join(f"{count:,} to {name}" for name, count in sorted(sent.items()))
        Page(Console(stderr=True, highlight=False)).line(f"sent {sum(sent.values()):,} messages: {counts}")


async def _replay(
    files: list[str], settings: Settings, topic: str | None, rate: float | None, quiet: bool
) -> Counter[str]:
    reader = Reader(open_inputs(files))
    producer = AIOKafkaProducer(**settings.kafka.client(), enable_idempotence=True, linger_ms=10)
    sent: Counter[str] = Counter()
    try:
        await producer.start()
        with _progress(quiet) as bar:
            task = bar.add_task("", total=None)
            pace = _Pace(rate)
            for message in reader.messages():
                name, key = route(message.value or b"", settings.topics)
                await producer.send(topic or name, message.value, key=key)
                sent[topic or name] += 1
                await pace.step()
                bar.update(task, advance=1)
            await producer.flush()
    except KafkaError as error:
        raise HeadraceError(
            f"Kafka did not take the messages: {error}",
            code="kafka_unavailable",
            place=settings.kafka.bootstrap_servers,
            fix="check kafka.bootstrap_servers, and that `headrace topics apply` was run",
        ) from error
    finally:
        await producer.stop()
    return sent


class _Pace:
    """Waits so that steps keep to a rate."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._start = time.monotonic()
        self._steps = 0

    async def step(self) -> None:
        self._steps += 1
        if self._rate is None:
            return
        ahead = self._steps / self._rate - (time.monotonic() - self._start)
        if ahead > 0 and (self._rate < _BURST or self._steps % _BURST == 0):
            await asyncio.sleep(ahead)


def _progress(quiet: bool) -> Progress:
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
