"""What the store's answers become: records, dead letters, and closes for after the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace import normalize
from headrace.canonical.shape import DeadLetter
from headrace.errors import HeadraceError
from headrace.pipeline import letters
from headrace.pipeline.batch import Batch
from headrace.pipeline.intake import Share
from headrace.pipeline.offers import Offer
from headrace.reassembly.facts import CallFacts
from headrace.reassembly.packing import pack, unpack
from headrace.reassembly.pieces import Fragment, Pieces, facts_of
from headrace.reassembly.sequence import in_order, reaches
from headrace.reassembly.store import Answer, Close


def take(share: Share, offer: Offer, answer: Answer, batch: Batch) -> None:
    """Take the answer to a share's offer; where our own code fails, the share becomes a dead letter and the batch
    goes on."""
    records_before, letters_before, closes_before = len(batch.records), len(batch.dead_letters), len(batch.closes)
    try:
        if share.body is not None:
            _take_body(share, answer, batch)
        else:
            _take_pieces(share, offer, answer, batch)
    except Exception as fault:
        del batch.records[records_before:], batch.dead_letters[letters_before:], batch.closes[closes_before:]
        batch.dead_letters.append((share.index, letters.fault(fault, share.pieces, share.facts)))
        if answer.outcome == "ready":
            batch.closes.append(
                Close(key=answer.key, through=answer.through, emitted=answer.emitted, claim=answer.claim)
            )


def emit(answer: Answer, fragments: Sequence[Fragment], batch: Batch, *, index: int) -> None:
    """Fold a ready segment into records; the state is closed after the batch is published.

    fragments: the segment's, and perhaps more. index: of the share that made it ready, -1 for a deadline.
    """
    facts = facts_of(fragments)
    pieces, leftover = _segment(in_order(fragments), answer)
    batch.duplicates += sum(len(fragment.pieces) for fragment in fragments) - len(pieces) - len(leftover)
    made = normalize.Normalized(complete=False)
    if len(pieces) > 0:
        made = _guarded(lambda: normalize.stream(facts, pieces, first_ordinal=answer.emitted), pieces, facts)
    says_nothing = not made.records and not made.dead_letters
    is_first = answer.emitted == 0 and answer.through < 0
    if says_nothing and len(pieces) > 0 and is_first and not answer.final:
        made = normalize.silence(facts, pieces)
    elif says_nothing:
        # What follows the end of a response: an `end`, a terminator, a keep-alive.
        batch.duplicates += len(pieces)
    elif answer.final or not (is_first or made.complete):
        # Not a further response, only what came after the end of the last one.
        made = normalize.Normalized(dead_letters=[_too_late(pieces, facts, answer)])
    batch.take(made, index)
    through = max(reaches(pieces, numbered=answer.numbered), default=-1)
    batch.closes.append(
        Close(
            key=answer.key,
            through=answer.through if through < 0 else through,
            emitted=answer.emitted + len(made.records),
            leftover=pack(Fragment(facts, leftover)) if len(leftover) > 0 else None,
            final=index < 0 or answer.final,
            claim=answer.claim,
        )
    )


def _take_body(share: Share, answer: Answer, batch: Batch) -> None:
    capture = share.body
    assert capture is not None
    if answer.outcome != "ready":
        if answer.body:
            batch.duplicates += 1
        else:
            letter = letters.already_recorded(share.pieces, share.facts, source="its stream")
            batch.dead_letters.append((share.index, letter))
        return
    read = normalize.request if capture.kind == "request" else normalize.response
    batch.take(_guarded(lambda: read(capture), share.pieces, share.facts), share.index)
    fragments = [unpack(packed) for packed in answer.fragments]
    waiting = in_order(fragments)
    batch.duplicates += sum(len(fragment.pieces) for fragment in fragments) - len(waiting)
    if len(waiting) > 0:
        batch.dead_letters.append((share.index, _too_late(waiting, share.facts, answer)))
    batch.closes.append(Close(key=share.key, through=-1, emitted=1, final=True, claim=answer.claim))


def _too_late(pieces: Pieces, facts: CallFacts, answer: Answer) -> DeadLetter:
    """Pieces that no record can hold any more: a whole body is the record, or what they belong to is out."""
    if answer.body:
        return letters.already_recorded(pieces, facts, source="a whole body")
    return letters.late(pieces, facts)


def _take_pieces(share: Share, offer: Offer, answer: Answer, batch: Batch) -> None:
    assert offer.fragment is not None
    own = offer.fragment
    pieces = own.pieces
    late = _late_places(pieces, answer)
    if late:
        batch.dead_letters.append((share.index, _too_late(pieces.at(late), share.facts, answer)))
    if answer.outcome == "ready":
        if late:
            own = Fragment(share.facts, pieces.without(late))
        # Most often the share's own fragment is the last of those that the store held.
        held = [unpack(packed) for packed in answer.fragments if late or packed != offer.append.packed]
        emit(answer, [*held, own], batch, index=share.index)
    elif answer.outcome == "duplicate" or (answer.body and all(trait.kind == "end" for trait in pieces.traits)):
        batch.duplicates += len(pieces) - len(late)
    else:
        batch.waiting[answer.key] = answer.emitted


def _guarded(read: Callable[[], normalize.Normalized], pieces: Pieces, facts: CallFacts) -> normalize.Normalized:
    """Run a normalization; whatever it raises becomes a dead letter with the bytes, and the batch goes on."""
    try:
        return read()
    except HeadraceError as error:
        return normalize.Normalized(dead_letters=[letters.unreadable(error, pieces, facts)])
    except Exception as fault:
        return normalize.Normalized(dead_letters=[letters.fault(fault, pieces, facts)])


def _segment(pieces: Pieces, answer: Answer) -> tuple[Pieces, Pieces]:
    """The pieces of the segment that is ready, and those past it."""
    through, limit = answer.through, answer.limit
    if through < 0 and limit < 0:
        return pieces, Pieces()
    segment: list[int] = []
    leftover: list[int] = []
    for index, step in enumerate(reaches(pieces, numbered=answer.numbered)):
        if 0 <= step <= through:
            continue
        (leftover if 0 <= limit < step else segment).append(index)
    return pieces.at(segment), pieces.at(leftover)


def _late_places(pieces: Pieces, answer: Answer) -> list[int]:
    """The indexes of pieces that came too late for any segment: in a gap of an emitted one, or after the final one."""
    closed = answer.final and answer.outcome == "duplicate"
    if not answer.late and not closed:
        return []
    late: list[int] = []
    for index, step in enumerate(reaches(pieces, numbered=answer.numbered)):
        if pieces.traits[index].kind == "end":
            continue
        # Of what is no step nothing tells whether it was in what was emitted: better a dead letter too many than a
        # piece that vanishes.
        if (closed and not 0 <= step <= answer.through) or any(first <= step <= last for first, last in answer.late):
            late.append(index)
    return late
