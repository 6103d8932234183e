"""Lists of steps <-> messages.

A model's turn is one assistant message: its thoughts, calls, results of built-in tools and contents are ordered
parts. Contents stand inside `model_output` steps. As a rule a run of content parts is one such step, so nothing
needs to be said; where a step says more than its contents (an error, fields nobody knows, no contents at all) or
two follow each other, a data part of wire type "model_output" stands before its contents.

    user_input {content}                  -> user message
    function_result                       -> tool message
    thought, *_call, *_result             -> part of the assistant message
    model_output {content, error}         -> parts of the assistant message
    a content beside steps ("bare")       -> part of a message of its own: user in input, assistant in outputs
    {role, content} without a type        -> message (input before 2026-05)
"""

from __future__ import annotations

from headrace.canonical.fields import Other, Table, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Message, Part
from headrace.json_text import Json, dumps
from headrace.protocols.gemini_interactions import steps
from headrace.protocols.gemini_interactions.contents import (
    CONTENT_TYPES,
    in_form,
    is_content,
    read_content,
    read_contents,
    type_of,
    unknown_part,
    write_content,
)

#: What a `model_output` step says besides its contents.
_OUTPUT = Table(Other("error", "data"), steps.STEP_USAGE)
_USER_INPUT = Table(steps.STEP_USAGE)
_TURN = Table()
#: Roles of old turns, where they differ from ours.
_ROLES = {"model": "assistant"}


class _Turns:
    """Messages in the making."""

    def __init__(self, reading: Reading, before: int, bare_role: str, *, bare: bool) -> None:
        """before: messages that the record has already. bare: whether assistant contents stand beside the steps."""
        self.messages: list[Message] = []
        self._reading = reading
        self._before = before
        self._bare_role = bare_role
        self._bare = bare
        self._open: tuple[str, bool] | None = None
        self._calls = 0

    def element(self, element: Json) -> None:
        """Read one element of the list."""
        kind = type_of(element)
        reader = steps.READERS.get(kind) if kind else None
        if reader is not None:
            if kind in steps.FUNCTION_RESULTS:
                self._start("tool", bare=False)
                self._open = None
            elif self._open is None or self._open[0] != "assistant":
                self._start("assistant", bare=self._bare)
            self._step(reader, element)
        elif kind == "model_output":
            self._join("assistant", bare=False)
            self._model_output(element)
        elif kind == "user_input":
            self._user_input(element)
        elif kind in CONTENT_TYPES:
            self._join(self._bare_role, bare=True)
            self.messages[-1]["parts"].append(read_content(element, self._reading))
        elif kind is None and type(element) is dict and type(element.get("role")) is str and element["role"]:
            self._turn(element)
        else:
            if self._open is None:
                self._start("assistant", bare=self._bare)
            self.messages[-1]["parts"].append(unknown_part(element, "step", self._reading))

    def _start(self, role: str, *, bare: bool) -> None:
        message: Message = {"role": role, "parts": []}
        if bare:
            message["wire"] = '{"bare":true}'
        self.messages.append(message)
        self._open = (role, bare)
        self._calls = 0

    def _join(self, role: str, *, bare: bool) -> None:
        """Go on with the open message if it is of this kind."""
        if self._open != (role, bare):
            self._start(role, bare=bare)

    def _step(self, reader: steps.ReadStep, step: dict[str, Json]) -> None:
        parts = self.messages[-1]["parts"]
        part = reader(step, self._reading, (self._before + len(self.messages) - 1, len(parts)))
        if "tool_call" in part:
            part["tool_call"]["index"] = self._calls
            self._calls += 1
        parts.append(part)

    def _model_output(self, step: dict[str, Json]) -> None:
        parts = self.messages[-1]["parts"]
        follows = bool(parts) and (is_content(parts[-1]) or _is_header(parts[-1]))
        if not follows and _is_plain(step):
            parts += [read_content(content, self._reading) for content in step["content"]]
            return
        header: Part = {"type": "data", "wire_type": "model_output"}
        left = _OUTPUT.read(step, header, ("type", "content"))
        contents = read_contents(step, left, self._reading)
        left.store(header)
        if len(header) > 2 or not contents or follows:
            parts.append(header)
        parts += contents

    def _user_input(self, step: dict[str, Json]) -> None:
        self._open = None
        if _is_plain(step):
            parts = [read_content(content, self._reading) for content in step["content"]]
            self.messages.append({"role": "user", "parts": parts})
            return
        message: Message = {"role": "user"}
        left = _USER_INPUT.read(step, message, ("type", "content"))
        message["parts"] = read_contents(step, left, self._reading)
        left.store(message)
        self.messages.append(message)

    def _turn(self, turn: dict[str, Json]) -> None:
        role: str = turn["role"]
        message: Message = {"role": _ROLES.get(role, role), "parts": []}
        left = _TURN.read(turn, message, ("role", "content"))
        left.wire["turn"] = role
        self.messages.append(message)
        self._open, self._calls = None, 0
        if type(turn.get("content")) is list:
            for element in listed(turn, "content", left):
                reader = steps.READERS.get(type_of(element) or "")
                if reader is not None:
                    self._step(reader, element)
                else:
                    message["parts"].append(read_content(element, self._reading))
        else:
            message["parts"] += read_contents(turn, left, self._reading)
        left.store(message)


def _is_plain(step: dict[str, Json]) -> bool:
    """Whether a step says nothing but its type and its contents, as nearly all do."""
    return len(step) == 2 and type(step.get("content")) is list and bool(step["content"])


def read_turns(
    elements: list[Json], reading: Reading, before: int, *, outputs: bool = False, user: bool
) -> list[Message]:
    """Messages of a list of steps.

    before: messages of the record that come first. outputs: the list is the old `outputs`, in which contents stand
    beside calls. user: contents beside steps are the user's, as in `input`.
    """
    turns = _Turns(reading, before, "user" if user else "assistant", bare=outputs)
    for element in elements:
        turns.element(element)
    return turns.messages


def write_turns(messages: list[Message]) -> list[Json]:
    """The inverse of `read_turns`."""
    elements: list[Json] = []
    for message in messages:
        spelled = spelling(message)
        if "turn" in spelled:
            elements.append(_write_turn(message, spelled))
        elif "bare" in spelled:
            elements += [_write_bare(part) for part in message.get("parts", ())]
        else:
            _write_message(message, spelled, elements)
    return elements


def _write_message(message: Message, spelled: dict[str, Json], elements: list[Json]) -> None:
    parts = message.get("parts", [])
    is_user = message["role"] not in ("assistant", "tool")
    shell: Json = None
    form: Json = None
    if is_user and (not parts or is_content(parts[0])):
        shell, form = _USER_INPUT.write(message, spelled) | {"type": "user_input"}, spelled.get("content")
        elements.append(shell)
    for part in parts:
        if _is_header(part):
            header = spelling(part)
            shell, form = _OUTPUT.write(part, header) | {"type": "model_output"}, header.get("content")
            elements.append(shell)
        elif is_content(part):
            if shell is None:
                shell, form = {"type": "user_input" if is_user else "model_output"}, None
                elements.append(shell)
            _put_content(shell, write_content(part), form)
        else:
            shell = None
            elements.append(steps.write_step(part))


def _put_content(shell: dict[str, Json], content: Json, form: Json) -> None:
    if form is None:
        shell.setdefault("content", []).append(content)
    else:
        shell["content"] = in_form([content], form)


def _write_turn(message: Message, spelled: dict[str, Json]) -> Json:
    turn = _TURN.write(message, spelled)
    turn["role"] = spelled["turn"]
    contents = [_write_bare(part) for part in message.get("parts", ())]
    if contents:
        turn["content"] = in_form(contents, spelled.get("content"))
    return turn


def _write_bare(part: Part) -> Json:
    return write_content(part) if is_content(part) else steps.write_step(part)


def _is_header(part: Part) -> bool:
    return part["type"] == "data" and part.get("wire_type") == "model_output"


def mark(messages: list[Message], key: str, value: Json) -> list[Message]:
    """The same messages with one more note in ``wire``."""
    for message in messages:
        message["wire"] = dumps({**spelling(message), key: value})
    return messages
