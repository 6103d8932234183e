"""Real exchanges and real faults that may lie beside the checkout, in ``../shared``.

They are not part of the project, so every reader here yields nothing when the folder is absent. A test that
uses them must also assert something on fixtures of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BESIDE_CHECKOUT = Path(__file__).resolve().parents[3] / "shared"

#: The six protocols, as the corpus files are named.
PROTOCOLS = (
    "openai.chat",
    "openai.responses",
    "anthropic.messages",
    "gemini.generate_content",
    "gemini.interactions",
    "gemini.live",
)


def shared_folder() -> Path | None:
    """The folder of real traffic, or None when this checkout has none beside it."""
    return _BESIDE_CHECKOUT if (_BESIDE_CHECKOUT / "corpus").is_dir() else None


def corpus(protocol: str) -> Iterator[dict[str, Any]]:
    """Real exchanges of one protocol: id, protocol, provider, url, request, status, and response | sse | frames."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"no such protocol {protocol!r}; one of {', '.join(PROTOCOLS)}")
    yield from _lines(f"corpus/{protocol}.jsonl")


def traps() -> Iterator[dict[str, Any]]:
    """Real faults: id, kind, protocol, symptom, input, expected."""
    yield from _lines("cases/traps.jsonl")


def _lines(name: str) -> Iterator[dict[str, Any]]:
    folder = shared_folder()
    if folder is None or not (folder / name).is_file():
        return
    # Split on "\n" alone: JSON text may hold U+2028 and the like, which str.splitlines() would cut at.
    with (folder / name).open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
