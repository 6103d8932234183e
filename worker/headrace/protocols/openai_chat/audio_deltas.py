"""Pieces of a streamed audio answer -> the whole."""

from __future__ import annotations

import pybase64

from headrace.json_text import Json
from headrace.protocols.openai_chat import merging

_TEXTS = ("data", "transcript")


class Audio:
    """The audio of one choice as it streams: id, data, transcript, expires_at."""

    __slots__ = ("fields", "pieces")

    def __init__(self) -> None:
        self.fields: dict[str, Json] = {}
        self.pieces: dict[str, list[str]] = {}

    def take(self, wire: dict[str, Json]) -> None:
        """Add one delta's audio."""
        for key, value in wire.items():
            if key in _TEXTS and type(value) is str:
                self.pieces.setdefault(key, []).append(value)
            else:
                merging.put(self.fields, key, value, merging.first if key == "id" else merging.last)

    def finish(self) -> dict[str, Json]:
        """The audio as the whole body has it."""
        body = dict(self.fields)
        for key, pieces in self.pieces.items():
            body[key] = _joined_base64(pieces) if key == "data" else "".join(pieces)
        return body


def _joined_base64(pieces: list[str]) -> str:
    """Base64 text of all pieces; where pieces were encoded each on its own, padding inside is encoded anew."""
    if not any(piece.endswith("=") for piece in pieces[:-1]):
        return "".join(pieces)
    try:
        return pybase64.b64encode_as_string(b"".join([pybase64.b64decode(piece, validate=True) for piece in pieces]))
    except ValueError:
        return "".join(pieces)
