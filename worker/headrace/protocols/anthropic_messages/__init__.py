"""Anthropic Messages: `POST /v1/messages`.

Theory of operation
-------------------
A message is a role and a list of blocks, or a string that means one text block. The same blocks stand in requests,
responses and streams, so there is one reader of blocks (`blocks`, with `calls`, `results`, `media` and `citations`
beside it), used by `request` and `response` alike. Each block becomes one part, in place: text, reasoning, calls of
the client's, the server's and MCP tools, their results, media, and blocks that are carried as one JSON value.

A tool result stands in a user message among other blocks; role and order stay as they are on the wire. `system`
becomes a message with role `system` in front, marked so that it is written back where it stood; system messages
in mid conversation stay where they are.

A stream is message_start, then blocks (start, deltas, stop; the index names the block, blocks may interleave),
then message_delta with the stop reason and running totals, then message_stop. `stream` folds it to the message
that the API would have answered without streaming; `unfolding` is the way back. The wire's own evidence of the end
is message_stop, or an error event.
"""

from headrace.protocols.anthropic_messages.request import read_request, write_request
from headrace.protocols.anthropic_messages.response import read_response, write_response
from headrace.protocols.anthropic_messages.sign import sign
from headrace.protocols.anthropic_messages.stream import fold
from headrace.protocols.anthropic_messages.unfolding import sse, unfold
from headrace.protocols.anthropic_messages.usage import PATHS
from headrace.protocols.entry_points import Codec

CODEC = Codec(
    protocol="anthropic.messages",
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    sign=sign,
    fold=fold,
    unfold=unfold,
    sse=sse,
    usage_paths=PATHS,
)
