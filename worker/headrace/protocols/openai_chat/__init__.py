"""OpenAI Chat Completions, and the many servers that speak like it.

Theory of operation. A request is a list of messages and settings; a response has one message a choice. A message keeps
content, reasoning, tool calls, refusal, audio and annotations side by side: reading puts them into one ordered list
of parts (`order` has the usual order), writing sends each part home to its key (`messages.home`). Objects are read
and written by tables of fields (`headrace.canonical.fields`), so a round trip is exact.

A stream is a list of chunks, each with a few deltas. Folding (`folding`, `choice_deltas`, `call_deltas`,
`content_deltas`) collects pieces and joins them once, and gives the body that the provider would have sent without
streaming, and a layout where text and calls alternate. The dialects (Azure, OpenRouter, DeepSeek, Groq, xAI, vLLM,
Ollama, Mistral, Google's compatible endpoint, Cerebras, Together, Perplexity, Alibaba, Moonshot, Snowflake and more)
differ in extra fields, told by tables, and in faults of their streams, told by rules that hold for all: see the
docstrings of the delta modules. No reader asks which provider it was.
"""

from __future__ import annotations

from headrace.protocols.entry_points import Codec
from headrace.protocols.openai_chat.request import read_request, write_request
from headrace.protocols.openai_chat.response import read_response, write_response
from headrace.protocols.openai_chat.stream import fold, sign, sse, unfold
from headrace.protocols.openai_chat.usage import USAGE_PATHS

CODEC = Codec(
    protocol="openai.chat",
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    sign=sign,
    fold=fold,
    unfold=unfold,
    sse=sse,
    usage_paths=USAGE_PATHS,
)
