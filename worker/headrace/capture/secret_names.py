"""How credentials are called, and what they look like: header names, query parameters, shapes of keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from headrace.capture.remembered import remembered

REDACTED = "[redacted]"

#: Words that make a header secret when one of its dash-separated words is among them.
_SECRET_WORDS = frozenset(
    {"authorization", "auth", "apikey", "token", "secret", "password", "passwd", "cookie", "credential", "credentials"}
    | {"signature", "jwt", "session"}
)
#: Words after which "token" counts tokens or says something about them, and "session" is only an id.
_HARMLESS_AFTER = frozenset(
    {"count", "counts", "limit", "usage", "type", "remaining", "reset", "budget", "id", "affinity", "duration"}
)
#: Headers that end in "key" and yet open no door.
_HARMLESS_KEYS = frozenset(
    {"idempotency-key", "x-idempotency-key", "sec-websocket-key", "cache-key", "x-cache-key", "surrogate-key"}
)

#: Query parameters (lower case) that are credentials. "signature" families: presigned URLs of AWS, Google, Azure.
SECRET_PARAMETERS = frozenset(
    {"key", "api-key", "api_key", "apikey", "x-api-key", "x-goog-api-key", "subscription-key", "ephemeral_key"}
    | {"token", "access_token", "accesstoken", "auth_token", "authtoken", "id_token", "refresh_token", "session_token"}
    | {"secret", "client_secret", "client_assertion", "password", "passwd", "auth", "authorization", "jwt"}
    | {"sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature"}
    | {"x-goog-credential", "awsaccesskeyid", "googleaccessid", "ocp-apim-subscription-key"}
)

#: What keys look like: vendor prefix and a long random rest. The left border keeps "task-…" and base64 out.
KEY_SHAPES = (
    r"(?<![A-Za-z0-9_/+-])(?:"
    r"(?:sk-|gsk_|xai-|csk-)[A-Za-z0-9_-]{8,}"  # OpenAI, Anthropic, OpenRouter, LiteLLM, …; Groq; xAI; Cerebras
    r"|(?:hf_|fw_|pplx-|r8_|nvapi-|tgp_v1_|gh[pos]_|glpat-|AQ\.)[A-Za-z0-9_-]{16,}"
    r"|AIza[A-Za-z0-9_-]{10,}"  # Google
    r"|ya29\.[A-Za-z0-9_-]{10,}"  # Google OAuth
    r"|A(?:KIA|SIA|BIA)[A-Z0-9]{16}"  # AWS
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # a JSON web token
    r")"
)
KEY_SHAPE = re.compile(KEY_SHAPES)
_SCHEME = re.compile(r"\s*(Bearer|Basic|Token|ApiKey|AWS4-HMAC-SHA256)\s+\S", re.IGNORECASE)


@remembered(4096, longest=64)
def is_secret_header(name: str) -> bool:
    """Whether a header of this (lower case) name holds a credential."""
    words = name.replace("_", "-").split("-")
    if words[-1] == "key":
        return name not in _HARMLESS_KEYS
    if "api" in words and "key" in words:
        return True
    return any(
        word in _SECRET_WORDS and (index + 1 == len(words) or words[index + 1] not in _HARMLESS_AFTER)
        for index, word in enumerate(words)
    )


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, with the value of each credential replaced. Names are given in lower case."""
    return {
        name: REDACTED if is_secret_header(name) else _redact_header_value(value)
        for name, value in ((name.lower(), value) for name, value in headers.items())
    }


def _redact_header_value(value: str) -> str:
    """A harmless header may still carry a key: a protocol list, a URL with a query, a scheme and a token."""
    if len(value) < 12:
        return value
    if _SCHEME.match(value):
        return REDACTED
    if "=" in value and ("?" in value or "&" in value):
        value = redact_url(value)
    return KEY_SHAPE.sub(REDACTED, value)


_PARAMETER = re.compile(r"([?&#;])([^=&#;?]+)=([^&#;]*)")
_USER_INFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#@\s]*@")


def redact_url(url: str) -> str:
    """The URL without user info, and with the value of each credential in its query or fragment replaced."""
    if "@" in url:
        url = _USER_INFO.sub(r"\1", url)
    if "=" in url:
        url = _PARAMETER.sub(_redact_parameter, url)
    return url


def _redact_parameter(match: re.Match[str]) -> str:
    border, name, value = match.groups()
    secret = value and unquote(name).strip().lower() in SECRET_PARAMETERS
    return f"{border}{name}={REDACTED if secret else KEY_SHAPE.sub(REDACTED, value)}"
