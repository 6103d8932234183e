"""The worker as a Faust app: Faust supervises, serves metrics and health, and runs the pump as one of its services.

Agents that follow canonical records (analytics, re-serialization) belong to this app. The hot path does not: a
Faust agent costs tens of microseconds a message, so raw topics are read by `headrace.kafka.pump`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import faust
import structlog
from faust.web import Request, Response, View
from mode import Service
from yarl import URL

from headrace.capture.mapping import Mapping, load_mapping
from headrace.claim_check import ClaimCheck
from headrace.contract import mapping_text
from headrace.errors import StoreError
from headrace.kafka.outputs import Outputs
from headrace.kafka.pump import Pump
from headrace.kafka.registry import Registry
from headrace.kafka.reserialize import Writing, add_agents
from headrace.metrics import Metrics
from headrace.pipeline import Patience, Pipeline
from headrace.reassembly.memory import MemoryStore
from headrace.reassembly.redis_store import RedisStore
from headrace.reassembly.store import Store
from headrace.settings import Settings

log = structlog.get_logger(__name__)

_SECOND = 1_000_000
_METRICS_TYPE = "text/plain; version=0.0.4"
_GAUGE_SECONDS = 5.0
_CONNECT_SECONDS = 1.0


class PumpService(Service):
    """Faust's view of the pump: started and stopped with the app, and a crash of it is the app's."""

    def __init__(self, settings: Settings, metrics: Metrics, registry: Registry | None, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        self._metrics = metrics
        self._registry = registry
        self.pump: Pump | None = None
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Begin to read; what fails later is raised by `watch`."""
        self._running = asyncio.create_task(self._run(), name="pump")

    async def on_stop(self) -> None:
        """Finish the batches at hand, commit, and leave the group."""
        if self.pump is not None:
            self.pump.stop()
        elif self._running is not None:
            # Still waiting for Redis or the registry.
            self._running.cancel()
        if self._running is not None:
            await asyncio.wait([self._running])

    @Service.task
    async def watch(self) -> None:
        """Raise what ended the pump, so that the app goes down with it instead of idling."""
        assert self._running is not None
        await asyncio.shield(self._running)

    async def _run(self) -> None:
        kafka, state = self._settings.kafka, self._settings.state
        async with _store(self._settings) as store, self._registry or contextlib.nullcontext():
            outputs = await Outputs.create(
                self._settings.topics.canonical,
                self._settings.topics.dead_letters,
                self._registry,
                limit=kafka.max_message_bytes,
                claim_check=_claim_check(self._settings),
                client=kafka.client(),
            )
            patience = Patience(int(state.idle_seconds * _SECOND), int(state.grace_seconds * _SECOND))
            self.pump = Pump(
                Pipeline(store, mappings=_mappings(self._settings), patience=patience),
                outputs,
                self._metrics,
                store,
                client=kafka.client(),
                topics=self._settings.topics.raw,
                group=kafka.group,
                batch_messages=kafka.batch_messages,
                batch_wait_ms=kafka.batch_wait_ms,
                fetch_max_bytes=kafka.fetch_max_bytes,
                compression=None if kafka.compression == "none" else kafka.compression,
                session_timeout_ms=kafka.session_timeout_ms,
                rebuild_seconds=state.rebuild_seconds,
                start=kafka.start,
            )
            gauge = asyncio.create_task(self._count_open_calls(store), name="open calls")
            try:
                await self.pump.run()
            finally:
                gauge.cancel()

    async def _count_open_calls(self, store: Store) -> None:
        while True:
            with contextlib.suppress(Exception):
                self._metrics.open_calls.set(await store.open_calls())
            await asyncio.sleep(_GAUGE_SECONDS)


@contextlib.asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[MemoryStore | RedisStore]:
    """Redis when it is set; the worker's own memory otherwise, which only one worker can use."""
    state = settings.state
    if state.redis_url is None:
        log.warning("state is kept in memory: run one worker only, and expect open calls to be read again")
        yield MemoryStore()
        return
    store = RedisStore.from_url(
        state.redis_url.get_secret_value(),
        timeout=state.timeout_seconds,
        # Two groups over the same topics are two readings: each has its own open calls.
        prefix=f"{state.prefix}:{settings.kafka.group}",
        open_ttl=state.open_ttl_seconds,
        tombstone_ttl=state.tombstone_ttl_seconds,
    )
    try:
        await _connect(store)
        yield store
    finally:
        await store.aclose()


async def _connect(store: RedisStore) -> None:
    """Connect, however long Redis is away; raises StoreError where waiting does not help."""
    while True:
        try:
            await store.connect()
            return
        except StoreError as error:
            if error.code != "store_unavailable":
                raise
            log.warning("Redis does not answer, trying again", error=error.message)
            await asyncio.sleep(_CONNECT_SECONDS)


def _claim_check(settings: Settings) -> ClaimCheck | None:
    url = settings.claim_check.url
    return None if url is None else ClaimCheck(url)


def _registry(settings: Settings) -> Registry | None:
    wanted = settings.registry
    if wanted.url is None:
        return None
    password = wanted.password.get_secret_value() if wanted.password else None
    return Registry(wanted.url, username=wanted.username, password=password)


def _mappings(settings: Settings) -> dict[str, Mapping]:
    return {
        topic: load_mapping(mapping_text(name), Path(name).stem) for topic, name in settings.topics.mappings.items()
    }


def create_app(settings: Settings, datadir: str) -> faust.App:
    """The app, with the pump as a service and the pages /metrics and /health.

    datadir: folder for what Faust may want to keep.
    """
    metrics = Metrics()
    kafka = settings.kafka
    app = faust.App(
        f"{kafka.group}-app",
        broker=[URL(f"kafka://{server.strip()}") for server in kafka.bootstrap_servers.split(",")],
        broker_credentials=_credentials(settings),
        store="memory://",
        datadir=datadir,
        web_host=settings.web.host,
        web_port=settings.web.port,
        web_bind=settings.web.host,
        topic_disable_leader=True,
        autodiscover=False,
    )
    registry = _registry(settings)
    service = PumpService(settings, metrics, registry, loop=app.loop, beacon=app.beacon)

    # Faust starts an instance as it is; the pages need the same one.
    app.service(service)  # type: ignore[arg-type]
    # Without agents there is nothing that Faust's own consumer could subscribe to.
    app.producer_only = True
    writings = [Writing(**one.model_dump()) for one in settings.reserialize]
    add_agents(app, settings.topics.canonical, settings.topics.dead_letters, writings, registry)
    _add_pages(app, service, metrics)
    return app


def _add_pages(app: faust.App, service: PumpService, metrics: Metrics) -> None:
    @app.page("/metrics")
    class MetricsPage(View):
        """Prometheus metrics."""

        async def get(self, request: Request) -> Response:
            return self.bytes(metrics.text(), content_type=_METRICS_TYPE)

    @app.page("/health")
    class HealthPage(View):
        """200 while the pump is in its group, with or without partitions; 503 before and after."""

        async def get(self, request: Request) -> Response:
            lanes = len(service.pump.lanes) if service.pump else 0
            reading = service.pump is not None and service.pump.joined and not service.should_stop
            return self.json(
                {"status": "reading" if reading else "starting", "lanes": lanes}, status=200 if reading else 503
            )


def _credentials(settings: Settings) -> Any:
    """The pump's Kafka security, as Faust wants it."""
    kafka = settings.kafka
    client = kafka.client()
    context = client.get("ssl_context")
    if kafka.sasl_mechanism:
        return faust.SASLCredentials(
            mechanism=kafka.sasl_mechanism,
            username=client["sasl_plain_username"],
            password=client["sasl_plain_password"],
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None
