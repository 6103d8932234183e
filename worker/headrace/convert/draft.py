"""The record in the making: a copy of the source whose every object knows where it came from.

Rules move, split and merge objects of the draft and change their fields. Because each object keeps the path of its
origin, whatever a rule or the matrix takes away is reported by its place in the source, wherever it had been moved
to; and the audit can tell for every value of the source whether it is still there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.convert.codes import CODES, Loss
from headrace.convert.dialects import Dialect
from headrace.convert.matrix import ENVELOPE
from headrace.convert.targets import Target
from headrace.json_text import Json, dumps, loads

#: How deep JSON text is opened to name what is lost in it.
_DEPTH = 2


class Draft:
    """One conversion under way. ``record`` is the draft itself, ``losses`` what was reported so far."""

    def __init__(self, source: Any, target: Target, source_family: str | None, dialect: Dialect | None = None) -> None:
        self.source = source
        self.target = target
        self.source_family = source_family
        self.dialect = dialect
        self.ids: dict[str, str] = {}
        self._losses: dict[tuple[str, str], Loss] = {}
        # Paths whose values are carried in another form, or reported; and objects that are reported as a whole.
        self._accounted: set[str] = set()
        self._dropped: set[str] = set()
        self._origins: dict[int, str] = {}
        self._aliases: dict[tuple[int, str], str] = {}
        # Objects that left the draft are held, so that their identity is never given to another.
        self._held: list[Any] = []
        self.record: Any = self._copied(source, "")
        self._leave_envelope()

    def _leave_envelope(self) -> None:
        """What says where the record came from stays with the source."""
        for path in ENVELOPE:
            holder, _, field = path.rpartition(".")
            (self.record.get(holder, {}) if holder else self.record).pop(field, None)

    def _copied(self, value: Any, path: str) -> Any:
        if type(value) is dict:
            copy = {key: self._copied(held, f"{path}.{key}" if path else key) for key, held in value.items()}
            self._place(copy, path)
            return copy
        if type(value) is list:
            return [self._copied(held, f"{path}[{at}]") for at, held in enumerate(value)]
        return value

    def _place(self, shape: Any, path: str) -> None:
        self._held.append(shape)
        self._origins[id(shape)] = path

    @property
    def is_request(self) -> bool:
        """Whether a request is being written."""
        return bool(self.source.get("record_type") != "response")

    @property
    def messages(self) -> list[Any]:
        """The draft's messages; a list that may be changed."""
        return self.record.setdefault("messages", [])  # type: ignore[no-any-return]

    @property
    def losses(self) -> list[Loss]:
        """What was reported so far, in order."""
        return list(self._losses.values())

    @property
    def keeps_reasoning(self) -> bool:
        """Whether visible reasoning stays in a history."""
        return self.dialect is not None and self.dialect.keeps_reasoning

    def origin(self, shape: Any) -> str | None:
        """Path of an object in the source; None for one that a rule made."""
        return self._origins.get(id(shape))

    def like(self, new: Any, origin: Any) -> Any:
        """Let a new object stand for one of the source."""
        path = self.origin(origin)
        if path is not None:
            self._place(new, path)
        return new

    def like_field(self, shape: Any, field: str, origin: Any) -> None:
        """Let a field stand for the field of that name of an object of the source."""
        path = self.path(origin, field)
        if path is not None:
            self._aliases[id(shape), field] = path
            self._accounted.add(path)

    # Reporting

    def report(self, path: str, code: str, detail: str | None = None) -> None:
        """Add to the losses; the same path and code once."""
        assert code in CODES, code
        self._losses.setdefault((path, code), Loss(path, code, detail))
        self._accounted.add(path)

    def is_accounted(self, path: str) -> bool:
        """Whether a value of the source is reported, or said to be carried in another form."""
        if path in self._accounted or path in self._dropped:
            return True
        at = len(path)
        while (at := max(path.rfind(".", 0, at), path.rfind("[", 0, at))) > 0:
            if path[:at] in self._dropped:
                return True
        return False

    def path(self, shape: Any, field: str = "") -> str | None:
        """Path of an object or of its field in the source; None where a rule made it."""
        alias = self._aliases.get((id(shape), field))
        if alias is not None:
            return alias
        origin = self.origin(shape)
        if origin is None:
            return None
        return f"{origin}.{field}" if origin and field else origin or field

    def note(self, shape: Any, field: str, code: str, detail: str | None = None) -> None:
        """Report something about an object or a field that stays."""
        path = self.path(shape, field)
        if path is not None:
            self.report(path, code, detail)

    def added(self, path: str, code: str, detail: str | None = None) -> None:
        """Report something that the source does not have."""
        self.report(path, code, detail)

    def lose(self, shape: Any, field: str, code: str, detail: str | None = None) -> None:
        """Take a field away and report it."""
        if field in shape:
            del shape[field]
            self.note(shape, field, code, detail)
            path = self.path(shape, field)
            if path is not None:
                self._dropped.add(path)

    def lose_json(self, shape: Any, field: str, code: str) -> None:
        """Take a field of JSON text away and report each value that it holds."""
        text = shape.pop(field, None)
        path = self.path(shape, field)
        if text is None or path is None:
            return
        self._accounted.add(path)
        for place in _places(loads(text), path, _DEPTH):
            self.report(place, code)

    def drop(self, shape: Any, code: str, detail: str | None = None) -> None:
        """Report a whole object; the caller takes it out of its list."""
        path = self.path(shape)
        if path is not None:
            self.report(path, code, detail)
            self._dropped.add(path)

    def moved(self, shape: Any, *fields: str) -> None:
        """Say that fields are carried, elsewhere or in another form that gives them back."""
        for field in fields:
            path = self.path(shape, field)
            if path is not None:
                self._accounted.add(path)

    def rewrite(self, shape: Any, field: str, value: Json) -> None:
        """Replace a field by the same thing in the target's words."""
        shape[field] = value
        self.moved(shape, field)


def _places(value: Json, path: str, depth: int) -> Iterable[str]:
    if type(value) is dict and value and depth:
        for key, held in value.items():
            yield from _places(held, f"{path}.{key}", depth - 1)
    else:
        yield path


def json_of(shape: Any, field: str) -> Json:
    """The value of a field of JSON text; None where there is none."""
    text = shape.get(field)
    return None if text is None else loads(text)


def set_json(shape: Any, field: str, value: Json) -> None:
    """Set a field of JSON text."""
    shape[field] = dumps(value)
