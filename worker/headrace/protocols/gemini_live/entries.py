"""Entries of a turn <-> messages.

Entries of one role that follow one another are one message, whose parts tell which entry they are of: calls are of
``toolCall``, results of ``toolResponse``, transcripts and realtime input by their ``wire_type``, all else of
``modelTurn``. A part says so (``"entry"`` in its ``wire``) where that is not true, or where an entry begins that is of
the same kind as the one before (``"start"``). Client content has turns with roles of their own: a message each.

Whatever has not the expected form is one ``data`` part with the entry's value, under the role ``session``, as are the
signals of the session itself (goAway, resumption, voice activity).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.canonical.fields import spelling
from headrace.canonical.shape import Message, Part
from headrace.json_text import Json, dumps, loads
from headrace.protocols.gemini_live.grammar import CLIENT_KEYS, MEDIA, REALTIME_MARKS, SERVER_KEYS, TRANSCRIPTS
from headrace.protocols.google.contents import read_content, write_content
from headrace.protocols.google.parts import Place, read_part, write_part

_REALTIME = "realtimeInput."
#: Entries whose value is a list of calls or results under one key: that key, and the member of a part it becomes.
_LISTS = {"toolCall": ("functionCalls", "functionCall"), "toolResponse": ("functionResponses", "functionResponse")}
_ROLES = {
    "modelTurn": "assistant",
    "toolCall": "assistant",
    "toolResponse": "tool",
    "outputTranscription": "assistant",
    "inputTranscription": "user",
    "interimInputTranscription": "user",
    "realtimeInput": "user",
}
_REALTIME_KEYS = frozenset({*MEDIA, *REALTIME_MARKS, "text"})
_WRAPPERS = ("frame", "serverContent", "realtimeInput")
_SERVER = (SERVER_KEYS - {"serverContent"}) | {"modelTurn", *TRANSCRIPTS}
_CLIENT = CLIENT_KEYS - {"setup"}
#: Keys whose every part is an entry of its own.
_ALONE = frozenset(["realtimeInput", *TRANSCRIPTS])
#: Wire fields that must go back verbatim.
_CONTINUATION = {"sessionResumptionUpdate": "newHandle", "setupComplete": "voiceConsentSignature"}


class Reader:
    """Builds messages out of entries."""

    def __init__(self, place: Place) -> None:
        self.messages: list[Message] = []
        self._place = place
        self._last: str | None = None

    def add(self, entry: Json) -> None:
        """One entry. Never raises."""
        key, value = _key_of(entry)
        if key is None:
            self._place.reading.unknown_type("entry", _name_of(entry))
            self._append("session", "entry", [{"type": "unknown", "raw": dumps(entry), "wire": '{"entry":"raw"}'}])
        elif key == "clientContent" and _is_client_content(value):
            self._add_client_content(value)
        else:
            self._add_parts(key, value)

    def _add_client_content(self, value: Mapping[str, Json]) -> None:
        for at, turn in enumerate(value["turns"]):
            self._place.message = len(self.messages)
            message = read_content(turn, self._place, "user")
            _respell(message, entry="clientContent" if at == 0 else "goes on")
            self.messages.append(message)
        if "turnComplete" in value:
            self.messages[-1]["detail"] = dumps({"turnComplete": value["turnComplete"]})
        self._last = None

    def _add_parts(self, key: str, value: Json) -> None:
        role = _ROLES.get(key)
        message = self.messages[-1] if self.messages else None
        joined = message is not None and message["role"] == role and self._last is not None
        self._place.message = len(self.messages) - 1 if joined else len(self.messages)
        self._place.part = len(message.get("parts", ())) if joined and message is not None else 0
        if not joined:
            self._place.call = 0
        parts = _read_entry(key, value, self._place)
        if role is None or parts is None:
            data: Part = {"type": "data", "wire_type": key, "data": dumps(value)}
            if key in _CONTINUATION and type(value) is dict and _CONTINUATION[key] in value:
                data["continuation"] = [f"{key}.{_CONTINUATION[key]}"]
            self._append("session", key, [data])
        else:
            self._append(role, key, parts)

    def _append(self, role: str, key: str, parts: list[Part]) -> None:
        if parts and _default_entry(parts[0]) == key and self._last == key:
            _respell(parts[0], start=True)
        for part in parts:
            if part["type"] != "unknown" and _default_entry(part) != key:
                _respell(part, entry=key)
        if self._last is not None and self.messages[-1]["role"] == role:
            self.messages[-1]["parts"] += parts
        else:
            self.messages.append({"role": role, "parts": parts})
        self._last = key


def _respell(shape: Any, **notes: Json) -> None:
    shape["wire"] = dumps({**spelling(shape), **notes})


def _key_of(entry: Json) -> tuple[str | None, Json]:
    """The kind of an entry and its value; None for what has not the form of one."""
    if type(entry) is not dict or len(entry) != 2 or "from" not in entry:
        return None, None
    key = next(name for name in entry if name != "from")
    value = entry[key]
    known = _CLIENT if entry["from"] == "client" else _SERVER if entry["from"] == "server" else ()
    if key not in known or (key == "realtimeInput" and type(value) is dict and not value.keys() <= _REALTIME_KEYS):
        return None, None
    return key, value


def _name_of(entry: Json) -> str | None:
    """The key nobody knows: of the entry, or of the frame or content it is from."""
    name = next((key for key in entry if key != "from"), None) if type(entry) is dict else None
    if name in _WRAPPERS and type(entry[name]) is dict:
        return next(iter(entry[name]), None)
    return name


def _is_client_content(value: Json) -> bool:
    return (
        type(value) is dict
        and value.keys() <= {"turns", "turnComplete"}
        and type(value.get("turns")) is list
        and bool(value["turns"])
    )


def _read_entry(key: str, value: Json, place: Place) -> list[Part] | None:
    """The parts of a regular entry; None when it is not one."""
    if type(value) is not dict:
        return None
    if key in TRANSCRIPTS:
        return [{**read_part({"audioTranscription": value}, place), "wire_type": key}]
    if key in _LISTS:
        wire, member = _LISTS[key]
        items = value.get(wire)
        if len(value) == 1 and type(items) is list and items and all(type(item) is dict for item in items):
            return [read_part({member: item}, place) for item in items]
    elif key == "realtimeInput" and len(value) == 1:
        return _read_realtime(value, place)
    elif key == "modelTurn" and value.keys() <= {"role", "parts"} and value.get("role", "model") == "model":
        items = value.get("parts")
        if type(items) is list and items:
            parts = [read_part(item, place) for item in items]
            if "role" not in value:
                _respell(parts[0], role=None)
            return parts
    return None


def _read_realtime(value: Mapping[str, Json], place: Place) -> list[Part] | None:
    (key, item), *_ = value.items()
    if key in MEDIA and type(item) is dict:
        return [{**read_part({"inlineData": item}, place), "wire_type": _REALTIME + key}]
    if key == "text" and type(item) is str:
        return [{**read_part({"text": item}, place), "wire_type": _REALTIME + key}]
    if key in REALTIME_MARKS:
        return [{"type": "data", "wire_type": _REALTIME + key, "data": dumps(item)}]
    return None


# Messages to entries


def _default_entry(part: Part) -> str:
    """The entry that a part is of unless it says otherwise."""
    wire_type = part.get("wire_type", "")
    if wire_type.startswith(_REALTIME):
        return "realtimeInput"
    if wire_type in TRANSCRIPTS or part["type"] == "data":
        return wire_type
    return {"tool_call": "toolCall", "tool_result": "toolResponse"}.get(part["type"], "modelTurn")


def write_entries(messages: Sequence[Message]) -> list[Json]:
    """The entries of a turn's messages, in order."""
    entries: list[Json] = []
    for message in messages:
        wire = spelling(message)
        if "entry" in wire or (message["role"] in ("user", "system") and not _is_live(message)):
            _write_client_content(message, wire, entries)
        else:
            _write_parts(message, entries)
    return entries


def _is_live(message: Message) -> bool:
    """Whether a message was read from entries, not from another protocol's history."""
    return any(_default_entry(part) not in ("modelTurn", "toolCall") for part in message.get("parts", ()))


def _write_client_content(message: Message, wire: Mapping[str, Any], entries: list[Json]) -> None:
    turn = write_content(message)
    if wire.get("entry") == "goes on" and entries:
        entries[-1]["clientContent"]["turns"].append(turn)
    else:
        entries.append({"from": "client", "clientContent": {"turns": [turn]}})
    if "detail" in message:
        entries[-1]["clientContent"].update(loads(message["detail"]))


def _write_parts(message: Message, entries: list[Json]) -> None:
    last: str | None = None
    for part in message.get("parts", ()):
        wire = spelling(part)
        key = wire.get("entry", _default_entry(part))
        if key == "raw":
            entries.append(loads(part["raw"]))
            last = None
            continue
        starts = key != last or "start" in wire or part["type"] == "data" or key in _ALONE
        if starts:
            entries.append({"from": "client" if key in _CLIENT else "server"})
        _write_into(entries[-1], key, part, wire, starts=starts)
        last = key


def _write_into(entry: dict[str, Json], key: str, part: Part, wire: Mapping[str, Any], *, starts: bool) -> None:
    wire_type = part.get("wire_type", "")
    if part["type"] == "data":
        value = loads(part["data"])
        entry[key] = {wire_type.removeprefix(_REALTIME): value} if wire_type.startswith(_REALTIME) else value
    elif key in TRANSCRIPTS:
        entry[key] = _written({**part, "wire_type": "audioTranscription"})["audioTranscription"]
    elif key in _LISTS:
        name, member = _LISTS[key]
        entry.setdefault(key, {name: []})[name].append(_written(part)[member])
    elif key == "realtimeInput":
        name = wire_type.removeprefix(_REALTIME)
        member = "text" if name == "text" else "inlineData"
        entry[key] = {name: _written({**part, "wire_type": member})[member]}
    else:
        if starts:
            entry[key] = {} if "role" in wire else {"role": "model"}
        entry[key].setdefault("parts", []).append(_written(part))


def _written(part: Any) -> Any:
    return write_part(part)
