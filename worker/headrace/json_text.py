"""JSON text <-> values, exactly.

msgspec is as fast as any reader and, unlike most, keeps integers past 64 bits. What it refuses but real
traffic holds (half of a surrogate pair cut between two deltas) goes to the standard library. NaN and
infinities are not JSON and stay refused (RFC 8259, section 6).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from headrace.errors import FramingError

#: A JSON value as Python holds it. ``Any`` because wire bodies are open: codecs check what they read.
Json = Any

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def loads(text: bytes | str) -> Json:
    """Parse one JSON value; raises FramingError (`bad_json`, `nesting_too_deep`) with the reason."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeError) as refused:
        return _loads_lenient(text, refused)


def loads_all(texts: Sequence[bytes]) -> list[Json]:
    """`loads` of each text; raises as it does for the first one that is no JSON."""
    try:
        return list(map(_decoder.decode, texts))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return list(map(loads, texts))


def _loads_lenient(text: bytes | str, refused: Exception) -> Json:
    """Second reading, for lone surrogates; everything else keeps the first reader's reason."""
    if isinstance(text, bytes) and b"\\u" not in text:
        raise FramingError(str(refused), code="bad_json", fix="send one complete JSON value") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise FramingError(str(error), code="bad_json", fix="send one complete JSON value") from None


def dumps(value: Json) -> str:
    """Compact JSON text of a value; raises FramingError (`nesting_too_deep`, `invalid_unicode`)."""
    try:
        return _encoder.encode(value).decode()
    except RecursionError:
        raise _too_deep() from None
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but its JSON escape is plain ASCII.
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def compacted(text: str) -> str:
    """``dumps(loads(text))``, in one step where nothing is odd."""
    try:
        return _encoder.encode(_decoder.decode(text)).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return dumps(loads(text))


def _too_deep() -> FramingError:
    return FramingError("JSON is nested too deeply", code="nesting_too_deep", fix="send less nested JSON")


def _finite(digits: str) -> float:
    """As the first reader: what is past the largest double would come back as null."""
    number = float(digits)
    if number in (math.inf, -math.inf):
        raise ValueError(f"number out of range: {digits[:40]}")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
