"""Events of a stream that are one event over and over, but for some texts and numbers.

Nearly all events of a stream differ from their neighbours in one string, the delta. `read` learns from a few parsed
events what stays the same (`templates`). From then on it compares bytes, many events at a time, and reads only what
differs: a `Stretch` of events is columns of values, and none of its events is ever held as a whole. What does not
match is parsed like any event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

from headrace.json_text import Json, loads, loads_all
from headrace.protocols.templates import Path, Template, parts_of

__all__ = ["Path", "Stretch", "read"]

Columns = dict[Path, list[Any]]

#: Events that are parsed before a template is made, after a stretch, and at most, until the next try.
_LEARN_AFTER, _AGAIN, _MOST_BETWEEN = 16, 4, 256
#: A stretch is worth its while when it has about so many events; at first so many are cut at once. A prime, so that
#: events of several calls that take turns are not compared with those of the same call only.
_WORTH = 61
#: The most events that are cut at once, and the fewest that make a stretch.
_MOST, _FEW = 512, 3
_MOST_TEMPLATES = 4


@final
class Stretch:
    """Events that follow ``event``, and are equal to it but for the values at some paths.

    event: the parsed event before them, which is no part of the stretch. columns: path -> its values, one an event;
    they are all strings or all whole numbers.
    """

    __slots__ = ("columns", "event", "payloads")

    def __init__(self, event: dict[str, Json], payloads: Sequence[bytes], columns: Columns) -> None:
        self.event = event
        self.payloads = payloads
        self.columns = columns

    def __len__(self) -> int:
        return len(self.payloads)

    def varies(self, path: Path) -> bool:
        """Whether some event differs from ``event`` at a path."""
        column = self.columns.get(path)
        return column is not None and column.count(_at(self.event, path)) != len(column)

    def varying(self) -> set[Path]:
        """The paths at which some event differs from ``event``."""
        return {path for path in self.columns if self.varies(path)}

    def values(self, path: Path) -> list[Any]:
        """The values at a path, one an event."""
        column = self.columns.get(path)
        return [_at(self.event, path)] * len(self) if column is None else column

    def last(self) -> Json:
        """The last event, parsed."""
        return loads(self.payloads[-1])

    def events(self) -> Iterator[Json]:
        """The events themselves, parsed one by one."""
        return map(loads, self.payloads)


def read(payloads: Sequence[bytes]) -> list[Json | Stretch]:
    """The values of JSON texts in order, stretches of them as such. Raises FramingError as `loads` does."""
    return _Reader(payloads).read()


class _Reader:
    """Reads the events of one stream."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self._payloads = payloads
        self._events: list[Json | Stretch] = []
        #: The last used first.
        self._templates: list[Template] = []

    def read(self) -> list[Json | Stretch]:
        """All events. Now and then it is asked whether a stretch begins; where none did, less often."""
        at, step, end = 0, _LEARN_AFTER, len(self._payloads)
        while at + step + _WORTH < end:
            self._events += loads_all(self._payloads[at : at + step])
            at += step
            template = self._template_at(at) or (self._learned_at(at) if step >= _LEARN_AFTER else None)
            stop = at if template is None else self._follow(template, at)
            step = _AGAIN if stop > at else min(2 * step, _MOST_BETWEEN)
            at = stop
        self._events += loads_all(self._payloads[at:])
        return self._events

    def _template_at(self, at: int) -> Template | None:
        """The template of an event and of another so far behind it that all between are worth a stretch."""
        payload, later = self._payloads[at], self._payloads[at + _WORTH]
        for place, template in enumerate(self._templates):
            if template.frame.seems(payload) and template.frame.seems(later):
                self._templates.insert(0, self._templates.pop(place))
                return template
        return None

    def _learned_at(self, at: int) -> Template | None:
        """A template that is made of the same two events, or of an older one which gets more holes."""
        parts, later = parts_of(self._payloads[at]), parts_of(self._payloads[at + _WORTH])
        made = next((wider for known in self._templates if (wider := known.widened(parts, later))), None)
        made = made or Template.of(parts, later)
        if made is not None:
            self._templates.insert(0, made)
            del self._templates[_MOST_TEMPLATES:]
        return made

    def _follow(self, template: Template, start: int) -> int:
        """Take the events from one on that are of a template; returns where the next is that is not."""
        stop, size = start, _WORTH
        columns: list[list[Any]] = [[] for _ in template.paths]
        frame = template.frame.narrowed(self._payloads[start : start + 2]) or template.frame
        if not frame.seems(self._payloads[start + _WORTH]):
            return start
        while True:
            window = self._payloads[stop : stop + size]
            count, values = frame.cut(window)
            for column, more in zip(columns, values, strict=False):
                column += more
            stop += count
            if count == size:
                size = min(2 * size, _MOST)
            elif frame is template.frame:
                break
            else:
                frame = template.frame
        if stop - start < _FEW:
            # It only looks right: with more holes it may be.
            self._templates.remove(template)
            return start
        event = loads(self._payloads[start])
        rest = {path: column[1:] for path, column in zip(template.paths, columns, strict=True)}
        self._events += [event, Stretch(event, self._payloads[start + 1 : stop], rest)]
        return stop


def _at(event: Json, path: Path) -> Json:
    for step in path:
        event = event[step]
    return event
