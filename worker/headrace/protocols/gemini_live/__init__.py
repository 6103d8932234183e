"""Gemini Live (BidiGenerateContent): one WebSocket session of frames from both sides.

Theory of operation. A session is one call. Its setup is the request record; every turn of the model is a response
record that holds, in order, what both sides said since the turn before. `stream` sorts frames into turns and folds a
turn's frames into a body of our own making (`turn`), for the wire has no whole form of a turn; lossless here means
that a body unfolds to frames which fold to an equal body.

* Audio is kept by reference: MIME type, size, SHA-256 and the places of its chunks among the session's frames
  (``capture:5-7,9``). ``folder(keep_media=True)`` holds the bytes as well.
* Transcripts are text parts (``wire_type`` inputTranscription or outputTranscription) where they began, beside the
  audio they transcribe: the wire gives them no common order.
* Calls come in messages of their own, never in modelTurn, and have ids; their results may come turns later.
* Signals of the session (setupComplete, goAway, sessionResumptionUpdate, voice activity, cancellations of calls) are
  data parts of messages with the role ``session``, in their place.
* An interrupted turn is ``incomplete`` with finish reason ``cancelled``; a turn without turnComplete at the end of the
  session is not complete.
"""

from __future__ import annotations

from headrace.protocols.entry_points import Codec
from headrace.protocols.gemini_live.request import read_request, write_request
from headrace.protocols.gemini_live.response import read_response, write_response
from headrace.protocols.gemini_live.stream import fold, sign
from headrace.protocols.gemini_live.unfold import frames_text, unfold
from headrace.protocols.google.usage import USAGE_PATHS

CODEC = Codec(
    protocol="gemini.live",
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    sign=sign,
    fold=fold,
    unfold=unfold,
    sse=frames_text,
    usage_paths=USAGE_PATHS,
)
