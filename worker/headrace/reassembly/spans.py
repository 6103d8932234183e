"""Sorted, merged, inclusive intervals of sequence numbers; `lua/state.lua` has the same functions."""

from __future__ import annotations

Interval = tuple[int, int]


def union(left: list[Interval], right: list[Interval]) -> list[Interval]:
    """Both, sorted and merged where they touch."""
    merged: list[Interval] = []
    for low, high in sorted(left + right):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def beyond(intervals: tuple[Interval, ...] | list[Interval], through: int) -> list[Interval]:
    """The part of the intervals past ``through``."""
    return [(max(low, through + 1), high) for low, high in intervals if high > through]


def holes(intervals: list[Interval], base: int) -> list[Interval]:
    """What is missing from ``base`` to the end of the intervals."""
    missing: list[Interval] = []
    for low, high in intervals:
        if low > base:
            missing.append((base, low - 1))
        base = high + 1
    return missing


def overlap(left: tuple[Interval, ...], right: list[Interval]) -> list[Interval]:
    """What both have."""
    return [
        (max(low, other_low), min(high, other_high))
        for low, high in left
        for other_low, other_high in right
        if low <= other_high and other_low <= high
    ]
