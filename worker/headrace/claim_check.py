"""Values too large for a message, kept in an fsspec store under their hash, with a reference in their place.

A record that is larger than the broker takes gives up its largest strings until it fits. Each is stored as
``<url>/<first two digits of its sha256>/<sha256>`` (UTF-8) and leaves an entry in the record's ``extras``:

    {"claim_check": [{"path": "messages[0].parts[2].media.data", "sha256": "…", "bytes": 1234, "uri": "…"}]}

A media value also gets its ``sha256`` and ``size_bytes``. `restore` puts the values back. Stored values are named by
what they are, so a batch that is published again stores nothing anew, and a value is whole or not there: it gets its
name only once it is written.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

import fsspec
import msgspec

from headrace.errors import HeadraceError
from headrace.json_text import dumps, loads

_FIELD = "claim_check"
#: Shorter strings stay: their reference would be as long.
_LEAST = 1024

_Shape = TypeVar("_Shape", bound=Mapping[str, Any])


class ClaimCheckError(HeadraceError):
    """The store of large values cannot be written or read."""

    code = "claim_check_unavailable"


class Claim(msgspec.Struct, frozen=True):
    """Where one value is. path: its place in the shape it was taken from. bytes: its length."""

    path: str
    sha256: str
    bytes: int
    uri: str


class ClaimCheck:
    """A store of large values. url: any that fsspec knows, for instance ``s3://bucket/prefix`` or a folder."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        try:
            self._files, self._root = fsspec.core.url_to_fs(self._url)
        except (ValueError, ImportError, OSError) as error:
            raise ClaimCheckError(f"the store cannot be opened: {error}", place=url, fix="check the URL") from error

    async def shrunk(self, shape: _Shape, excess: int) -> _Shape:
        """The shape without its largest strings: at least ``excess`` bytes less, or all it can spare.

        Raises ClaimCheckError when the store cannot be written.
        """
        small = cast(dict[str, Any], _copied(shape))
        claims: list[Claim] = []
        for path, holder, name in sorted(_strings(small), key=lambda each: -len(each[1][each[2]])):
            if excess <= 0:
                break
            value = holder[name].encode("utf-8", "surrogatepass")
            claim = Claim(path, *await self.put(value))
            claims.append(claim)
            if path.endswith(".media.data"):
                holder.setdefault("sha256", claim.sha256)
                holder.setdefault("size_bytes", claim.bytes)
            del holder[name]
            excess -= len(value) - len(path) - len(claim.uri) - 150
        if claims:
            extras = loads(small["extras"].encode()) if "extras" in small else {}
            small["extras"] = dumps({**extras, _FIELD: [msgspec.to_builtins(claim) for claim in claims]})
        return cast(_Shape, small)

    async def put(self, value: bytes) -> tuple[str, int, str]:
        """Store a value; (sha256, length, URI). Raises ClaimCheckError, and then the value is not there."""
        digest = hashlib.sha256(value).hexdigest()
        name = f"{digest[:2]}/{digest}"
        try:
            await asyncio.to_thread(self._put, f"{self._root}/{name}", value)
        except Exception as error:  # each of fsspec's file systems has errors of its own
            raise ClaimCheckError(
                f"a value of {len(value)} bytes cannot be stored: {error}",
                place=self._url,
                fix="make room there, or check its credentials; the worker tries again",
            ) from error
        return digest, len(value), f"{self._url}/{name}"

    def _put(self, path: str, value: bytes) -> None:
        if self._files.exists(path) and self._files.size(path) == len(value):
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        part = f"{path}.{uuid.uuid4().hex}.part"
        try:
            self._files.pipe_file(part, value)
            self._files.mv(part, path)
        except BaseException:
            if self._files.exists(part):
                self._files.rm_file(part)
            raise

    async def get(self, sha256: str) -> bytes:
        """A stored value; raises ClaimCheckError when it is not there or not what its name says."""
        path = f"{self._root}/{sha256[:2]}/{sha256}"
        try:
            value: bytes = await asyncio.to_thread(self._files.cat_file, path)
        except Exception as error:
            raise ClaimCheckError(f"a value cannot be read: {error}", place=path, fix="check the store") from error
        if hashlib.sha256(value).hexdigest() != sha256:
            raise ClaimCheckError("a stored value is damaged", place=path, fix="restore the store from a backup")
        return value

    async def restore(self, shape: _Shape) -> _Shape:
        """The shape with its values back, as it was before `shrunk` (a media value keeps its hash and size)."""
        whole = cast(dict[str, Any], _copied(shape))
        extras = loads(whole["extras"].encode()) if "extras" in whole else {}
        for claim in extras.pop(_FIELD, ()):
            _put_back(whole, claim["path"], (await self.get(claim["sha256"])).decode("utf-8", "surrogatepass"))
        if extras:
            whole["extras"] = dumps(extras)
        else:
            whole.pop("extras", None)
        return cast(_Shape, whole)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(each) for name, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


#: What a reader needs to know the record by stays in it.
_KEPT = frozenset({"record_id", "call_id", "task_id", "tenant", "protocol", "provider", "sources", "extras"})


def _strings(shape: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(path, its record, its name) of every long string."""
    for name, value in shape.items():
        if name not in _KEPT:
            yield from _strings_of(name, value, shape, name)


def _strings_of(path: str, value: Any, holder: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    if isinstance(value, str) and len(value) >= _LEAST:
        yield path, holder, name
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _strings_of(f"{path}.{key}", each, value, key)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            if not isinstance(each, str):
                yield from _strings_of(f"{path}[{at}]", each, holder, name)


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _put_back(whole: dict[str, Any], path: str, value: str) -> None:
    steps = [int(number) if number else name for name, number in _STEP.findall(path)]
    at: Any = whole
    for step in steps[:-1]:
        at = at[step]
    at[steps[-1]] = value
