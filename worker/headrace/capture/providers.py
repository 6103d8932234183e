"""Which provider (dialect) answers at a URL: a table of hosts."""

from __future__ import annotations

import re

from headrace.capture.remembered import remembered

_HOST = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?")
#: Default ports of servers that people run themselves.
_PORTS = {"11434": "ollama"}

#: Host suffix -> dialect; longer suffixes come first in the search.
_HOSTS: dict[str, str] = {
    "api.openai.com": "openai",
    "openai.com": "openai",
    "openai.azure.com": "azure",
    "services.ai.azure.com": "azure",
    "cognitiveservices.azure.com": "azure",
    "inference.ai.azure.com": "azure",
    "api.anthropic.com": "anthropic",
    "anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "aiplatform.googleapis.com": "vertex",
    "openrouter.ai": "openrouter",
    "deepseek.com": "deepseek",
    "groq.com": "groq",
    "x.ai": "xai",
    "mistral.ai": "mistral",
    "together.xyz": "together",
    "together.ai": "together",
    "fireworks.ai": "fireworks",
    "cerebras.ai": "cerebras",
    "perplexity.ai": "perplexity",
    "cohere.com": "cohere",
    "cohere.ai": "cohere",
    "moonshot.ai": "moonshot",
    "moonshot.cn": "moonshot",
    "z.ai": "zai",
    "bigmodel.cn": "zai",
    "dashscope.aliyuncs.com": "alibaba",
    "dashscope-intl.aliyuncs.com": "alibaba",
    "volces.com": "volcengine",
    "minimax.io": "minimax",
    "minimaxi.com": "minimax",
    "router.huggingface.co": "huggingface",
    "api-inference.huggingface.co": "huggingface",
    "nebius.com": "nebius",
    "nebius.ai": "nebius",
    "crusoecloud.com": "crusoe",
    "snowflakecomputing.com": "snowflake",
    "databricks.com": "databricks",
    "azuredatabricks.net": "databricks",
    "deepinfra.com": "deepinfra",
    "sambanova.ai": "sambanova",
    "novita.ai": "novita",
    "hyperbolic.xyz": "hyperbolic",
    "baseten.co": "baseten",
    "replicate.com": "replicate",
    "integrate.api.nvidia.com": "nvidia",
    "models.github.ai": "github",
    "models.inference.ai.azure.com": "github",
    "githubcopilot.com": "github",
    "ollama.com": "ollama",
    "gateway.ai.cloudflare.com": "cloudflare",
    "ai-gateway.vercel.sh": "vercel",
    "api.helicone.ai": "helicone",
    "portkey.ai": "portkey",
}
#: No known host has more: what stands before them need not be looked at.
_MOST_LABELS = max(host.count(".") + 1 for host in _HOSTS)
#: Hosts that carry a region in their name.
_REGIONAL: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^bedrock[a-z-]*\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$"), "bedrock"),
    (re.compile(r"^[a-z0-9-]+-aiplatform\.googleapis\.com$"), "vertex"),
    (re.compile(r"^aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com$"), "vertex"),
)


@remembered(1024, longest=2048)
def provider_of(url: str) -> str | None:
    """The dialect spoken at a URL; the host itself when it is not known; None for a path without a host."""
    found = _HOST.match(url)
    host = found[1].lower().rstrip(".") if found else ""
    if not found or not host:
        return None
    by_port = _PORTS.get(found[2] or "")
    return _by_suffix(host) or by_port or host


def _by_suffix(host: str) -> str | None:
    regional = next((name for pattern, name in _REGIONAL if pattern.match(host)), None)
    if regional is not None:
        return regional
    labels = host.split(".")
    suffixes = (".".join(labels[start:]) for start in range(max(len(labels) - _MOST_LABELS, 0), len(labels)))
    return next((_HOSTS[suffix] for suffix in suffixes if suffix in _HOSTS), None)
