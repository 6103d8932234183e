"""Frames of a Live session, in order -> its setup and its turns.

An event is ``{"from": "client" | "server", "frame": {…}}``; a frame alone is taken, too, for no key is sent by both
sides. One frame may carry several things; each finds its place by its own key.

A turn starts with the first thing after the last turn's end, and ends with turnComplete. An interrupted turn ends at
the model's next words at the latest. What the server still says of a finished turn (usage, a late transcription, a
resumption handle) belongs to it as long as the client has not spoken again. A session has no last frame: what is open
at its end is a turn that is not complete.

Dropped, because they say nothing: a serverContent without fields, and interim transcriptions that a later one replaced.
A frame that has a key twice, once with underscores, says it once: what comes under the second spelling is stray.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from headrace.errors import HeadraceError
from headrace.json_text import Json, loads
from headrace.protocols.entry_points import Folded
from headrace.protocols.gemini_live.grammar import (
    CLIENT_KEYS,
    FLAGS,
    FRAME,
    MEDIA,
    REALTIME_INPUT,
    SERVER_CONTENT,
    SERVER_KEYS,
    TRANSCRIPTS,
)
from headrace.protocols.gemini_live.turn import Turn
from headrace.protocols.google import keys
from headrace.protocols.google.folding import is_plain
from headrace.protocols.google.grammar import BLOB
from headrace.protocols.stretches import Path, Stretch
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
#: What is transcribed piece by piece; an interim transcription is replaced as a whole.
_TRANSCRIPTIONS = ("inputTranscription", "outputTranscription")
_LAST = "turnComplete"
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
        if len(wire) == 1 and not self._over and self._goes_on(side, wire, frame):
            return
        camel = keys.camelled(wire, FRAME)
        self._frame = frame
        self._counted = None
        if _is_bare_error(camel):
            self._fail(camel)
            return
        for key, value in camel.items():
            self._take(side or ("client" if key in CLIENT_KEYS else "server"), key, value)

    def _goes_on(self, side: str, wire: dict[str, Json], frame: int) -> bool:
        """Take a frame that adds one piece to a channel of a turn, as nearly all do; False for any other."""
        turn = self._turn
        if turn is None:
            return False
        if side == "server":
            content = wire.get("serverContent")
            if type(content) is not dict or len(content) != 1:
                return False
            speech = content.get("modelTurn")
            if type(speech) is dict:
                if turn.fields.get("interrupted") is True or not turn.speak_on(speech, frame):
                    return False
            else:
                key = "outputTranscription" if "outputTranscription" in content else "inputTranscription"
                said = content.get(key)
                if type(said) is not dict or len(said) != 1 or "text" not in said:
                    return False
                turn.transcribe(key, said)
        else:
            heard = wire.get("realtimeInput") or wire.get("realtime_input")
            blob = heard.get("audio") if side == "client" and type(heard) is dict and len(heard) == 1 else None
            if type(blob) is not dict or len(blob) != 2:
                return False
            if "mime_type" in blob:
                blob = keys.camelled(blob, BLOB)
            if "mimeType" not in blob or not turn.hear("audio", blob, frame):
                return False
        turn.events += 1
        return True

    def take_stretch(self, stretch: Stretch, frame: int) -> bool:
        """Take frames that go on with one text or medium; False, with nothing done, for others."""
        found = _only_piece(stretch.event)
        turn = self._turn
        if found is None or turn is None or not stretch.varying() <= {found[2]}:
            return False
        key, value, path = found
        if not turn.go_on(key, value, stretch.values(path), frame):
            return False
        turn.events += len(stretch)
        return True

    def _take(self, side: str, key: str, value: Json) -> None:
        if key == "setup" and side == "client" and type(value) is dict:
            self.folded.append(Folded({"setup": value}, complete=True, events=1, record_type="request"))
        elif key == "serverContent" and side == "server" and type(value) is dict:
            for name, item in value.items():
                if name != _LAST:
                    self._take_content(name, item)
            if _LAST in value:
                # Wherever it stands: what its frame says besides is of the turn that it ends.
                self._take_content(_LAST, value[_LAST])
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
        elif key in FRAME.underscored:
            self._refuse(side, {key: value})
        else:
            self._of(side, key).put(side, "frame", {key: value}, closes=True)

    def _refuse(self, side: str, again: dict[str, Json]) -> None:
        """What a frame says again under the other spelling of a key, which proto-JSON forbids."""
        self.stray.append({"from": side, "frame": again})

    def _take_content(self, key: str, value: Json) -> None:
        if key in SERVER_CONTENT.underscored:
            self._refuse("server", {"serverContent": {key: value}})
            return
        turn = self._of("server", key)
        if key == "modelTurn" and type(value) is dict and type(value.get("parts", [])) is list:
            turn.speak(value, self._frame)
        elif key in TRANSCRIPTS and type(value) is dict:
            turn.transcribe(key, value)
        elif key in _METADATA:
            turn.grow(key, value)
        elif key in FLAGS:
            turn.fields[key] = value
            self._over = self._over or (key == _LAST and value is True)
        else:
            turn.put("server", "serverContent", {key: value}, closes=True)

    def _take_input(self, key: str, value: Json) -> None:
        if key in REALTIME_INPUT.underscored:
            self._refuse("client", {"realtimeInput": {key: value}})
            return
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
    return side if type(side) is str and side in _SENT_BY else "", event.get("frame")


def _only_piece(event: Json) -> tuple[str, Json, Path] | None:
    """Of a frame that only adds to one channel: the channel, what the frame adds, and where its one string lies.

    What it adds is the part of model speech, the blob of a realtime medium, or the transcription.
    """
    side, wire = _sides(event)
    path: Path = () if wire is event else ("frame",)
    if type(wire) is not dict or len(wire) != 1:
        return None
    for outer, sender in (("serverContent", "server"), ("realtimeInput", "client")):
        content = wire.get(outer)
        if type(content) is dict and len(content) == 1 and side in ("", sender):
            key, value = next(iter(content.items()))
            return _only_string(key, value, (*path, outer, key)) if type(value) is dict else None
    return None


def _only_string(key: str, value: dict[str, Json], path: Path) -> tuple[str, Json, Path] | None:
    if key == "modelTurn":
        parts = value.get("parts")
        if not value.keys() <= {"role", "parts"} or type(parts) is not list or len(parts) != 1:
            return None
        part = parts[0]
        if is_plain(part):
            return key, part, (*path, "parts", 0, "text")
        blob = part.get("inlineData") if type(part) is dict and len(part) == 1 else None
        is_data = type(blob) is dict and type(blob.get("data")) is str
        return (key, part, (*path, "parts", 0, "inlineData", "data")) if is_data else None
    if key in MEDIA and type(value.get("data")) is str:
        return key, value, (*path, "data")
    is_text = key in _TRANSCRIPTIONS and value.keys() == {"text"} and type(value["text"]) is str
    return (key, value, (*path, "text")) if is_text else None


def _folded_turn(turn: Turn) -> Folded:
    body = turn.body()
    ended = body.get("turnComplete") is True or body.get("interrupted") is True or "error" in body
    return Folded(body, ended, turn.events, stray=turn.stray)


def folder(*, keep_media: bool) -> Callable[[Sequence[Json | Stretch]], list[Folded]]:
    """A fold that holds audio in the bodies, or only what it was and where it lies."""

    def fold_session(events: Sequence[Json | Stretch]) -> list[Folded]:
        session = Session(keep_media=keep_media)
        frame = 0
        for event in events:
            if type(event) is not Stretch:
                session.add(event, frame)
                frame += 1
            elif session.take_stretch(event, frame):
                frame += len(event)
            else:
                for each in event.events():
                    session.add(each, frame)
                    frame += 1
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
    camel = keys.camelled(frame, FRAME)
    return SIGN_SOFT if camel.get("error") is not None or _is_bare_error(camel) else SIGN_NONE


def _is_bare_error(frame: Mapping[str, Json]) -> bool:
    """Whether a frame with none of the protocol's keys says itself what went wrong."""
    return _KNOWN.isdisjoint(frame) and {"code", "message"} <= frame.keys() and "error" not in frame
