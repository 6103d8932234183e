"""Remembering what was made of short texts that come again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

_Key = TypeVar("_Key", str, bytes)
_Made = TypeVar("_Made")


def remembered(most: int, longest: int) -> Callable[[Callable[[_Key], _Made]], Callable[[_Key], _Made]]:
    """Decorator: keep the results for the last ``most`` texts of up to ``longest`` characters.

    A producer can write anything, so a longer text is looked at anew each time: what is kept has a bound in bytes.
    """

    def of(make: Callable[[_Key], _Made]) -> Callable[[_Key], _Made]:
        kept = lru_cache(maxsize=most)(make)

        @wraps(make)
        def made(key: _Key) -> _Made:
            return kept(key) if len(key) <= longest else make(key)

        return made

    return of
