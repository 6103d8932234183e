"""Facts of each protocol as a target of conversion."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import DetectionError


@dataclass(frozen=True, slots=True)
class Target:
    """A protocol, as rules see it.

    column: its column in the matrix. family: whose signatures it takes. api_version: what is written for.
    results: a tool result stands ``alone`` in a message, or results are ``packed`` into one user message.
    results_apart: that message holds nothing else. mid_system: system messages may stand anywhere. developer: it has
    that role.
    call_id: pattern of valid call ids, None for any; call_prefix: what ids made here begin with.
    object_arguments: arguments are an object, never a string. tool_choice: modes it has. result_error: how a failed
    result is told: ``mark`` (a field of its own) or ``text``. media: kinds in a user's message; result_media: in a
    result; answer_media: in the model's own message. media_by: the ways of giving them.
    reasoning: the field of visible reasoning, ``text`` or ``summary``. choices: several answers in one response.
    """

    protocol: str
    column: str
    family: str
    api_version: str
    results: str = "alone"
    results_apart: bool = False
    mid_system: bool = True
    developer: bool = False
    call_id: re.Pattern[str] | None = None
    call_prefix: str = "call_"
    object_arguments: bool = False
    custom_tools: bool = False
    tool_choice: frozenset[str] = frozenset({"auto", "none", "required", "tool"})
    result_error: str = "text"
    media: frozenset[str] = frozenset()
    result_media: frozenset[str] = frozenset()
    answer_media: frozenset[str] = frozenset()
    media_by: tuple[tuple[str, frozenset[str]], ...] = ()
    reasoning: str = "text"
    choices: bool = False

    def takes_media(self, kind: str) -> frozenset[str]:
        """Ways (data, uri, text) in which media of a kind may be given."""
        ways = dict(self.media_by)
        return ways.get(kind, ways.get("", frozenset()))


_OPENAI_ID = re.compile(r".{1,64}", re.DOTALL)
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_ALL_MEDIA = frozenset({"image", "audio", "video", "document", "file"})
_BY_BYTES = frozenset({"data"})
_BY_BOTH = frozenset({"data", "uri"})
_CHOICES = frozenset({"auto", "none", "required", "tool"})

TARGETS = {
    target.protocol: target
    for target in (
        Target(
            "openai.chat",
            "chat",
            "openai",
            "v1",
            developer=True,
            call_id=_OPENAI_ID,
            custom_tools=True,
            tool_choice=_CHOICES | {"allowed"},
            media=frozenset({"image", "audio", "document", "file"}),
            media_by=(("image", _BY_BOTH), ("", _BY_BYTES)),
            choices=True,
        ),
        Target(
            "openai.responses",
            "responses",
            "openai",
            "v1",
            developer=True,
            call_id=_OPENAI_ID,
            custom_tools=True,
            tool_choice=_CHOICES | {"allowed"},
            media=frozenset({"image", "document", "file"}),
            result_media=frozenset({"image", "document", "file"}),
            media_by=(("", _BY_BOTH),),
            reasoning="summary",
        ),
        Target(
            "anthropic.messages",
            "anthropic",
            "anthropic",
            "2026-10-21",
            results="packed",
            call_id=_ANTHROPIC_ID,
            call_prefix="toolu_",
            object_arguments=True,
            result_error="mark",
            media=frozenset({"image", "document"}),
            result_media=frozenset({"image", "document"}),
            media_by=(("image", _BY_BOTH), ("document", _BY_BOTH | {"text"})),
        ),
        Target(
            "gemini.generate_content",
            "gemini",
            "google",
            "v1beta",
            results="packed",
            results_apart=True,
            mid_system=False,
            object_arguments=True,
            tool_choice=_CHOICES | {"allowed", "validated"},
            result_error="mark",
            media=_ALL_MEDIA,
            result_media=_ALL_MEDIA,
            answer_media=_ALL_MEDIA,
            media_by=(("", _BY_BOTH),),
            choices=True,
        ),
        Target(
            "gemini.interactions",
            "interactions",
            "google",
            "2026-05-20",
            mid_system=False,
            object_arguments=True,
            tool_choice=_CHOICES | {"allowed", "validated"},
            result_error="mark",
            media=_ALL_MEDIA - {"file"},
            result_media=_ALL_MEDIA - {"file"},
            answer_media=_ALL_MEDIA - {"file"},
            media_by=(("", _BY_BOTH),),
            reasoning="summary",
        ),
        Target(
            "gemini.live",
            "live",
            "google",
            "v1beta",
            results="packed",
            results_apart=True,
            mid_system=False,
            object_arguments=True,
            tool_choice=frozenset(),
            result_error="mark",
            media=_ALL_MEDIA,
            result_media=_ALL_MEDIA,
            answer_media=_ALL_MEDIA,
            media_by=(("", _BY_BOTH),),
        ),
    )
}


def target_of(protocol: str) -> Target:
    """The facts of a protocol; raises DetectionError for a name that is none."""
    if protocol not in TARGETS:
        raise DetectionError(f"no protocol is named {protocol!r}", fix=f"use one of {', '.join(TARGETS)}")
    return TARGETS[protocol]


#: Providers that answer for a protocol of another family's making.
_FAMILY_OF_PROVIDER = {
    "google": "google",
    "gemini": "google",
    "vertex": "google",
    "generativelanguage.googleapis.com": "google",
}


def family_of(protocol: str | None, provider: str | None) -> str | None:
    """Whose signatures a record holds; None where that is not known."""
    if protocol not in TARGETS:
        return None
    family = TARGETS[protocol].family
    return _FAMILY_OF_PROVIDER.get(provider or "", family) if protocol == "openai.chat" else family
