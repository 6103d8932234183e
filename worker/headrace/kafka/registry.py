"""A client of a Confluent-compatible schema registry: the two calls a producer and a reader need, remembered.

Ids and schemas never change once the registry gave them out, so each is asked for once in a process's life.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any
from urllib.parse import quote

import aiohttp
import pybase64
from yarl import URL

from headrace.errors import HeadraceError, SchemaError
from headrace.json_text import Json, dumps, loads

_TYPE = "application/vnd.schemaregistry.v1+json"
_WAITS = (0.1, 0.5, 2.0)  # seconds before another try


class RegistryError(HeadraceError):
    """The registry cannot be reached, or refuses to serve."""

    code = "registry_unavailable"


def subject_of(topic: str) -> str:
    """The subject of a topic's values (TopicNameStrategy, what clients default to)."""
    return f"{topic}-value"


class Registry:
    """Ids of schemas and schemas of ids. Connects when first asked; use as ``async with Registry(url) as registry``."""

    def __init__(
        self, url: str, *, username: str | None = None, password: str | None = None, timeout_seconds: float = 10
    ) -> None:
        """url: base URL, http or https. username: for basic auth; it may stand in the URL as well."""
        parts = URL(url)
        # Out of the URL: they must not show in errors and logs.
        self._base = str(parts.with_user(None)).rstrip("/")
        self._headers = {"Accept": _TYPE, "Content-Type": _TYPE}
        user = username or parts.user
        if user:
            self._headers["Authorization"] = _basic_auth(user, password or parts.password or "")
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._session: aiohttp.ClientSession | None = None
        self._ids: dict[tuple[str, str], int] = {}
        self._schemas: dict[int, Json] = {}
        # One question at a time: many readers of one new id ask the registry once.
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> Registry:
        self._session = aiohttp.ClientSession(headers=self._headers, timeout=self._timeout)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def register(self, subject: str, schema: Json) -> int:
        """The id of a schema, registered under the subject if it is new.

        Raises SchemaError (`incompatible_schema`, `bad_schema`), RegistryError.
        """
        return await self._id(subject, schema, f"/subjects/{quote(subject, safe='')}/versions")

    async def lookup(self, subject: str, schema: Json) -> int:
        """The id of a schema that is registered under the subject already; raises SchemaError, RegistryError."""
        return await self._id(subject, schema, f"/subjects/{quote(subject, safe='')}")

    async def schema(self, schema_id: int) -> Json:
        """The schema with an id; raises SchemaError (`unknown_schema`), RegistryError."""
        async with self._asking:
            if schema_id not in self._schemas:
                answer = await self._ask("GET", f"/schemas/ids/{schema_id}")
                if answer.get("schemaType", "AVRO") != "AVRO":
                    raise SchemaError(f"schema {schema_id} is {answer['schemaType']}, not Avro", place=self._base)
                self._schemas[schema_id] = loads(answer["schema"])
        return self._schemas[schema_id]

    async def _id(self, subject: str, schema: Json, path: str) -> int:
        text = dumps(schema)
        async with self._asking:
            if (subject, text) not in self._ids:
                answer = await self._ask("POST", path, dumps({"schema": text, "schemaType": "AVRO"}))
                self._ids[subject, text] = answer["id"]
                self._schemas[answer["id"]] = schema
        return self._ids[subject, text]

    async def _ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        """One answer; tries again while the registry is away, overloaded or between leaders."""
        for wait in (*_WAITS, None):
            try:
                status, text = await self._send(method, path, body)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                status, text = 0, f"{type(error).__name__}: {error}"
            if 200 <= status < 300:
                return self._parsed(text)
            if wait is None or (0 < status < 500 and status != 429):
                raise self._refusal(status, text)
            await asyncio.sleep(wait)
        raise AssertionError("the last wait is None")

    async def _send(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        if self._session is None:
            raise RegistryError("the client is not open", fix="use it as `async with Registry(url) as registry`")
        async with self._session.request(method, self._base + path, data=body) as response:
            return response.status, await response.text()

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            answer = loads(text)
        except HeadraceError:
            answer = None
        if not isinstance(answer, dict):
            raise RegistryError("the answer is no JSON object", place=self._base, fix="check registry.url")
        return answer

    def _refusal(self, status: int, text: str) -> HeadraceError:
        shown = text.strip()[:500]
        if status in _SCHEMA_REFUSALS:
            code, fix = _SCHEMA_REFUSALS[status]
            return SchemaError(f"the registry answered {status}: {shown}", code=code, place=self._base, fix=fix)
        if status in (401, 403):
            return RegistryError(
                f"the registry answered {status}", place=self._base, fix="check registry.username and its rights"
            )
        what = f"the registry answered {status}: {shown}" if status else f"no answer from the registry: {shown}"
        return RegistryError(what, place=self._base, fix="check registry.url and that the registry is up")


# Status -> code and fix, for answers about the schema itself (Schema Registry API reference).
_SCHEMA_REFUSALS = {
    404: ("unknown_schema", "register the schemas, or check that this is the registry the producer used"),
    409: ("incompatible_schema", "set the subject's compatibility to FULL_TRANSITIVE or less, or upgrade headrace"),
    422: ("bad_schema", "check that the registry takes Avro schemas"),
}


def _basic_auth(user: str, password: str) -> str:
    """An Authorization header (RFC 7617, in UTF-8)."""
    return "Basic " + pybase64.b64encode_as_string(f"{user}:{password}".encode())
