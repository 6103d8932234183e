"""Stream chunks of streamGenerateContent -> whole responses.

A chunk is a whole GenerateContentResponse with the next pieces. There is no event that says the end: a finishReason
on every candidate does, or a blocked prompt, or an error. Chunks of several response ids are several responses.

Dropped, because they say nothing: empty text alone in its chunk (see `PartFold`), and ``[DONE]``, which some proxies
add.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headrace.errors import HeadraceError
from headrace.json_text import Json, dumps, loads
from headrace.protocols.entry_points import Folded
from headrace.protocols.gemini_generate.chunk_run import ChunkRun, take_stretch
from headrace.protocols.gemini_generate.streamed_response import CHUNK, StreamedResponse, is_blocked
from headrace.protocols.google import keys
from headrace.protocols.google.grammar import RESPONSE
from headrace.protocols.stretches import Stretch
from headrace.reassembly.pieces import SIGN_HARD, SIGN_NONE, SIGN_SOFT


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """Chunks in order -> the responses they make, by response id. Never raises."""
    folding = _Folding()
    for event in events:
        if type(event) is not Stretch:
            folding.take(event)
        elif not folding.take_stretch(event):
            for each in event.events():
                folding.take(each)
    return folding.made()


class _Folding:
    """The responses of one stream so far."""

    __slots__ = ("_current", "_responses", "_run", "_stray", "_unknown")

    def __init__(self) -> None:
        self._responses: dict[str, StreamedResponse] = {}
        self._current: StreamedResponse | None = None
        #: What the chunks since the last that was none of it add to.
        self._run: ChunkRun | None = None
        self._stray: list[Json] = []
        self._unknown: list[tuple[str, str]] = []

    def take(self, event: Json) -> None:
        """One chunk, or what is none; a JSON array of chunks may be nested in another."""
        if type(event) is dict:
            run = self._run
            if run is None or not run.take(event):
                self._take_chunk(event)
        elif type(event) is list:
            for each in event:
                self.take(each)
        elif event != "[DONE]":
            self._stray.append(event)

    def take_stretch(self, stretch: Stretch) -> bool:
        """Chunks that go on with one text; False, with nothing done, for others."""
        if self._current is None or not take_stretch(self._current, stretch):
            return False
        # Since then the response may have newer values than the chunks of the run.
        self._run = None
        return True

    def _take_chunk(self, event: dict[str, Json]) -> None:
        chunk = event
        paths: list[str] = []
        if not event or not CHUNK.issuperset(event):
            chunk, paths = keys.to_camel(event, RESPONSE)
        current = self._current
        if CHUNK.isdisjoint(chunk):
            self._stray.append(event)
            self._unknown.append(("event", next(iter(event), "")))
            self._run = None
            return
        response_id = chunk.get("responseId")
        if current is None or (response_id is not None and response_id != current.body.get("responseId")):
            current = self._current = _of_id(self._responses, response_id, current)
        current.add(chunk, event)
        current.snaked += paths
        self._run = ChunkRun.after(current, event)

    def made(self) -> list[Folded]:
        """All responses; what none of them could hold goes to the last one."""
        made = [response.folded() for response in dict.fromkeys(self._responses.values())]
        if self._stray:
            made = made or [Folded({}, complete=False, events=0)]
            made[-1].stray += self._stray
            made[-1].unknown += self._unknown
        return made


def _of_id(
    responses: dict[str, StreamedResponse], response_id: Json, current: StreamedResponse | None
) -> StreamedResponse:
    """The response of an id; one that had none yet takes the first that comes."""
    key = f'"{response_id}' if type(response_id) is str else dumps(response_id)
    if key not in responses:
        unnamed = current is not None and current.body.get("responseId") is None
        responses[key] = current if unnamed and current is not None else StreamedResponse()
    return responses[key]


# The end


_ENDING = re.compile(rb'"(?:finish_?[rR]eason|block_?[rR]eason|error)"\s*:\s*["{\[]')
_FINISH = re.compile(rb'"finish_?[rR]eason"\s*:\s*"[A-Z_]+"')
_FIELD = re.compile(rb"^(?:data:)?\s*")


def sign(payload: bytes) -> int:
    """Whether an event, or the text from the last event on, ends the response.

    A whole event is read, for arguments of calls may have any keys. Of an event that is cut only the spelling of a
    finishReason is looked for: SIGN_SOFT, which a later piece may still take back.
    """
    # Words first: looking for them takes half as long as the pattern does.
    if payload.find(b"finish") < 0 and payload.find(b"block") < 0 and payload.find(b'"error"') < 0:
        return SIGN_NONE
    if _ENDING.search(payload) is None:
        return SIGN_NONE
    try:
        event = loads(_FIELD.sub(b"", payload, count=1))
    except HeadraceError:
        return SIGN_SOFT if _FINISH.search(payload) is not None else SIGN_NONE
    return max((_sign_of(chunk) for chunk in _objects(event)), default=SIGN_NONE)


def _objects(event: Json) -> Iterator[dict[str, Json]]:
    """An event, or those of a JSON array of chunks, which may be nested in another."""
    if type(event) is dict:
        yield event
    elif type(event) is list:
        for each in event:
            yield from _objects(each)


def _sign_of(event: dict[str, Json]) -> int:
    chunk, _ = keys.to_camel(event, RESPONSE)
    if chunk.get("error") is not None:
        return SIGN_HARD
    candidates = chunk.get("candidates")
    finished = type(candidates) is list and any(
        type(candidate) is dict and candidate.get("finishReason") is not None for candidate in candidates
    )
    return SIGN_SOFT if finished or is_blocked(chunk) else SIGN_NONE
