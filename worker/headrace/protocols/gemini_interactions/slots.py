"""One step in the making: what its deltas add up to.

text                       appends to the last text content, or opens one
image, video, document     one content each
audio                      one content for a run of equal settings, bytes joined
text_annotation_delta      extends the annotations of the last text
thought_summary            one element of the thought's summary
thought_signature          sets the signature
arguments_delta            appends to the argument string, parsed at the end
*_call, *_result           whole objects: merged into the step key by key
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pybase64 import b64decode, b64encode_as_string

from headrace.errors import FramingError
from headrace.json_text import Json, loads
from headrace.protocols.gemini_interactions.steps import READERS

#: Key under which deltas that nobody knows, or that do not fit their step, stay with it.
UNKNOWN_DELTAS = "unknown_deltas"

_TEXT_KEYS = frozenset({"type", "text"})
#: Delta type -> key of the string that such deltas add one after another.
PIECES = {"text": "text", "arguments_delta": "arguments"}
#: Types of deltas that carry (part of) a step as objects.
_WHOLE = frozenset(READERS)


class Slot:
    """A step, or, in the `outputs` of before 2026-05, one content ("flat")."""

    __slots__ = ("_arguments", "_audio", "_contents", "_flat", "_grown", "_text", "step", "unknown")

    def __init__(self, step: Json, *, flat: bool) -> None:
        """step: as the start event gave it, which may hold contents already; it is not changed."""
        self.step = dict(step) if type(step) is dict else step
        self._flat = flat
        self._arguments: list[str] = []
        #: Deltas that nobody knows, or that do not fit the step.
        self.unknown: list[Json] = []
        self._contents: list[Json] | None = None
        #: Pieces of the last content while it goes on: of its text, or of its decoded audio.
        self._text: list[str] | None = None
        self._audio: list[bytes] | None = None
        #: Key -> the list or object under it, where it is our own to change: what events hold is theirs.
        self._grown: dict[str, Any] = {}

    def delta(self, delta: Json) -> bool:
        """Apply one delta; False when nobody knows it or it does not fit the step: it is then kept beside it."""
        if type(delta) is dict and type(self.step) is dict:
            delta_type = delta.get("type")
            if type(delta_type) is str and _DELTAS.get(delta_type, Slot.whole)(self, delta):
                taken = _TAKEN_KEY.get(delta_type)
                if taken is not None and not delta.keys() <= {"type", taken}:
                    self._keep_rest(delta, taken)
                return True
        self.unknown.append(delta)
        return False

    def pieces_of(self, delta: dict[str, Json]) -> list[str] | None:
        """Where the string of a delta that was just applied went, if the delta was nothing but that."""
        if len(delta) != 2 or type(delta.get(PIECES.get(delta["type"], ""))) is not str:
            return None
        return self._text if delta["type"] == "text" else self._arguments

    def _keep_rest(self, delta: dict[str, Json], taken: str) -> None:
        """What nobody knows of a delta that has one thing to say."""
        self.unknown.append({key: value for key, value in delta.items() if key != taken})

    def taken(self) -> Json:
        """The finished step."""
        if type(self.step) is not dict:
            return {UNKNOWN_DELTAS: [self.step, *self.unknown]} if self.unknown else self.step
        self._close()
        if self._arguments:
            arguments = "".join(self._arguments)
            if arguments.strip():
                self.step["arguments"] = _parsed(arguments)
            else:
                self.step.setdefault("arguments", {})
        if self.unknown:
            held = self.step.get(UNKNOWN_DELTAS)
            self.step[UNKNOWN_DELTAS] = [*held, *self.unknown] if type(held) is list else self.unknown
        return self.step

    # Contents

    def text(self, delta: dict[str, Json]) -> bool:
        text = delta.get("text")
        if self._text is not None and len(delta) == 2 and type(text) is str:
            self._text.append(text)
            return True
        if type(text) is not str or not self._open_text():
            return False
        self._text.append(text)  # type: ignore[union-attr]
        for key, value in delta.items():
            if key == "annotations" and type(value) is list:
                self._annotate(value)
            elif key not in _TEXT_KEYS:
                self._last()[key] = value
        return True

    def annotations(self, delta: dict[str, Json]) -> bool:
        annotations = delta.get("annotations")
        if type(annotations) is not list or not self._open_text():
            return annotations is None
        self._annotate(annotations)
        return True

    def media(self, delta: dict[str, Json]) -> bool:
        if not self._is_a("model_output", delta["type"]):
            return False
        if self._flat:
            if "data" in self.step or "uri" in self.step:
                return False
            self.step.update(delta)
        else:
            self._close()
            self._list().append(dict(delta))
        return True

    def audio(self, delta: dict[str, Json]) -> bool:
        data = _decoded(delta.get("data"))
        if self._audio is not None and data is not None and _settings(self._last()) == _settings(delta):
            self._audio.append(data)
            return True
        if not self.media(delta):
            return False
        self._audio = None if data is None else [data]
        return True

    def _last(self) -> Json:
        """The last content: of the step's list, or the flat content itself."""
        if self._flat:
            return self.step
        contents = self._list()
        return contents[-1] if contents else None

    def _list(self) -> list[Json]:
        if self._contents is None:
            held = self.step.get("content")
            self._contents = list(held) if type(held) is list else []
            self.step["content"] = self._contents
        return self._contents

    def _close(self) -> None:
        """Join the pieces of the last content."""
        if self._text is not None:
            self._last()["text"] = "".join(self._text)
        elif self._audio is not None and len(self._audio) > 1:
            self._last()["data"] = b64encode_as_string(b"".join(self._audio))
        self._text = self._audio = None

    def _open_text(self) -> bool:
        """Go on with the last content if it is text, else open one; False when the step has no room for text."""
        if self._text is not None:
            return True
        if not self._is_a("model_output", "text"):
            return False
        self._close()
        last = self._last()
        goes_on = type(last) is dict and last.get("type") == "text" and type(last.get("text", "")) is str
        if not self._flat:
            contents = self._list()
            if goes_on:
                contents[-1] = dict(last)
            else:
                contents.append({"type": "text"})
        elif not goes_on:
            return False
        self._text = [self._last().get("text", "")]
        return True

    def _annotate(self, annotations: list[Json]) -> None:
        self._extend(self._last(), "annotations", annotations)

    def _extend(self, holder: dict[str, Json], key: str, more: list[Json]) -> None:
        """Add elements to a list that a holder may have already."""
        held: Any = holder.get(key)
        if type(held) is not list:
            held = []
        if held is not self._grown.get(key):
            held = self._grown[key] = holder[key] = [*held]
        held += more

    # Thoughts and calls

    def summary(self, delta: dict[str, Json]) -> bool:
        if "content" not in delta or not self._is_a("thought"):
            return False
        self._extend(self.step, "summary", [delta["content"]])
        return True

    def signature(self, delta: dict[str, Json]) -> bool:
        self.step.setdefault("type", "thought")
        if delta.get("signature") is not None:
            self.step["signature"] = delta["signature"]
        return True

    def arguments(self, delta: dict[str, Json]) -> bool:
        arguments = delta.get("arguments")
        step_type = self.step.setdefault("type", "function_call")
        if type(arguments) is not str or type(step_type) is not str or not step_type.endswith("_call"):
            return arguments is None
        self._arguments.append(arguments)
        return True

    def whole(self, delta: dict[str, Json]) -> bool:
        """Lay an object over the step: later fields win, objects are merged, an empty signature never wins."""
        if delta["type"] not in _WHOLE or not self._is_a(delta["type"]):
            return False
        for key, value in delta.items():
            held: Any = self.step.get(key)
            if type(held) is dict and type(value) is dict:
                if held is not self._grown.get(key):
                    held = self._grown[key] = self.step[key] = {**held}
                held.update(value)
            elif not (key == "signature" and not value and held):
                self.step[key] = value
        return True

    def _is_a(self, step_type: str, flat_type: str | None = None) -> bool:
        """Whether the step has this type; a step that no start event gave a type gets it."""
        wanted = flat_type if self._flat and flat_type else step_type
        return bool(self.step.setdefault("type", wanted) == wanted)


_DELTAS: dict[str, Callable[[Slot, dict[str, Json]], bool]] = {
    "text": Slot.text,
    "text_annotation_delta": Slot.annotations,
    "text_annotation": Slot.annotations,
    "image": Slot.media,
    "video": Slot.media,
    "document": Slot.media,
    "audio": Slot.audio,
    "thought_summary": Slot.summary,
    "thought_signature": Slot.signature,
    "arguments_delta": Slot.arguments,
}
#: Delta type -> the one key that is taken from it; the others keep all of theirs in what they become.
_TAKEN_KEY = {
    "text_annotation_delta": "annotations",
    "text_annotation": "annotations",
    "thought_summary": "content",
    "thought_signature": "signature",
    "arguments_delta": "arguments",
}
#: Delta type -> type of the step it opens when no start event came; any other delta is of its step's type.
_STEP_TYPES = {
    **dict.fromkeys(("thought_summary", "thought_signature"), "thought"),
    "arguments_delta": "function_call",
}
_FLAT_TYPES = {"text_annotation_delta": "text", "text_annotation": "text"}
_CONTENT_DELTAS = frozenset({"text", *_FLAT_TYPES, "image", "audio", "video", "document"})


def step_of(delta: Json, *, flat: bool) -> Json:
    """The step that a delta opens when its start event is missing."""
    delta_type = delta.get("type") if type(delta) is dict else None
    if type(delta_type) is not str:
        return {}
    if delta_type in _CONTENT_DELTAS:
        return {"type": _FLAT_TYPES.get(delta_type, delta_type) if flat else "model_output"}
    return {"type": _STEP_TYPES.get(delta_type, delta_type)}


def _settings(content: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in content.items() if key != "data"}


def _decoded(data: Json) -> bytes | None:
    try:
        return b64decode(data, validate=True) if type(data) is str else None
    except ValueError:
        return None


def _parsed(arguments: str) -> Json:
    """The arguments' value; a string that broke off stays as it is."""
    try:
        return loads(arguments)
    except FramingError:
        return arguments
