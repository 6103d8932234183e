"""Frames of a Live session, in order -> its setup and its turns.

An event is ``{"from": "client" | "server", "frame": {…}}``; a frame alone is taken, too, for no key is sent by both
sides. One frame may carry several things; each finds its place by its own key.

A turn starts with the first thing after the last turn's end, and ends with turnComplete. An interrupted turn ends at
the model's next words at the latest. What the server still says of a finished turn (usage, a late transcription, a
resumption handle) belongs to it as long as the client has not spoken again. A session has no last frame: what is open
at its end is a turn that is not complete.

Dropped, because they say nothing: a serverContent without fields, and interim transcriptions that a later one replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from headrace.errors import HeadraceError
from headrace.json_text import Json, loads
from headrace.protocols.codec import Folded
from headrace.protocols.gemini_live.grammar import CLIENT_KEYS, FLAGS, FRAME, MEDIA, SERVER_KEYS, TRANSCRIPTS
from headrace.protocols.gemini_live.turn import Turn
from headrace.protocols.google import keys
from headrace.reassembly.pieces import SIGN_NONE, SIGN_SOFT

_KNOWN = CLIENT_KEYS | SERVER_KEYS
_SENT_BY = {"client": CLIENT_KEYS - {"setup"}, "server": SERVER_KEYS}
_METADATA = frozenset({"groundingMetadata", "urlContextMetadata"})
#: What the server may still say of a turn that is over.
_TRAILERS = frozenset({"usageMetadata", "goAway", "sessionResumptionUpdate", "voiceActivity"}) | {
    "voiceActivityDetectionSignal",
    *TRANSCRIPTS,
    *_METADATA,
}
#: What tells that the model has begun another turn.
_SPEECH = frozenset({"modelTurn", "toolCall"})


class Session:
    """The turns of one session as its frames come."""

    def __init__(self, *, keep_media: bool = False) -> None:
        self.folded: list[Folded | Turn] = []
        self.stray: list[Json] = []
        self._keep = keep_media
        self._turn: Turn | None = None
        self._over = False
        self._frame = 0
        self._counted: Turn | None = None

    def add(self, event: Json, frame: int) -> None:
        """One event; frame: its place in the session, from 0."""
        side, wire = _sides(event)
        if type(wire) is not dict or not wire:
            self.stray.append(event)
            return
        camel, _ = keys.to_camel(wire, FRAME)
        self._frame, self._counted = frame, None
        if _is_bare_error(camel):
            self._fail(camel)
            return
        for key, value in camel.items():
            self._take(side or ("client" if key in CLIENT_KEYS else "server"), key, value)

    def _take(self, side: str, key: str, value: Json) -> None:
        if key == "setup" and side == "client" and type(value) is dict:
            self.folded.append(Folded({"setup": value}, complete=True, events=1, record_type="request"))
        elif key == "serverContent" and side == "server" and type(value) is dict:
            for name, item in value.items():
                self._take_content(name, item)
            if not value and self._turn is not None and self._counted is None:
                self._turn.events, self._counted = self._turn.events + 1, self._turn
        elif key == "realtimeInput" and side == "client" and type(value) is dict:
            for name, item in value.items():
                self._take_input(name, item)
        elif key == "usageMetadata" and type(value) is dict:
            self._of(side, key).use(value)
        elif key == "error" and value is not None:
            self._fail(value)
        elif key in _SENT_BY[side]:
            closes = key not in _TRAILERS and key != "setupComplete"
            self._of(side, key).put(side, key, value, closes=closes)
        else:
            self._of(side, key).put(side, "frame", {key: value}, closes=True)

    def _take_content(self, key: str, value: Json) -> None:
        turn = self._of("server", key)
        if key == "modelTurn" and type(value) is dict and type(value.get("parts", [])) is list:
            turn.speak(value, self._frame)
        elif key in TRANSCRIPTS and type(value) is dict:
            turn.transcribe(key, value)
        elif key in _METADATA:
            turn.grow(key, value)
        elif key in FLAGS:
            turn.fields[key] = value
            self._over = self._over or (key == "turnComplete" and value is True)
        else:
            turn.put("server", "serverContent", {key: value}, closes=True)

    def _take_input(self, key: str, value: Json) -> None:
        turn = self._of("client", key)
        chunks = value if key == "mediaChunks" and type(value) is list else [value]
        for chunk in chunks:
            if key not in MEDIA or type(chunk) is not dict or not turn.hear(key, chunk, self._frame):
                turn.put("client", "realtimeInput", {key: chunk}, closes=True)

    def _fail(self, error: Json) -> None:
        self._of("server", "error").fields["error"] = error
        self._over = True

    def _of(self, side: str, key: str) -> Turn:
        """The turn that something belongs to; counts the frame for the first one."""
        turn = self._turn
        speaks_again = key in _SPEECH and turn is not None and turn.fields.get("interrupted") is True
        trails = self._over and side == "server" and (key in _TRAILERS or key in FLAGS)
        if turn is None or speaks_again or (self._over and not trails):
            turn = self._turn = Turn(keep_media=self._keep)
            self._over = False
            self.folded.append(turn)
        if self._counted is not turn:
            turn.events, self._counted = turn.events + 1, turn
        return turn

    def finish(self) -> list[Folded]:
        """Setup and turns, in order."""
        made = [one if type(one) is Folded else _folded_turn(one) for one in self.folded]  # type: ignore[arg-type]
        if self.stray:
            made = made or [Folded({}, complete=False, events=0)]
            made[-1].stray += self.stray
        return made


def _sides(event: Json) -> tuple[str, Json]:
    """Who sent an event ("" when it does not say), and the frame."""
    if type(event) is not dict or ("from" not in event and "frame" not in event):
        return "", event
    side = event.get("from")
    return side if side in ("client", "server") else "", event.get("frame")


def _folded_turn(turn: Turn) -> Folded:
    body = turn.body()
    ended = any(body.get(flag) is True for flag in ("turnComplete", "interrupted")) or "error" in body
    return Folded(body, ended, turn.events, stray=turn.stray)


def folder(*, keep_media: bool) -> Callable[[Sequence[Json]], list[Folded]]:
    """A fold that holds audio in the bodies, or only what it was and where it lies."""

    def fold_session(events: Sequence[Json]) -> list[Folded]:
        session = Session(keep_media=keep_media)
        for frame, event in enumerate(events):
            session.add(event, frame)
        return session.finish()

    return fold_session


#: Frames -> setup and turns, with audio by reference. Never raises.
fold = folder(keep_media=False)


_ERROR = re.compile(rb'"(?:error|code)"\s*:')


def sign(payload: bytes) -> int:
    """No frame ends a session; an error frame does, as a rule: SIGN_SOFT. goAway is a warning."""
    if _ERROR.search(payload) is None:
        return SIGN_NONE
    try:
        _, frame = _sides(loads(payload))
    except HeadraceError:
        return SIGN_NONE
    if type(frame) is not dict:
        return SIGN_NONE
    camel = keys.to_camel(frame, FRAME)[0]
    return SIGN_SOFT if camel.get("error") is not None or _is_bare_error(camel) else SIGN_NONE


def _is_bare_error(frame: Mapping[str, Json]) -> bool:
    """Whether a frame with none of the protocol's keys says itself what went wrong."""
    return _KNOWN.isdisjoint(frame) and {"code", "message"} <= frame.keys() and "error" not in frame
