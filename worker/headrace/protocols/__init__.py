"""The six wire protocols, one folder each, the same files and entry points in every folder.

`codec(protocol)` gives the entry points. A protocol's folder never imports another's: they meet in
`headrace.canonical`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from headrace.errors import DetectionError
from headrace.protocols.entry_points import Codec

#: Protocol name -> folder.
FOLDERS = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "gemini.generate_content": "gemini_generate",
    "gemini.interactions": "gemini_interactions",
    "gemini.live": "gemini_live",
}
PROTOCOLS = tuple(FOLDERS)


@cache
def codec(protocol: str) -> Codec:
    """The codec of a protocol; raises DetectionError for a name that is none of `PROTOCOLS`."""
    folder = FOLDERS.get(protocol)
    if folder is None:
        raise DetectionError(f"no protocol is named {protocol!r}", fix=f"use one of {', '.join(PROTOCOLS)}")
    found: Codec = import_module(f"headrace.protocols.{folder}").CODEC
    return found
