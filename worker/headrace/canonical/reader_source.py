"""The keys of a wire object and its table -> the Python function that reads exactly such objects.

Of a call item, say, with the keys ("type", "call_id", "name", "arguments"):

    def read(body, shape, left, extras):
        v0 = body['type']
        if v0 != 'function_call' or type(v0) is not str: return False
        v1 = body['call_id']
        if type(v1) is not str or not (v1.isascii() or is_text(v1)): return False
        ...
        t0 = shape.get('tool_call')
        if t0 is None: shape['tool_call'] = {'provider_id': v1, 'name': v2, 'raw_arguments': v3}
        else:
            if 'provider_id' in t0 or ...: return False
            ...
        return True

A function declines (returns False, nothing changed) where a value does not fit: the walk then finds its place. The
source has keys and names of the table as literals and nothing else of any input. A function's `__doc__` is its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from headrace.canonical.entries import Const, Field, Leftover, Other, has_path, set_path
from headrace.canonical.kinds import BOOL, JSON, NAME, OBJECT, TEXT, is_text
from headrace.json_text import Json


class Reads(Protocol):
    """What reads the objects at one place of a table."""

    def read(self, body: Mapping[str, Json], shape: Any, left: Leftover, extras: dict[str, Json]) -> None: ...


#: (body, shape, left, extras) -> whether it was read.
Read = Callable[[Mapping[str, Json], Any, Leftover, dict[str, Json]], bool]
#: Nested key -> what reads the object there.
Children = dict[str, Any]

_NO_TEXT = "type({0}) is not str or not ({0}.isascii() or is_text({0}))"
#: Kinds whose check is written out; any other is called. What does not fit makes the expression true.
_MISFITS = {
    TEXT: _NO_TEXT,
    NAME: f"not {{0}} or {_NO_TEXT}",
    BOOL: "{0} is not True and {0} is not False",
    OBJECT: "not {0} or type({0}) is not dict",
    JSON: "{0} is None",
}


def compiled(
    tree: Mapping[str, Any],
    children: Mapping[str, Reads],
    preferred: Mapping[str, str],
    missing: tuple[str, ...],
) -> Read | None:
    """The function for objects with certain keys; None where it is their order that tells what goes where.

    tree: key -> entry or tree, of just these keys in their order. children: key -> what reads the object there.
    preferred: canonical name -> the wire path that fills it as a rule. missing: paths that should be there, but are not
    or, where they are nested, may not be.
    """
    entries = {key: entry for key, entry in tree.items() if type(entry) is not dict}
    nested = [key for key in tree if key not in entries]
    if not _in_any_order(entries, [tree[key] for key in nested], preferred):
        return None
    source = _Source(preferred)
    for key, entry in entries.items():
        source.check(key, entry)
    for key in nested:
        source.check_nested(key, children[key])
    source.fill()
    source.note(missing)
    return source.function()


def _in_any_order(
    entries: Mapping[str, Field | Const | Other], nested: list[Mapping[str, Any]], preferred: Mapping[str, str]
) -> bool:
    """Whether reading what is flat first, and nested objects then, gives what reading in the wire's order does.

    It does not where two keys fill one name, or where notes and gathered objects would come in another order.
    """
    names = [entry.name for entry in entries.values() if isinstance(entry, Field)]
    if any(name.count(".") > 1 for name in names) or len(set(names)) < len(names):
        return False
    if not nested:
        return True
    ordered = any(
        isinstance(entry, Other) or (isinstance(entry, Field) and preferred[entry.name] != entry.wire)
        for entry in entries.values()
    )
    return not ordered and set(names).isdisjoint(name for tree in nested for name in _names(tree))


def _names(tree: Mapping[str, Any]) -> Iterator[str]:
    for entry in tree.values():
        if type(entry) is dict:
            yield from _names(entry)
        elif isinstance(entry, Field):
            yield entry.name


class _Source:
    """Lines of a reader in the making: checks first, then all that changes anything."""

    def __init__(self, preferred: Mapping[str, str]) -> None:
        self._preferred = preferred
        self._checks: list[str] = []
        self._moves: list[str] = []
        self._last: list[str] = []
        #: Parent of canonical names ("" for the shape itself) -> (leaf, expression of its value).
        self._targets: dict[str, list[tuple[str, str]]] = {}
        self._names: dict[str, Any] = {"is_text": is_text, "set_path": set_path, "has_path": has_path}
        self._count = 0

    def check(self, key: str, entry: Field | Const | Other) -> None:
        """Take a value that is no object of its own, if it fits."""
        value = self._value(key)
        if isinstance(entry, Other):
            gathered = f"left.others.setdefault({entry.name!r}, {{}})"
            self._moves.append(f"set_path({gathered}, {entry.wire!r}, {value})")
        elif isinstance(entry, Const):
            constant = self._name("constant", entry.value)
            kind = self._name("kind", type(entry.value))
            self._decline(f"{value} != {constant} or type({value}) is not {kind}")
        else:
            self._check_field(entry, value)

    def _check_field(self, entry: Field, value: str) -> None:
        misfit = _MISFITS.get(entry.kind)
        if misfit is None:
            misfit = "{0} is None or not " + self._name("fits", entry.kind.fits) + "({0})"
        self._decline(misfit.format(value))
        if entry.kind.to_shape is not None:
            value = f"{self._name('to_shape', entry.kind.to_shape)}({value})"
        parent, _, leaf = entry.name.rpartition(".")
        self._targets.setdefault(parent, []).append((leaf, value))
        if self._preferred[entry.name] != entry.wire:
            self._moves.append(f"left.wire.setdefault('alias', {{}})[{entry.name!r}] = {entry.wire!r}")

    def check_nested(self, key: str, child: Reads) -> None:
        """Take an object; what reads it may find that parts of it do not fit."""
        value = self._value(key)
        self._decline(f"not {value} or type({value}) is not dict")
        rest = f"rest{self._count}"
        self._last += [
            f"{rest} = {{}}",
            f"{self._name('nested', child.read)}({value}, shape, left, {rest})",
            f"if {rest}: extras[{key!r}] = {rest}",
        ]

    def fill(self) -> None:
        """Put what was checked into its fields."""
        for parent, fields in self._targets.items():
            self._fill(parent, fields)

    def _fill(self, parent: str, fields: list[tuple[str, str]]) -> None:
        if not parent:
            self._decline(" or ".join(f"{leaf!r} in shape" for leaf, _ in fields))
            self._moves += [f"shape[{leaf!r}] = {value}" for leaf, value in fields]
            return
        target = f"t{self._count}"
        self._count += 1
        filled = " or ".join(f"{leaf!r} in {target}" for leaf, _ in fields)
        self._checks.append(f"{target} = shape.get({parent!r})")
        self._decline(f"{target} is not None and ({filled})")
        self._moves += [
            f"if {target} is None: shape[{parent!r}] = {{{', '.join(f'{leaf!r}: {value}' for leaf, value in fields)}}}",
            "else:",
            *(f"    {target}[{leaf!r}] = {value}" for leaf, value in fields),
        ]

    def note(self, missing: tuple[str, ...]) -> None:
        """Say what the wire lacks, after everything else."""
        for path in missing:
            line = f"left.note('absent', {path!r})"
            self._last.append(f"if not has_path(body, {path!r}): {line}" if "." in path else line)

    def function(self) -> Read:
        """The function of the lines."""
        lines = [*self._checks, *self._moves, *self._last, "return True"]
        text = "\n    ".join(["def read(body, shape, left, extras):", *lines]) + "\n"
        exec(compile(text, "<reader of a table>", "exec"), self._names)
        read: Read = self._names["read"]
        read.__doc__ = text
        return read

    def _value(self, key: str) -> str:
        value = f"v{self._count}"
        self._count += 1
        self._checks.append(f"{value} = body[{key!r}]")
        return value

    def _decline(self, condition: str) -> None:
        self._checks.append(f"if {condition}: return False")

    def _name(self, stem: str, value: Any) -> str:
        name = f"{stem}{len(self._names)}"
        self._names[name] = value
        return name
