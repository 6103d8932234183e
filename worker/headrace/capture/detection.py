"""Which protocol a capture speaks: the URL says it, else the shape of the body.

Both are tables of facts. A URL fact is a path that only one protocol has. A shape fact is a key, or a value of a
key, that only one protocol has, for a request, a response or a stream event. When the facts found speak for
several protocols, or none was found, DetectionError is raised: a wrong guess would be worse than a dead letter.
Bodies that protocols share (an OpenAI error body, the one-line request ``{"model", "messages"}`` with
``max_tokens``) stay undecided here; the other captures of the call usually decide.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from headrace.capture.providers import provider_of
from headrace.capture.shapes import (
    CHAT,
    GENERATE,
    INTERACTIONS,
    LIVE,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    protocols_of_shape,
)
from headrace.errors import DetectionError
from headrace.json_text import Json

__all__ = ["PROTOCOLS", "detect", "model_of", "protocol_named", "protocol_of_url", "protocols_of_shape", "provider_of"]

#: Names that producers use for the six.
ALIASES: dict[str, str] = {
    **{name: name for name in PROTOCOLS},
    **dict.fromkeys(("openai.chat_completions", "openai.chat.completions", "openai.chatcompletions", "chat"), CHAT),
    **dict.fromkeys(("openai_chat", "openai.completions.chat", "chat_completions", "chat.completions"), CHAT),
    **dict.fromkeys(("openai.response", "openai_responses", "responses"), RESPONSES),
    **dict.fromkeys(("anthropic", "anthropic_messages", "anthropic.message", "claude.messages", "messages"), MESSAGES),
    **dict.fromkeys(("gemini", "gemini.generatecontent", "gemini_generate", "gemini.generate"), GENERATE),
    **dict.fromkeys(("gemini.streamgeneratecontent", "vertex.generate_content", "google.generate_content"), GENERATE),
    **dict.fromkeys(("generatecontent", "gemini_generate_content", "google.generatecontent"), GENERATE),
    **dict.fromkeys(("interactions", "google.interactions", "gemini_interactions"), INTERACTIONS),
    **dict.fromkeys(("live", "google.live", "gemini_live", "gemini.bidigeneratecontent"), LIVE),
}


def protocol_named(name: str, *, place: str = "$.protocol") -> str:
    """The protocol of a name or alias; raises DetectionError for any other name."""
    protocol = ALIASES.get(name) or ALIASES.get(name.strip().lower())
    if protocol is None:
        raise DetectionError(
            f"unknown protocol {name!r}",
            place=place,
            fix=f"name one of {', '.join(sorted(PROTOCOLS))}, or leave it out",
        )
    return protocol


def detect(kind: str, url: str | None, value: Json) -> str:
    """The protocol of a capture; raises DetectionError (`unknown_protocol`, `ambiguous_protocol`).

    kind: of the capture. url: of the model call, if known. value: the parsed body or event, or a list of events.
    """
    by_url = protocol_of_url(url) if url else None
    if by_url is not None:
        return by_url
    found = protocols_of_shape(kind, value)
    if len(found) == 1:
        return next(iter(found))
    if found:
        raise DetectionError(
            f"the {kind} body fits {' and '.join(sorted(found))}",
            code="ambiguous_protocol",
            fix="name the protocol in the capture, or capture the URL",
        )
    raise DetectionError(
        f"neither the URL nor the {kind} body tells the protocol", fix="name the protocol in the capture"
    )


#: Path (without query, decoded) -> protocol; the first match counts. None: known, and none of the six.
_PATHS: tuple[tuple[re.Pattern[str], str | None], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), protocol)
    for pattern, protocol in (
        (r"BidiGenerateContent(?:Constrained)?$", LIVE),
        (r":(?:stream)?GenerateContent$", GENERATE),
        (r"/publishers/anthropic/models/[^/]+:(?:stream)?RawPredict$", MESSAGES),
        (r"/publishers/mistralai/models/[^/]+:(?:stream)?RawPredict$", CHAT),
        (r"/model/[^/]*anthropic[^/]*/invoke(?:-with-response-stream)?$", MESSAGES),
        (r"/interactions(?:/[^/]+(?:/cancel)?)?$", INTERACTIONS),
        (r"/chat/completions$", CHAT),
        (r"/responses(?:/[^/]+(?:/cancel|/input_items)?)?$", RESPONSES),
        (r"/(?:threads/[^/]+|conversations/[^/]+)/messages$", None),
        (r"/messages(?:/count_tokens)?$", MESSAGES),
    )
)
_ORIGIN = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
_MODEL_IN_PATH = re.compile(r"/models/([^/:?#]+):|/model/([^/?#]+)/(?:invoke|converse)|/deployments/([^/?#]+)/", re.I)


def path_of(url: str) -> str:
    """The decoded path of a URL; a URL may be only a path, or start with the host."""
    path = _ORIGIN.sub("", url).split("?", 1)[0].split("#", 1)[0]
    return unquote(path).rstrip("/")


def protocol_of_url(url: str) -> str | None:
    """The protocol a URL's path decides, or None."""
    path = path_of(url)
    return next((protocol for pattern, protocol in _PATHS if pattern.search(path)), None)


def model_of(url: str | None) -> str | None:
    """The model a URL names in its path (Gemini, Vertex, Bedrock, Azure deployments), or None."""
    found = _MODEL_IN_PATH.search(path_of(url)) if url else None
    return next((model for model in found.groups() if model), None) if found else None
