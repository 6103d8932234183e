"""The keys of Live's frames, and which side sends which."""

from __future__ import annotations

from headrace.protocols.google.grammar import (
    BLOB,
    CONTENT,
    FUNCTION_CALL,
    FUNCTION_RESPONSE,
    GENERATION_CONFIG,
    GROUNDING,
    TOOL,
    TRANSCRIPTION,
    URL_CONTEXT,
    USAGE,
)
from headrace.protocols.google.keys import Node

SETUP = Node(
    "model safetySettings sessionResumption contextWindowCompression realtimeInputConfig inputAudioTranscription "
    "outputAudioTranscription proactivity historyConfig avatarConfig explicitVadSignal labels",
    generationConfig=GENERATION_CONFIG,
    systemInstruction=CONTENT,
    tools=TOOL,
)
#: What a turn was, as opposed to what was said in it: the last value of each counts.
FLAGS = (
    "generationComplete",
    "interrupted",
    "turnComplete",
    "turnCompleteReason",
    "waitingForInput",
    "interactionStatus",
)
TRANSCRIPTS = ("inputTranscription", "outputTranscription", "interimInputTranscription")
#: What realtimeInput may hold beside text: media in chunks, and marks.
MEDIA = ("audio", "video", "mediaChunks")
REALTIME_MARKS = ("audioStreamEnd", "activityStart", "activityEnd")

REALTIME_INPUT = Node(
    "text audioStreamEnd", audio=BLOB, video=BLOB, mediaChunks=BLOB, activityStart=Node(), activityEnd=Node()
)
SERVER_CONTENT = Node(
    " ".join(FLAGS),
    modelTurn=CONTENT,
    groundingMetadata=GROUNDING,
    urlContextMetadata=URL_CONTEXT,
    **dict.fromkeys(TRANSCRIPTS, TRANSCRIPTION),
)
_CLIENT = {
    "clientContent": Node("turnComplete", turns=CONTENT),
    "realtimeInput": REALTIME_INPUT,
    "toolResponse": Node(functionResponses=FUNCTION_RESPONSE),
    "contextUpdate": Node(systemInstruction=CONTENT, tools=Node(tools=TOOL)),
}
_SERVER = {
    "setupComplete": Node("sessionId", voiceConsentSignature=Node("signature")),
    "serverContent": SERVER_CONTENT,
    "toolCall": Node(functionCalls=FUNCTION_CALL),
    "toolCallCancellation": Node("ids"),
    "usageMetadata": USAGE,
    "goAway": Node("timeLeft"),
    "sessionResumptionUpdate": Node("newHandle resumable lastConsumedClientMessageIndex"),
    "voiceActivity": Node("voiceActivityType audioOffset"),
    "voiceActivityDetectionSignal": Node("vadSignalType"),
}
FRAME = Node("", setup=SETUP, **_CLIENT, **_SERVER)

CLIENT_KEYS = frozenset({"setup", *_CLIENT})
SERVER_KEYS = frozenset(_SERVER)
