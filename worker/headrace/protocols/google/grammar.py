"""The keys of Google's wire objects, as google-genai's types have them. Data of the user has no node here."""

from __future__ import annotations

from headrace.protocols.google.keys import Node

BLOB = Node("mimeType data displayName")
FILE = Node("fileUri mimeType displayName")
_OFFSETS = Node("startOffset endOffset fps contentLayers")
_SHEET = Node("visibleCells sheetIndex contentLayers")
_PAGES = Node("startPage endPage contentLayers")
_MEDIA_SIDES = {
    "mediaResolution": Node("level numTokens"),
    "videoMetadata": _OFFSETS,
    "audioMetadata": _OFFSETS,
    "documentMetadata": _PAGES,
    "spreadsheetMetadata": _SHEET,
}

FUNCTION_CALL = Node(
    "id name args willContinue",
    partialArgs=Node("jsonPath stringValue numberValue boolValue nullValue willContinue"),
)
FUNCTION_RESPONSE = Node(
    "id name response scheduling willContinue",
    parts=Node("mediaProcessing", inlineData=BLOB, fileData=FILE, **_MEDIA_SIDES),
)
TRANSCRIPTION = Node(
    "text finished languageCode speakerLabel startOffset endOffset", words=Node("word startOffset endOffset")
)
PART = Node(
    "text thought thoughtSignature partMetadata mediaProcessing",
    inlineData=BLOB,
    fileData=FILE,
    functionCall=FUNCTION_CALL,
    functionResponse=FUNCTION_RESPONSE,
    executableCode=Node("code language id"),
    codeExecutionResult=Node("outcome output id"),
    toolCall=Node("id toolType args"),
    toolResponse=Node("id toolType response"),
    audioTranscription=TRANSCRIPTION,
    speechMetadata=Node("speaker style"),
    **_MEDIA_SIDES,
)
CONTENT = Node("role", parts=PART)

FUNCTION_DECLARATION = Node("name description parameters parametersJsonSchema response responseJsonSchema behavior")
TOOL = Node(
    "retrieval computerUse googleSearchRetrieval enterpriseWebSearch parallelAiSearch exaAiSearch",
    functionDeclarations=FUNCTION_DECLARATION,
    googleSearch=Node("blockingConfidence excludeDomains timeRangeFilter searchTypes"),
    googleMaps=Node("authConfig enableWidget groundingTypes"),
    urlContext=Node(),
    codeExecution=Node(),
    fileSearch=Node("fileSearchStoreNames topK metadataFilter"),
    mcpServers=Node("name", streamableHttpTransport=Node("url headers timeout sseReadTimeout terminateOnClose")),
)
TOOL_CONFIG = Node(
    "includeServerSideToolInvocations",
    functionCallingConfig=Node("mode allowedFunctionNames streamFunctionCallArguments"),
    retrievalConfig=Node("languageCode latLng"),
)
GENERATION_CONFIG = Node(
    "temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty "
    "frequencyPenalty seed responseMimeType responseSchema responseJsonSchema responseFormat responseModalities "
    "mediaResolution speechConfig imageConfig audioTimestamp routingConfig modelSelectionConfig "
    "enableAffectiveDialog enableEnhancedCivicAnswers audioTranscriptionConfig translationConfig",
    thinkingConfig=Node("includeThoughts thinkingBudget thinkingLevel"),
)

_SAFETY_RATING = Node("category probability blocked probabilityScore severity severityScore overwrittenThreshold")
_MODALITIES = Node("modality tokenCount")
USAGE = Node(
    "promptTokenCount cachedContentTokenCount candidatesTokenCount responseTokenCount toolUsePromptTokenCount "
    "thoughtsTokenCount totalTokenCount trafficType serviceTier",
    promptTokensDetails=_MODALITIES,
    cacheTokensDetails=_MODALITIES,
    candidatesTokensDetails=_MODALITIES,
    responseTokensDetails=_MODALITIES,
    toolUsePromptTokensDetails=_MODALITIES,
)
GROUNDING = Node(
    "webSearchQueries imageSearchQueries retrievalQueries googleMapsWidgetContextToken sourceFlaggingUris",
    searchEntryPoint=Node("renderedContent sdkBlob"),
    groundingChunks=Node(
        web=Node("uri title domain"),
        image=Node("sourceUri imageUri title domain"),
        maps=Node("uri title text placeId placeAnswerSources route"),
        retrievedContext=Node(
            "uri title text documentName ragChunk fileSearchStore pageNumber mediaId",
            customMetadata=Node("key stringValue numericValue stringListValue"),
        ),
    ),
    groundingSupports=Node(
        "groundingChunkIndices confidenceScores renderedParts", segment=Node("startIndex endIndex partIndex text")
    ),
    retrievalMetadata=Node("googleSearchDynamicRetrievalScore"),
)
URL_CONTEXT = Node(urlMetadata=Node("retrievedUrl urlRetrievalStatus"))
_CITATION = Node("startIndex endIndex uri title license publicationDate")
_LOGPROB = Node("token tokenId logProbability")
CANDIDATE = Node(
    "index finishReason finishMessage tokenCount avgLogprobs continuationToken",
    content=CONTENT,
    safetyRatings=_SAFETY_RATING,
    citationMetadata=Node(citations=_CITATION, citationSources=_CITATION),
    groundingMetadata=GROUNDING,
    urlContextMetadata=URL_CONTEXT,
    logprobsResult=Node("logProbabilitySum", chosenCandidates=_LOGPROB, topCandidates=Node(candidates=_LOGPROB)),
)
RESPONSE = Node(
    "modelVersion responseId createTime",
    candidates=CANDIDATE,
    promptFeedback=Node("blockReason blockReasonMessage", safetyRatings=_SAFETY_RATING),
    usageMetadata=USAGE,
    modelStatus=Node("modelStage retirementTime message"),
)
REQUEST = Node(
    "model safetySettings cachedContent labels serviceTier store continuationToken modelArmorConfig "
    "generationOutputConfig",
    contents=CONTENT,
    systemInstruction=CONTENT,
    tools=TOOL,
    toolConfig=TOOL_CONFIG,
    generationConfig=GENERATION_CONFIG,
)
