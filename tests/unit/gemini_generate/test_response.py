"""Responses: candidates, reasons, usage, citations, blocked prompts and errors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import loads
from headrace.protocols.gemini_generate import CODEC
from headrace.protocols.gemini_generate.finish import REASONS
from tests.unit.gemini_generate.samples import ERRORS, PARTS, RESPONSE


def read(body: Any, reading: Reading | None = None) -> Any:
    return CODEC.read_response(body, reading or Reading("call", "response"), None)


def round_trip(body: Any) -> Any:
    record = read(body)
    assert CODEC.write_response(record) == body
    return record


def test_a_full_response_is_carried_in_named_fields() -> None:
    record = round_trip(RESPONSE)
    assert "extras" not in record
    assert record["served_model"] == "gemini-test-001"
    assert record["response_id"] == "r1"
    assert record["timing"]["created_at"] == 1_772_751_014_249_951
    first, second = record["messages"]
    assert (first["choice_index"], second["choice_index"]) == (0, 1)
    assert (first["finish_reason"], second["finish_reason"]) == ("tool_calls", "length")
    assert "extras" not in first
    assert loads(first["detail"]) == {"finishMessage": "Model generated function call(s).", "tokenCount": 5}
    assert (record["status"], record["finish_reason"], record["raw_finish_reason"]) == (
        "completed",
        "tool_calls",
        "STOP",
    )


def test_usage_is_one_arithmetic() -> None:
    usage = read(RESPONSE)["usage"]
    assert usage["input_tokens"] == 24
    assert usage["cache_read_tokens"] == 8
    assert usage["output_tokens"] == 16
    assert usage["reasoning_tokens"] == 11
    assert usage["tool_use_tokens"] == 4
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_image_tokens"] == 2


#: finishReason -> canonical reason and status.
ENDS = {
    "STOP": ("stop", "completed"),
    "MAX_TOKENS": ("length", "incomplete"),
    "SAFETY": ("content_filter", "incomplete"),
    "RECITATION": ("content_filter", "incomplete"),
    "LANGUAGE": ("content_filter", "incomplete"),
    "OTHER": ("error", "failed"),
    "BLOCKLIST": ("content_filter", "incomplete"),
    "PROHIBITED_CONTENT": ("content_filter", "incomplete"),
    "SPII": ("content_filter", "incomplete"),
    "MALFORMED_FUNCTION_CALL": ("error", "failed"),
    "IMAGE_SAFETY": ("content_filter", "incomplete"),
    "IMAGE_PROHIBITED_CONTENT": ("content_filter", "incomplete"),
    "IMAGE_OTHER": ("error", "failed"),
    "NO_IMAGE": ("error", "failed"),
    "IMAGE_RECITATION": ("content_filter", "incomplete"),
    "UNEXPECTED_TOOL_CALL": ("error", "failed"),
    "TOO_MANY_TOOL_CALLS": ("error", "failed"),
    "MISSING_THOUGHT_SIGNATURE": ("error", "failed"),
    "MALFORMED_RESPONSE": ("error", "failed"),
    "ESCALATION": ("content_filter", "incomplete"),
    "PUP_LIMITED_DISABLED": ("content_filter", "incomplete"),
    "CONTINUATION": ("pause", "completed"),
    "MODEL_ARMOR": ("content_filter", "incomplete"),
    "FINISH_REASON_UNSPECIFIED": (None, "completed"),
}


def test_every_reason_of_the_catalogue_is_known() -> None:
    assert ENDS.keys() == REASONS.keys()


@pytest.mark.parametrize("reason", ENDS)
def test_reasons_and_statuses(reason: str) -> None:
    record = round_trip({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": reason}]})
    assert (record.get("finish_reason"), record["status"]) == ENDS[reason]
    assert record["raw_finish_reason"] == reason
    assert record.get("status_reason") == (None if record["status"] == "completed" else reason)


def test_calls_that_google_answers_itself_are_not_left_to_the_client() -> None:
    body = {"candidates": [{"content": {"parts": [PARTS["toolCall"], {"text": "a"}]}, "finishReason": "STOP"}]}
    assert round_trip(body)["finish_reason"] == "stop"


def test_an_unknown_reason_is_kept_and_counted() -> None:
    reading = Reading("call", "response")
    record = read({"candidates": [{"finishReason": "BORED"}]}, reading)
    assert "finish_reason" not in record
    assert record["raw_finish_reason"] == "BORED"
    assert reading.unknown_types() == [{"kind": "finish_reason", "type": "BORED", "count": 1}]


def test_a_reason_in_lower_case_is_the_same_reason() -> None:
    assert round_trip({"candidates": [{"finishReason": "max_tokens"}]})["finish_reason"] == "length"


def test_a_reason_of_another_protocol_is_written_as_the_nearest() -> None:
    message: Any = {"role": "assistant", "finish_reason": "length", "raw_finish_reason": "max_tokens", "parts": []}
    assert CODEC.write_response({"messages": [message]})["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_a_blocked_prompt_has_failed_by_a_filter() -> None:
    record = round_trip({"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [{}]}, "usageMetadata": {}})
    assert record["status"] == "failed"
    assert record["finish_reason"] == "content_filter"
    assert record["raw_finish_reason"] == record["status_reason"] == "SAFETY"
    assert loads(record["safety"])["blockReason"] == "SAFETY"


def test_no_candidates_and_no_reason_are_incomplete() -> None:
    assert round_trip({"candidates": [], "modelVersion": "m"})["status"] == "incomplete"


def test_a_continuation_token_is_named() -> None:
    record = round_trip({"candidates": [{"finishReason": "CONTINUATION", "continuationToken": "t"}]})
    assert record["continuation"] == ["candidates.0.continuationToken"]
    assert loads(record["messages"][0]["detail"]) == {"continuationToken": "t"}


@pytest.mark.parametrize(
    "candidate",
    [
        {},
        {"content": {}},
        {"content": None},
        {"content": "Hi"},
        {"content": {"role": "model"}},
        {"content": {"parts": []}},
        {"content": {"parts": None, "role": None}},
        {"content": {"parts": "Hi", "more": 1}},
        {"index": None},
        {"index": "0"},
        {"index": 3, "content": {"role": "user", "parts": [{"text": "a"}]}},
        "Hi",
        None,
    ],
)
def test_odd_candidates_come_back_and_keep_their_neighbours(candidate: Any) -> None:
    record = round_trip({"candidates": [candidate, {"content": {"parts": [{"text": "b"}]}}]})
    assert record["messages"][1]["parts"][0]["text"] == "b"


@pytest.mark.parametrize("time", ["2026-03-05T22:50:14Z", "2026-03-05T22:50:14.249Z", "2026-03-05T22:50:14.249951Z"])
def test_times_are_exact(time: str) -> None:
    assert "created_at" in round_trip({"candidates": [], "createTime": time})["timing"]


@pytest.mark.parametrize("time", ["2026-03-05T22:50:14.249951123Z", "2026-03-05T22:50:14+01:00", "soon", "", 7])
def test_times_of_another_form_stay_as_they_are(time: Any) -> None:
    record = round_trip({"candidates": [], "createTime": time})
    assert loads(record["extras"]) == {"createTime": time}


# Citations


def test_citations_are_on_the_text_they_belong_to_in_bytes() -> None:
    text = read(RESPONSE)["messages"][0]["parts"][0]
    assert [citation["url"] for citation in text["citations"]] == ["https://example.org/a", "gs://b/d"]
    citation = text["citations"][0]
    assert (citation["start_index"], citation["end_index"], citation["unit"]) == (5, 10, "byte")
    assert text["text"].encode()[5:10].decode() == citation["cited_text"] == "fluye"
    assert citation["source"] == "example.org"
    assert loads(citation["detail"]) == {"confidenceScore": 0.9}


def _grounded(parts: list[Any], segment: Any) -> Any:
    support = {"segment": segment, "groundingChunkIndices": [0]}
    grounding = {"groundingChunks": [{"web": {"uri": "u"}}], "groundingSupports": [support]}
    candidate = {"content": {"parts": parts}, "groundingMetadata": grounding}
    parts = round_trip({"candidates": [candidate]})["messages"][0]["parts"]
    return [(at, c["start_index"], c["end_index"]) for at, p in enumerate(parts) for c in p.get("citations", ())]


def test_a_part_index_is_believed_where_the_bytes_agree() -> None:
    parts = [{"text": "abc"}, {"text": "xabc"}]
    assert _grounded(parts, {"partIndex": 1, "startIndex": 1, "endIndex": 4, "text": "abc"}) == [(1, 1, 4)]


def test_offsets_through_the_whole_text_are_moved_to_their_part() -> None:
    parts = [{"text": "think", "thought": True}, {"text": "abc"}, {"text": "déf"}]
    assert _grounded(parts, {"startIndex": 3, "endIndex": 7, "text": "déf"}) == [(2, 0, 4)]


def test_offsets_that_agree_with_nothing_are_kept_on_the_text() -> None:
    assert _grounded([{"text": "abc"}], {"startIndex": 30, "endIndex": 70, "text": "zzz"}) == [(0, 30, 70)]
    assert _grounded([PARTS["functionCall"]], {"startIndex": 0, "endIndex": 1}) == []


def test_citation_metadata_is_read_as_well() -> None:
    source = {"startIndex": 0, "endIndex": 3, "uri": "u", "license": "mit", "publicationDate": {"year": 2020}}
    body = {
        "candidates": [{"content": {"parts": [{"text": "abc"}]}, "citationMetadata": {"citationSources": [source]}}]
    }
    (citation,) = round_trip(body)["messages"][0]["parts"][0]["citations"]
    assert (citation["url"], citation["license"], citation["unit"]) == ("u", "mit", "byte")


def test_citations_of_another_protocol_are_written_in_bytes_of_the_whole_text() -> None:
    citation = {"url": "u", "title": "U", "start_index": 2, "end_index": 4, "unit": "char"}
    parts = [{"type": "text", "text": "é"}, {"type": "text", "text": "aéöb", "citations": [citation]}]
    wire = CODEC.write_response({"messages": [{"role": "assistant", "parts": parts}]})  # type: ignore[typeddict-item]
    assert wire["candidates"][0]["citationMetadata"] == {
        "citations": [{"startIndex": 5, "endIndex": 8, "uri": "u", "title": "U"}]
    }


@pytest.mark.parametrize("metadata", [None, 7, [], {"groundingSupports": [{"segment": 3}, None], "groundingChunks": 1}])
def test_odd_grounding_is_kept(metadata: Any) -> None:
    round_trip({"candidates": [{"content": {"parts": [{"text": "abc"}]}, "groundingMetadata": metadata}]})


# Errors


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_every_shape_are_errors_and_come_back(name: str) -> None:
    record = round_trip(ERRORS[name])
    assert record["status"] == "failed"
    assert record["error"].keys() & {"message", "detail"}


def test_the_parts_of_an_error_have_names() -> None:
    error = read(ERRORS["google"])["error"]
    assert (error["code"], error["type"], error["message"]) == ("400", "INVALID_ARGUMENT", "Bad river.")
    assert loads(error["detail"])[0]["@type"] == "type.example.org/BadRequest"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"embedding": {"values": []}}, [], None, "x"])
def test_what_is_no_response_is_refused(body: Any) -> None:
    with pytest.raises(WireError) as refused:
        read(body)
    assert refused.value.fix
