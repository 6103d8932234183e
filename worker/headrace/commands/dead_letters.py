"""`headrace dead-letters`: what could not become a record, and a second try for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, cast

import typer
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from headrace.canonical.avro import DEAD_LETTER, record_format, to_json_line
from headrace.canonical.shape import DeadLetter, Source
from headrace.capture import envelope
from headrace.capture.inbound import Inbound
from headrace.capture.inbound import Source as Coordinates
from headrace.commands.options import ConfigOption, SetOption, settings_of
from headrace.contract import all_schemas
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry
from headrace.kafka.wire import Decoder
from headrace.settings import Settings

app = typer.Typer(help="Dead letters: look at them, and send their input again.", no_args_is_help=True)

CodeOption = Annotated[str | None, typer.Option("--code", help="Only those with this code.")]
CallOption = Annotated[str | None, typer.Option("--call", help="Only those of this call.")]


@app.command("list")
def list_(
    code: CodeOption = None,
    call: CallOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Only the newest so many.")] = 100,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """List dead letters, the newest last."""
    letters = asyncio.run(_letters(settings_of(config, overrides), code=code, call=call))
    console = Console(highlight=False)
    if not letters:
        console.print("no dead letters")
        return
    table = Table("id", "code", "time", "call", "input", "message", box=None, pad_edge=False)
    for letter in letters[-limit:]:
        table.add_row(
            letter["dead_letter_id"],
            letter["code"],
            _time(letter),
            letter.get("call_id", ""),
            ", ".join(_place(source) for source in letter["sources"]),
            letter["message"],
        )
    if not console.is_terminal:
        # A pipe gets whole lines.
        console.width = 100_000
    console.print(table)
    console.print(f"{len(letters)} dead letters")


@app.command("show")
def show(
    dead_letter_id: Annotated[str, typer.Argument(help="The letter's id, or how it begins.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Print one dead letter as a line of JSON (bytes in base64), then its input as text."""
    letter = _one(asyncio.run(_letters(settings_of(config, overrides))), dead_letter_id)
    typer.echo(to_json_line(letter, DEAD_LETTER).decode(), nl=False)
    if letter.get("value"):
        typer.echo(letter["value"].decode("utf-8", "replace"))


@app.command("replay")
def replay(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of letters, or how they begin. Default: by --code.")
    ] = None,
    code: CodeOption = None,
    call: CallOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Send the input of dead letters to its raw topics again, for instance after an upgrade.

    The messages are taken from the raw topic where it still has them. Where it has not, a letter of a single message
    is sent as it was kept, credentials removed.
    """
    settings = settings_of(config, overrides)
    if not ids and code is None and call is None:
        raise HeadraceError("say which dead letters", code="nothing_chosen", fix="give ids, --code or --call")
    letters = asyncio.run(_letters(settings, code=code, call=call))
    chosen = [_one(letters, each) for each in ids] if ids else letters
    sent, gone = asyncio.run(_replay(settings, chosen))
    typer.echo(f"{sent} messages of {len(chosen) - len(gone)} dead letters sent")
    for letter in gone:
        typer.echo(f"{letter['dead_letter_id']}: its input is no longer in {_place(letter['sources'][0])}", err=True)
    if gone:
        raise typer.Exit(3)


def _one(letters: list[DeadLetter], beginning: str) -> DeadLetter:
    found = {each["dead_letter_id"]: each for each in letters if each["dead_letter_id"].startswith(beginning)}
    if len(found) != 1:
        what = "no dead letter has this id" if not found else f"{len(found)} dead letters begin like this"
        raise HeadraceError(what, code="no_dead_letter", place=beginning, fix="see `headrace dead-letters list`")
    return next(iter(found.values()))


def _time(letter: DeadLetter) -> str:
    at = letter.get("timestamp")
    return "" if at is None else datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="seconds")


def _place(source: Source) -> str:
    first, last = source["first_offset"], source["last_offset"]
    return f"{source['topic']}/{source['partition']}@{first}" + (f"-{last}" if last > first else "")


# Reading


async def _letters(settings: Settings, *, code: str | None = None, call: str | None = None) -> list[DeadLetter]:
    """All letters in the topic, each once, in order of time."""
    found: dict[str, DeadLetter] = {}
    async with _registry(settings) as registry, _consumer(settings, settings.topics.dead_letters) as consumer:
        decoder = Decoder((schema for _, schema in all_schemas()), registry)
        ends = await consumer.end_offsets(consumer.assignment())
        while any([await consumer.position(partition) < ends[partition] for partition in ends]):
            for records in (await consumer.getmany(timeout_ms=500)).values():
                for record in records:
                    schema, body = await decoder.decode(record.value)
                    letter = cast(DeadLetter, record_format(DEAD_LETTER).decode(body, schema))
                    if code in (None, letter["code"]) and call in (None, letter.get("call_id")):
                        found.setdefault(letter["dead_letter_id"], letter)
    return sorted(found.values(), key=lambda letter: letter.get("timestamp", 0))


@contextlib.asynccontextmanager
async def _registry(settings: Settings) -> AsyncIterator[Registry | None]:
    wanted = settings.registry
    if wanted.url is None:
        yield None
        return
    password = wanted.password.get_secret_value() if wanted.password else None
    async with Registry(wanted.url, username=wanted.username, password=password) as registry:
        yield registry


@contextlib.asynccontextmanager
async def _consumer(settings: Settings, *topics: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        *topics,
        **settings.kafka.client(),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_partition_fetch_bytes=settings.kafka.max_message_bytes,
    )
    try:
        await consumer.start()
        yield consumer
    except KafkaError as error:
        raise HeadraceError(
            f"Kafka does not answer: {error}",
            code="kafka_unavailable",
            place=settings.kafka.bootstrap_servers,
            fix="check kafka.bootstrap_servers, and that `headrace topics apply` was run",
        ) from error
    finally:
        await consumer.stop()


# Sending again


async def _replay(settings: Settings, letters: list[DeadLetter]) -> tuple[int, list[DeadLetter]]:
    """How many messages were sent, and the letters whose input is gone."""
    gone: list[DeadLetter] = []
    sent = 0
    producer = AIOKafkaProducer(
        **settings.kafka.client(), enable_idempotence=True, max_request_size=settings.kafka.max_message_bytes
    )
    async with _consumer(settings) as consumer:
        await producer.start()
        try:
            for letter in letters:
                messages = await _input(consumer, letter)
                if not messages:
                    gone.append(letter)
                for message in messages:
                    headers = [(name, value or b"") for name, value in message.headers]
                    await producer.send_and_wait(message.topic, message.value, key=message.key, headers=headers)
                    sent += 1
        finally:
            await producer.stop()
    return sent, gone


async def _input(consumer: AIOKafkaConsumer, letter: DeadLetter) -> list[Inbound]:
    """The messages that a letter is about, as they were, or as the letter kept them; none when they are gone."""
    ranges = letter["sources"]
    single = len(ranges) == 1 and ranges[0]["first_offset"] == ranges[0]["last_offset"]
    messages: list[Inbound] = []
    for source in ranges:
        there = await _messages(consumer, source)
        if there is None:
            return [_kept(letter)] if single and "value" in letter else []
        # Between the first and the last message of a call lie those of others.
        messages += [message for message in there if single or _is_of(message, letter.get("call_id"))]
    return messages


async def _messages(consumer: AIOKafkaConsumer, source: Source) -> list[Inbound] | None:
    """All messages of a range; None when the topic no longer has its first."""
    partition = TopicPartition(source["topic"], source["partition"])
    consumer.assign([partition])
    if (await consumer.beginning_offsets([partition]))[partition] > source["first_offset"]:
        return None
    consumer.seek(partition, source["first_offset"])
    end = min(source["last_offset"] + 1, (await consumer.end_offsets([partition]))[partition])
    found: list[Inbound] = []
    while await consumer.position(partition) < end:
        for record in (await consumer.getmany(partition, timeout_ms=500)).get(partition, ()):
            if record.offset < end:
                at = Coordinates(record.topic, record.partition, record.offset, record.timestamp * 1000)
                found.append(Inbound.at(at, record.value, record.key, tuple(record.headers)))
    return found


def _is_of(message: Inbound, call_id: str | None) -> bool:
    return any(capture.call_id == call_id for capture in envelope.read_captures(message).captures)


def _kept(letter: DeadLetter) -> Inbound:
    source = letter["sources"][0]
    at = Coordinates(source["topic"], source["partition"], source["first_offset"], letter.get("timestamp", 0))
    headers = tuple((header["name"], header.get("value")) for header in letter.get("headers", ()))
    return Inbound.at(at, letter["value"], letter.get("key"), headers)
