"""Gemini's generateContent and streamGenerateContent, from the Gemini API and from Vertex AI.

Theory of operation. The wire is simple and loose: every key may be camelCase or snake_case, ids of calls are optional,
the model is in the URL, and a stream is a list of whole responses (SSE, NDJSON or one JSON array) that add up.

* Contents are messages, in order, the system instruction first; parts are parts (`google.parts`). A part may carry a
  thought signature whatever it is; a signed part is never joined with another.
* A call without an id gets a derived one; a functionResponse is matched by id, else by name and order.
* A candidate is a message of the response. Its grounding and citation metadata are carried whole in
  ``Message.grounding``; the citations on text parts are read from it and not written back.
* There is no finish reason for tool calls: STOP with calls in the answer is ``tool_calls``.
* A blocked prompt has no candidates: status ``failed``, finish reason ``content_filter``, with the block reason as
  ``raw_finish_reason`` and ``status_reason`` and the feedback in ``safety``.
* ``CONTINUATION`` is ``pause``: the same request with the candidate's continuationToken goes on; each hop is a call of
  its own.
"""

from __future__ import annotations

from headrace.protocols.entry_points import Codec
from headrace.protocols.gemini_generate.request import read_request, write_request
from headrace.protocols.gemini_generate.response import read_response, write_response
from headrace.protocols.gemini_generate.stream import fold, sign
from headrace.protocols.gemini_generate.unfold import sse, unfold
from headrace.protocols.google.usage import USAGE_PATHS

CODEC = Codec(
    protocol="gemini.generate_content",
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
