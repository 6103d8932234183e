"""Captures in, canonical records out: batches, reassembly and deadlines. No Kafka, no Redis, no clock.

Theory of operation. A batch is every message one poll gave (`intake`). Its captures are grouped by call:

* a request, or a whole response body, is a unit of its own: it claims its slot and is normalized;
* the stream pieces of one call form a share. All shares of the batch are offered to the store in one trip
  (`offers`); the store answers which calls are ready, and those are folded (`emission`).

Nothing is emitted before the store has granted the claim, and `Batch.closes` must reach `Pipeline.close` only
after the batch's records are safely published: a crash in between makes the same claim again on replay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.canonical import ids
from headrace.capture.avro_form import AvroCaptures
from headrace.capture.inbound import Inbound
from headrace.capture.mapping import Mapping as SourceMapping
from headrace.pipeline import emission, letters
from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Intake, Share
from headrace.pipeline.offers import Offer, Offers, Patience
from headrace.reassembly.packing import unpack
from headrace.reassembly.store import UNIT, Answer, Append, Close, Position, StateKey, Store

__all__ = ["Batch", "Patience", "Pipeline"]


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
        self._intake = Intake(mappings, avro)
        self._offers = Offers(patience or Patience())

    async def process(self, messages: Sequence[Inbound]) -> Batch:
        """Take one polled batch. Raises StoreError, with nothing emitted, when the store is away."""
        batch = Batch(consumed=len(messages))
        offered = self._offered(self._intake.shares(messages, batch), batch)
        answers = await self._answers([offer for _, offer in offered])
        for (share, offer), answer in zip(offered, answers, strict=True):
            emission.take(share, offer, answer, batch)
            self._intake.note(share, is_open=answer.outcome == "open")
        self._forget(batch)
        return batch

    async def due(
        self, batch: Batch, position: Position, now: int, committed: int, committed_round: int = 0, limit: int = 500
    ) -> None:
        """Add to a batch the calls of its partition whose patience ended at stream time ``now`` (microseconds).

        Once a batch, after `process`; see `Store.due` for position, committed and committed_round.
        """
        for answer in await self._store.due(position, now, committed, limit, committed_round):
            emission.emit(answer, [unpack(packed) for packed in answer.fragments], batch, index=-1)
        self._forget(batch)

    async def close(self, batch: Batch) -> None:
        """After the batch is published: forget the emitted pieces, keep tombstones."""
        if batch.closes:
            await self._store.close(batch.closes)

    async def bury(
        self, waiting: Mapping[StateKey, int], is_published: Callable[[str], bool], position: Position
    ) -> None:
        """Close for good the waiting states whose next record is published already: their patience had ended.

        After a store's memory was lost and rebuilt. waiting: as `Batch.waiting`. is_published: by record id.
        position: the last place that was read again.
        """
        ended = [
            Append(key=key, position=position, first_offset=position.offset, packed=None, last=UNIT, whole=True)
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

    def _offered(self, shares: Sequence[Share], batch: Batch) -> list[tuple[Share, Offer]]:
        """The shares with their offers; one that our own code cannot deal with becomes a dead letter."""
        offered = []
        for share in shares:
            try:
                offered.append((share, self._offers.of(share, batch)))
            except Exception as fault:
                batch.dead_letters.append((share.index, letters.fault(fault, share.pieces, share.facts)))
        return offered

    async def _answers(self, offers: Sequence[Offer]) -> list[Answer]:
        """The store's answers; shares that it could not keep because it was not given them are given now."""
        answers = await self._store.append([offer.append for offer in offers])
        unkept = [place for place, answer in enumerate(answers) if not answer.kept]
        if unkept:
            again = await self._store.append([offers[place].give_pieces() for place in unkept])
            for place, answer in zip(unkept, again, strict=True):
                answers[place] = answer
        return answers

    def _forget(self, batch: Batch) -> None:
        """What signs remember of calls that are done."""
        for close in batch.closes:
            self._offers.signs.forget(close.key)
