"""What went wrong, under the target's own names."""

from __future__ import annotations

from typing import Any

from headrace.convert.draft import Draft

#: HTTP status -> (OpenAI's type, its code, Anthropic's type, Google's status).
_ERRORS = {
    400: ("invalid_request_error", None, "invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", None, "permission_error", "PERMISSION_DENIED"),
    404: ("invalid_request_error", "not_found", "not_found_error", "NOT_FOUND"),
    408: ("server_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED"),
    429: ("rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("server_error", "server_error", "api_error", "INTERNAL"),
    503: ("server_error", "server_error", "overloaded_error", "UNAVAILABLE"),
}
_ALIASES = {
    "overloaded_error": 503,
    "api_error": 500,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "billing_error": 403,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNKNOWN": 500,
}
_RESPONSES_CODES = frozenset({"server_error", "rate_limit_exceeded", "invalid_prompt"})


def write_error(draft: Draft) -> None:
    """The error under the target's names."""
    error = draft.record.get("error")
    if error is None:
        return
    status = _status_of(error)
    openai, code, anthropic, google = _ERRORS.get(status, _ERRORS[500 if status >= 500 else 400])
    if "detail" in error:
        draft.lose_json(error, "detail", "provider_detail")
    given_type, given_code = error.get("type"), error.get("code")
    column = draft.target.column
    error.setdefault("message", given_code or given_type or "unknown error")
    if column == "chat":
        _set(draft, error, "type", openai if draft.source_family != "openai" else given_type or openai)
        _set(draft, error, "code", given_code if draft.source_family == "openai" else code)
    elif column == "responses":
        # A response that failed knows few codes; an error body takes any.
        if "response_id" in draft.record or draft.messages:
            _set(draft, error, "type", None)
            _set(draft, error, "code", given_code if given_code in _RESPONSES_CODES else code or "server_error")
            draft.lose(error, "param", "provider_detail")
        else:
            _set(draft, error, "type", openai if draft.source_family != "openai" else given_type or openai)
            _set(draft, error, "code", given_code if draft.source_family == "openai" else code)
    elif column == "anthropic":
        _set(draft, error, "type", anthropic)
        _set(draft, error, "code", None)
    elif column == "interactions":
        _set(draft, error, "code", google.lower() if draft.source_family != "google" else given_code or google.lower())
        _set(draft, error, "type", None)
    else:
        _set(draft, error, "code", str(status))
        _set(draft, error, "type", google)
    if column in ("gemini", "live"):
        draft.note(error, "http_status", "error_renamed", "code")
        error.pop("http_status", None)
    else:
        draft.lose(error, "http_status", "provider_detail", "the HTTP status says it")


def _status_of(error: Any) -> int:
    if "http_status" in error:
        return int(error["http_status"])
    for name in (error.get("code"), error.get("type")):
        if name is None:
            continue
        if name.isascii() and name.isdigit() and len(name) == 3:
            return int(name)
        if name in _ALIASES:
            return _ALIASES[name]
        found = next((status for status, names in _ERRORS.items() if name in names or name.upper() in names), None)
        if found is not None:
            return found
    return 500


def _set(draft: Draft, error: Any, field: str, value: str | None) -> None:
    if error.get(field) != value and field in error:
        draft.note(error, field, "error_renamed", str(error[field]))
    if value is None:
        error.pop(field, None)
    else:
        error[field] = value
