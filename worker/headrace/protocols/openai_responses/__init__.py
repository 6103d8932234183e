"""OpenAI Responses: `POST /v1/responses` and its siblings, streams and WebSocket mode.

Theory of operation. The wire is one flat list of typed items, in requests (`input`) and responses (`output`)
alike. `item_types` has one line for each: what it is (call, result, reasoning, data), where its fields go, and who
speaks. `items` turns an item into parts and back by that table, `messages` groups items into messages and takes
them apart again, `parts` and `results` do content inside them. Requests and responses share settings, tools and
items; they differ in who sends results (see `messages`).

A stream is folded by `stream` to the body that would have come without streaming. One walk does it: `boundaries` hands
each event to its response, `numbering` tells repeats, `streamed_response` applies the event to its `slots`
(`open_texts` for the many deltas that go on as the one before), and at the end `merge` decides which copy of each item
stands.
"""

from headrace.protocols.entry_points import Codec
from headrace.protocols.openai_responses.request import read_request, write_request
from headrace.protocols.openai_responses.response import read_response, write_response
from headrace.protocols.openai_responses.signs import sign
from headrace.protocols.openai_responses.stream import fold
from headrace.protocols.openai_responses.unfold import sse, unfold
from headrace.protocols.openai_responses.usage import USAGE_PATHS

CODEC = Codec(
    protocol="openai.responses",
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
