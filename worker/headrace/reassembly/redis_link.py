"""A Redis of any shape as one thing: send commands in one trip, get replies or a typed error.

Knows connections, scripts and the epoch; knows nothing of calls.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Sequence
from importlib import resources
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

import redis.asyncio as aioredis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff
from redis.connection import HiredisRespSerializer
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    RedisError,
)

from headrace.errors import SettingsError, StoreError

Client = aioredis.Redis | RedisCluster
Command = tuple[Any, ...]
_Reply = TypeVar("_Reply")

_SHARED = "state"
_NEEDS_SHARED = ("append", "due", "close", "compact")
_ALONE = ("settle", "epoch")

_FULL = ("store_full", "raise maxmemory of Redis, or shorten the idle time and the TTLs")
_DENIED = ("store_denied", "check user and password in the Redis URL, and the ACL that redis_store.py lists")

#: Error class, or first word of an error reply -> (code, what to do).
_ERRORS: dict[type[Exception] | str, tuple[str, str]] = {
    OutOfMemoryError: _FULL,
    "MISCONF": ("store_full", "Redis cannot save to its disk: make room there"),
    AuthenticationError: _DENIED,
    AuthorizationError: _DENIED,
    NoPermissionError: _DENIED,
    "LOSTSTATE": ("store_lost_memory", "set maxmemory-policy noeviction; open calls are rebuilt from Kafka"),
    "FOREIGNSTATE": ("store_foreign_state", "give this deployment a key prefix of its own"),
}
_UNREACHABLE = "check that Redis is up and reachable; the batch is read again"


def connect_url(url: str, *, timeout: float = 5.0, retries: int = 2, **options: Any) -> Client:
    """A client for a URL; nothing is sent yet.

    url: ``redis://``, ``rediss://`` (TLS) and ``unix://`` as redis-py reads them; ``redis+cluster://`` and
    ``rediss+cluster://`` name any node of a cluster; ``redis+sentinel://user:password@host:26379,host:26379/master/0``
    and ``rediss+sentinel://`` name the Sentinels, the master's name and the database.
    timeout: seconds, of connecting; for replies `RedisLink` has its own. options: further keyword arguments of
    redis-py's client, for instance ``ssl_ca_certs``. Raises SettingsError when the URL cannot be read.
    """
    options |= {
        "socket_timeout": None,
        "socket_connect_timeout": timeout,
        "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), retries),
    }
    scheme, _, rest = url.partition("://")
    base, _, shape = scheme.partition("+")
    try:
        if shape == "cluster":
            return RedisCluster.from_url(f"{base}://{rest}", **options)
        if shape == "sentinel":
            return _sentinel_client(url, base == "rediss", options)
        # A TLS or socket URL brings a connection class of its own, and this one steps back.
        return aioredis.Redis.from_url(url, connection_class=_Connection, **options)
    except (ValueError, RedisError) as error:
        raise SettingsError(
            f"not a Redis URL: {error}",
            place="redis url",
            fix="use redis://, rediss://, unix://, or +cluster, +sentinel",
        ) from error


class _Connection(aioredis.Connection):
    """Writes commands in C: a batch of thousands spends more on that in Python than on all else of its trip."""

    _packer = HiredisRespSerializer()

    def pack_command(self, *args: Any) -> list[bytes]:
        """As the base class's."""
        return cast(list[bytes], self._packer.pack(*args))


def _sentinel_client(url: str, tls: bool, options: dict[str, Any]) -> aioredis.Redis:
    parts = urlsplit(url)
    _, _, hosts = parts.netloc.rpartition("@")
    master, _, database = parts.path.strip("/").partition("/")
    if not master:
        raise ValueError("a Sentinel URL ends in the master's name")
    sentinels = [(host, int(port or 26379)) for host, _, port in (each.partition(":") for each in hosts.split(","))]
    options |= {"db": int(database or 0), "ssl": tls}
    if parts.password is not None:
        options |= {"username": unquote(parts.username or "") or None, "password": unquote(parts.password)}
    watch = Sentinel(sentinels, socket_timeout=options["socket_connect_timeout"])  # type: ignore[no-untyped-call]
    return cast(aioredis.Redis, watch.master_for(master, **options))


def script(name: str) -> str:
    """Source of a Lua script of this package."""
    folder = resources.files("headrace.reassembly") / "lua"
    names = (_SHARED, name) if name in _NEEDS_SHARED else (name,)
    return "\n".join((folder / f"{each}.lua").read_text("utf-8") for each in names)


class RedisLink:
    """Sends batches of commands, checks the epoch with each, loads scripts when the server lacks them.

    prefix: of the epoch's keys. epoch_ttl: seconds, longer than any state lives, so that a mark that ran out
    means that every state did. timeout: seconds of a trip, and as much again for each thousand commands; None: what
    the client has must do. One timer a trip: redis-py's own, one a reply, takes longer than reading the reply.
    """

    def __init__(self, client: Client, prefix: str, epoch_ttl: int, timeout: float | None = None) -> None:
        self._client = client
        self._prefix = prefix
        self._epoch_ttl = epoch_ttl
        self._timeout = timeout
        self._scripts = {name: script(name) for name in (*_NEEDS_SHARED, *_ALONE)}
        self._hashes: dict[str, str] = {}
        self._epoch_keys: list[str] = []
        self._epoch = ""

    async def connect(self, *, allow_eviction: bool = False) -> str:
        """Load scripts, look at the server's eviction policy, make or read the epoch and return it."""
        try:
            await self._in_time(self._client.initialize())
            self._hashes = await self._load_scripts()
            self._epoch_keys = self._marks()
            if not allow_eviction:
                await self._in_time(self._refuse_eviction())
        except (RedisError, OSError) as error:
            raise store_error(error) from error
        return await self.epoch()

    async def epoch(self) -> str:
        """Read the epoch again (made anew where it is gone) and go by it from now on."""
        self._epoch = await self._read_epoch(uuid.uuid4().hex)
        return self._epoch

    async def new_epoch(self) -> str:
        """Replace the epoch, so that all who go by the old one take the memory for lost."""
        await self._send([("DEL", key) for key in self._epoch_keys])
        return await self.epoch()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def evalsha(self, name: str, keys: Sequence[str], *arguments: Any) -> Command:
        """The command that runs a script of this package. Raises StoreError before `connect`."""
        if not self._hashes:
            raise StoreError("the store is not connected", fix="await connect() first")
        return ("EVALSHA", self._hashes[name], len(keys), *keys, *arguments)

    async def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Replies to the commands, sent in one trip a server.

        Raises StoreError: ``store_lost_memory`` when the epoch is another than at `connect` or the last `epoch`;
        otherwise as the first error reply says. The other commands may have been done: they must bear repeating.
        """
        looks = self._epoch_commands("")
        replies = await self._send([*looks, *commands])
        if _epoch_of(replies[: len(looks)]) != self._epoch:
            raise StoreError(
                "Redis is not the one that open calls were given to: it was flushed, restarted or replaced",
                code="store_lost_memory",
                fix="rebuild open calls from Kafka; persistence and replicas make this rarer",
            )
        return replies[len(looks) :]

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        try:
            replies = await self._pipeline(commands)
            unknown = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if unknown:
                await self._load_scripts()
                for at, reply in zip(unknown, await self._pipeline([commands[at] for at in unknown]), strict=True):
                    replies[at] = reply
        except (RedisError, OSError) as error:
            raise store_error(error) from error
        for reply in replies:
            if isinstance(reply, Exception):
                raise store_error(reply) from reply
        return replies

    async def _pipeline(self, commands: Sequence[Command]) -> list[Any]:
        # redis-py closes a connection whose reply was not read to its end, also when this task is cancelled: the
        # next user of the pool never sees another's reply.
        if isinstance(self._client, RedisCluster):
            pipeline: Any = self._client.pipeline()
        else:
            pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return await self._in_time(pipeline.execute(raise_on_error=False), len(commands))

    async def _in_time(self, trip: Awaitable[_Reply], commands: int = 1) -> _Reply:
        timeout = None if self._timeout is None else self._timeout * (1 + commands / 1000)
        try:
            async with asyncio.timeout(timeout):
                return await trip
        except TimeoutError:
            raise TimeoutError(f"no reply within {timeout} seconds") from None

    async def _load_scripts(self) -> dict[str, str]:
        return {
            name: _text(await self._in_time(self._client.script_load(source))) for name, source in self._scripts.items()
        }

    async def _refuse_eviction(self) -> None:
        if isinstance(self._client, RedisCluster):
            infos = list((await self._client.info("memory", target_nodes=RedisCluster.PRIMARIES)).values())
        else:
            infos = [await self._client.info("memory")]
        for info in infos:
            policy = info.get("maxmemory_policy", "noeviction")
            if info.get("maxmemory", 0) and policy != "noeviction":
                raise StoreError(
                    f"Redis may evict open calls: its maxmemory-policy is {policy}",
                    code="store_may_evict",
                    fix="set maxmemory-policy noeviction",
                )

    # The epoch

    def _marks(self) -> list[str]:
        """Keys of the epoch: one, or in a cluster one on each primary, for each can lose its memory alone."""
        if not isinstance(self._client, RedisCluster):
            return [f"{self._prefix}:epoch"]
        slots = self._client.nodes_manager.slots_cache
        marks: dict[str, str] = {}
        primaries = {node.name for node in self._client.get_primaries() if any(node in held for held in slots.values())}
        number = 0
        while len(marks) < len(primaries):
            key = f"{self._prefix}:epoch:{number}"
            owner = slots[self._client.keyslot(key)][0].name
            marks.setdefault(owner, key)
            number += 1
        return sorted(marks.values())

    def _epoch_commands(self, fresh: str) -> list[Command]:
        return [self.evalsha("epoch", [key], self._epoch_ttl, fresh) for key in self._epoch_keys]

    async def _read_epoch(self, fresh: str) -> str:
        return _epoch_of(await self._send(self._epoch_commands(fresh)))


def _epoch_of(replies: Sequence[Any]) -> str:
    return ",".join("@".join(_text(part) for part in reply) for reply in replies)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


def store_error(error: Exception) -> StoreError:
    """The typed form of what redis-py raised or a script answered."""
    word = str(error).partition(" ")[0]
    code, fix = _ERRORS.get(word) or _ERRORS.get(type(error)) or ("store_unavailable", _UNREACHABLE)
    return StoreError(f"Redis: {type(error).__name__}: {error}", code=code, fix=fix)
