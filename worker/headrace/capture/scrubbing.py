"""Credentials out of bytes that could not be parsed: named fields, header lines, bearer tokens, key shapes.

Patterns see no structure, so they err on the side of taking too much. For messages on their way to the dead
letters; what could be parsed is redacted where its secrets stand (`secret_fields`, `secret_names`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from headrace.capture.secret_names import KEY_SHAPES, REDACTED, SECRET_PARAMETERS

_NAME = (
    rb"(?:[A-Za-z0-9]+[-_])*(?:authorization|cookie|api[-_]?key|apikeystring|secret|password|passwd|credentials?|"
    rb"access[-_]?token|auth[-_]?token|refresh[-_]?token|id[-_]?token|session[-_]?token|authorization_token|"
    rb"subscription[-_]key|private[-_]?key|jwt)"
)
_MAP_NAME = rb"(?:headers|extra_headers|env|domain_secrets|transform|authentication)"
# Quotes may be escaped: the JSON may itself be a string in a log entry. A value may be cut off by the end.
_NAMED_FIELD = re.compile(
    rb"""(\\*["']""" + _NAME + rb"""\\*["']\s*[:=]\s*\[?\s*)(\\*["'])(.*?)(?=(?<!\\)\2|\Z)""",
    re.IGNORECASE | re.DOTALL,
)
_MAP_FIELD = re.compile(
    rb"""(\\*["']"""
    + _MAP_NAME
    + rb"""\\*["']\s*:\s*)([{\[][^{}\[\]]*(?:\{[^{}\[\]]*(?:\}[^{}\[\]]*|\Z))*(?:[}\]]|\Z))""",
    re.IGNORECASE,
)
_MAP_ENTRY = re.compile(rb"""(\\*["'])([^"'\\]*)(\\*["']\s*:\s*)(\\*["'])(.*?)(?=(?<!\\)\4|\Z)""", re.DOTALL)
_HEADER_LINE = re.compile(
    rb"^([ \t]*(?:[A-Za-z0-9]+[-_])*(?:authorization|cookie|api[-_]key|secret|token|password)[ \t]*:[ \t]*)[^\r\n]+",
    re.IGNORECASE | re.MULTILINE,
)
_BEARER = re.compile(rb"\b((?:Bearer|Basic)\s+)(?=[A-Za-z]*[0-9._~+/=-])[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_QUERY = re.compile(
    rb"((?:[?&]|\\u0026)(?:" + "|".join(map(re.escape, sorted(SECRET_PARAMETERS))).encode() + rb")=)[^&#\s\"'\\]+",
    re.IGNORECASE,
)
#: A key that a text quotes with its header's name.
_SPOKEN = re.compile(
    rb"(\b(?:[a-z0-9]+-)*(?:api[-_]key|authorization)[\"']*\s*[:=]\s*[\"']*)(?=[^\s\"',]*\d)[^\s\"',]{8,}",
    re.IGNORECASE,
)
_KEY_SHAPE_BYTES = re.compile(KEY_SHAPES.encode())
_REDACTED_BYTES = REDACTED.encode()
#: Headers whose values help to find out what a message was, and open nothing.
_TELLING_HEADERS = re.compile(rb"content-|accept|host$|date$|user-agent$|server$|x-request-id$|request-id$|type$", re.I)


def redact_bytes(raw: bytes) -> bytes:
    """Any bytes, with what looks like a credential replaced: named fields, header lines, bearer tokens, key shapes.

    For messages that could not be parsed. Errs on the side of taking too much.
    """
    lower = raw.lower()
    for signs, pattern, replace in _SCRUBS:
        if any(sign in lower for sign in signs):  # patterns are slow, a look for plain bytes is not
            raw = pattern.sub(replace, raw)
    return raw


def redact_text(text: str) -> str:
    """A text of an error, with what looks like a credential replaced: bearer tokens, queries of URLs, key shapes."""
    if not any(sign in text.lower() for sign in _TEXT_SIGNS):
        return text
    raw = text.encode("utf-8", "surrogatepass")
    for pattern, replace in ((_BEARER, rb"\1[redacted]"), (_QUERY, rb"\1[redacted]"), (_SPOKEN, rb"\1[redacted]")):
        raw = pattern.sub(replace, raw)
    return _KEY_SHAPE_BYTES.sub(_REDACTED_BYTES, raw).decode("utf-8", "surrogatepass")


def _scrub_map(match: re.Match[bytes]) -> bytes:
    return match[1] + _MAP_ENTRY.sub(_scrub_entry, match[2])


def _scrub_entry(match: re.Match[bytes]) -> bytes:
    if _TELLING_HEADERS.match(match[2].lower()):
        return match[0]
    return match[1] + match[2] + match[3] + match[4] + _REDACTED_BYTES


_NAME_SIGNS = (b"authorization", b"cookie", b"key", b"secret", b"passw", b"credential", b"token", b"jwt")
_MAP_SIGNS = (b"headers", b"env", b"domain_secrets", b"transform", b"authentication")
_SHAPE_SIGNS = (
    *(b"sk-", b"gsk_", b"xai-", b"hf_", b"fw_", b"pplx-", b"r8_", b"nvapi-", b"tgp_v1_", b"gho_", b"ghp_", b"ghs_"),
    *(b"glpat-", b"aq.", b"aiza", b"ya29.", b"akia", b"asia", b"abia", b"eyj"),
)
#: (lower-case bytes of which one is in whatever the pattern matches, pattern, replacement).
_SCRUBS: tuple[tuple[tuple[bytes, ...], re.Pattern[bytes], Callable[[re.Match[bytes]], bytes] | bytes], ...] = (
    (_MAP_SIGNS, _MAP_FIELD, _scrub_map),
    (_NAME_SIGNS, _NAMED_FIELD, rb"\1\2[redacted]"),
    (_NAME_SIGNS, _HEADER_LINE, rb"\1[redacted]"),
    ((b"bearer", b"basic"), _BEARER, rb"\1[redacted]"),
    ((b"?", b"&", b"u0026"), _QUERY, rb"\1[redacted]"),
    (_SHAPE_SIGNS, _KEY_SHAPE_BYTES, _REDACTED_BYTES),
)
#: Lower-case texts of which one is in whatever `redact_text` replaces.
_TEXT_SIGNS = tuple(sign.decode() for sign in (*_SHAPE_SIGNS, *_NAME_SIGNS, b"bearer", b"basic", b"csk-", b"?", b"&"))
