"""What a committed offset says, and what it says of time."""

from __future__ import annotations

import pytest
from aiokafka.structs import OffsetAndMetadata

from headrace.kafka.progress import Progress, _time, filtering, progress_of, replayed, seen, short


def test_a_commit_reads_back() -> None:
    progress = Progress(42, short("mark@server"), 3, 1_790_000_000_000_000)
    assert progress_of(progress.committed()) == progress
    assert len(progress.committed().metadata) < 100


@pytest.mark.parametrize("metadata", ["", "round=3", "headrace/1 a b c", "headrace/2 a 1 2", "something else"])
def test_another_tools_commit_has_no_epoch(metadata: str) -> None:
    assert progress_of(OffsetAndMetadata(7, metadata)) == Progress(7)


def test_no_commit_is_none() -> None:
    assert progress_of(OffsetAndMetadata(-1, "")) is None


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (None, 0),
        (Progress(5, "e", 0, 100), 100),
        (Progress(10, "e", 0, 100), 999),
        (Progress(10, filtering("e"), 0, 100), 999),
        (Progress(10, "old", 0, 100), 0),
        (Progress(10, seen("e"), 0, 100), 0),
        (Progress(10, replayed("e"), 0, 100), 0),
    ],
    ids=["never committed", "behind", "at its end", "still filtering", "lost", "loss seen", "replayed"],
)
def test_a_partition_tells_time_only_once_its_calls_are_right(progress: Progress | None, expected: int) -> None:
    assert _time(progress, end=10, clock=999, epoch="e") == expected
