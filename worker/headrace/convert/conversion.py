"""A canonical record in another protocol, with the list of what that protocol cannot carry.

    source record -> draft -> rules -> matrix -> required fields -> the target's writer -> audit

The draft ends as the record that the target's own reader would make of the body, so the writer needs to know nothing of
other protocols. The same protocol is written as it is: lossless.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord
from headrace.convert import audit
from headrace.convert.codes import Loss
from headrace.convert.dialects import Dialect, dialect_of
from headrace.convert.draft import Draft
from headrace.convert.matrix import LOST, fields, is_envelope, is_spelling, matrix
from headrace.convert.rules import COMPLETIONS, RULES
from headrace.convert.targets import Target, family_of, target_of
from headrace.errors import HeadraceError, WireError
from headrace.json_text import Json
from headrace.protocols import codec

Policy = Literal["strict", "lossy"]
REFUSED = "unsupported_content"

#: Fields of JSON text: what is lost in them is named value by value.
_JSON = frozenset(
    {
        *("detail", "extras", "config", "other", "data", "metadata", "container", "safety", "grounding", "outputs"),
        *("stream_options", "safety_settings", "caller", "format", "response_format"),
    }
)
#: Fields of the same names that are plain text.
_NO_JSON = (".media.detail", ".media.format", ".reasoning.format")
#: Written and read as Gemini's contents: a Live session's history.
_CONTENTS = "gemini.generate_content"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of one record.

    body or events: what was written; neither when ``refused`` says why. losses: everything that is not carried as it
    was. ids: new call id -> the one it stands for.
    """

    record_id: str
    record_type: str
    call_id: str
    tenant: str | None
    target: str
    target_version: str
    provider: str | None
    policy: Policy
    matrix_version: str
    losses: tuple[Loss, ...]
    body: dict[str, Json] | None = None
    events: tuple[Json, ...] | None = None
    refused: str | None = None
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[str]:
        """Losses by code."""
        return Counter(loss.code for loss in self.losses)

    def to_json(self) -> dict[str, Json]:
        """The line of a result file."""
        line: dict[str, Json] = {"call_id": self.call_id, "record_type": self.record_type, "target": self.target}
        if self.refused is not None:
            line["refused"] = self.refused
        elif self.events is not None:
            line["events"] = list(self.events)
        else:
            line["body"] = self.body
        line["losses"] = [{"path": loss.path, "code": loss.code, "detail": loss.detail} for loss in self.losses]
        line["matrix_version"] = self.matrix_version
        return line


def convert(
    record: CanonicalRecord,
    target: str,
    *,
    provider: str | None = None,
    policy: Policy = "strict",
    stream: bool = False,
) -> Conversion:
    """Write a record in a protocol.

    provider: a dialect of the target (see `headrace.convert.dialects`). policy: ``strict`` refuses on any loss of
    meaning, ``lossy`` writes and reports. stream: a response as the events it would have been streamed as.
    Raises DetectionError for a target or dialect that nobody knows.
    """
    facts = target_of(target)
    dialect = dialect_of(provider, target)
    draft, written = _write(record, facts, dialect)
    losses = tuple(draft.losses)
    refused = REFUSED if policy == "strict" and any(loss.severity == "meaning" for loss in losses) else None
    body: dict[str, Json] | None = written if type(written) is dict else None
    events: tuple[Json, ...] | None = tuple(written) if type(written) is list else None
    if stream and body is not None and not draft.is_request:
        events, body = tuple(codec(target).unfold(body)), None
    if refused:
        body, events = None, None
    return Conversion(
        record_id=record.get("record_id", ""),
        record_type=record.get("record_type", "request"),
        call_id=record.get("call_id", ""),
        tenant=record.get("tenant"),
        target=target,
        target_version=facts.api_version,
        provider=provider,
        policy=policy,
        matrix_version=matrix().version,
        losses=losses,
        body=body,
        events=events,
        refused=refused,
        ids=draft.ids,
    )


def check(record: CanonicalRecord, target: str, *, provider: str | None = None) -> tuple[Loss, ...]:
    """The rules and the matrix alone: what a conversion would report."""
    return convert(record, target, provider=provider, policy="lossy").losses


def _write(record: CanonicalRecord, target: Target, dialect: Dialect | None) -> tuple[Draft, Json]:
    family = family_of(record.get("protocol"), record.get("provider"))
    draft = Draft(record, target, family, dialect)
    if record.get("protocol") == target.protocol:
        _repair(draft)
        return draft, _with_names(draft, _written(draft))
    return draft, _with_names(draft, _retargeted(draft))


def _retargeted(draft: Draft) -> Json:
    kind = "request" if draft.is_request else "response"
    for rule in RULES:
        if kind in rule.on:
            rule.run(draft)
    apply_matrix(draft)
    for rule in COMPLETIONS:
        if kind in rule.on:
            rule.run(draft)
    _prune(draft.record)
    written = _written(draft)
    audit.audit_source(draft)
    audit.audit_written(draft, _read(draft, written))
    return written


def apply_matrix(draft: Draft) -> None:
    """Take away and report whatever the target has no place for."""
    kind = "request" if draft.is_request else "response"
    table, column, dialect = matrix(), draft.target.column, draft.dialect
    for shape, name, place in list(fields(draft.record)):
        if is_envelope(place) or is_spelling(place.rpartition(".")[0], name) or name not in shape or shape[name] == []:
            continue
        line = table.line(place, kind)
        if line is None:
            draft.lose(shape, name, "not_carried", "no line of the matrix speaks of it")
            continue
        lost = line.marks[column] == LOST
        if dialect is not None:
            lost = (lost and line.place not in dialect.carries) or line.place in dialect.refuses
        if lost and name in _JSON and not place.endswith(_NO_JSON):
            draft.lose_json(shape, name, line.code)
        elif lost:
            draft.lose(shape, name, line.code)


def _prune(shape: Any) -> None:
    """Drop objects and lists of which nothing is left."""
    for key, value in list(shape.items()):
        if type(value) is dict:
            _prune(value)
            if not value and key != "reasoning":
                del shape[key]
        elif type(value) is list:
            for item in value:
                if type(item) is dict:
                    _prune(item)
            if not value and key != "parts":
                del shape[key]


def _repair(draft: Draft) -> None:
    """What a provider itself gives and refuses to take back: empty texts beside other blocks."""
    if draft.is_request and draft.target.column == "anthropic":
        for message in draft.messages:
            parts = message.get("parts", ())
            empty = [part for part in parts if part.get("type") == "text" and part.get("text") == ""]
            if empty and len(empty) < len(parts):
                for part in empty:
                    draft.drop(part, "empty_text")
                message["parts"] = [part for part in parts if not any(part is one for one in empty)]
    if not draft.source.get("messages"):
        draft.record.pop("messages", None)
    if draft.dialect is not None:
        for shape, name, place in list(fields(draft.record)):
            line = matrix().line(place, "request" if draft.is_request else "response")
            if line is not None and line.place in draft.dialect.refuses:
                draft.lose(shape, name, line.code)
        _prune(draft.record)


# Writing and reading


def _written(draft: Draft) -> Json:
    """The body; for a Live session its frames."""
    writer = codec(draft.target.protocol)
    try:
        if draft.target.column == "live":
            return _live_frames(draft) if draft.is_request else writer.unfold(writer.write_response(draft.record))
        return writer.write_request(draft.record) if draft.is_request else writer.write_response(draft.record)
    except WireError as error:
        raise HeadraceError(
            f"the writer of {draft.target.protocol} refused what was made for it: {error.message}",
            code="conversion_fault",
            place=error.place,
            fix="report this with the record",
        ) from error


def _live_frames(draft: Draft) -> list[Json]:
    """A session's setup, and the history as client content."""
    record: Any = draft.record
    messages = record.get("messages", [])
    system = [message for message in messages if message.get("role") == "system"]
    history = [message for message in messages if message.get("role") != "system"]
    setup = codec("gemini.live").write_request(record | {"messages": system})
    frames: list[Json] = [{"from": "client", "frame": setup}]
    if history:
        turns = codec(_CONTENTS).write_request({"messages": history})["contents"]
        frames.append({"from": "client", "frame": {"clientContent": {"turns": turns, "turnComplete": True}}})
    return frames


def _read(draft: Draft, written: Json) -> Any:
    """The record that the target's reader makes of what was written."""
    reader = codec(draft.target.protocol)
    reading = Reading(draft.source.get("call_id", ""), "request" if draft.is_request else "response")
    if draft.target.column == "live":
        return _read_live(draft, written, reading)
    if draft.is_request:
        return reader.read_request(written, reading)
    return reader.read_response(written, reading, None)


def _read_live(draft: Draft, frames: list[Json], reading: Reading) -> Any:
    reader = codec("gemini.live")
    if not draft.is_request:
        folded = reader.fold(frames)
        return reader.read_response(folded[-1].body, reading, None) if folded else {}
    record: Any = reader.read_request(frames[0]["frame"], reading)
    for frame in frames[1:]:
        turns = codec(_CONTENTS).read_request({"contents": frame["frame"]["clientContent"]["turns"]}, reading)
        record["messages"] = [*record.get("messages", []), *turns.get("messages", [])]
    return record


def _with_names(draft: Draft, body: Json) -> Json:
    """The body with keys as the dialect names them."""
    if draft.dialect is None or type(body) is not dict:
        return body
    renames = draft.dialect.renames
    return {renames.get(key, key): value for key, value in body.items()}
