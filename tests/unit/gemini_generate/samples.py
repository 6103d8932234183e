"""Small bodies of generateContent, one of each kind of part, tool and result. Ours, not recorded."""

from __future__ import annotations

from typing import Any

from headrace.protocols.google.keys import snake

SIGNATURE = "c2lnbmF0dXJl"
BLOB = {"mimeType": "image/png", "data": "aGk="}

PARTS: dict[str, dict[str, Any]] = {
    "text": {"text": "Rivers run."},
    "text empty": {"text": ""},
    "text null": {"text": None},
    "text signed": {"text": "Rivers run.", "thoughtSignature": SIGNATURE},
    "text of a number": {"text": 5},
    "thought": {"text": "Which river?", "thought": True},
    "thought signed": {"text": "Which river?", "thought": True, "thoughtSignature": SIGNATURE},
    "thought without text": {"thought": True, "thoughtSignature": SIGNATURE},
    "signature alone": {"thoughtSignature": SIGNATURE},
    "signature on empty text": {"text": "", "thoughtSignature": SIGNATURE},
    "not a thought": {"text": "Rivers run.", "thought": False},
    "inlineData": {"inlineData": {**BLOB, "displayName": "river"}},
    "inlineData thought": {"inlineData": BLOB, "thought": True},
    "inlineData empty": {"inlineData": {}},
    "inlineData audio": {"inlineData": {"mimeType": "audio/pcm;rate=16000", "data": "AAA="}},
    "fileData": {"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}},
    "fileData cut": {
        "fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"},
        "videoMetadata": {"startOffset": "1s", "endOffset": "9s", "fps": 1.0},
        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW", "numTokens": 64},
        "mediaProcessing": "STATIC",
    },
    "document": {
        "fileData": {"fileUri": "gs://b/d.pdf", "mimeType": "application/pdf"},
        "documentMetadata": {"startPage": 2, "endPage": 3},
    },
    "audio": {
        "fileData": {"fileUri": "gs://b/a.mp3", "mimeType": "audio/mp3"},
        "audioMetadata": {"startOffset": "1s"},
        "speechMetadata": {"speaker": "Ann"},
    },
    "spreadsheet": {
        "fileData": {"fileUri": "gs://b/s.csv", "mimeType": "text/csv"},
        "spreadsheetMetadata": {"sheetIndex": 1},
    },
    "partMetadata": {"text": "Rivers run.", "partMetadata": {"origin": {"page_no": 2}}},
    "functionCall": {"functionCall": {"name": "look", "args": {"at": "river"}, "id": "fc_1"}},
    "functionCall signed": {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": SIGNATURE},
    "functionCall bare": {"functionCall": {"name": "look"}},
    "functionCall null args": {"functionCall": {"name": "look", "args": None, "id": None}},
    "functionCall text args": {"functionCall": {"name": "look", "args": '{"at":"river"}'}},
    "functionCall list args": {"functionCall": {"name": "look", "args": ["river"]}},
    "functionCall cut": {"functionCall": {"name": "look", "args": {"at": "ri"}, "willContinue": True}},
    "functionResponse": {"functionResponse": {"name": "look", "id": "fc_1", "response": {"result": "wet"}}},
    "functionResponse failed": {"functionResponse": {"name": "look", "response": {"error": "dark"}}},
    "functionResponse text": {"functionResponse": {"name": "look", "response": "wet"}},
    "functionResponse null": {"functionResponse": {"name": "look", "response": None, "id": None, "parts": None}},
    "functionResponse media": {
        "functionResponse": {
            "name": "look",
            "response": {},
            "parts": [{"inlineData": BLOB}, {"fileData": {"fileUri": "gs://b/i.png", "mimeType": "image/png"}}, 7],
            "scheduling": "WHEN_IDLE",
            "willContinue": True,
        }
    },
    "functionResponse no parts": {"functionResponse": {"name": "look", "parts": []}},
    "executableCode": {"executableCode": {"code": "print(1)", "language": "PYTHON", "id": "ex_1"}},
    "codeExecutionResult": {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n", "id": "ex_1"}},
    "toolCall": {
        "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "tc_1", "args": {"queries": ["river"]}},
        "thoughtSignature": SIGNATURE,
    },
    "toolResponse": {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "tc_1", "response": {"hits": 3}}},
    "audioTranscription": {"audioTranscription": {"text": "Rivers run.", "finished": True, "languageCode": "en"}},
    "unknown": {"hologram": {"depth": 3}},
    "unknown signed": {"hologram": {"depth": 3}, "thoughtSignature": SIGNATURE},
    "unknown beside text": {"text": "Rivers run.", "hologram": {"depth": 3}},
    "two members": {"functionCall": {"name": "look", "args": {}}, "text": "Looking."},
    "empty": {},
}

TOOLS: dict[str, dict[str, Any]] = {
    "functions": {
        "functionDeclarations": [
            {
                "name": "look",
                "description": "Looks.",
                "parameters": {"type": "OBJECT", "properties": {"at": {"type": "STRING"}}},
                "response": {"type": "STRING"},
            },
            {
                "name": "wait",
                "parametersJsonSchema": {"type": "object", "properties": {"some_time": {"type": "integer"}}},
                "responseJsonSchema": {"type": "null"},
                "behavior": "NON_BLOCKING",
            },
        ]
    },
    "googleSearch": {"googleSearch": {"searchTypes": {"webSearch": {}}}},
    "googleSearchRetrieval": {"googleSearchRetrieval": {"dynamicRetrievalConfig": {"mode": "MODE_DYNAMIC"}}},
    "googleMaps": {"googleMaps": {"enableWidget": True}},
    "urlContext": {"urlContext": {}},
    "codeExecution": {"codeExecution": {}},
    "fileSearch": {"fileSearch": {"fileSearchStoreNames": ["s"], "topK": 3}},
    "computerUse": {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
    "mcpServers": {"mcpServers": [{"name": "wiki", "streamableHttpTransport": {"url": "https://mcp.example.org"}}]},
    "retrieval": {"retrieval": {"vertexAiSearch": {"datastore": "d"}}},
    "enterpriseWebSearch": {"enterpriseWebSearch": {}},
    "parallelAiSearch": {"parallelAiSearch": {}},
    "exaAiSearch": {"exaAiSearch": {}},
    "several": {"googleSearch": {}, "functionDeclarations": [{"name": "look"}], "urlContext": {}},
    "unknown": {"teleport": {"range": 3}},
    "null": {"googleSearch": None},
    "no functions": {"functionDeclarations": []},
    "functions and what is none": {"functionDeclarations": [{"name": "look"}, "wait", None]},
    "empty": {},
}

REQUEST: dict[str, Any] = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Look at both."}, PARTS["inlineData"]]},
        {
            "role": "model",
            "parts": [PARTS["thought signed"], PARTS["functionCall signed"], PARTS["functionCall bare"]],
        },
        {"role": "user", "parts": [PARTS["functionResponse failed"], PARTS["functionResponse text"]]},
        {"parts": [{"text": "And now?"}]},
    ],
    "tools": [TOOLS["several"], TOOLS["functions"], TOOLS["codeExecution"]],
    "toolConfig": {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look", "wait"]},
        "retrievalConfig": {"languageCode": "en"},
    },
    "generationConfig": {
        "temperature": 0.5,
        "topP": 1,
        "topK": 40,
        "candidateCount": 2,
        "maxOutputTokens": 64,
        "stopSequences": ["END"],
        "responseLogprobs": True,
        "logprobs": 3,
        "presencePenalty": 0.1,
        "frequencyPenalty": 0.2,
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object", "properties": {"some_thing": {}}},
        "responseModalities": ["TEXT"],
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1, "thinkingLevel": "LOW"},
        "speechConfig": {"voiceConfig": {}},
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    "cachedContent": "cachedContents/c1",
    "labels": {"team_name": "rivers"},
    "serviceTier": "flex",
    "store": False,
}

USAGE: dict[str, Any] = {
    "promptTokenCount": 20,
    "cachedContentTokenCount": 8,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 11,
    "toolUsePromptTokenCount": 4,
    "totalTokenCount": 40,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 18}, {"modality": "IMAGE", "tokenCount": 2}],
    "candidatesTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
    "trafficType": "ON_DEMAND",
}

GROUNDING: dict[str, Any] = {
    "webSearchQueries": ["río"],
    "groundingChunks": [
        {"web": {"uri": "https://example.org/a", "title": "A", "domain": "example.org"}},
        {"retrievedContext": {"uri": "gs://b/d", "title": "D", "text": "…"}},
    ],
    "groundingSupports": [
        {
            "segment": {"startIndex": 5, "endIndex": 10, "text": "fluye"},
            "groundingChunkIndices": [0, 1],
            "confidenceScores": [0.9, 0.8],
        }
    ],
}

RESPONSE: dict[str, Any] = {
    "candidates": [
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"text": "Río fluye."}, PARTS["functionCall signed"]]},
            "finishReason": "STOP",
            "finishMessage": "Model generated function call(s).",
            "tokenCount": 5,
            "avgLogprobs": -0.1,
            "logprobsResult": {"chosenCandidates": [{"token": "R", "tokenId": 1, "logProbability": -0.1}]},
            "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}],
            "groundingMetadata": GROUNDING,
            "urlContextMetadata": {
                "urlMetadata": [{"retrievedUrl": "u", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]
            },
        },
        {"index": 1, "content": {"role": "model", "parts": [{"text": "Wet."}]}, "finishReason": "MAX_TOKENS"},
    ],
    "promptFeedback": {"safetyRatings": []},
    "usageMetadata": USAGE,
    "modelVersion": "gemini-test-001",
    "responseId": "r1",
    "createTime": "2026-03-05T22:50:14.249951Z",
}

ERRORS: dict[str, Any] = {
    "google": {
        "error": {
            "code": 400,
            "message": "Bad river.",
            "status": "INVALID_ARGUMENT",
            "details": [{"@type": "type.example.org/BadRequest"}],
        }
    },
    "text": {"error": "Bad river."},
    "detail": {"detail": "Not Found"},
    "detail list": {"detail": [{"loc": ["body"], "msg": "Field required"}]},
    "message": {"message": "no Route matched"},
    "bare status": {"code": 5, "message": "Not found", "details": []},
    "text code": {"error": {"code": "429", "message": "slow", "request_id": "q1"}},
    "beside candidates": {"candidates": [], "error": {"code": 500, "message": "Broke."}},
}


def parts_of(body: Any) -> Any:
    """The parts of a response's first candidate."""
    return body["candidates"][0]["content"]["parts"]


def chunk(*parts: Any, **candidate: Any) -> dict[str, Any]:
    """A stream chunk with these parts and candidate fields."""
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **candidate}],
        "modelVersion": "gemini-test-001",
        "responseId": "r1",
    }


def in_snake_case(value: Any, node: Any) -> Any:
    """A wire value with Google's own keys, as a grammar node has them, in snake_case."""
    if isinstance(value, list):
        return [in_snake_case(item, node) for item in value]
    if not isinstance(value, dict) or node is None:
        return value
    known = {key: node.names[key][1] for key in value if key in node.names}
    return {snake(key) if key in known else key: in_snake_case(item, known.get(key)) for key, item in value.items()}
