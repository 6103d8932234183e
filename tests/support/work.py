"""How much work something is, whatever the machine does meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(run: Callable[[], object]) -> int:
    """Instructions that Python executes in a call; loops inside of C functions are not seen."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def is_linear(work: Callable[[int], Callable[[], object]]) -> bool:
    """Whether eight times as much input is about eight times as much work. work: a size -> what to run."""
    work(100)()
    small, large = steps(work(200)), steps(work(1_600))
    return large < 8 * small * 1.5
