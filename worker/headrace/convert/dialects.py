"""Dialects of a protocol as targets: what one provider takes beyond it, or refuses.

carries: places of the matrix that it carries although the protocol does not. refuses: places that it does not take,
with the code of their loss. keeps_reasoning: it wants visible reasoning back in the history, or shows it there.
renames: body keys that have another name, written last.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.errors import DetectionError


@dataclass(frozen=True, slots=True)
class Dialect:
    """See the module."""

    name: str
    protocols: frozenset[str]
    carries: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    keeps_reasoning: bool = False
    reasoning_key: str = "reasoning_content"
    renames: dict[str, str] = field(default_factory=dict)


_CHAT = frozenset({"openai.chat"})
_CACHE = frozenset(
    {
        "messages[].parts[].cache_control",
        "messages[].parts[tool_result].tool_result.content[].cache_control",
        "tools[].cache_control",
    }
)
_OLD_LIMIT = {"max_completion_tokens": "max_tokens"}
_OPENAI_ONLY = frozenset(
    {
        "parameters.verbosity",
        "parameters.safety_identifier",
        "parameters.cache_key",
        "parameters.store",
        "metadata",
    }
)

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("openai", frozenset({"openai.chat", "openai.responses"})),
        Dialect(
            "azure", frozenset({"openai.chat", "openai.responses"}), refuses=frozenset({"parameters.service_tier"})
        ),
        Dialect("anthropic", frozenset({"anthropic.messages"})),
        Dialect("bedrock", frozenset({"anthropic.messages"}), refuses=frozenset({"parameters.service_tier"})),
        Dialect("google", frozenset({"gemini.generate_content", "gemini.interactions", "gemini.live"})),
        Dialect("vertex", frozenset({"gemini.generate_content", "gemini.live", "anthropic.messages"})),
        Dialect(
            "openrouter",
            _CHAT,
            carries=_CACHE | {"parameters.top_k"},
            refuses=frozenset({"parameters.store", "parameters.safety_identifier"}),
            keeps_reasoning=True,
            reasoning_key="reasoning",
            renames=_OLD_LIMIT,
        ),
        Dialect(
            "deepseek",
            _CHAT,
            refuses=_OPENAI_ONLY
            | {
                "parameters.n",
                "parameters.seed",
                "parameters.service_tier",
                "parameters.user",
                "parameters.parallel_tool_calls",
            },
            keeps_reasoning=True,
            renames=_OLD_LIMIT,
        ),
        Dialect(
            "vllm",
            _CHAT,
            carries=frozenset({"parameters.top_k"}),
            refuses=_OPENAI_ONLY | {"parameters.service_tier"},
            keeps_reasoning=True,
        ),
        Dialect(
            "groq",
            _CHAT,
            refuses=_OPENAI_ONLY
            | {"parameters.n", "messages[].name", "parameters.logprobs", "parameters.top_logprobs"},
        ),
        Dialect(
            "mistral",
            _CHAT,
            refuses=_OPENAI_ONLY
            | {
                "parameters.logprobs",
                "parameters.top_logprobs",
                "parameters.user",
                "parameters.service_tier",
                "messages[].name",
            },
            renames={**_OLD_LIMIT, "seed": "random_seed"},
        ),
        Dialect("xai", frozenset({"openai.chat", "openai.responses"}), refuses=frozenset({"parameters.verbosity"})),
    )
}


def dialect_of(name: str | None, protocol: str) -> Dialect | None:
    """The dialect of a name; None for none. Raises DetectionError for one that does not speak the protocol."""
    if name is None:
        return None
    dialect = DIALECTS.get(name)
    if dialect is None or protocol not in dialect.protocols:
        known = ", ".join(sorted(one.name for one in DIALECTS.values() if protocol in one.protocols))
        raise DetectionError(
            f"no provider {name!r} speaks {protocol}", code="unknown_dialect", fix=f"use one of {known}"
        )
    return dialect
