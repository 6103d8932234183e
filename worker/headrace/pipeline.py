"""Captures in, canonical records out: batches, reassembly and deadlines. No Kafka, no Redis, no clock.

Theory of operation. A batch is every message one poll gave. Its captures are grouped by call:

* a request, or a whole response body, is a unit of its own: it claims its slot and is normalized;
* the stream pieces of one call form a share. All shares of the batch go to the store in one trip; the store
  answers which calls are ready, and those are folded.

Nothing is emitted before the store has granted the claim, and `Batch.closes` must reach `Pipeline.close` only
after the batch's records are safely published: a crash in between makes the same claim again on replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from headrace import normalize, records
from headrace.canonical import ids
from headrace.canonical.shape import CanonicalRecord, DeadLetter
from headrace.capture import envelope
from headrace.capture.avro_form import AvroCaptures
from headrace.capture.mapping import Mapping as SourceMapping
from headrace.capture.model import Capture, Inbound
from headrace.capture.model import Source as Coordinates
from headrace.errors import HeadraceError
from headrace.reassembly.pieces import (
    SIGN_HARD,
    SIGN_SOFT,
    CallFacts,
    Fragment,
    Piece,
    facts_of,
    in_order,
    intervals,
    pack,
    unpack,
)
from headrace.reassembly.signs import Signs, ends_alone
from headrace.reassembly.store import Answer, Append, Close, Position, StateKey, Store

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may be silent, in microseconds of stream time.

    idle: without a sign of its end. grace: after a sign that only trailers follow.
    """

    idle: int = 120 * _SECOND
    grace: int = 5 * _SECOND


@dataclass(slots=True)
class Batch:
    """What one batch became.

    records and dead_letters come with the place in the batch of the message that brought them about (-1 for a
    deadline), in that order. consumed counts messages. duplicates counts captures that bring nothing new: pieces and
    bodies that were there before, and what only follows the end of a complete response (an `end`, a terminator).
    waiting: states that had a share here and expect more, with the number of records they gave so far.
    """

    records: list[tuple[int, CanonicalRecord]] = field(default_factory=list)
    dead_letters: list[tuple[int, DeadLetter]] = field(default_factory=list)
    closes: list[Close] = field(default_factory=list)
    waiting: dict[StateKey, int] = field(default_factory=dict)
    consumed: int = 0
    duplicates: int = 0
    unknown: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def take(self, made: normalize.Normalized, index: int) -> None:
        """Add one unit's records and dead letters, and count their unknown types."""
        self.records += [(index, record) for record in made.records]
        self.dead_letters += [(index, letter) for letter in made.dead_letters]
        for record in made.records:
            model = record.get("served_model") or record.get("model") or ""
            for unknown in record.get("unknown_types", ()):
                key = (record.get("provider", ""), model, unknown["kind"], unknown["type"])
                self.unknown[key] += unknown["count"]


@dataclass(slots=True)
class _Share:
    """One call's part of a batch: one whole body, or the stream pieces of one partition.

    index: place of its last message in the batch; it orders what the batch emits.
    """

    key: StateKey
    facts: CallFacts
    captures: list[Capture] = field(default_factory=list)
    index: int = 0

    @property
    def is_body(self) -> bool:
        return self.captures[0].kind in ("request", "response")


@dataclass(slots=True)
class _Offer:
    """What the store is told of a share, and the share's pieces in order."""

    append: Append
    fragment: Fragment | None = None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.fragment.pieces if self.fragment else ()

    def with_pieces(self) -> Append:
        """The append again, pieces and all."""
        packed = pack(self.fragment) if self.fragment else None
        return msgspec.structs.replace(self.append, packed=packed, whole=packed is None)


class Pipeline:
    """Turns batches of messages into records. One per worker; batches one after another.

    mappings: source mapping by topic, for producers that were there before Headrace. avro: the reader of Avro
    captures that knows a schema registry.
    """

    def __init__(
        self,
        store: Store,
        *,
        mappings: Mapping[str, SourceMapping] | None = None,
        avro: AvroCaptures | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._mappings = {} if mappings is None else mappings
        self._avro = avro
        self._patience = patience or Patience()
        self._signs = Signs()

    async def process(self, messages: Sequence[Inbound]) -> Batch:
        """Take one polled batch. Raises StoreError, with nothing emitted, when the store is away."""
        batch = Batch(consumed=len(messages))
        offers = self._offers(self._shares(messages, batch), batch)
        answers = await self._answers([offer for _, offer in offers])
        for (share, offer), answer in zip(offers, answers, strict=True):
            self._take(share, offer, answer, batch)
        return batch

    async def bury(
        self, waiting: Mapping[StateKey, int], is_published: Callable[[str], bool], position: Position
    ) -> None:
        """Close for good the waiting states whose next record is published already: their patience had ended.

        After a store's memory was lost and rebuilt. waiting: as `Batch.waiting`. is_published: by record id.
        position: the last place that was read again.
        """
        ended = [
            Append(key=key, position=position, first_offset=position.offset, packed=None, last=0, whole=True)
            for key, emitted in waiting.items()
            if is_published(ids.record_id(key.tenant, key.call_id, key.slot, emitted))
        ]
        answers = await self._store.append(ended)
        closes = [
            Close(key=answer.key, through=answer.through, emitted=answer.emitted + 1, final=True, claim=answer.claim)
            for answer in answers
            if answer.outcome == "ready"
        ]
        if closes:
            await self._store.close(closes)

    async def due(
        self, batch: Batch, position: Position, now: int, committed: int, committed_round: int = 0, limit: int = 500
    ) -> None:
        """Add to a batch the calls of its partition whose patience ended at stream time ``now`` (microseconds).

        Once a batch, after `process`; see `Store.due` for position, committed and committed_round.
        """
        for answer in await self._store.due(position, now, committed, limit, committed_round):
            self._emit(answer, [unpack(packed) for packed in answer.fragments], batch, index=-1)

    async def _answers(self, offers: Sequence[_Offer]) -> list[Answer]:
        """The store's answers; shares that it could not keep because it was not given them are given now."""
        answers = await self._store.append([offer.append for offer in offers])
        unkept = [place for place, answer in enumerate(answers) if not answer.kept]
        if unkept:
            again = await self._store.append([offers[place].with_pieces() for place in unkept])
            for place, answer in zip(unkept, again, strict=True):
                answers[place] = answer
        return answers

    async def close(self, batch: Batch) -> None:
        """After the batch is published: forget the emitted pieces, keep tombstones."""
        if batch.closes:
            await self._store.close(batch.closes)

    # Reading envelopes

    def _shares(self, messages: Iterable[Inbound], batch: Batch) -> list[_Share]:
        """Group stream pieces by call and partition; whole bodies stand alone. Ordered by last message."""
        streams: dict[tuple[str, str, str, int], _Share] = {}
        shares: list[_Share] = []
        for index, message in enumerate(messages):
            for capture in self._captures(message, index, batch):
                facts = normalize.facts_of_capture(capture)
                slot = _SLOTS[capture.kind]
                if capture.kind in ("request", "response"):
                    key = StateKey(capture.tenant or "", capture.call_id, slot)
                    shares.append(_Share(key, facts, [capture], index))
                    continue
                source = capture.source
                place = (capture.tenant or "", capture.call_id, source.topic, source.partition)
                share = streams.get(place)
                if share is None:
                    share = streams[place] = _Share(StateKey(capture.tenant or "", capture.call_id, slot), facts)
                    shares.append(share)
                elif share.facts != facts:
                    share.facts = share.facts.merged(facts)
                share.captures.append(capture)
                share.index = index
        shares.sort(key=lambda share: share.index)
        return shares

    def _captures(self, message: Inbound, index: int, batch: Batch) -> Sequence[Capture]:
        try:
            mapping = self._mappings.get(message.source.topic)
            if mapping is None and (capture := envelope.read_object(message)) is not None:
                return (capture,)
            read = envelope.read_captures(message, mapping, self._avro)
        except Exception as fault:
            ours = records.unexpected(fault, _place(message.source))
            batch.dead_letters.append((index, records.dead_letter_of(ours, message, fault)))
            return ()
        if not read.rejects:
            return read.captures
        batch.dead_letters += [
            (
                index,
                records.dead_letter(
                    reject.error, [message.source], reject.value, key=message.key, headers=message.headers
                ),
            )
            for reject in read.rejects
        ]
        return read.captures

    # Offering shares to the store

    def _offers(self, shares: Sequence[_Share], batch: Batch) -> list[tuple[_Share, _Offer]]:
        """The shares with their offers; one that our own code cannot deal with becomes a dead letter."""
        offers = []
        for share in shares:
            try:
                offers.append((share, self._offer(share, batch)))
            except Exception as fault:
                batch.dead_letters.append((share.index, _fault_letter(fault, share)))
        return offers

    def _offer(self, share: _Share, batch: Batch) -> _Offer:
        last = share.captures[-1].source
        common: dict[str, Any] = {
            "key": share.key,
            "position": Position(last.topic, last.partition, last.offset),
            "first_offset": share.captures[0].source.offset,
            "last_seen": max(capture.source.timestamp for capture in share.captures),
            "idle": self._patience.idle,
            "grace": self._patience.grace,
        }
        if share.is_body:
            return _Offer(Append(packed=None, last=0, hard=0, whole=True, **common))
        pieces = in_order([Fragment(share.facts, tuple(_piece(capture) for capture in share.captures))])
        batch.duplicates += len(share.captures) - len(pieces)
        fragment = Fragment(share.facts, tuple(pieces))
        ends = self._ends(share, pieces)
        packed = None if ends["whole"] else pack(fragment)
        return _Offer(Append(packed=packed, **ends, **common), fragment)

    def _ends(self, share: _Share, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Where the share reaches to, and what it says of the stream's end."""
        numbered = [piece.seq for piece in pieces if piece.seq is not None]
        steps = [piece for piece in pieces if _is_step(piece, numbered=bool(numbered))]
        last = max([_reach(piece) for piece in steps], default=-1)
        counts = [piece.count for piece in pieces if piece.count is not None]
        seqs = tuple(intervals(numbered))
        ends = {
            "seqs": seqs,
            "last": last,
            "count": max(counts, default=None),
            "ended": any(piece.kind != "stream" and piece.seq is None for piece in pieces),
        }
        protocol = share.facts.protocol
        # All of a stream at once, as most are where batches are large: nothing hangs on the signs in it.
        unbroken = seqs == ((0, last),)
        if counts:
            if unbroken and last + 1 >= max(counts):
                return {**ends, "hard": -1, "soft": False, "whole": True}
        elif (unbroken or not numbered) and steps and ends_alone(protocol, steps[-1]):
            return {**ends, "hard": last, "soft": False, "whole": True}
        marks = self._signs.marks(share.key, protocol, pieces)
        placed = zip(pieces, marks, strict=True)
        hard = [
            _reach(piece) for piece, mark in placed if mark == SIGN_HARD and _is_step(piece, numbered=bool(numbered))
        ]
        ends["hard"] = max(hard, default=-1)
        ends["soft"] = SIGN_SOFT in marks
        if numbered:
            ends["whole"] = unbroken and not counts and ends["hard"] == last
        else:
            ends["whole"] = last >= 0 and (ends["ended"] or ends["hard"] == last)
        return ends

    # Taking answers

    def _take(self, share: _Share, offer: _Offer, answer: Answer, batch: Batch) -> None:
        """Take one answer; where our own code fails, the share becomes a dead letter and the batch goes on."""
        records_before, letters_before, closes_before = len(batch.records), len(batch.dead_letters), len(batch.closes)
        try:
            if share.is_body:
                self._take_body(share, answer, batch)
            else:
                self._take_pieces(share, offer.pieces, answer, batch)
        except Exception as fault:
            del batch.records[records_before:], batch.dead_letters[letters_before:], batch.closes[closes_before:]
            batch.dead_letters.append((share.index, _fault_letter(fault, share)))
            if answer.outcome == "ready":
                batch.closes.append(
                    Close(key=answer.key, through=answer.through, emitted=answer.emitted, claim=answer.claim)
                )

    def _take_body(self, share: _Share, answer: Answer, batch: Batch) -> None:
        capture = share.captures[0]
        if answer.outcome != "ready":
            if capture.kind == "response" and answer.through > 0:
                error = HeadraceError(
                    "the call's response was recorded from its stream",
                    code="already_recorded",
                    place=_place(capture.source),
                    fix="send the stream or the whole body, not both",
                )
                batch.dead_letters.append((share.index, _letter(error, [_piece(capture)], share.facts)))
            else:
                batch.duplicates += 1
            return
        read = normalize.request if capture.kind == "request" else normalize.response
        batch.take(self._guarded(lambda: read(capture), [_piece(capture)], share.facts), share.index)
        fragments = [unpack(packed) for packed in answer.fragments]
        waiting = in_order(fragments)
        batch.duplicates += sum(len(fragment.pieces) for fragment in fragments) - len(waiting)
        self._displace(waiting, share, batch)
        batch.closes.append(Close(key=share.key, through=0, emitted=1, final=True, claim=answer.claim))

    def _displace(self, pieces: Sequence[Piece], share: _Share, batch: Batch) -> None:
        """Pieces of a call whose whole body came: the body is the record, they are kept aside."""
        if pieces:
            error = HeadraceError(
                "the call's response was recorded from a whole body",
                code="already_recorded",
                place=_place(share.captures[0].source),
                fix="send the stream or the whole body, not both",
            )
            batch.dead_letters.append((share.index, _letter(error, pieces, share.facts)))

    def _take_pieces(self, share: _Share, pieces: Sequence[Piece], answer: Answer, batch: Batch) -> None:
        late = _late_pieces(pieces, answer)
        if late:
            batch.dead_letters.append((share.index, _late(late, share.facts)))
        if answer.outcome == "ready":
            lost = {id(piece) for piece in late}
            own = Fragment(share.facts, tuple([piece for piece in pieces if id(piece) not in lost] if late else pieces))
            self._emit(answer, [*(unpack(packed) for packed in answer.fragments), own], batch, index=share.index)
        elif answer.outcome == "duplicate":
            batch.duplicates += len(pieces) - len(late)
        elif answer.outcome == "claimed" and any(one.final and one.key == answer.key for one in batch.closes):
            # By the whole body that stands before them in this very batch: its close forgets them.
            self._displace(pieces, share, batch)
        else:
            batch.waiting[answer.key] = answer.emitted

    def _emit(self, answer: Answer, fragments: Sequence[Fragment], batch: Batch, *, index: int) -> None:
        """Fold a ready segment into records; the state is closed after the batch is published."""
        facts = facts_of(fragments)
        pieces, leftover = _segment(in_order(fragments), answer)
        batch.duplicates += sum(len(fragment.pieces) for fragment in fragments) - len(pieces) - len(leftover)
        made = normalize.Normalized(complete=False)
        if pieces:
            made = self._guarded(lambda: normalize.stream(facts, pieces, first_ordinal=answer.emitted), pieces, facts)
        says_nothing = not made.records and not made.dead_letters
        if says_nothing and pieces and answer.emitted == 0 and answer.through < 0 and not answer.final:
            made = normalize.silence(facts, pieces)
        elif says_nothing:
            # What follows the end of a response: an `end`, a terminator, a keep-alive.
            batch.duplicates += len(pieces)
        elif answer.final or (answer.through >= 0 and not made.complete):
            # Not a further response, only what came after the end of the last one.
            made = normalize.Normalized(dead_letters=[_late(pieces, facts)])
        batch.take(made, index)
        if answer.numbered:
            reaches = [piece.seq for piece in pieces if piece.seq is not None]
        else:
            reaches = [_reach(piece) for piece in pieces if _is_placed(piece, answer)]
        batch.closes.append(
            Close(
                key=answer.key,
                through=max(reaches, default=answer.through),
                emitted=answer.emitted + len(made.records),
                leftover=pack(Fragment(facts, leftover)) if leftover else None,
                final=index < 0 or answer.final,
                claim=answer.claim,
            )
        )
        self._signs.forget(answer.key)

    @staticmethod
    def _guarded(
        read: Callable[[], normalize.Normalized], pieces: Sequence[Piece], facts: CallFacts
    ) -> normalize.Normalized:
        """Run a normalization; whatever it raises becomes a dead letter with the bytes, and the batch goes on."""
        try:
            return read()
        except HeadraceError as error:
            return normalize.Normalized(dead_letters=[_letter(error, pieces, facts)])
        except Exception as fault:
            ours = records.unexpected(fault, _place(_coordinates(pieces[0])))
            return normalize.Normalized(dead_letters=[_letter(ours, pieces, facts, fault)])


_SLOTS: dict[str, Literal["request", "response"]] = {
    "request": "request",
    "response": "response",
    "stream": "response",
    "end": "response",
    "error": "response",
}


def _place(source: Coordinates) -> str:
    return f"{source.topic}/{source.partition}@{source.offset}"


def _coordinates(piece: Piece) -> Coordinates:
    return Coordinates(piece.topic, piece.partition, piece.offset, piece.timestamp)


def _piece(capture: Capture) -> Piece:
    at = capture.source
    return Piece(
        topic=at.topic,
        partition=at.partition,
        offset=at.offset,
        timestamp=at.timestamp,
        seq=capture.seq,
        kind=capture.kind,
        form=capture.form,
        payload=capture.payload,
        captured_at=capture.captured_at,
        count=capture.count,
        outcome=capture.outcome,
        message=capture.message,
        direction=capture.direction,
    )


def _reach(piece: Piece) -> int:
    """A piece's place in its stream: its number, or its offset."""
    return piece.offset if piece.seq is None else piece.seq


def _is_step(piece: Piece, *, numbered: bool) -> bool:
    """Whether a piece is a step of its stream. An unnumbered `end` is none: it may overtake the pieces it ends."""
    return piece.seq is not None if numbered else piece.kind != "end"


def _is_placed(piece: Piece, answer: Answer) -> bool:
    """Whether a state's ``through`` and ``limit`` speak of the piece."""
    return _is_step(piece, numbered=answer.numbered)


def _segment(pieces: Sequence[Piece], answer: Answer) -> tuple[list[Piece], tuple[Piece, ...]]:
    """The pieces of the segment that is ready, and those past it."""
    if answer.through < 0 and answer.limit < 0:
        return list(pieces), ()
    segment: list[Piece] = []
    leftover: list[Piece] = []
    for piece in pieces:
        reach = _reach(piece)
        if _is_placed(piece, answer) and reach <= answer.through:
            continue
        past = answer.limit >= 0 and _is_placed(piece, answer) and reach > answer.limit
        (leftover if past else segment).append(piece)
    return segment, tuple(leftover)


def _late_pieces(pieces: Sequence[Piece], answer: Answer) -> list[Piece]:
    if answer.late or (answer.final and answer.outcome == "duplicate"):
        return [piece for piece in pieces if _is_late(piece, answer)]
    return []


def _is_late(piece: Piece, answer: Answer) -> bool:
    """Whether a piece came too late for any segment: in a gap of an emitted one, or after the final one."""
    closed = answer.final and answer.outcome == "duplicate"
    if not _is_placed(piece, answer):
        # Nothing tells whether it was in what was emitted: better a dead letter too many than a piece that vanishes.
        return closed and piece.kind == "stream"
    if piece.kind == "end":
        return False
    reach = _reach(piece)
    if closed and reach > answer.through:
        return True
    return any(first <= reach <= last for first, last in answer.late)


def _letter(
    error: HeadraceError, pieces: Sequence[Piece], facts: CallFacts, cause: BaseException | None = None
) -> DeadLetter:
    value = b"\n".join(piece.payload for piece in pieces) if pieces[0].form == "json" else _joined(pieces)
    return records.dead_letter(error, [_coordinates(piece) for piece in pieces], value, facts=facts, cause=cause)


def _fault_letter(fault: Exception, share: _Share) -> DeadLetter:
    pieces = [_piece(capture) for capture in share.captures]
    ours = fault if isinstance(fault, HeadraceError) else records.unexpected(fault, _place(share.captures[0].source))
    return _letter(ours, pieces, share.facts, fault)


def _joined(pieces: Sequence[Piece]) -> bytes:
    return b"".join(piece.payload for piece in pieces)


def _late(pieces: Sequence[Piece], facts: CallFacts) -> DeadLetter:
    error = HeadraceError(
        "pieces came after their call was closed",
        code="late_chunk",
        place=_place(_coordinates(pieces[0])),
        fix="raise the idle time if the producer pauses that long",
    )
    return _letter(error, pieces, facts)
