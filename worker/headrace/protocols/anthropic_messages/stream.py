"""Stream events -> message: one `Folded` for each `message_start`.

The fold is a table of events and a table of deltas. A block collects its strings in lists, joined once at the
end; content is ordered by the wire's block index. What the whole body would not hold is treated by rule:

- `ping` and the `[DONE]` that some gateways append say nothing and are dropped.
- The exact argument string of a tool call goes to ``layout`` ({"streamed": {block position: string}}, {} where no
  call came: a folded body always has one, so it is a response however little of it arrived). A string that does
  not parse leaves the block's ``input`` as it started: the wire's input is an object, and nothing is repaired.
- A delta of unknown type is kept in its block under "unknown_deltas"; an unknown field of a known event or delta
  is kept in its block or message under its own name (a list where it came with several values).
- Text and thinking deltas whose block never started (lost pieces) open one; other orphans are stray.
- A fallback block makes `model` the model that served, as the API's own whole answer has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.json_text import Json
from headrace.protocols.anthropic_messages.folding import APPENDED, FoldedBlock
from headrace.protocols.delta_run import Counted, DeltaRun, index_of
from headrace.protocols.entry_points import Folded
from headrace.protocols.stretches import Stretch

#: Keys of the message that are built from events of their own; a message_delta cannot set them.
_BUILT = frozenset(["type", "content", "usage", "error"])


class _Message(Counted):
    """One response while it is folded."""

    __slots__ = ("block", "blocks", "body", "complete", "open", "stopped", "stray", "unknown")

    def __init__(self) -> None:
        super().__init__()
        self.body: dict[str, Json] = {}
        self.blocks: list[tuple[Any, FoldedBlock]] = []
        self.open: dict[Any, FoldedBlock] = {}
        self.block: FoldedBlock | None = None
        self.stopped = self.complete = False
        self.stray: list[Json] = []
        self.unknown: list[tuple[str, str]] = []

    @property
    def untouched(self) -> bool:
        return not (self.body or self.blocks or self.stopped)

    def begin(self, start: dict[str, Json]) -> None:
        """Take a message as it starts; content that is there already is blocks like those that follow."""
        self.body = dict(start)
        if type(start.get("usage")) is dict:
            self.body["usage"] = dict(start["usage"])
        if type(start.get("content")) is list:
            self.body["content"] = []
            for index, value in enumerate(start["content"]):
                self.add(index, FoldedBlock(value))

    def add(self, index: Any, block: FoldedBlock) -> None:
        """Open a block at an index; one that is no number leaves it to be the newest."""
        self.blocks.append((index, block))
        self.block = block
        if type(index) is int:
            self.open[index] = block

    def settle(self, key: str, value: Json, event: Json) -> None:
        """Set a field of the message: the newest value stays, but null never replaces one."""
        if key in _BUILT:
            self.stray.append(event)
        elif value is not None or key not in self.body:
            self.body[key] = value

    def in_order(self) -> list[FoldedBlock]:
        """Blocks by index; in order of their starts where the indexes do not tell (absent or used twice)."""
        indexes = [index for index, _ in self.blocks]
        if len(self.open) == len(indexes):
            return [self.open[index] for index in sorted(indexes)]
        return [block for _, block in self.blocks]

    def folded(self) -> Folded:
        streamed: dict[int, str] = {}
        if self.blocks:
            before = self.body.get("content")
            if before:
                self.stray.append({"content": before})
            content = self.body["content"] = []
            for position, block in enumerate(self.in_order()):
                value, exact = block.finished()
                content.append(value)
                if exact is not None:
                    streamed[position] = exact
        layout = {"streamed": streamed} if streamed else {}
        return Folded(self.body, self.complete, self.events, layout, self.unknown, self.stray)


class _Folding:
    """The state over all events: the messages so far, the last of them current."""

    def __init__(self) -> None:
        self.messages: list[_Message] = []
        self.run: DeltaRun | None = None

    def current(self) -> _Message:
        return self.messages[-1] if self.messages else self.next()

    def next(self) -> _Message:
        """A new message; one that holds nothing yet (only pings came) is used for it."""
        if self.messages and self.messages[-1].untouched:
            return self.messages[-1]
        self.messages.append(_Message())
        return self.messages[-1]

    def take_stretch(self, stretch: Stretch) -> bool:
        """A stretch of events of the run; False, with nothing done, for any other."""
        return self.run is not None and self.run.take_stretch(stretch)

    def event(self, event: Json) -> None:
        """Any event but those of a stretch; a plain delta begins a run."""
        if self.run is not None and type(event) is dict and self.run.take(event):
            return
        self.run = None
        handler: _Handler = _unknown_event
        if type(event) is dict:
            kind = event.get("type")
            if type(kind) is str:
                handler = _EVENTS.get(kind, _unknown_event)
            elif "error" in event:
                handler = _error
        elif event == "[DONE]":
            handler = _ping
        handler(self, event).events += 1


_Handler = Callable[[_Folding, Any], _Message]


def _ping(folding: _Folding, event: Json) -> _Message:
    message = folding.current()
    if type(event) is dict and len(event) > 1:
        message.stray.append(event)
    return message


def _unknown_event(folding: _Folding, event: Json) -> _Message:
    message = folding.current()
    message.stray.append(event)
    if type(event) is dict:
        kind = event.get("type")
        message.unknown.append(("event", kind if type(kind) is str else "(none)"))
    return message


def _message_start(folding: _Folding, event: dict[str, Json]) -> _Message:
    start = event.get("message")
    if type(start) is not dict:
        return _unknown_event(folding, event)
    message = folding.next()
    message.begin(start)
    for key, value in event.items():
        if key not in ("type", "message"):
            message.settle(key, value, event)
    return message


def _whole_message(folding: _Folding, event: dict[str, Json]) -> _Message:
    """A provider that answers a stream request with one whole body."""
    message = folding.next()
    message.begin(event)
    message.complete = message.stopped = event.get("stop_reason") is not None
    return message


def _block_start(folding: _Folding, event: dict[str, Json]) -> _Message:
    if "content_block" not in event:
        return _unknown_event(folding, event)
    message = folding.current()
    if message.stopped:
        message = folding.next()
    value = event["content_block"]
    block = FoldedBlock(value)
    message.add(index_of(event), block)
    if type(value) is dict and value.get("type") == "fallback" and type(message.body.get("model")) is str:
        served = value.get("to")
        if type(served) is dict and type(served.get("model")) is str:
            message.body["model"] = served["model"]
    if len(event) > 3:
        _keep(block, event, ("type", "index", "content_block"), message)
    return message


def _keep(block: FoldedBlock, event: dict[str, Json], known: tuple[str, ...], message: _Message) -> None:
    if type(block.value) is dict:
        block.keep(event, known)
    else:
        message.stray.append(event)


def _block_of(message: _Message, event: dict[str, Json]) -> FoldedBlock | None:
    """The block an event speaks of; one without an index speaks of the newest."""
    if event.get("index") is None:
        return message.block
    index = index_of(event)
    return None if index is None else message.open.get(index)


def _block_delta(folding: _Folding, event: dict[str, Json]) -> _Message:
    message = folding.current()
    delta = event.get("delta")
    if type(delta) is not dict:
        message.stray.append(event)
        return message
    block = _block_of(message, event)
    if block is None:
        block = FoldedBlock.implied(delta)
        if block is not None:
            message.add(index_of(event), block)
    if block is None or type(block.value) is not dict:
        message.stray.append(event)
        return message
    unknown = block.apply(delta)
    if unknown is not None:
        message.unknown.append(("delta", unknown))
    elif (index := index_of(event)) is not None and delta["type"] in APPENDED:
        source, field = APPENDED[delta["type"]]
        pieces = block.buffers[field]
        folding.run = DeltaRun("type", "content_block_delta", index, delta["type"], source, pieces, message)
    if len(event) > 3:
        _keep(block, event, ("type", "index", "delta"), message)
    return message


def _block_stop(folding: _Folding, event: dict[str, Json]) -> _Message:
    message = folding.current()
    block = _block_of(message, event)
    if block is None:
        message.stray.append(event)
    elif len(event) > 2:
        _keep(block, event, ("type", "index"), message)
    return message


def _message_delta(folding: _Folding, event: dict[str, Json]) -> _Message:
    message = folding.current()
    for key, value in event.items():
        if key == "delta" and type(value) is dict:
            for name, setting in value.items():
                message.settle(name, setting, event)
        elif key == "usage" and type(value) is dict:
            _merge_usage(message, value, event)
        elif key != "type" and not (value is None and key in ("delta", "usage")):
            message.settle(key, value, event)
    return message


def _merge_usage(message: _Message, usage: dict[str, Json], event: Json) -> None:
    """Running totals: a figure that is there replaces the one before; absent and null keep it."""
    known = message.body.get("usage")
    if known is None:
        message.body["usage"] = dict(usage)
    elif type(known) is dict:
        for key, value in usage.items():
            if value is not None or key not in known:
                known[key] = value
    else:
        message.stray.append(event)


def _message_stop(folding: _Folding, event: dict[str, Json]) -> _Message:
    message = folding.current()
    message.complete = message.stopped = True
    for key, value in event.items():
        if key != "type":
            message.settle(key, value, event)
    return message


def _error(folding: _Folding, event: dict[str, Json]) -> _Message:
    """An error ends the response. Before any content it is all there is: the API's error body, as it came."""
    message = folding.current()
    if message.stopped:
        message = folding.next()
    if message.untouched:
        message.body = dict(event)
    elif "error" in message.body:
        message.stray.append(event)
    else:
        message.body["error"] = event.get("error", event)
        for key, value in event.items():
            if key not in ("type", "error"):
                message.settle(key, value, event)
    message.complete = True
    return message


_EVENTS: dict[str, _Handler] = {
    "ping": _ping,
    "message_start": _message_start,
    "message": _whole_message,
    "content_block_start": _block_start,
    "content_block_delta": _block_delta,
    "content_block_stop": _block_stop,
    "message_delta": _message_delta,
    "message_stop": _message_stop,
    "error": _error,
}


def fold(events: Sequence[Json | Stretch]) -> list[Folded]:
    """Events of one stream -> its responses. Never raises; see the module for what is dropped and kept."""
    folding = _Folding()
    for event in events:
        if type(event) is not Stretch:
            folding.event(event)
        elif not folding.take_stretch(event):
            for each in event.events():
                folding.event(each)
    return [message.folded() for message in folding.messages]
