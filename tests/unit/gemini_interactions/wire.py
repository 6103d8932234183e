"""Small wire objects of the Interactions API, one of every kind, for the tests of this protocol."""

from __future__ import annotations

from typing import Any

from headrace.canonical.avro import decode_record, encode_record
from headrace.canonical.model import CanonicalRecord as CheckedRecord
from headrace.canonical.reading import Reading
from headrace.canonical.shape import CanonicalRecord, Message, Part
from headrace.protocols import codec

CODEC = codec("gemini.interactions")

TEXT = {"type": "text", "text": "Grüße aus Oslo"}
ANNOTATIONS: list[dict[str, Any]] = [
    {"type": "url_citation", "url": "https://a.example/x", "title": "X", "start_index": 0, "end_index": 7},
    {
        "type": "file_citation",
        "document_uri": "files/1",
        "file_name": "a.pdf",
        "source": "store-1",
        "media_id": "m1",
        "page_number": 3,
        "custom_metadata": {"team": "blue"},
        "start_index": 8,
        "end_index": 9,
    },
    {
        "type": "place_citation",
        "place_id": "p1",
        "name": "Cafe",
        "url": "https://maps.example/p1",
        "review_snippets": [{"review_id": "r1", "title": "Nice"}],
    },
    {"type": "speech_metadata", "speaker": "A", "style": "calm", "start_index": 0, "end_index": 4},
    {"type": "word_info", "text": "Oslo", "start_offset": "0.1s", "end_offset": "0.4s", "speaker": "A"},
]
CONTENTS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "Grüße aus Oslo", "annotations": ANNOTATIONS},
    "image": {"type": "image", "mime_type": "image/png", "data": "iVBORw==", "resolution": "high"},
    "audio": {"type": "audio", "mime_type": "audio/l16", "data": "AAEC", "sample_rate": 24000, "channels": 1},
    "video": {
        "type": "video",
        "uri": "https://v.example/1",
        "name": "clip",
        "processing": {"type": "static", "fps": 1.5},
    },
    "document": {"type": "document", "uri": "https://d.example/1", "mime_type": "application/pdf"},
}
STEPS: dict[str, dict[str, Any]] = {
    "user_input": {"type": "user_input", "content": [TEXT, CONTENTS["image"]]},
    "model_output": {"type": "model_output", "content": list(CONTENTS.values())},
    "thought": {
        "type": "thought",
        "signature": "c2ln",
        "summary": [{"type": "text", "text": "First."}, {"type": "text", "text": "Then."}],
    },
    "function_call": {"type": "function_call", "id": "fc1", "name": "weather", "arguments": {"city": "Oslo"}},
    "function_result": {
        "type": "function_result",
        "call_id": "fc1",
        "name": "weather",
        "is_error": False,
        "result": [{"type": "text", "text": "8 °C"}, CONTENTS["image"], {"type": "function", "name": "next"}],
    },
    "code_execution_call": {
        "type": "code_execution_call",
        "id": "c1",
        "arguments": {"code": "print(1)", "language": "python"},
        "signature": "c2ln",
    },
    "code_execution_result": {
        "type": "code_execution_result",
        "call_id": "c1",
        "result": "1\n",
        "is_error": False,
        "signature": "c2ln",
    },
    "url_context_call": {"type": "url_context_call", "id": "u1", "arguments": {"urls": ["https://a.example"]}},
    "url_context_result": {
        "type": "url_context_result",
        "call_id": "u1",
        "result": [{"url": "https://a.example", "status": "success"}],
        "is_error": False,
    },
    "google_search_call": {
        "type": "google_search_call",
        "id": "s1",
        "arguments": {"queries": ["oslo weather"]},
        "search_type": "web_search",
        "signature": "c2ln",
    },
    "google_search_result": {
        "type": "google_search_result",
        "call_id": "s1",
        "result": [{"search_suggestions": "<div></div>"}],
        "signature": "c2ln",
    },
    "google_maps_call": {"type": "google_maps_call", "id": "m1", "arguments": {"queries": ["cafe"]}},
    "google_maps_result": {
        "type": "google_maps_result",
        "call_id": "m1",
        "result": [{"places": [{"name": "Cafe", "place_id": "p1"}], "widget_context_token": "w"}],
    },
    "file_search_call": {"type": "file_search_call", "id": "f1", "signature": "c2ln"},
    "file_search_result": {"type": "file_search_result", "call_id": "f1", "signature": "c2ln"},
    "retrieval_call": {
        "type": "retrieval_call",
        "id": "r1",
        "arguments": {"queries": ["policy"]},
        "retrieval_type": "rag_store",
    },
    "retrieval_result": {"type": "retrieval_result", "call_id": "r1", "is_error": True},
    "tool_search_call": {"type": "tool_search_call", "id": "t1", "arguments": {"function_names": ["a"]}},
    "tool_search_result": {
        "type": "tool_search_result",
        "call_id": "t1",
        "result": [{"type": "function", "name": "a", "parameters": {"type": "object"}}],
    },
    "processing_call": {"type": "processing_call", "id": "p1", "signature": "c2ln"},
    "processing_result": {"type": "processing_result", "call_id": "p1", "signature": "c2ln"},
    "mcp_server_tool_call": {
        "type": "mcp_server_tool_call",
        "id": "x1",
        "name": "issues",
        "server_name": "tracker",
        "arguments": {"open": True},
    },
    "mcp_server_tool_result": {
        "type": "mcp_server_tool_result",
        "call_id": "x1",
        "name": "issues",
        "server_name": "tracker",
        "result": {"count": 3},
    },
}
USAGE: dict[str, Any] = {
    "total_input_tokens": 100,
    "total_cached_tokens": 40,
    "total_output_tokens": 20,
    "total_thought_tokens": 30,
    "total_tool_use_tokens": 5,
    "total_tokens": 155,
    "initial_input_tokens": 90,
    "input_tokens_by_modality": [{"modality": "text", "tokens": 80}, {"modality": "audio", "tokens": 20}],
    "output_tokens_by_modality": [{"modality": "image", "tokens": 20}],
    "cached_tokens_by_modality": [{"modality": "text", "tokens": 40}],
    "tool_use_tokens_by_modality": [{"modality": "text", "tokens": 5}],
    "grounding_tool_count": [{"type": "google_search", "count": 2}, {"type": "google_maps", "count": 1}],
}
TOOLS: dict[str, dict[str, Any]] = {
    "function": {
        "type": "function",
        "name": "weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "short_description": "Weather.",
        "defer_loading": True,
    },
    "mcp_server": {
        "type": "mcp_server",
        "name": "tracker",
        "url": "https://mcp.example",
        "headers": {"x-team": "blue"},
        "allowed_tools": [{"mode": "auto", "tools": ["issues"]}],
        "defer_loading": False,
    },
    "google_search": {"type": "google_search", "search_types": ["web_search"]},
    "google_maps": {"type": "google_maps", "enable_widget": True, "latitude": 59.9, "longitude": 10.7},
    "url_context": {"type": "url_context"},
    "code_execution": {"type": "code_execution"},
    "file_search": {
        "type": "file_search",
        "file_search_store_names": ["stores/1"],
        "top_k": 3,
        "metadata_filter": "year > 2020",
    },
    "computer_use": {"type": "computer_use", "environment": "browser", "excluded_predefined_functions": ["drag"]},
    "tool_search": {"type": "tool_search", "execution": "client", "name": "find", "description": "Finds tools."},
    "retrieval": {
        "type": "retrieval",
        "retrieval_types": ["rag_store"],
        "rag_store_config": {"rag_resources": [{"rag_corpus": "c"}]},
    },
}
REQUEST: dict[str, Any] = {
    "model": "gemini-test",
    "input": list(STEPS.values()),
    "system_instruction": "Be brief.",
    "tools": list(TOOLS.values()),
    "generation_config": {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop_sequences": ["END"],
        "max_output_tokens": 100,
        "thinking_level": "low",
        "thinking_summaries": "auto",
        "tool_choice": "any",
        "speech_config": [{"voice": "A", "speaker": "B"}],
        "image_config": {"aspect_ratio": "1:1"},
        "video_config": {"task": "edit"},
        "transcription_config": {"language_codes": ["no"]},
    },
    "previous_interaction_id": "v1_0",
    "continuation_token": "tok",
    "store": False,
    "stream": True,
    "background": False,
    "cached_content": "cachedContents/1",
    "environment": {"type": "remote", "environment_id": "e1"},
    "response_format": [{"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}],
    "response_modalities": ["text", "image"],
    "response_mime_type": "application/json",
    "safety_settings": [{"type": "HARM", "threshold": "BLOCK_NONE"}],
    "service_tier": "flex",
    "labels": {"team": "blue"},
    "webhook_config": {"uris": ["https://w.example"]},
}
INTERACTION: dict[str, Any] = {
    "id": "v1_1",
    "object": "interaction",
    "status": "completed",
    "model": "gemini-test",
    "created": "2026-05-15T18:52:17Z",
    "updated": "2026-05-15T18:52:19.250Z",
    "service_tier": "standard",
    "previous_interaction_id": "v1_0",
    "environment_id": "e1",
    "steps": [step for kind, step in STEPS.items() if kind not in ("user_input", "function_result")],
    "usage": USAGE,
}
#: As before 2026-05: contents beside calls, in one list.
LEGACY: dict[str, Any] = {
    "id": "old_1",
    "object": "interaction",
    "status": "requires_action",
    "model": "gemini-test",
    "outputs": [STEPS["thought"], *CONTENTS.values(), STEPS["google_search_call"], STEPS["function_call"]],
    "usage": USAGE,
}


def read_request(body: dict[str, Any]) -> CanonicalRecord:
    """The request record; its way through Avro and back to the wire is checked on the side."""
    record = CODEC.read_request(body, Reading("call", "request"))
    assert CODEC.write_request(record) == body
    assert CODEC.write_request(_through_avro(record)) == body
    return record


def read_response(body: dict[str, Any]) -> CanonicalRecord:
    """The response record; its way through Avro and back to the wire is checked on the side."""
    record = CODEC.read_response(body, Reading("call", "response"), None)
    assert CODEC.write_response(record) == body
    assert CODEC.write_response(_through_avro(record)) == body
    return record


def _through_avro(record: CanonicalRecord) -> CanonicalRecord:
    CheckedRecord.from_shape(record)
    return decode_record(encode_record(record))


def messages_of(*steps: Any) -> list[Message]:
    """Messages of a response with these steps."""
    return read_response({"steps": list(steps)})["messages"]


def part_of(step: Any) -> Part:
    """The one part of a response with this one step."""
    (message,) = messages_of(step)
    (part,) = message["parts"]
    return part


def unknown_in(body: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Types that reading a response counts as unknown."""
    reading = Reading("call", "response")
    CODEC.read_response(body, reading, None)
    return dict(reading.unknown)
