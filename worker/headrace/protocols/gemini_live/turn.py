"""One turn of a session as it comes: entries in order, and what the turn as a whole was.

A turn's body is ours, for Live has no whole form of a turn:

    {"turn": [{"from": "client", "clientContent": {…}}, {"from": "server", "modelTurn": {"parts": […]}}, …],
     "generationComplete": true, "turnComplete": true, "groundingMetadata": {…}, "usageMetadata": {…}}

Model speech, each transcription and each realtime medium are channels that run side by side: what comes on an open
channel is added to its entry, which stands where the channel began. An entry that must keep its place (client
content, text, tool calls and their results, activity marks) closes all channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.json_text import Json
from headrace.protocols.gemini_live.audio import MediaRun, chunk_of
from headrace.protocols.gemini_live.grammar import MEDIA
from headrace.protocols.google.folding import PartFold, grow, is_plain, owned
from headrace.protocols.google.media import kind_of


class _Speech:
    """The channel of modelTurn: parts, with audio chunks of one kind joined."""

    def __init__(self, entry: dict[str, Json], *, keep: bool) -> None:
        self.content: dict[str, Json] = {}
        entry["modelTurn"] = self.content
        self._fold = PartFold()
        self._keep = keep
        self._runs: list[tuple[dict[str, Json], MediaRun]] = []

    def takes(self, content: dict[str, Json]) -> bool:
        """Whether a content says nothing that this one denies."""
        mine = self.content
        for key, value in content.items():  # noqa: SIM110 - compiled, a generator costs more than the rest
            if key != "parts" and key in mine and mine[key] != value:
                return False
        return True

    def add(self, content: dict[str, Json], frame: int) -> None:
        for key, value in content.items():
            if key == "parts":
                self._add_parts(value, frame)
            else:
                self.content[key] = value

    def _add_parts(self, parts: list[Json], frame: int) -> None:
        self.content.setdefault("parts", None)
        others: list[Json] = []
        for part in parts:
            data = _audio_of(part)
            if data is None:
                others.append(part)
                continue
            self._fold.add(others)
            others = []
            self._add_audio(part["inlineData"], data, frame)
        self._fold.add(others)

    def _add_audio(self, blob: Mapping[str, Json], data: bytes, frame: int) -> None:
        last = self._runs[-1] if self._runs else None
        if last is None or self._fold.parts[-1] is not last[0] or not last[1].continues(blob):
            run = MediaRun(blob, keep=self._keep)
            last = ({"inlineData": run.blob}, run)
            self._runs.append(last)
            self._fold.add([last[0]])
        last[1].add(data, frame)

    def add_texts(self, part: dict[str, Json], texts: list[str]) -> bool:
        """More texts like the last part, one a frame; False where that one is not open."""
        return self._fold.take_texts(part, texts)

    def add_chunks(self, blob: Mapping[str, Json], chunks: list[bytes], frame: int) -> bool:
        """More audio of the last part's kind, one chunk a frame; False where that part is no audio."""
        last = self._runs[-1] if self._runs else None
        if last is None or self._fold.parts[-1] is not last[0] or not last[1].continues(blob):
            return False
        for at, chunk in enumerate(chunks):
            last[1].add(chunk, frame + at)
        return True

    def go_on(self, content: dict[str, Json], frame: int) -> bool:
        """A piece of one part, where that is nothing but text, or goes on with the last audio; False for others."""
        parts, role = content.get("parts"), content.get("role")
        if type(parts) is not list or len(parts) != 1:
            return False
        if len(content) > 1 and (len(content) > 2 or type(role) is not str or role != self.content.get("role")):
            return False
        part = parts[0]
        if is_plain(part):
            self.content.setdefault("parts", None)
            self._fold.add(parts)
            return True
        blob = part.get("inlineData") if type(part) is dict and len(part) == 1 else None
        last = self._runs[-1] if self._runs else None
        if last is None or type(blob) is not dict or self._fold.parts[-1] is not last[0] or not last[1].continues(blob):
            return False
        data = chunk_of(blob)
        if data is None:
            return False
        last[1].add(data, frame)
        return True

    def finish(self) -> list[Json]:
        """Complete the content; gives what no part could take."""
        for _, run in self._runs:
            run.finish()
        if "parts" in self.content:
            self.content["parts"] = self._fold.finish()
        return self._fold.stray


def _audio_of(part: Json) -> bytes | None:
    """The bytes of a part that is nothing but a chunk of audio."""
    blob = part.get("inlineData") if type(part) is dict and len(part) == 1 else None
    if type(blob) is not dict or type(blob.get("mimeType")) is not str or kind_of(blob["mimeType"]) != "audio":
        return None
    return chunk_of(blob)


class _Transcript:
    """The channel of one transcription: text is added until ``finished``."""

    def __init__(self, entry: dict[str, Json], key: str) -> None:
        self._pieces: list[str] = []
        self.value: dict[str, Json] = {}
        entry[key] = self.value

    def takes(self, chunk: dict[str, Json]) -> bool:
        """Whether a chunk goes on here: nothing is finished, and language and speaker are the same."""
        mine = self.value
        for key, value in chunk.items():
            if key in mine and key != "text" and key != "finished" and type(value) is not list and mine[key] != value:
                return False
        return mine.get("finished") is not True

    def add(self, chunk: dict[str, Json]) -> None:
        for key, value in chunk.items():
            if key == "text" and type(value) is str:
                self._pieces.append(value)
                self.value["text"] = ""
            elif type(value) is list and type(self.value.get(key)) is list:
                self.value[key] += value
            else:
                self.value[key] = owned(value)

    def add_texts(self, texts: list[str]) -> None:
        """More pieces, one a frame, after one that was nothing but text."""
        self._pieces += texts

    def finish(self) -> None:
        if self._pieces:
            self.value["text"] = "".join(self._pieces)


class Turn:
    """The entries and flags of one turn."""

    def __init__(self, *, keep_media: bool) -> None:
        self.entries: list[dict[str, Json]] = []
        self.fields: dict[str, Json] = {}
        self.events = 0
        self.stray: list[Json] = []
        self._keep = keep_media
        self._usages: list[dict[str, Json]] = []
        self._open: dict[str, Any] = {}
        self._finish: list[_Speech | _Transcript | MediaRun] = []

    def put(self, side: str, key: str, value: Json, *, closes: bool) -> None:
        """An entry of its own. closes: it must keep its place among what comes on channels."""
        if closes:
            self._open.clear()
        self.entries.append({"from": side, key: value})

    def speak_on(self, content: dict[str, Json], frame: int) -> bool:
        """A piece of modelTurn that opens nothing; False, with nothing done, for any other."""
        channel = self._open.get("modelTurn")
        return type(channel) is _Speech and channel.go_on(content, frame)

    def speak(self, content: dict[str, Json], frame: int) -> None:
        """A piece of modelTurn, whose ``parts``, if there, are a list."""
        channel = self._open.get("modelTurn")
        if channel is None or not channel.takes(content):
            channel = self._opened("modelTurn", _Speech(self._entry("server"), keep=self._keep))
        channel.add(content, frame)

    def transcribe(self, key: str, chunk: dict[str, Json]) -> None:
        """A piece of a transcription. An interim one replaces the one before."""
        channel = self._open.get(key)
        if key == "interimInputTranscription" and channel is not None:
            channel.value.clear()
            channel.value.update(chunk)
            return
        if channel is None or not channel.takes(chunk):
            channel = self._opened(key, _Transcript(self._entry("server"), key))
        if key == "interimInputTranscription":
            channel.value.update(chunk)
        else:
            channel.add(chunk)

    def hear(self, key: str, blob: Mapping[str, Json], frame: int) -> bool:
        """A chunk of realtime media; False when its data cannot be read."""
        data = chunk_of(blob)
        if data is None:
            return False
        run = self._open.get(key)
        if run is None or not run.continues(blob):
            run = self._opened(key, MediaRun(blob, keep=self._keep))
            self._entry("client")["realtimeInput"] = {key: run.blob}
        run.add(data, frame)
        return True

    def go_on(self, key: str, value: Json, said: list[Any], frame: int) -> bool:
        """Take what follows on an open channel, one piece a frame; False, with nothing done, where it cannot be.

        value: what came last on the channel, and what comes is like but for one string. said: these strings.
        """
        channel: Any = self._open.get(key)
        if channel is None:
            return False
        if key in ("inputTranscription", "outputTranscription"):
            channel.add_texts(said)
            return True
        blob = value if key in MEDIA else value.get("inlineData")
        if blob is None:
            return bool(channel.add_texts(value, said))
        chunks = [chunk_of({"data": data}) for data in said]
        if any(chunk is None for chunk in chunks):
            return False
        if key not in MEDIA:
            return bool(channel.add_chunks(blob, chunks, frame))
        for at, chunk in enumerate(chunks):
            channel.add(chunk, frame + at)
        return True

    def use(self, usage: dict[str, Json]) -> None:
        """Tokens used; usually once a turn."""
        self._usages.append(usage)

    def grow(self, key: str, value: Json) -> None:
        """Metadata of the answer, which may come in several frames."""
        self.fields[key] = grow(self.fields[key], value) if key in self.fields else owned(value)

    def _entry(self, side: str) -> dict[str, Json]:
        entry: dict[str, Json] = {"from": side}
        self.entries.append(entry)
        return entry

    def _opened(self, key: str, channel: Any) -> Any:
        self._open[key] = channel
        self._finish.append(channel)
        return channel

    def body(self) -> dict[str, Json]:
        """The turn, whole."""
        for channel in self._finish:
            self.stray += channel.finish() or ()
        body: dict[str, Json] = {"turn": self.entries} if self.entries else {}
        body.update(self.fields)
        if self._usages:
            last: dict[str, Json] = {}
            for usage in self._usages:
                for key, value in usage.items():
                    if value is not None or key not in last:
                        last[key] = value
            earlier = [usage for usage in self._usages[:-1] if any(last[key] != value for key, value in usage.items())]
            body["usageMetadata"] = last
            if earlier:
                body["usageUpdates"] = earlier
        return body
