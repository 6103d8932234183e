"""The store contract as tests: every store's test module inherits them and gives a ``store`` fixture."""

from __future__ import annotations

import pytest

from headrace.reassembly.store import FOREVER, UNKNOWN_RECORDS, Answer, Append, Position, StateKey, Store
from tests.support.shares import CALL, GRACE, IDLE, at, closing, logged, numbered, unit

LATER = 10_000_000


async def one(store: Store, append: Append) -> Answer:
    (answer,) = await store.append([append])
    return answer


async def due(store: Store, position: Position, now: int = LATER, committed: int = 0, **more: int) -> list[Answer]:
    return await store.due(position, now, committed, 100, **more)


class StoreContract:
    """What every store does."""

    # Ready

    async def test_numbered_stream_is_ready_without_gap_up_to_its_last_event(self, store: Store) -> None:
        assert (await one(store, numbered([0, 1], 10))).outcome == "open"
        answer = await one(store, numbered([2, 3], 20, hard=3))
        assert answer.outcome == "ready"
        assert answer.fragments == (b"[0, 1]", b"[2, 3]")
        assert (answer.through, answer.limit, answer.emitted, answer.numbered) == (-1, -1, 0, True)
        assert answer.claim == at(20)

    async def test_gap_keeps_a_stream_open_until_it_is_filled(self, store: Store) -> None:
        assert (await one(store, numbered([0, 3], 10, hard=3))).outcome == "open"
        assert (await one(store, numbered([2], 11))).outcome == "open"
        assert (await one(store, numbered([1], 12))).outcome == "ready"

    async def test_piece_after_the_last_event_keeps_a_stream_open(self, store: Store) -> None:
        assert (await one(store, numbered([0, 1, 2], 10, hard=1))).outcome == "open"
        assert (await one(store, numbered([3], 11, hard=3))).outcome == "ready"

    @pytest.mark.parametrize("end_first", [True, False])
    async def test_announced_count_decides_instead_of_the_last_event(self, store: Store, end_first: bool) -> None:
        shares = [numbered([0, 1], 10, hard=1), numbered([], 11, count=3, partition=1, soft=True)]
        if end_first:
            shares.reverse()
            assert [answer.outcome for answer in await store.append(shares)] == ["open", "open"]
        else:
            # Nothing has told yet that more is announced.
            shares[0] = numbered([0, 1], 10)
            assert [answer.outcome for answer in await store.append(shares)] == ["open", "open"]
        assert (await one(store, numbered([2], 12))).outcome == "ready"

    async def test_stream_that_starts_at_one_is_only_due(self, store: Store) -> None:
        assert (await one(store, numbered([1, 2], 10, hard=2))).outcome == "open"
        (answer,) = await due(store, at(10))
        assert answer.outcome == "ready"

    async def test_unnumbered_stream_is_ready_with_its_last_event(self, store: Store) -> None:
        assert (await one(store, logged([10, 11]))).outcome == "open"
        answer = await one(store, logged([15, 19], hard=True))
        assert answer.outcome == "ready"
        assert not answer.numbered
        assert answer.fragments == (b"[10, 11]", b"[15, 19]")

    async def test_end_makes_an_unnumbered_stream_ready(self, store: Store) -> None:
        await one(store, logged([10]))
        assert (await one(store, logged([11], last=-1, ended=True))).outcome == "ready"

    async def test_end_of_another_partition_only_shortens_the_wait(self, store: Store) -> None:
        """Pieces sent before it may still be on their way."""
        await one(store, logged([10], seen=0))
        assert (await one(store, logged([99], partition=1, last=-1, ended=True, seen=0))).outcome == "open"
        assert await due(store, at(99, 1), now=GRACE - 1) == []
        (answer,) = await due(store, at(99, 1), now=GRACE)
        assert len(answer.fragments) == 2
        assert (answer.through, answer.limit) == (-1, -1)

    async def test_end_does_not_make_a_numbered_stream_ready(self, store: Store) -> None:
        await one(store, numbered([0, 2], 10, seen=0))
        assert (await one(store, logged([11], last=-1, ended=True, seen=0))).outcome == "open"
        assert (await one(store, numbered([1], 12, seen=0))).outcome == "open"
        assert await due(store, at(12), now=GRACE - 1) == []
        assert len(await due(store, at(12), now=GRACE)) == 1

    async def test_offsets_of_unnumbered_pieces_do_not_count_in_a_numbered_stream(self, store: Store) -> None:
        await one(store, logged([499]))
        await one(store, numbered([0], 5))
        assert (await one(store, logged([500], hard=True, ended=True))).outcome == "open"
        answer = await one(store, numbered([1], 501, hard=1))
        assert answer.outcome == "ready"
        await store.close([closing(answer, 1)])
        assert (await one(store, numbered([2, 3], 502, hard=3))).outcome == "ready"

    async def test_pieces_may_come_in_any_order_and_twice(self, store: Store) -> None:
        for offset, seqs in enumerate([[7, 5], [1], [5, 6, 7], [3, 2], [0], [1, 2, 3]]):
            assert (await one(store, numbered(seqs, offset, hard=7 if 7 in seqs else -1))).outcome == "open"
        assert (await one(store, numbered([4], 50))).outcome == "ready"

    async def test_states_of_other_tenants_slots_and_odd_ids_never_meet(self, store: Store) -> None:
        keys = [
            StateKey("a", "b|c", "response"),
            StateKey("a|b", "c", "response"),
            StateKey("a", "{b}c", "response"),
            StateKey("a", "b}c", "response"),
            StateKey("a", "%7Db", "response"),
            StateKey("a", "}b", "response"),
            StateKey("", "", "response"),
            StateKey("", "", "request"),
            StateKey("", "ü\ud800\n \x00", "response"),
            StateKey("", "x" * 3_000, "response"),
            StateKey("", "x" * 3_001, "response"),
        ]
        answers = await store.append([numbered([0], 1, key=key, packed=repr(key).encode()) for key in keys])
        assert {answer.outcome for answer in answers} == {"open"}
        found = await due(store, at(1))
        assert {answer.key: answer.fragments for answer in found} == {key: (repr(key).encode(),) for key in keys}

    async def test_answers_come_in_the_order_of_appends(self, store: Store) -> None:
        keys = [StateKey("t", f"call-{number}", "response") for number in range(50)]
        answers = await store.append(
            [numbered([0], 1, key=key, hard=0 if at_ % 2 else -1) for at_, key in enumerate(keys)]
        )
        assert [answer.key for answer in answers] == keys
        assert [answer.outcome for answer in answers] == ["open", "ready"] * 25

    async def test_no_appends_no_closes(self, store: Store) -> None:
        assert await store.append([]) == []
        await store.close([])

    # Whole units

    async def test_whole_share_claims_and_stores_nothing(self, store: Store) -> None:
        answer = await one(store, numbered([0, 1], 10, hard=1, whole=True))
        assert (answer.outcome, answer.fragments) == ("ready", ())

    async def test_whole_share_gets_what_was_held_before(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        answer = await one(store, numbered([0, 1, 2], 20, hard=2, whole=True))
        assert (answer.outcome, answer.fragments) == ("ready", (b"[0, 1]",))

    async def test_whole_share_ends_its_segment_before_pieces_that_are_held_already(self, store: Store) -> None:
        await one(store, numbered([5, 6], 10, hard=6))
        answer = await one(store, numbered([0, 1, 2], 20, hard=2, whole=True))
        assert (answer.outcome, answer.limit) == ("ready", 2)
        await store.close([closing(answer, 2)])
        answer = await one(store, numbered([3, 4], 30))
        assert (answer.outcome, answer.through) == ("ready", 2)
        assert answer.fragments == (b"[5, 6]", b"[3, 4]")

    async def test_unit_is_claimed_once(self, store: Store) -> None:
        first, second = await store.append([unit(10), unit(11)])
        assert (first.outcome, second.outcome) == ("ready", "claimed")
        await store.close([closing(first, 0)])
        assert (await one(store, unit(12))).outcome == "duplicate"
        assert (await one(store, unit(3, partition=7))).outcome == "duplicate"

    async def test_unit_after_a_stream_is_a_duplicate_that_says_how_far_the_stream_went(self, store: Store) -> None:
        answer = await one(store, numbered([0, 1, 2], 10, hard=2))
        await store.close([closing(answer, 2)])
        answer = await one(store, unit(11))
        assert (answer.outcome, answer.through) == ("duplicate", 2)

    async def test_unit_takes_the_place_of_an_open_stream(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        answer = await one(store, unit(11))
        assert (answer.outcome, answer.fragments) == ("ready", (b"[0, 1]",))
        await store.close([closing(answer, 0, final=True)])
        late = await one(store, numbered([2], 12))
        assert (late.outcome, late.final) == ("duplicate", True)
        assert await due(store, at(12), committed=13) == []

    # Claims and replay

    async def test_replay_of_the_claiming_share_is_ready_again(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        first = await one(store, numbered([2], 20, hard=2))
        again = await one(store, numbered([2], 20, hard=2))
        assert again.outcome == "ready"
        assert again.limit == 2
        assert set(first.fragments) <= set(again.fragments)
        assert again.claim == first.claim

    async def test_replay_in_smaller_batches_is_ready_where_it_reaches_the_claim(self, store: Store) -> None:
        await one(store, numbered([0, 1, 2, 3], 20, hard=3, first=11, whole=True))
        assert (await one(store, numbered([0, 1], 13, first=11))).outcome == "claimed"
        answer = await one(store, numbered([2, 3], 20, hard=3, first=17))
        assert answer.outcome == "ready"
        assert answer.fragments == (b"[0, 1]", b"[2, 3]")

    async def test_replay_in_a_larger_batch_is_limited_to_what_was_claimed(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10, hard=1, first=9))
        answer = await one(store, numbered([0, 1, 2, 3], 30, hard=3, first=9))
        assert (answer.outcome, answer.limit) == ("ready", 1)
        await store.close([closing(answer, 1, leftover=b"[2, 3]")])
        (answer,) = await due(store, at(30), now=0, committed=31)
        assert (answer.outcome, answer.through, answer.emitted) == ("ready", 1, 1)
        assert answer.fragments == (b"[2, 3]",)

    async def test_pieces_past_a_repeated_claim_stay_without_a_leftover(self, store: Store) -> None:
        await one(store, logged([9, 10], hard=True))
        answer = await one(store, logged([9, 10, 30], hard=True))
        assert (answer.outcome, answer.limit) == ("ready", 10)
        await store.close([closing(answer, 10)])
        (answer,) = await due(store, at(30), now=0, committed=31)
        assert answer.through == 10
        assert b"[9, 10, 30]" in answer.fragments

    async def test_other_shares_of_a_claimed_state_are_kept_but_emit_nothing(self, store: Store) -> None:
        claimed = await one(store, numbered([0, 1], 10, hard=1))
        assert (await one(store, numbered([1], 4, partition=3))).outcome == "claimed"
        assert (await one(store, numbered([2, 3], 12, hard=3))).outcome == "claimed"
        await store.close([closing(claimed, 1)])
        (answer,) = await due(store, at(12), now=0, committed=13)
        assert (answer.through, answer.emitted) == (1, 1)
        assert b"[2, 3]" in answer.fragments
        assert b"[0, 1]" not in answer.fragments

    async def test_claim_of_another_partition_is_not_covered_by_equal_offsets(self, store: Store) -> None:
        await one(store, numbered([0], 10, partition=0))
        await one(store, numbered([1], 10, partition=1, hard=1))
        assert (await one(store, numbered([0], 10, partition=0))).outcome == "claimed"
        assert (await one(store, numbered([1], 10, partition=1, hard=1))).outcome == "ready"

    async def test_whole_share_past_a_claim_asks_for_its_fragment(self, store: Store) -> None:
        claimed = await one(store, logged([10, 11], hard=True))
        refused = await one(store, logged([20, 21], hard=True, whole=True))
        assert (refused.outcome, refused.kept) == ("claimed", False)
        kept = await one(store, logged([20, 21], hard=True))
        assert (kept.outcome, kept.kept) == ("claimed", True)
        await store.close([closing(claimed, 11)])
        (answer,) = await due(store, at(21), now=0, committed=22)
        assert answer.fragments == (b"[20, 21]",)

    async def test_whole_share_that_only_repeats_a_claim_needs_no_fragment(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10, hard=1, whole=True))
        answer = await one(store, numbered([0, 1], 15, hard=1, whole=True))
        assert (answer.outcome, answer.kept) == ("claimed", True)

    async def test_refused_whole_share_leaves_no_trace(self, store: Store) -> None:
        """A gap would look filled, and the call complete, with the pieces nowhere."""
        claimed = await one(store, numbered([0], 10, hard=0))
        assert not (await one(store, numbered([1, 2], 20, hard=2, whole=True))).kept
        await one(store, numbered([3], 21, hard=3))
        await store.close([closing(claimed, 0)])
        assert await due(store, at(21), now=0, committed=22) == []
        answer = await one(store, numbered([1, 2], 22))
        assert (answer.outcome, answer.fragments) == ("ready", (b"[3]", b"[1, 2]"))

    async def test_whole_unnumbered_share_ends_its_segment_before_later_pieces(self, store: Store) -> None:
        await one(store, logged([20]))
        answer = await one(store, logged([10, 11], hard=True, whole=True))
        assert (answer.outcome, answer.limit) == ("ready", 11)
        await store.close([closing(answer, 11)])
        assert [found.fragments for found in await due(store, at(20), committed=12)] == [(b"[20]",)]

    # Closing

    async def test_pieces_of_a_closed_segment_are_duplicates(self, store: Store) -> None:
        await store.close([closing(await one(store, numbered([0, 1], 10, hard=1)), 1)])
        answer = await one(store, numbered([0, 1], 11, hard=1))
        assert (answer.outcome, answer.through, answer.late) == ("duplicate", 1, ())
        assert await due(store, at(11), committed=12) == []

    async def test_later_pieces_open_the_next_segment(self, store: Store) -> None:
        await store.close([closing(await one(store, numbered([0, 1], 10, hard=1)), 1, records=2)])
        answer = await one(store, numbered([1, 3], 11, hard=3))
        assert (answer.outcome, answer.through, answer.emitted) == ("open", 1, 2)
        answer = await one(store, numbered([2], 12))
        assert (answer.outcome, answer.through, answer.emitted) == ("ready", 1, 2)
        assert answer.fragments == (b"[1, 3]", b"[2]")
        await store.close([closing(answer, 3)])
        assert (await one(store, numbered([0, 1, 2, 3], 13, hard=3))).outcome == "duplicate"
        assert (await one(store, numbered([4], 14, hard=4))).emitted == 3

    async def test_unnumbered_segments_follow_one_another(self, store: Store) -> None:
        await store.close([closing(await one(store, logged([10, 11], hard=True)), 11)])
        assert (await one(store, logged([10, 11], hard=True))).outcome == "duplicate"
        answer = await one(store, logged([11, 12], hard=True))
        assert (answer.outcome, answer.through, answer.emitted) == ("ready", 11, 1)

    async def test_unnumbered_pieces_of_another_partition_are_never_taken_for_duplicates(self, store: Store) -> None:
        await store.close([closing(await one(store, logged([100], hard=True)), 100)])
        answer = await one(store, logged([7], partition=1))
        assert (answer.outcome, answer.through) == ("open", -1)
        assert [found.fragments for found in await due(store, at(7, 1))] == [(b"[7]",)]

    async def test_pieces_that_fill_a_gap_of_an_emitted_segment_are_late(self, store: Store) -> None:
        await one(store, numbered([0, 1, 4, 9], 10))
        (answer,) = await due(store, at(10))
        assert (await one(store, numbered([1, 2, 3], 11))).late == ((2, 3),)
        await store.close([closing(answer, 9)])
        assert (await one(store, numbered([4, 5], 12))).late == ((5, 5),)
        answer = await one(store, numbered([8, 9, 10], 13))
        assert (answer.outcome, answer.late) == ("open", ((8, 8),))

    async def test_late_pieces_that_a_replay_emits_after_all_are_not_late_any_more(self, store: Store) -> None:
        await one(store, numbered([0, 2], 10))
        await due(store, at(10))
        assert (await one(store, numbered([1], 3, partition=1))).late == ((1, 1),)
        (again,) = await due(store, at(10))
        assert b"[1]" in again.fragments
        await store.close([closing(again, 2)])
        assert (await one(store, numbered([1], 4, partition=1))).late == ()

    async def test_final_tombstone_keeps_nothing(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        (answer,) = await due(store, at(10))
        await store.close([closing(answer, 1, final=True)])
        answer = await one(store, numbered([2, 3], 11, hard=3))
        assert (answer.outcome, answer.final, answer.through) == ("duplicate", True, 1)
        assert await due(store, at(11), committed=12) == []
        assert await store.open_calls() == 0

    async def test_pieces_between_a_final_claim_and_its_close_are_given_back_as_late(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        (answer,) = await due(store, at(10))
        assert (await one(store, numbered([2], 7, partition=1))).outcome == "claimed"
        await store.close([closing(answer, 1, final=True)])
        assert (await one(store, numbered([3], 8, partition=1))).outcome == "duplicate"
        (late,) = await due(store, at(11), now=0, committed=11)
        assert (late.final, late.through, late.fragments) == (True, 1, (b"[2]",))
        await store.close([closing(late, 2, records=0, final=True)])
        assert await due(store, at(12), committed=12) == []

    async def test_close_of_a_stale_owner_does_nothing(self, store: Store) -> None:
        stale = await one(store, numbered([0], 10, hard=0))
        await store.close([closing(stale, 0)])
        claimed = await one(store, numbered([1], 20, hard=1))
        await store.close([closing(stale, 0)])
        again = await one(store, numbered([1], 20, hard=1))
        assert (again.outcome, again.limit) == ("ready", 1)
        await store.close([closing(claimed, 1)])
        assert (await one(store, numbered([1], 21))).outcome == "duplicate"

    async def test_close_of_an_end_alone_does_not_take_its_offset_for_a_number(self, store: Store) -> None:
        await one(store, logged([400], last=-1, ended=True))
        (answer,) = await due(store, at(400))
        await store.close([closing(answer, 400)])
        assert (await one(store, numbered([0], 401, hard=0))).outcome == "ready"

    async def test_close_of_an_unknown_call_is_ignored(self, store: Store) -> None:
        await store.close([closing(Answer(key=CALL, outcome="ready", claim=at(1)), 5)])
        assert (await one(store, numbered([0], 1, hard=0))).outcome == "ready"

    async def test_close_of_what_came_without_a_number_does_not_take_its_offset_for_one(self, store: Store) -> None:
        await store.close([closing(await one(store, numbered([0], 10, hard=0)), 0)])
        await one(store, logged([400], ended=True))
        (answer,) = await due(store, at(400), committed=11)
        assert (answer.numbered, answer.through) == (True, 0)
        await store.close([closing(answer, 400)])
        assert (await one(store, numbered([1], 401, hard=1))).outcome == "ready"

    async def test_piece_that_ends_a_segment_without_being_emitted_is_still_a_duplicate(self, store: Store) -> None:
        """An error capture ends the stream; the last piece emitted lies before it."""
        answer = await one(store, logged([10, 11], ended=True))
        await store.close([closing(answer, 10)])
        assert (await one(store, logged([11], ended=True))).outcome == "duplicate"

    async def test_unnumbered_piece_of_a_closed_numbered_segment_is_a_duplicate(self, store: Store) -> None:
        await one(store, logged([7], partition=1))
        await store.close([closing(await one(store, numbered([0], 10, hard=0)), 0)])
        assert (await one(store, logged([7], partition=1))).outcome == "duplicate"
        assert (await one(store, logged([8], partition=1))).outcome == "open"

    async def test_unnumbered_piece_that_a_replay_showed_opens_no_segment(self, store: Store) -> None:
        await one(store, numbered([0], 10, hard=0))
        assert (await one(store, logged([7], partition=1))).outcome == "claimed"
        again = await one(store, numbered([0], 10, hard=0))
        assert b"[7]" in again.fragments
        await store.close([closing(again, 0)])
        assert await due(store, at(10), committed=11) == []
        assert await due(store, at(7, 1), committed=8) == []
        assert await store.open_calls() == 0

    async def test_end_that_announces_more_than_was_emitted_is_kept(self, store: Store) -> None:
        await store.close([closing(await one(store, numbered([0, 1], 10, hard=1)), 1)])
        assert (await one(store, numbered([], 11, count=2))).outcome == "duplicate"
        assert (await one(store, numbered([], 12, count=4))).outcome == "open"
        assert (await one(store, numbered([2], 13))).outcome == "open"
        assert (await one(store, numbered([3], 14))).outcome == "ready"

    @pytest.mark.parametrize("signs", [{"hard": 1}, {"count": 2, "soft": True}, {"count": 2, "ended": True}])
    async def test_signs_of_a_segment_say_nothing_of_the_next(self, store: Store, signs: dict[str, int]) -> None:
        claimed = await one(store, numbered([0, 1], 10, seen=0, **signs))
        assert (await one(store, numbered([1], 6, partition=1, seen=0, **signs))).outcome == "claimed"
        assert (await one(store, numbered([2], 11, seen=0))).outcome == "claimed"
        await store.close([closing(claimed, 1)])
        assert await due(store, at(11), now=IDLE - 1, committed=12) == []
        assert len(await due(store, at(11), now=IDLE, committed=12)) == 1

    async def test_last_event_of_an_unnumbered_segment_says_nothing_of_the_next(self, store: Store) -> None:
        claimed = await one(store, logged([10], hard=True, seen=0))
        assert (await one(store, logged([11], seen=0))).outcome == "claimed"
        await store.close([closing(claimed, 10)])
        assert await due(store, at(11), now=IDLE - 1, committed=12) == []
        assert len(await due(store, at(11), now=IDLE, committed=12)) == 1

    # Deadlines

    async def test_due_after_idle_or_after_grace(self, store: Store) -> None:
        slow, soft, hard = (StateKey("t", name, "response") for name in ("slow", "soft", "hard"))
        await store.append(
            [
                numbered([0], 10, key=slow, seen=0),
                numbered([0], 11, key=soft, seen=0, soft=True),
                numbered([0, 2], 12, key=hard, seen=5, hard=2),
            ]
        )
        assert await due(store, at(12), now=GRACE - 1) == []
        assert [answer.key for answer in await due(store, at(12), now=GRACE + 5)] == [soft, hard]
        assert [answer.key for answer in await due(store, at(13), now=IDLE, committed=13)] == [slow]

    async def test_newer_piece_moves_the_deadline(self, store: Store) -> None:
        await one(store, numbered([0], 10, seen=0))
        await one(store, numbered([1], 11, seen=500))
        assert await due(store, at(11), now=IDLE) == []
        assert len(await due(store, at(11), now=IDLE + 500)) == 1

    async def test_soft_sign_stays_known(self, store: Store) -> None:
        await one(store, numbered([0], 10, seen=0, soft=True))
        await one(store, numbered([1], 11, seen=50))
        assert len(await due(store, at(11), now=50 + GRACE)) == 1

    async def test_due_is_ordered_by_deadline_and_limited(self, store: Store) -> None:
        keys = [StateKey("t", f"call-{number}", "response") for number in range(9)]
        seen = [(7 * number) % 9 for number in range(9)]
        await store.append([numbered([0], 10, key=key, seen=moment) for key, moment in zip(keys, seen, strict=True)])
        expected = [key for _, key in sorted(zip(seen, keys, strict=True))]
        answers = await store.due(at(10), LATER, 0, 4)
        assert [answer.key for answer in answers] == expected[:4]
        await store.close([closing(answer, 0) for answer in answers])
        answers = await store.due(at(11), LATER, 11, 100)
        assert [answer.key for answer in answers] == expected[4:]

    async def test_due_sees_only_its_partition(self, store: Store) -> None:
        await one(store, numbered([0], 10, partition=2))
        assert await due(store, at(10, 1)) == []
        assert await due(store, at(10, 2, topic="other")) == []
        assert len(await due(store, at(10, 2))) == 1

    async def test_call_belongs_to_the_partition_of_its_last_share(self, store: Store) -> None:
        await one(store, numbered([0], 10, partition=0))
        await one(store, numbered([1], 10, partition=1))
        assert await due(store, at(10, 0)) == []
        assert len(await due(store, at(10, 1))) == 1

    async def test_at_forever_every_open_call_is_due(self, store: Store) -> None:
        keys = [StateKey("t", f"call-{number}", "response") for number in range(7)]
        for number, key in enumerate(keys):
            await one(store, numbered([0], number, key=key, seen=number))
        found: list[StateKey] = []
        while answers := await store.due(at(100), FOREVER, 0, 3):
            found += [answer.key for answer in answers]
            await store.close([closing(answer, 0) for answer in answers])
        assert found == keys
        assert await store.open_calls() == 0

    async def test_due_claim_whose_commit_did_not_happen_is_answered_again(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        (first,) = await due(store, at(15), committed=8)
        assert await due(store, at(12), committed=8) == []
        (again,) = await due(store, at(20), now=0, committed=8)
        assert (again.fragments, again.limit, again.claim) == (first.fragments, 1, at(15))

    async def test_claims_are_answered_again_over_and_above_the_limit(self, store: Store) -> None:
        """Otherwise the commit would pass them by and they would be taken for emitted."""
        keys = [StateKey("t", f"call-{number}", "response") for number in range(5)]
        await store.append([numbered([0], 10, key=key) for key in keys])
        assert len(await store.due(at(10), LATER, 0, 5)) == 5
        assert len(await store.due(at(10), LATER, 0, 1)) == 5

    async def test_due_claim_replayed_by_an_append_is_not_answered_twice(self, store: Store) -> None:
        await one(store, numbered([0], 10))
        await due(store, at(15), committed=8)
        answer = await one(store, numbered([1], 16, first=12))
        assert (answer.outcome, answer.limit) == ("ready", 0)
        assert await due(store, at(16), committed=8) == []
        await store.close([closing(answer, 0)])
        assert (await one(store, numbered([1], 17))).through == 0

    async def test_due_claim_that_was_committed_is_closed_and_not_answered(self, store: Store) -> None:
        await one(store, numbered([0, 1], 10))
        await due(store, at(15), committed=8)
        assert await due(store, at(20), committed=16) == []
        assert await store.open_calls() == 0
        answer = await one(store, numbered([0, 1, 2], 21))
        assert (answer.outcome, answer.through, answer.final) == ("duplicate", 1, True)

    async def test_unit_whose_close_was_lost_is_closed_for_good(self, store: Store) -> None:
        await one(store, unit(10))
        assert await due(store, at(11), committed=11) == []
        answer = await one(store, numbered([0], 12, hard=0))
        assert (answer.outcome, answer.final) == ("duplicate", True)

    async def test_append_claim_is_left_to_its_append(self, store: Store) -> None:
        await one(store, numbered([0], 10, hard=0))
        assert await due(store, at(10), committed=8) == []
        assert (await one(store, numbered([0], 10, hard=0))).outcome == "ready"

    async def test_append_claim_that_was_committed_is_closed_and_its_followers_go_on(self, store: Store) -> None:
        await one(store, numbered([0], 10, hard=0))
        assert (await one(store, numbered([1], 11, hard=1))).outcome == "claimed"
        (answer,) = await due(store, at(11), committed=11)
        assert (answer.outcome, answer.through, answer.emitted) == ("ready", 0, UNKNOWN_RECORDS)
        assert answer.fragments == (b"[1]",)

    async def test_round_of_the_clock_decides_where_the_offset_cannot(self, store: Store) -> None:
        """Nothing was read since, so the commit of what the clock made due left the offset where it was."""
        await one(store, numbered([0], 10))
        (first,) = await due(store, at(11, round=1), committed=11)
        assert (await one(store, numbered([1], 11))).outcome == "claimed"
        (again,) = await due(store, at(11, round=1), committed=11)
        assert again.claim == first.claim
        (late,) = await due(store, at(11, round=2), now=0, committed=11, committed_round=1)
        assert (late.final, late.through, late.fragments) == (True, 0, (b"[1]",))

    # Two workers

    async def test_stale_append_of_a_former_owner_changes_nothing(self, store: Store) -> None:
        """A paused worker repeats what the new owner has read: the same pieces, and no second emission."""
        share = numbered([0, 1], 10, hard=1)
        first = await one(store, share)
        second = await one(store, share)
        assert first.outcome == second.outcome == "ready"
        await store.close([closing(second, 1)])
        assert (await one(store, share)).outcome == "duplicate"
        await store.close([closing(first, 1)])
        assert (await one(store, share)).outcome == "duplicate"
        assert (await one(store, numbered([2], 11, hard=2))).emitted == 1

    async def test_claim_of_a_stale_owner_is_taken_over_by_the_replay(self, store: Store) -> None:
        await one(store, numbered([0], 10))
        assert (await one(store, numbered([1], 11, hard=1))).outcome == "ready"
        taken = await one(store, numbered([0, 1], 11, hard=1, first=10))
        assert taken.outcome == "ready"
        await store.close([closing(taken, 1)])
        assert await store.open_calls() == 0
