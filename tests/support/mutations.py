"""Mutations of JSON values, event lists and bytes, drawn from a seeded generator: fast enough for a hundred thousand.

Values that Python's dicts cannot hold (a key twice, a number of a thousand digits, nesting past any stack) are
written through markers: `text_of` turns them into the JSON text that a hostile producer would send.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_RAW, _AGAIN = "~raw~", "~again~"
_RAW_VALUE = re.compile(r'"~raw~((?:[^"\\]|\\.)*)"')

#: JSON text of values that no parser should choke on, however it was built.
RAW_VALUES = (
    "1e400",
    "-1e400",
    "1e-400",
    "1" * 400,
    "-" + "9" * 30,
    "0.1" + "0" * 300 + "1",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "1E5",
    "-0",
    "-0.0",
    "NaN",
    "Infinity",
    "01",
    "[" * 60 + "]" * 60,
    '{"a":' * 60 + "1" + "}" * 60,
    "[" * 3_000 + "]" * 3_000,
    '{"type":"text","content":[' * 1_500 + "]}" * 1_500,
)

#: Values of every type, and texts that formats stumble over.
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    10**25,
    0.5,
    -1.5,
    1e300,
    "",
    " ",
    "x",
    "\x00",
    "a\x00b",
    "\ud83d",
    "\ude00 tail",
    "\U0001f600",
    "e\u0301 ﬁ \u202e \ufeff",
    "\u2028\u2029\x85",
    "[DONE]",
    "data: x\n\ndata: y",
    "{}",
    "{",
    '"',
    "\\",
    "null",
    "0",
    "-1",
    "assistant",
    "tool",
    "text",
    "new_type_2031",
    "x" * 70_000,
    [],
    {},
    [[]],
    [None],
    [[], {}, ""],
    {"": ""},
    {"type": None},
    {"type": "new_type_2031"},
    {"type": ["text"]},
    {"type": "text", "text": None},
    {"type": "text", "text": ["x"]},
    {"error": {"message": "broke"}},
    {"message": None},
)

KEYS = (
    "new",
    "",
    "type",
    "id",
    "index",
    "role",
    "content",
    "text",
    "name",
    "arguments",
    "wire",
    "extras",
    "error",
    "usage",
    "choices",
    "delta",
    "message",
    "parts",
    "output",
    "steps",
    "~",
    "a.b[0]",
    "\x00",
    "\ud800",
)

Place = tuple[Any, Any]
"""(holder, key or index)"""


def places_of(value: Any) -> list[Place]:
    """Every place inside a value, in document order."""
    found: list[Place] = []
    stack = [value]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    return found


def text_of(value: Any) -> str:
    """JSON text of a value with markers."""
    text = json.dumps(value, separators=(",", ":"))
    if _AGAIN in text:
        text = text.replace(_AGAIN, "")
    return _RAW_VALUE.sub(lambda match: match[1].replace('\\"', '"'), text) if _RAW in text else text


def mutate_value(rng: random.Random, value: Any, donors: Sequence[Any] = (), most: int = 4) -> Any:
    """A copy with one to ``most`` mutations. donors: values of other bodies that may be spliced in."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, most)):
        places = places_of(value)
        if not places:
            return _anything(rng, donors)
        holder, key = rng.choice(places)
        rng.choice(_ACTIONS)(rng, holder, key, places, donors)
    return value


def _anything(rng: random.Random, donors: Sequence[Any]) -> Any:
    if donors and rng.random() < 0.3:
        donor = rng.choice(donors)
        places = places_of(donor)
        if places:
            holder, key = rng.choice(places)
            donor = holder[key]
        return copy.deepcopy(donor)
    if rng.random() < 0.15:
        return _RAW + rng.choice(RAW_VALUES)
    return copy.deepcopy(rng.choice(VALUES))


def _drop(_: random.Random, holder: Any, key: Any, *__: Any) -> None:
    del holder[key]


def _replace(rng: random.Random, holder: Any, key: Any, places: Any, donors: Sequence[Any]) -> None:
    holder[key] = _anything(rng, donors)


def _retype(rng: random.Random, holder: Any, key: Any, *_: Any) -> None:
    """The same thing in another type: text for a number, a list around it, its JSON as a string."""
    value = holder[key]
    ways: tuple[Callable[[], Any], ...] = (
        lambda: [value],
        lambda: {"value": value},
        lambda: str(value)[:200],
        lambda: json.dumps(value),
        lambda: len(value) if isinstance(value, str | list | dict) else None,
        lambda: list(value.values()) if isinstance(value, dict) else dict(enumerate_text(value)),
    )
    holder[key] = copy.deepcopy(rng.choice(ways)())


def enumerate_text(value: Any) -> list[tuple[str, Any]]:
    """A list as the items of an object."""
    return [(str(at), one) for at, one in enumerate(value if isinstance(value, list) else [value])]


def _repeat(rng: random.Random, holder: Any, key: Any, *_: Any) -> None:
    if isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))
    elif isinstance(key, str):
        # Twice the same key in one object: the marker is taken out of the text.
        holder[_AGAIN + key] = copy.deepcopy(holder[key])


def _again(rng: random.Random, holder: Any, key: Any, places: Any, donors: Sequence[Any]) -> None:
    """The same key twice with another value; in a list, another element."""
    if isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), _anything(rng, donors))
    else:
        holder[_AGAIN + str(key)] = _anything(rng, donors)


def _insert(rng: random.Random, holder: Any, key: Any, places: Any, donors: Sequence[Any]) -> None:
    if isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), _anything(rng, donors))
    else:
        holder[rng.choice(KEYS)] = _anything(rng, donors)


def _move(rng: random.Random, holder: Any, key: Any, places: list[Place], _: Any) -> None:
    """Copy to another place: a value where another belongs."""
    other, at = rng.choice(places)
    if isinstance(other, dict) or (isinstance(at, int) and at < len(other)):
        other[at] = copy.deepcopy(holder[key])


def _shuffle(rng: random.Random, holder: Any, key: Any, *_: Any) -> None:
    if isinstance(holder, list):
        rng.shuffle(holder)
    else:
        value = holder.pop(key)
        holder[rng.choice(KEYS)] = value


_ACTIONS: tuple[Callable[..., None], ...] = (
    _drop,
    _replace,
    _replace,
    _retype,
    _repeat,
    _again,
    _insert,
    _move,
    _shuffle,
)


def mutate_events(rng: random.Random, events: Sequence[Any], donors: Sequence[Any] = ()) -> list[Any]:
    """An event list with events mutated, dropped, repeated, moved, cut off or put in from other streams."""
    changed = list(events)
    for _ in range(rng.randint(1, 4)):
        if not changed:
            return [_anything(rng, donors)]
        at = rng.randrange(len(changed))
        action = rng.randrange(8)
        if action <= 2:
            changed[at] = mutate_value(rng, changed[at], donors, most=2)
        elif action == 3:
            del changed[at]
        elif action == 4:
            changed.insert(rng.randint(0, len(changed)), copy.deepcopy(changed[at]))
        elif action == 5:
            changed.insert(rng.randint(0, len(changed)), changed.pop(at))
        elif action == 6:
            del changed[at:]
        else:
            donor = rng.choice(donors) if donors else rng.choice(VALUES)
            changed.insert(at, copy.deepcopy(rng.choice(donor) if isinstance(donor, list) and donor else donor))
    return changed


_BYTES = (
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"data:",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b": \n",
)
_TEXT = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\\",
    b"\\ud83d",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08",
    b"null",
)


def mutate_bytes(rng: random.Random, body: bytes) -> bytes:
    """Bytes with a few flipped, cut out, repeated or put in, or cut off."""
    changed = bytearray(body)
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(changed))
        length = rng.choice((1, 2, 10, 200))
        action = rng.randrange(6)
        if action == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            del changed[at : at + length]
        elif action == 2:
            changed[at:at] = changed[max(0, at - length) : at]
        elif action == 3:
            changed[at:at] = rng.choice(_BYTES)
        elif action == 4:
            changed[at:at] = rng.choice(_TEXT)
        elif rng.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def slices_of(rng: random.Random, body: bytes, most: int = 8) -> list[bytes]:
    """The body cut at up to ``most`` places."""
    cuts = sorted(rng.randint(0, len(body)) for _ in range(rng.randint(0, most)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
