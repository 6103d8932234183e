"""Realtime media by reference: how much there was, of what, and in which captures it lies.

An hour of speech is hundreds of megabytes of base64 that nobody queries. A record says MIME type, size, SHA-256 of all
bytes, and ``capture:5-7,9``: the places of the chunks among the session's frames, counted from 0. The bytes stay in
the raw topic. Who wants them in the records folds with ``keep_media``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pybase64

from headrace.json_text import Json, dumps
from headrace.reassembly.sequence import intervals


def chunk_of(blob: Mapping[str, Json]) -> bytes | None:
    """The bytes of a chunk: base64 of either alphabet, padded or not; None for anything else, as a reference."""
    data = blob.get("data")
    if type(data) is not str or "sha256" in blob:
        return None
    if data.find("-") >= 0 or data.find("_") >= 0:
        data = data.replace("-", "+").replace("_", "/")
    data = data.rstrip("=")
    if len(data) % 4:
        data += "=" * (-len(data) % 4)
    try:
        return pybase64.b64decode(data, validate=True)
    except ValueError:
        return None


class MediaRun:
    """Chunks of one medium that follow one another, as one blob."""

    def __init__(self, blob: Mapping[str, Json], *, keep: bool) -> None:
        """blob: the first chunk's; it and the others are added by `add`. keep: hold the bytes, too."""
        self.blob = {key: value for key, value in blob.items() if key != "data"}
        self._like = dumps(self.blob)
        mime_type = self.blob.get("mimeType")
        #: Where a chunk has nothing but this and its data, it is all there is to compare.
        self._mime_type = mime_type if len(self.blob) == 1 and type(mime_type) is str else None
        self._size = 0
        self._digest = hashlib.sha256()
        self._frames: list[int] = []
        self._kept: list[bytes] | None = [] if keep else None

    def continues(self, blob: Mapping[str, Json]) -> bool:
        """Whether a chunk is of the same medium."""
        if self._mime_type is not None and len(blob) == 2 and "data" in blob:
            return blob.get("mimeType") == self._mime_type
        return dumps({key: value for key, value in blob.items() if key != "data"}) == self._like

    def add(self, data: bytes, frame: int) -> None:
        """One chunk's bytes, and the place of its frame."""
        self._size += len(data)
        self._digest.update(data)
        self._frames.append(frame)
        if self._kept is not None:
            self._kept.append(data)

    def finish(self) -> None:
        """Complete ``blob``, which may already be part of a turn."""
        spans = (f"{first}" if first == last else f"{first}-{last}" for first, last in intervals(self._frames))
        self.blob.update(sizeBytes=self._size, sha256=self._digest.hexdigest(), uri="capture:" + ",".join(spans))
        if self._kept is not None:
            self.blob["data"] = pybase64.b64encode_as_string(b"".join(self._kept))
