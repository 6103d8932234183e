"""Google's Interactions API.

An interaction is a list of steps: what the user put in, what the model thought, said and called, what tools gave
back. Request and response use the same 23 step types. The response has no finish reason; its status is one.

    request    input: text | content | contents | steps, previous_interaction_id (stateful) or the whole history
    response   steps, status, usage; continuation_token when the provider stopped half-way
    stream     interaction.created, (step.start, step.delta…, step.stop) per step, interaction.completed, [DONE]

`turns` groups steps into messages, `steps` and `contents` read one step and one content. Before 2026-05 the
response had ``outputs``, a flat list of contents and calls, and the stream ``content.*`` events; both are read and
written by the same code, told apart by the key and the event names.
Indices of annotations count bytes. Signatures must go back as they came: ``continuation`` of a part names them.
"""

from __future__ import annotations

from headrace.protocols.entry_points import Codec
from headrace.protocols.gemini_interactions.request import read_request, write_request
from headrace.protocols.gemini_interactions.response import read_response, write_response
from headrace.protocols.gemini_interactions.signs import sign
from headrace.protocols.gemini_interactions.stream import fold
from headrace.protocols.gemini_interactions.unfold import sse, unfold
from headrace.protocols.gemini_interactions.usage import USAGE_PATHS

CODEC = Codec(
    protocol="gemini.interactions",
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
