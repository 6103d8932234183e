"""The registry client speaks the registry's HTTP API: against a real HTTP server that implements it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from headrace.errors import SchemaError
from headrace.kafka import registry as module
from headrace.kafka.registry import Registry, RegistryError, subject_of
from headrace.kafka.wire import Confluent, Decoder

SCHEMA = {"type": "record", "name": "Thing", "fields": [{"name": "n", "type": "long"}]}
OTHER = {"type": "record", "name": "Other", "fields": []}


class SchemaRegistry:
    """The subset of the Schema Registry API that clients use; remembers what it was asked."""

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.failures: list[int] = []
        self.auth = ""
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/base/subjects/{subject}/versions", self._register)
        app.router.add_post("/base/subjects/{subject}", self._lookup)
        app.router.add_get("/base/schemas/ids/{id}", self._by_id)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.raw_path}")
        if self.failures:
            return self._error(self.failures.pop(0), 50001, "not now")
        if self.auth and request.headers.get("Authorization") != self.auth:
            return self._error(401, 40101, "Unauthorized")
        return await handler(request)

    @staticmethod
    def _error(status: int, code: int, message: str) -> web.Response:
        return web.json_response({"error_code": code, "message": message}, status=status)

    async def _register(self, request: web.Request) -> web.Response:
        text = (await request.json())["schema"]
        name = json.loads(text)["name"]
        if name == "Refused":
            return self._error(409, 409, "Schema being registered is incompatible with an earlier schema")
        if text not in self.schemas:
            self.schemas.append(text)
        schema_id = self.schemas.index(text) + 1
        self.subjects.setdefault(request.match_info["subject"], []).append(schema_id)
        return web.json_response({"id": schema_id})

    async def _lookup(self, request: web.Request) -> web.Response:
        text = (await request.json())["schema"]
        for schema_id in self.subjects.get(request.match_info["subject"], []):
            if self.schemas[schema_id - 1] == text:
                return web.json_response({"id": schema_id, "version": 1, "schema": text})
        return self._error(404, 40403, "Schema not found")

    async def _by_id(self, request: web.Request) -> web.Response:
        schema_id = int(request.match_info["id"])
        if schema_id > len(self.schemas):
            return self._error(404, 40403, "Schema not found")
        return web.json_response({"schema": self.schemas[schema_id - 1]})


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SchemaRegistry]:
    monkeypatch.setattr(module, "_WAITS", (0.01, 0.01))
    registry = SchemaRegistry()
    runner = web.AppRunner(registry.app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    registry.url = f"http://{host}:{port}/base/"
    yield registry
    await runner.cleanup()


async def test_schema_is_registered_once_and_found_by_its_id(server: SchemaRegistry) -> None:
    async with Registry(server.url) as registry:
        first = await registry.register(subject_of("llm.canonical"), SCHEMA)
        assert await registry.register("llm.canonical-value", SCHEMA) == first
        assert await registry.register("llm.canonical-value", OTHER) == first + 1
        assert await registry.schema(first) == SCHEMA
    assert server.requests == ["POST /base/subjects/llm.canonical-value/versions"] * 2


async def test_reader_decodes_by_the_registrys_schema_and_asks_once(server: SchemaRegistry) -> None:
    async with Registry(server.url) as writer:
        schema_id = await writer.register("t-value", SCHEMA)
    server.requests.clear()
    async with Registry(server.url) as reader:
        decoder = Decoder([], reader)
        value = Confluent(schema_id, SCHEMA).encode(b"\x02")
        found = await asyncio.gather(*(decoder.decode(value) for _ in range(20)))
    assert found == [(SCHEMA, b"\x02")] * 20
    assert server.requests == [f"GET /base/schemas/ids/{schema_id}"]


async def test_lookup_registers_nothing(server: SchemaRegistry) -> None:
    async with Registry(server.url) as registry:
        with pytest.raises(SchemaError) as missing:
            await registry.lookup("t-value", SCHEMA)
        assert missing.value.code == "unknown_schema"
        assert server.schemas == []
    async with Registry(server.url) as registry:
        schema_id = await registry.register("t-value", SCHEMA)
    async with Registry(server.url) as registry:
        assert await registry.lookup("t-value", SCHEMA) == schema_id


async def test_subject_names_are_quoted(server: SchemaRegistry) -> None:
    async with Registry(server.url) as registry:
        await registry.register("a/b c-value", SCHEMA)
    assert list(server.subjects) == ["a/b c-value"]


async def test_incompatible_schema_says_what_to_change(server: SchemaRegistry) -> None:
    async with Registry(server.url) as registry:
        with pytest.raises(SchemaError, match="incompatible with an earlier schema") as refused:
            await registry.register("t-value", {**SCHEMA, "name": "Refused"})
    assert refused.value.code == "incompatible_schema"
    assert "compatibility" in refused.value.fix


async def test_unknown_id_is_a_schema_error(server: SchemaRegistry) -> None:
    async with Registry(server.url) as registry:
        with pytest.raises(SchemaError) as unknown:
            await registry.schema(99)
    assert unknown.value.code == "unknown_schema"


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_passing_failure_is_tried_again(server: SchemaRegistry, status: int) -> None:
    server.failures = [status, status]
    async with Registry(server.url) as registry:
        assert await registry.register("t-value", SCHEMA) == 1
    assert len(server.requests) == 3


async def test_lasting_failure_is_an_error_with_the_registrys_words(server: SchemaRegistry) -> None:
    server.failures = [500] * 9
    async with Registry(server.url) as registry:
        with pytest.raises(RegistryError, match=r"answered 500: .*not now"):
            await registry.register("t-value", SCHEMA)
        server.failures = []
        assert await registry.register("t-value", SCHEMA) == 1


@pytest.mark.parametrize("in_url", [True, False])
async def test_credentials_are_sent_and_never_shown(server: SchemaRegistry, in_url: bool) -> None:
    server.auth = "Basic dXNAZXI6czNjcmV0OsOk"  # us@er:s3cret:ä
    url = server.url.replace("http://", "http://us%40er:s3cret%3A%C3%A4@") if in_url else server.url
    named = {} if in_url else {"username": "us@er", "password": "s3cret:ä"}
    async with Registry(url, **named) as registry:
        assert await registry.register("t-value", SCHEMA) == 1
        with pytest.raises(SchemaError) as unknown:
            await registry.schema(99)
    assert "s3cret" not in str(unknown.value)
    wrong = server.url.replace("http://", "http://us%40er:wr0ng@")
    async with Registry(wrong) as registry:
        with pytest.raises(RegistryError, match="answered 401") as refused:
            await registry.register("t-value", OTHER)
    assert "wr0ng" not in str(refused.value)


async def test_registry_that_is_away_is_named(server: SchemaRegistry) -> None:
    async with Registry("http://127.0.0.1:1") as registry:
        with pytest.raises(RegistryError, match="no answer from the registry") as away:
            await registry.schema(1)
    assert away.value.place == "http://127.0.0.1:1"
