"""Open calls in Redis: one server, Sentinel or Cluster.

Keys, all under one prefix and all with a TTL. ``{…}`` is the hash tag, so that one call's keys share a slot:

    headrace:1f2e3d4c:{tenant|call}:response     the state: a msgpack array, described in lua/state.lua
    headrace:1f2e3d4c:{tenant|call}:response:f   its packed fragments, a list; only while pieces are held
    headrace:1f2e3d4c:due:{topic|partition}      states by deadline, a sorted set; scores are hints, the state decides
    headrace:1f2e3d4c:claims:{topic|partition}   states that `due` claimed, by the offset of the claim
    headrace:epoch                               the mark by which a lost memory is noticed (in a cluster one a primary)

The second part is the epoch in short. What is sent before a loss is noticed lands under the old one: it cannot mix with
what is rebuilt, nor can what an older memory still holds.

The rules run as Lua where the state is (lua/*.lua, the same as state.py). One batch is one pipeline: an EVALSHA a
call and one ZADD a partition. Whatever fails half way may be sent again: a batch repeated gives the same answers.
A call that comes in drops has its small fragments merged now and then, for together they compress to far less.

Running it. ``maxmemory-policy noeviction`` is required: an evicted call would be a lost call (`connect` refuses
any other policy; a full Redis answers ``store_full`` and the worker waits). TLS by ``rediss://`` URLs. An ACL user
needs the keys ``headrace:*`` and the commands get, set, del, expire, rpush, lpush, ltrim, lrange, lset, lrem, zadd,
zrem, zscore, zrangebyscore, zcard, eval, evalsha, script|load and info, for Cluster also cluster|slots,
cluster|shards and command. A restart or a failover may lose acknowledged writes: it changes the epoch, and the
worker rebuilds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import zstandard

from headrace.errors import SettingsError, StoreError
from headrace.reassembly.packing import pack, unpack
from headrace.reassembly.pieces import Fragment, facts_of
from headrace.reassembly.redis_link import Client, Command, RedisLink, connect_url
from headrace.reassembly.redis_reply import Header, answer_of, read_header
from headrace.reassembly.sequence import in_order
from headrace.reassembly.state import CLAIMED, CLOSED, is_committed, source_of
from headrace.reassembly.store import Answer, Append, Close, Position, StateKey

_DAY = 86_400
_LONGEST_TAG = 80
_PAGE = 500

#: In place of a claim's offset: the state was closed and holds the next segment's pieces already.
_REOPENED = -1


class RedisStore:
    """The store contract over Redis. `connect` it before use.

    client: from `connect_url`, or any redis.asyncio client that does not decode replies.
    prefix: of every key; no braces. open_ttl: seconds an untouched open call stays: longer than the longest
    outage the worker may have. tombstone_ttl: seconds a closed call is remembered: longer than duplicates and late
    pieces may take. allow_eviction: connect although the server may evict. timeout: as `RedisLink`'s.
    """

    def __init__(
        self,
        client: Client,
        *,
        prefix: str = "headrace",
        open_ttl: int = 7 * _DAY,
        tombstone_ttl: int = _DAY,
        allow_eviction: bool = False,
        timeout: float | None = None,
    ) -> None:
        if not prefix or set("{}") & set(prefix):
            raise SettingsError("a key prefix is text without braces", place="redis prefix", fix="name it headrace")
        if min(open_ttl, tombstone_ttl) <= 0:
            raise SettingsError("a TTL is a positive number of seconds", place="redis ttl", fix="give whole seconds")
        self._prefix = prefix
        #: What keys begin with: the prefix and the epoch.
        self._space = ""
        self._open_ttl = open_ttl
        self._tombstone_ttl = tombstone_ttl
        self._index_ttl = 2 * open_ttl
        self._allow_eviction = allow_eviction
        self._link = RedisLink(client, prefix, 2 * max(open_ttl, tombstone_ttl), timeout)
        self._sources: set[str] = set()
        #: Claims this process knows of and has not closed: member -> (partition, offset, round).
        self._claims: dict[bytes, tuple[str, int, int]] = {}
        #: Index entries of closed states, forgotten with the next trip: partition -> members.
        self._forgotten: dict[str, set[bytes]] = {}
        #: Merges of small fragments, done with the next trip; one that gets lost is asked for again.
        self._merges: list[Command] = []

    @classmethod
    def from_url(cls, url: str, *, timeout: float = 5.0, **settings: Any) -> RedisStore:
        """A store for a URL as `connect_url` reads it; timeout: seconds, of connecting too; settings as the
        constructor's."""
        return cls(connect_url(url, timeout=timeout), timeout=timeout, **settings)

    async def connect(self) -> str:
        """Load scripts, check the server, return the epoch. Raises StoreError."""
        return self._go_by(await self._link.connect(allow_eviction=self._allow_eviction))

    async def epoch(self) -> str:
        """Read the epoch again and go by it: what the worker does before it rebuilds a lost memory."""
        return self._go_by(await self._link.epoch())

    async def new_epoch(self) -> str:
        """Give the memory another mark: a part of it is lost, which nobody else can see."""
        return self._go_by(await self._link.new_epoch())

    def _go_by(self, epoch: str) -> str:
        space = f"{self._prefix}:{hashlib.blake2b(epoch.encode(), digest_size=4).hexdigest()}"
        if space != self._space:
            self._space = space
            self._claims.clear()
            self._forgotten.clear()
        return epoch

    async def aclose(self) -> None:
        """Close all connections."""
        await self._link.aclose()

    # The contract

    async def append(self, appends: Sequence[Append]) -> list[Answer]:
        """As `store.Store.append`: one trip."""
        if not appends:
            return []
        members = [_member(append.key) for append in appends]
        idents = [_ident(member) for member in members]
        commands = [self._append_command(*each) for each in zip(appends, members, idents, strict=True)]
        commands += self._deadline_commands(appends, members)
        answers = []
        replies = await self._exchange(commands)
        for append, member, ident, reply in zip(appends, members, idents, replies, strict=False):
            header = read_header(reply, ident)
            answers.append(answer_of(append.key, header, reply))
            self._note(member, header, source_of(append.position))
            if header.merge_from >= 0:
                self._merge(member, ident, header.merge_from, reply[1:])
        return answers

    async def due(
        self, position: Position, now: int, committed: int, limit: int, committed_round: int = 0
    ) -> list[Answer]:
        """As `store.Store.due`: one trip to look; two or three more a page of candidates."""
        source = source_of(position)
        self._sources.add(source)
        known = [
            member
            for member, (home, offset, round_) in self._claims.items()
            if home == source and (offset == _REOPENED or is_committed(offset, round_, (committed, committed_round)))
        ]
        look = [source, position.offset, position.round, now, committed, committed_round]
        claims = ("ZRANGEBYSCORE", self._claims_key(source), "-inf", position.offset)
        found: list[tuple[Header, Answer]] = []
        seen: set[bytes] = set()
        stay = 0
        while True:
            room = min(limit - sum(not header.again for header, _ in found), _PAGE)
            deadlines = ("ZRANGEBYSCORE", self._due_key(source), "-inf", now, "WITHSCORES", "LIMIT", stay, max(room, 0))
            page, claimed = await self._exchange([deadlines, claims])
            scores = dict(_scored(page))
            others = [] if seen else [*claimed, *known]
            candidates = {member: scores.get(member) for member in (*others, *scores) if member not in seen}
            if not candidates:
                break
            seen.update(candidates)
            headers = await self._look(source, look, position.offset, candidates, found)
            stay += sum(member in scores and headers[member].status == CLAIMED for member in candidates)
            if len(scores) < room or room <= 0:
                break
        found.sort(key=lambda each: (not each[0].again, each[0].claim_offset, each[0].deadline))
        return [answer for _, answer in found]

    async def close(self, closes: Sequence[Close]) -> None:
        """As `store.Store.close`: one trip."""
        if not closes:
            return
        members = [_member(close.key) for close in closes]
        idents = [_ident(member) for member in members]
        commands = [self._close_command(*each) for each in zip(closes, members, idents, strict=True)]
        replies = await self._exchange(commands)
        for close, member, ident, reply in zip(closes, members, idents, replies, strict=True):
            outcome = read_header(reply, ident).outcome
            if outcome == "stale":
                continue
            source, *_ = self._claims.pop(member, ("", 0, 0))
            source = source or (source_of(close.claim) if close.claim else "")
            if not source:
                continue
            if outcome == "open":
                # Looked at with the next `due`, for its pieces may be complete already.
                self._claims[member] = (source, _REOPENED, 0)
            else:
                self._forgotten.setdefault(source, set()).add(member)

    async def open_calls(self) -> int:
        """As `store.Store.open_calls`, of the partitions this process reads."""
        sources = sorted(self._sources)
        return sum(await self._exchange([("ZCARD", self._due_key(source)) for source in sources])) if sources else 0

    # Commands

    def _append_command(self, append: Append, member: bytes, ident: int) -> Command:
        position = append.position
        share = (
            ident,
            source_of(position),
            position.offset,
            append.first_offset,
            append.seqs,
            append.last,
            append.hard,
            append.soft,
            -1 if append.count is None else append.count,
            append.ended,
            append.last_seen,
            append.idle,
            append.grace,
            append.whole,
            self._open_ttl,
            self._tombstone_ttl,
            append.loose,
        )
        fragment = () if append.packed is None else (append.packed,)
        return self._link.evalsha("append", self._state_keys(member), _encode(share), *fragment)

    def _deadline_commands(self, appends: Sequence[Append], members: Sequence[bytes]) -> list[Command]:
        """One ZADD a partition. A score is never later than the state's deadline, which Redis alone knows."""
        scores: dict[str, dict[bytes, int]] = {}
        for append, member in zip(appends, members, strict=True):
            hints = scores.setdefault(source_of(append.position), {})
            hint = append.last_seen + min(append.idle, append.grace)
            hints[member] = min(hint, hints.get(member, hint))
        commands: list[Command] = []
        for source, hints in scores.items():
            self._sources.add(source)
            flat = [part for member, hint in hints.items() for part in (hint, member)]
            key = self._due_key(source)
            commands += [("ZADD", key, *flat), ("EXPIRE", key, self._index_ttl)]
        return commands

    def _close_command(self, close: Close, member: bytes, ident: int) -> Command:
        claim = close.claim
        named = () if claim is None else (source_of(claim), claim.offset, claim.round)
        asked = (ident, close.through, close.emitted, close.final, named, self._open_ttl, self._tombstone_ttl)
        leftover = () if close.leftover is None else (close.leftover,)
        return self._link.evalsha("close", self._state_keys(member), _encode(asked), *leftover)

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands after what is to be merged and forgotten; their replies."""
        forgotten, self._forgotten = self._forgotten, {}
        first, self._merges = self._merges, []
        for source, members in forgotten.items():
            if members:
                first += [("ZREM", key, *members) for key in (self._due_key(source), self._claims_key(source))]
        try:
            replies = await self._link.exchange([*first, *commands])
        except BaseException:
            for source, members in forgotten.items():
                self._forgotten.setdefault(source, set()).update(members)
            raise
        return replies[len(first) :]

    def _merge(self, member: bytes, ident: int, at: int, small: Sequence[bytes]) -> None:
        """Merge the small fragments of a call that comes in drops: together they compress to far less."""
        merged = _merged(small)
        if merged is not None:
            digest = hashlib.sha1(b"".join(small), usedforsecurity=False).hexdigest()
            asked = (ident, at, len(small), digest, self._open_ttl, self._tombstone_ttl)
            self._merges.append(self._link.evalsha("compact", self._state_keys(member), _encode(asked), merged))

    # Deadlines

    async def _look(
        self,
        source: str,
        look: list[Any],
        offset: int,
        candidates: dict[bytes, int | None],
        found: list[tuple[Header, Answer]],
    ) -> dict[bytes, Header]:
        """Run `due` on the candidates (member -> score that was read), tidy the index; ready ones go to ``found``."""
        idents = {member: _ident(member) for member in candidates}
        claims = self._claims_key(source)
        flat = [part for member in candidates for part in (offset, member)]
        commands: list[Command] = [("ZADD", claims, "LT", *flat), ("EXPIRE", claims, self._index_ttl)]
        for member, ident in idents.items():
            asked = _encode([ident, *look, self._open_ttl, self._tombstone_ttl])
            commands.append(self._link.evalsha("due", self._state_keys(member), asked))
        replies = (await self._exchange(commands))[2:]
        headers = {}
        tidy: list[Any] = []
        for (member, ident), reply in zip(idents.items(), replies, strict=True):
            header = headers[member] = read_header(reply, ident)
            if header.outcome == "ready":
                found.append((header, answer_of(_key(member), header, reply)))
            self._note(member, header, source)
            tidy += _tidied(member, candidates[member], header)
        if tidy:
            keys = [self._due_key(source), claims]
            await self._exchange([self._link.evalsha("settle", keys, self._index_ttl, *tidy)])
        _refuse_absent(headers.values())
        return headers

    def _note(self, member: bytes, header: Header, source: str) -> None:
        """Remember claims that this process may have to close, and entries that no `due` needs to look at."""
        if header.outcome == "duplicate" and header.status == CLOSED:
            self._forgotten.setdefault(source, set()).add(member)
            return
        self._forgotten.get(source, set()).discard(member)
        if header.status == CLAIMED and header.home == source:
            self._claims[member] = (source, header.claim_offset, header.claim_round)
        elif header.outcome != "duplicate":
            self._claims.pop(member, None)

    # Names

    def _state_keys(self, member: bytes) -> tuple[str, str]:
        tag, _, slot = member.decode().rpartition("|")
        if len(tag) > _LONGEST_TAG:
            tag = "~" + hashlib.blake2b(tag.encode(), digest_size=16).hexdigest()
        key = f"{self._space}:{{{tag}}}:{slot}"
        return key, f"{key}:f"

    def _due_key(self, source: str) -> str:
        return f"{self._space}:due:{{{_escaped(source)}}}"

    def _claims_key(self, source: str) -> str:
        return f"{self._space}:claims:{{{_escaped(source)}}}"


_encode = msgspec.msgpack.Encoder().encode


def _tidied(member: bytes, score: int | None, header: Header) -> list[Any]:
    """Arguments of lua/settle.lua for one entry that was looked at; none when it may stay as it is."""
    read = "" if score is None else score
    if header.outcome in ("gone", "absent"):
        return [member, read, "", "1"]
    if header.outcome == "wait" and header.status != CLAIMED:
        return [member, read, header.deadline, "1"]
    return []


def _refuse_absent(headers: Iterable[Header]) -> None:
    absent = sum(header.outcome == "absent" for header in headers)
    if absent:
        raise StoreError(
            f"{absent} open calls are gone from Redis: evicted, or older than their TTL",
            code="store_lost_memory",
            fix="set maxmemory-policy noeviction and an open-call TTL longer than any outage; rebuild from Kafka",
        )


def _scored(page: Sequence[Any]) -> list[tuple[bytes, int]]:
    """ZRANGEBYSCORE WITHSCORES, flat (RESP2) or in pairs (RESP3)."""
    pairs = page if page and not isinstance(page[0], bytes) else zip(page[::2], page[1::2], strict=True)
    return [(member, int(float(score))) for member, score in pairs]


def _merged(small: Sequence[bytes]) -> bytes | None:
    """One packed fragment with the pieces of many; None when they cannot be read here (a newer worker's)."""
    try:
        fragments = [unpack(packed) for packed in small]
    except (msgspec.MsgspecError, zstandard.ZstdError):
        return None
    return pack(Fragment(facts_of(fragments), in_order(fragments)))


_SPECIAL = re.compile(r"[^\w.:-]", re.ASCII)


def _escaped(text: str) -> str:
    """Text as part of a key: what could end a hash tag or a part is percent-encoded, so no two texts meet."""
    return _SPECIAL.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode("utf-8", "surrogatepass")), text
    )


def _member(key: StateKey) -> bytes:
    return f"{_escaped(key.tenant)}|{_escaped(key.call_id)}|{key.slot}".encode()


def _key(member: bytes) -> StateKey:
    tenant, call_id, slot = member.decode().split("|")
    return StateKey(_unescaped(tenant), _unescaped(call_id), "request" if slot == "request" else "response")


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass")


def _ident(member: bytes) -> int:
    """What a state is stored with and every reply says: which call this is. 48 bits: exact as a double."""
    return int.from_bytes(hashlib.blake2b(member, digest_size=6).digest())
