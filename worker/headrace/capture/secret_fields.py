"""Secret fields of request bodies, by the facts of each protocol.

Credentials stand in the settings of a request, never in its messages: in hosted tools (MCP servers, search
services), in the environment of a sandbox, in data sources, in what a gateway adds at the top. So only those
settings are walked, and in a tool nothing that describes a function: a parameter may be called anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from headrace.capture.secret_members import ABSENT, MEMBERS, NO_SETTINGS, Settings, settings_of
from headrace.capture.secret_names import REDACTED, redact_url
from headrace.errors import FramingError
from headrace.json_text import Json, loads

#: Members that are content; only items with tools of their own count there.
_CONTENT = frozenset({"input", "output"})
_CONTENT_SIGNS = re.compile(rb"additional_tools|tool_search_output")
#: Secret fields have one of these in their name, or stand in an object that has.
_SIGNS = re.compile(
    rb"mcp|MCP|eaders|ecret|nvironment|pi_key|piKey|uthorization|uthentication|url|onnection_string"
    rb'|"env"|ccess|assword|id_token|idToken|transform'
    rb"|\\u00"  # a name may be written in escapes
)
#: What an event stream repeats of a request stands under these names.
_STREAM_SIGNS = re.compile(rb'"(?:tools|mcp_servers|environment)"')


def settings_in(body: bytes) -> Settings | None:
    """The members of a JSON object that may hold secrets; None where it has none of them.

    Raises msgspec's DecodeError for what is no JSON object.
    """
    settings = settings_of(body)
    return None if settings == NO_SETTINGS else settings


def may_hold_secrets(body: bytes) -> bool:
    """Whether a body is worth parsing for secret fields; never wrong when it says no, and much cheaper than a parse."""
    head = body[:1]
    if head != b"{" and (head := body[:64].lstrip()[:1]) != b"{":
        return (_SIGNS if head == b"[" else _STREAM_SIGNS).search(body) is not None
    try:
        settings = settings_in(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return settings is not None and hold_secrets(settings)


def hold_secrets(settings: Settings) -> bool:
    """Whether one of these members is worth parsing for secret fields; never wrong when it says no."""
    for name in MEMBERS:
        raw = getattr(settings, name)
        if raw is not ABSENT and _holds_secrets(name, bytes(raw)):
            return True
    return False


def _holds_secrets(name: str, raw: bytes) -> bool:
    """Whether redaction changes this member. Only a member with a sign in it is parsed, never the whole body."""
    signs = _CONTENT_SIGNS if name in _CONTENT else _SIGNS
    if not raw or not (name in _TOP_SECRETS or name in _GATEWAY or signs.search(raw)):
        return False
    try:
        member = loads(raw)
    except FramingError:
        return False
    return _ROOTS[name](member) is not member


def redact_body(value: Json) -> Json:
    """A request, response or event with its secret fields replaced by "[redacted]"; the same object if it has none."""
    if isinstance(value, list):
        return _mapped(value, redact_body)
    if not isinstance(value, dict):
        return value
    return _replaced(value, _ROOTS)


Redact = Callable[[Json], Json]


def _replaced(value: dict[str, Json], rules: dict[str, Redact]) -> dict[str, Json]:
    """The object with each named field put through its rule; the same object when nothing changes."""
    changed: dict[str, Json] = {}
    for name in value.keys() & rules.keys():
        after = rules[name](value[name])
        if after is not value[name]:
            changed[name] = after
    return {**value, **changed} if changed else value


def _has_type(value: dict[str, Json], types: frozenset[str]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in types


def _mapped(values: list[Json], redact: Redact) -> list[Json]:
    after = [redact(value) for value in values]
    return after if any(new is not old for new, old in zip(after, values, strict=True)) else values


def _secret(value: Json) -> Json:
    """A credential: a string goes; of a map or list, the strings go and the names stay."""
    if isinstance(value, str):
        return REDACTED if value else value
    if isinstance(value, dict):
        return _replaced(value, dict.fromkeys(value, _secret))
    return _mapped(value, _secret) if isinstance(value, list) else value


def _url(value: Json) -> Json:
    """An address of a server, which may carry a key in its query."""
    if not isinstance(value, str):
        return value
    redacted = redact_url(value)
    return value if redacted == value else redacted


def _inside(rules: dict[str, Redact]) -> Redact:
    """The rules, for an object or for each object of a list."""

    def redact(value: Json) -> Json:
        if isinstance(value, list):
            return _mapped(value, redact)
        return _replaced(value, rules) if isinstance(value, dict) else value

    return redact


def _settings(value: Json) -> Json:
    """Settings of a hosted tool, at any depth: only names decide, schemas of functions are passed by."""
    if isinstance(value, list):
        return _mapped(value, _settings)
    if not isinstance(value, dict) or _has_type(value, _FUNCTION_TYPES):
        return value
    rules = {name: _SETTINGS.get(name, _settings) for name in value if name not in _SCHEMAS}
    return _replaced(value, rules)


def _environment(value: Json) -> Json:
    """Where a sandbox runs (Interactions): variables in ``env``, headers it injects in ``network``."""
    return _replaced(value, _ENVIRONMENT) if isinstance(value, dict) else value


def _env(value: Json) -> Json:
    """``{NAME: "value"}`` or ``{NAME: {"value": …}}``; ``credential`` is a reference, not a secret."""
    if not isinstance(value, dict):
        return _secret(value)
    return _replaced(
        value, dict.fromkeys(value, lambda one: _value_only(one) if isinstance(one, dict) else _secret(one))
    )


_value_only = _inside({"value": _secret})

#: Tools that the caller runs itself: their fields describe a function.
_FUNCTION_TYPES = frozenset({"function", "custom"})
_SCHEMAS = frozenset(
    {
        "function", "functionDeclarations", "function_declarations", "parameters", "parametersJsonSchema",
        "parameters_json_schema", "input_schema", "output_schema", "response", "input_examples", "description",
    }
)  # fmt: skip
_SETTINGS: dict[str, Redact] = {
    **dict.fromkeys(("authorization", "authorization_token", "headers"), _secret),
    **dict.fromkeys(("api_key", "apiKey", "api_key_string", "apiKeyString", "access_token", "accessToken"), _secret),
    **dict.fromkeys(("id_token", "idToken", "password", "client_secret", "secret", "private_key"), _secret),
    **dict.fromkeys(("aws_secret_access_key", "aws_session_token", "vertex_credentials", "azure_ad_token"), _secret),
    **dict.fromkeys(("url", "server_url"), _url),
    "domain_secrets": _value_only,
    "env": _env,
    "transform": _secret,  # headers that a sandbox's proxy adds (Interactions)
}
_ENVIRONMENT: dict[str, Redact] = {"env": _env, "network": _settings, "domain_secrets": _value_only}

#: Items that carry tools in the middle of a conversation (Responses).
_ITEM_TOOLS = frozenset({"additional_tools", "tool_search_output"})


def _item(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    if _has_type(value, _ITEM_TOOLS):
        return _replaced(value, {"tools": _settings})
    return value


def _items(value: Json) -> Json:
    return _mapped(value, _item) if isinstance(value, list) else value


_DATA_SOURCE: Redact = _inside(
    {
        "parameters": _inside(
            {
                **dict.fromkeys(("key", "api_key", "connection_string", "access_token", "encoded_api_key"), _secret),
                "authentication": _inside(
                    dict.fromkeys(("key", "api_key", "access_token", "encoded_api_key", "connection_string"), _secret)
                ),
            }
        )
    }
)

#: What gateways accept beside the protocol's own fields.
_TOP_SECRETS = ("api_key", "apiKey", "authorization", "extra_headers", "aws_secret_access_key")
#: Objects in which they put settings of their own.
_GATEWAY = ("extra_body", "litellm_params", "proxy_server_request", "webhook_config")
_BODY: dict[str, Redact] = {
    "tools": _settings,
    "mcp_servers": _settings,
    "environment": _environment,
    "input": _items,
    "output": _items,
    "data_sources": _DATA_SOURCE,
    "dataSources": _DATA_SOURCE,
    **dict.fromkeys(_TOP_SECRETS, _secret),
    **dict.fromkeys(_GATEWAY, _settings),
    # LiteLLM keeps the headers of its caller there.
    **dict.fromkeys(("metadata", "litellm_metadata"), _inside({"headers": _secret})),
}
_nested = _inside(_BODY)
_ROOTS: dict[str, Redact] = {
    **_BODY,
    # Objects that repeat the request's settings: Responses events, Interactions events, Live frames.
    **dict.fromkeys(("response", "interaction", "setup", "contextUpdate", "context_update"), _nested),
    "item": _item,
    "events": _inside({**_BODY, "interaction": _nested}),
}
