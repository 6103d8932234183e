"""Sessions: how frames become turns, and what a turn's record says."""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
from typing import Any

import pytest

from headrace.canonical.reading import Reading
from headrace.errors import WireError
from headrace.json_text import dumps, loads
from headrace.protocols.gemini_live import CODEC
from headrace.protocols.gemini_live.finish import REASONS
from headrace.protocols.gemini_live.stream import folder
from headrace.reassembly.pieces import SIGN_NONE, SIGN_SOFT
from tests.unit.gemini_live.samples import DONE, SETUP, USAGE, audio, client, content, heard, said, server, spoke


def fold(*events: Any) -> list[Any]:
    kept = copy.deepcopy(events)
    folded = CODEC.fold(events)
    assert events == kept
    for one in folded:
        if one.events:
            (again,) = CODEC.fold(CODEC.unfold(one.body))
            assert again.body == one.body
    return folded


def turn(*events: Any) -> Any:
    (folded,) = fold(*events)
    return folded


def read(body: Any) -> Any:
    record = CODEC.read_response(body, Reading("call", "response"), None)
    assert CODEC.write_response(record) == body
    return record


def entries(folded: Any) -> list[tuple[str, Any]]:
    """(key, value) of each entry of a turn."""
    return [next((key, value) for key, value in one.items() if key != "from") for one in folded.body["turn"]]


def parts(record: Any) -> list[tuple[str, str, Any]]:
    """(role, type, text or name or wire type) of every part, in order."""
    return [
        (
            message["role"],
            part["type"],
            part.get("text", part.get("tool_call", part.get("tool_result", {})).get("name", part.get("wire_type"))),
        )
        for message in record["messages"]
        for part in message.get("parts", ())
    ]


# Setup


def test_the_setup_is_the_request_of_the_session() -> None:
    request, _ = fold(client(**SETUP), server(setupComplete={"sessionId": "s1"}))
    assert (request.record_type, request.complete, request.body) == ("request", True, SETUP)
    record = CODEC.read_request(request.body, Reading("call", "request"))
    assert CODEC.write_request(record) == SETUP
    assert record["model"] == "models/gemini-live-test"
    assert record["messages"][0]["role"] == "system"
    assert [tool["kind"] for tool in record["tools"]] == ["function", "search"]
    assert record["parameters"]["modalities"] == ["AUDIO"]
    assert record["continuation"] == ["setup.sessionResumption.handle"]
    assert loads(record["parameters"]["other"])["setup"].keys() == {
        "generationConfig",
        "sessionResumption",
        "contextWindowCompression",
        "realtimeInputConfig",
        "inputAudioTranscription",
        "outputAudioTranscription",
        "proactivity",
        "historyConfig",
        "avatarConfig",
        "explicitVadSignal",
    }
    assert "extras" not in record


def test_a_setup_in_snake_case_comes_back() -> None:
    body = {"setup": {"model": "m", "generation_config": {"top_p": 1.0}, "system_instruction": {"parts": []}}}
    record = CODEC.read_request(body, Reading("call", "request"))
    assert record["parameters"]["top_p"] == 1.0
    assert CODEC.write_request(record) == body


@pytest.mark.parametrize("body", [{}, {"contents": []}, {"setup": "x"}, {"clientContent": {}}])
def test_what_is_no_setup_is_refused(body: Any) -> None:
    with pytest.raises(WireError):
        CODEC.read_request(body, Reading("call", "request"))


def test_history_does_not_fit_into_a_setup() -> None:
    with pytest.raises(WireError) as refused:
        CODEC.write_request({"messages": [{"role": "user", "parts": []}]})
    assert refused.value.code == "unsupported_content"


# Turns


def test_each_turn_is_one_record_and_the_session_one_call() -> None:
    first, second = fold(said("a"), spoke({"text": "A"}), *DONE, said("b"), spoke({"text": "B"}), *DONE)
    assert first.complete
    assert second.complete
    assert parts(read(first.body)) == [("user", "text", "a"), ("assistant", "text", "A")]
    assert parts(read(second.body)) == [("user", "text", "b"), ("assistant", "text", "B")]
    assert (first.events, second.events) == (4, 4)


def test_what_is_open_at_the_end_is_not_complete() -> None:
    _, last = fold(said("a"), *DONE, heard(b"123"))
    assert not last.complete
    assert read(last.body)["status"] == "incomplete"


def test_one_frame_may_carry_several_things() -> None:
    events = [
        said("a"),
        content(modelTurn={"parts": [{"text": "A"}]}, outputTranscription={"text": "Ah"}),
        {
            "from": "server",
            "frame": {
                "serverContent": {"generationComplete": True, "turnComplete": True, "groundingMetadata": {}},
                "usageMetadata": USAGE,
                "sessionResumptionUpdate": {"newHandle": "h1", "resumable": True},
            },
        },
    ]
    folded = turn(*events)
    assert [key for key, _ in entries(folded)] == [
        "clientContent",
        "modelTurn",
        "outputTranscription",
        "sessionResumptionUpdate",
    ]
    record = read(folded.body)
    assert record["usage"]["output_tokens"] == 4
    assert (record["status"], record["finish_reason"]) == ("completed", "stop")
    assert record["messages"][-1]["parts"][0]["continuation"] == ["sessionResumptionUpdate.newHandle"]
    said_of_turn = record["messages"][-2]
    assert loads(said_of_turn["detail"]) == {"generationComplete": True, "turnComplete": True}
    assert loads(said_of_turn["grounding"]) == {"groundingMetadata": {}}


def test_frames_in_snake_case_are_the_same_frames() -> None:
    camel = turn(said("a"), server(toolCall={"functionCalls": [{"name": "f", "id": "1"}]}), *DONE)
    snaked = turn(
        client(client_content={"turns": [{"role": "user", "parts": [{"text": "a"}]}], "turn_complete": True}),
        server(tool_call={"function_calls": [{"name": "f", "id": "1"}]}),
        server(server_content={"generation_complete": True}),
        server(server_content={"turn_complete": True}),
    )
    assert snaked.body == camel.body


_DATA = base64.b64encode(b"sound").decode()
_PIECES: list[dict[str, Any]] = [
    {"modelTurn": {"parts": [{"text": "a"}]}},
    {"modelTurn": {"parts": [{"text": "b", "thought": True}]}},
    {"modelTurn": {"parts": [{"text": "c"}], "role": "model"}},
    {"modelTurn": {"parts": [{"text": 5}], "role": "user"}},
    {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": _DATA}}]}},
    {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/wav", "data": _DATA}}], "role": "model"}},
    {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "?"}}], "role": "model"}},
    {"modelTurn": {"parts": [{"text": "d"}, {"text": "e"}]}},
    {"outputTranscription": {"text": "f"}},
    {"outputTranscription": {"text": None}},
    {"outputTranscription": {"text": "g", "finished": True}},
    {"inputTranscription": {"text": "h"}},
    {"interrupted": True},
    {"turnComplete": True},
]


_BLOBS: list[Any] = [{kind: "audio/pcm", "data": data} for kind in ("mimeType", "mime_type") for data in (_DATA, "?")]
_BLOBS += [{"mimeType": "audio/wav", "data": _DATA}, {"mimeType": "audio/pcm", "data": _DATA, "sha256": "0"}, 5]
_HEARD = [*({"audio": blob} for blob in _BLOBS), {"activityEnd": {}}, {"audio": _BLOBS[0], "video": _BLOBS[0]}]


@pytest.mark.parametrize(("key", "pieces"), [("serverContent", _PIECES), ("realtimeInput", _HEARD)])
def test_a_piece_goes_where_it_goes_when_its_frame_is_looked_at_in_full(key: str, pieces: list[Any]) -> None:
    """A frame that does not say who sent it is taken apart key by key."""
    side = server if key == "serverContent" else client
    for said_one_by_one in itertools.product(pieces, repeat=3):
        alone = [{key: piece} for piece in said_one_by_one]
        assert CODEC.fold([side(**frame) for frame in alone]) == CODEC.fold(alone), said_one_by_one


def test_frames_alone_are_told_apart_by_their_keys() -> None:
    events = [said("a"), spoke({"text": "A"}), *DONE]
    assert turn(*(event["frame"] for event in events)).body == turn(*events).body


def test_seeded_history_keeps_its_turns_and_its_frames() -> None:
    turns = [{"role": "user", "parts": [{"text": "I am Ann."}]}, {"role": "model", "parts": [{"text": "Hi Ann."}]}]
    record = read(
        turn(client(clientContent={"turns": turns, "turnComplete": False}), said("Who?"), spoke({"text": "Ann"})).body
    )
    assert [message["role"] for message in record["messages"]] == ["user", "assistant", "user", "assistant"]


# Audio and transcripts


def test_audio_is_kept_by_reference_and_length() -> None:
    folded = turn(
        heard(b"abc"),
        heard(b"def"),
        spoke(audio(b"12")),
        content(outputTranscription={"text": "A"}),
        spoke(audio(b"3")),
    )
    (_, heard_blob), (_, spoken), _ = entries(folded)
    assert heard_blob["audio"] == {
        "mimeType": "audio/pcm;rate=16000",
        "sizeBytes": 6,
        "sha256": hashlib.sha256(b"abcdef").hexdigest(),
        "uri": "capture:0-1",
    }
    assert spoken["parts"] == [
        {
            "inlineData": {
                "mimeType": "audio/pcm;rate=24000",
                "sizeBytes": 3,
                "sha256": hashlib.sha256(b"123").hexdigest(),
                "uri": "capture:2,4",
            }
        }
    ]
    media = read(folded.body)["messages"][0]["parts"][0]["media"]
    assert (media["kind"], media["size_bytes"], media["sample_rate"], media["uri"]) == (
        "audio",
        6,
        16000,
        "capture:0-1",
    )
    assert "data" not in media


def test_audio_can_be_kept_in_the_records() -> None:
    (folded,) = folder(keep_media=True)([heard(b"abc"), heard(b"d"), spoke(audio(b"12"))])
    first, second = (part["media"] for message in read(folded.body)["messages"] for part in message["parts"])
    assert (first["data"], first["size_bytes"]) == ("YWJjZA==", 4)
    assert (second["data"], second["uri"]) == ("MTI=", "capture:2")
    assert folder(keep_media=True)(CODEC.unfold(folded.body))[0].body == folded.body


@pytest.mark.parametrize("data", ["-_-_", "+/+/", "-_8", "-_8="])
def test_both_alphabets_of_base64_are_read(data: str) -> None:
    folded = turn(client(realtimeInput={"audio": {"mimeType": "audio/pcm", "data": data}}))
    assert entries(folded)[0][1]["audio"]["sizeBytes"] in (2, 3)


@pytest.mark.parametrize("blob", [{"mimeType": "audio/pcm", "data": "!"}, {"mimeType": "audio/pcm"}, "x", None])
def test_audio_that_cannot_be_read_is_kept_as_it_is(blob: Any) -> None:
    assert entries(turn(client(realtimeInput={"audio": blob}))) == [("realtimeInput", {"audio": blob})]


def test_audio_of_another_kind_is_another_blob() -> None:
    folded = turn(
        heard(b"a"), heard(b"b", "audio/opus"), heard(b"c", "image/jpeg", "video"), heard(b"d", key="mediaChunks")
    )
    assert [next(iter(value)) for _, value in entries(folded)] == ["audio", "audio", "video", "mediaChunks"]
    old = client(realtimeInput={"mediaChunks": [{"mimeType": "audio/pcm", "data": "AAA="}] * 2})
    assert entries(turn(old))[0][1]["mediaChunks"]["sizeBytes"] == 4


def test_marks_keep_their_place_in_what_is_heard() -> None:
    folded = turn(
        client(realtimeInput={"activityStart": {}}),
        heard(b"a"),
        client(realtimeInput={"activityEnd": {}}),
        heard(b"b"),
        client(realtimeInput={"audioStreamEnd": True}),
        client(realtimeInput={"text": "typed"}),
    )
    record = read(folded.body)
    assert [part.get("wire_type") for part in record["messages"][0]["parts"]] == [
        "realtimeInput.activityStart",
        "realtimeInput.audio",
        "realtimeInput.activityEnd",
        "realtimeInput.audio",
        "realtimeInput.audioStreamEnd",
        "realtimeInput.text",
    ]


def test_transcripts_are_texts_of_those_who_spoke() -> None:
    folded = turn(
        heard(b"a"),
        content(inputTranscription={"text": "Hel"}),
        spoke({"text": "Greet.", "thought": True}),
        content(inputTranscription={"text": "lo", "finished": True}),
        content(outputTranscription={}),
        spoke(audio(b"1")),
        content(outputTranscription={"text": "Hi"}),
        spoke(audio(b"2")),
        content(outputTranscription={"text": "!", "languageCode": "en"}),
        content(outputTranscription={"finished": True}),
        *DONE,
    )
    assert parts(read(folded.body)) == [
        ("user", "media", "realtimeInput.audio"),
        ("user", "text", "Hello"),
        ("assistant", "reasoning", None),
        ("assistant", "media", "inlineData"),
        ("assistant", "text", "Hi!"),
    ]


def test_a_transcript_after_a_finished_one_is_another() -> None:
    done = {"text": "a", "finished": True}
    folded = turn(content(inputTranscription=done), content(inputTranscription=done))
    assert [value for _, value in entries(folded)] == [done, done]


def test_an_interim_transcript_replaces_the_one_before() -> None:
    folded = turn(*(content(interimInputTranscription={"text": text}) for text in ("He", "Hell", "Hello")))
    assert entries(folded) == [("interimInputTranscription", {"text": "Hello"})]


# Tools


def call(*names: str, **fields: Any) -> Any:
    return server(toolCall={"functionCalls": [{"name": name, "args": {}, **fields} for name in names]})


def answer(name: str, **fields: Any) -> Any:
    return client(toolResponse={"functionResponses": [{"name": name, "response": {"output": "wet"}, **fields}]})


def test_calls_and_results_stand_in_order_between_words() -> None:
    folded = turn(
        said("a"),
        spoke({"text": "Let me look."}),
        call("look", id="c1"),
        answer("look", id="c1", scheduling="WHEN_IDLE"),
        spoke({"text": "Wet."}),
        *DONE,
    )
    record = read(folded.body)
    assert parts(record) == [
        ("user", "text", "a"),
        ("assistant", "text", "Let me look."),
        ("assistant", "tool_call", "look"),
        ("tool", "tool_result", "look"),
        ("assistant", "text", "Wet."),
    ]
    assert record["messages"][2]["parts"][0]["tool_result"]["tool_call_id"] == "c1"


def test_an_open_call_may_be_answered_in_a_later_turn() -> None:
    first, second = fold(
        said("a"), call("look", id="c1"), *DONE, answer("look", id="c1"), spoke({"text": "Wet."}), *DONE
    )
    assert parts(read(first.body))[-1] == ("assistant", "tool_call", "look")
    record = read(second.body)
    assert record["messages"][0]["parts"][0]["tool_result"]["tool_call_id"] == "c1"


def test_calls_without_ids_are_told_apart_and_answered_in_order() -> None:
    record = read(turn(call("f", "f"), call("f"), answer("f"), answer("f"), answer("f")).body)
    ids = [part["tool_call"]["id"] for part in record["messages"][0]["parts"]]
    assert len(set(ids)) == 3
    assert [part["tool_result"]["tool_call_id"] for part in record["messages"][1]["parts"]] == ids


def test_calls_that_the_server_took_back_are_cancelled() -> None:
    record = read(turn(call("f", id="c1"), call("g", id="c2"), server(toolCallCancellation={"ids": ["c1"]})).body)
    one, other = record["messages"][0]["parts"]
    assert one["tool_call"]["status"] == "cancelled"
    assert "status" not in other["tool_call"]
    assert parts(record)[-1] == ("session", "data", "toolCallCancellation")


# Ends


def test_what_a_frame_says_before_and_after_the_end_is_of_the_turn_that_it_ends() -> None:
    last = {"role": "model", "parts": [{"text": " then."}]}
    orders = [{"turnComplete": True, "modelTurn": last}, {"modelTurn": last, "turnComplete": True}]
    first, second = (turn(said("a"), spoke({"text": "Well"}), content(**fields)) for fields in orders)
    assert first.complete and first.body == second.body
    assert first.body["turn"][1]["modelTurn"]["parts"] == [{"text": "Well then."}]


def test_an_interrupted_turn_was_cut_by_its_user() -> None:
    folded = turn(
        said("a"), spoke({"text": "Well"}), heard(b"x"), content(interrupted=True), content(turnComplete=True)
    )
    assert folded.complete
    record = read(folded.body)
    assert (record["status"], record["finish_reason"], record["status_reason"]) == (
        "incomplete",
        "cancelled",
        "interrupted",
    )


def test_an_interrupted_turn_ends_where_the_model_speaks_again() -> None:
    first, second = fold(said("a"), spoke({"text": "Well"}), content(interrupted=True), spoke({"text": "Yes?"}), *DONE)
    assert (first.complete, second.complete) == (True, True)
    assert parts(read(second.body)) == [("assistant", "text", "Yes?")]


def test_trailers_belong_to_the_turn_that_is_over() -> None:
    (folded,) = fold(
        said("a"),
        spoke({"text": "A"}),
        *DONE,
        server(usageMetadata=USAGE),
        content(outputTranscription={"text": "A"}),
        server(goAway={"timeLeft": "5s"}),
        server(voiceActivity={"voiceActivityType": "ACTIVITY_START", "audioOffset": "1s"}),
        server(voiceActivityDetectionSignal={"vadSignalType": "VAD_SIGNAL_TYPE_SOS"}),
    )
    record = read(folded.body)
    assert record["usage"]["total_tokens"] == 14
    assert [name for _, _, name in parts(record)][-3:] == ["goAway", "voiceActivity", "voiceActivityDetectionSignal"]


def test_tokens_of_several_messages_are_all_kept() -> None:
    early = {"promptTokenCount": 7, "totalTokenCount": 7}
    record = read(turn(server(usageMetadata=early), *DONE, server(usageMetadata=USAGE)).body)
    assert record["usage"]["total_tokens"] == 14
    assert loads(record["usage"]["detail"])["updates"] == [early]


def test_tokens_of_thoughts_inside_the_response_are_not_counted_twice() -> None:
    usage = {"promptTokenCount": 1131, "responseTokenCount": 26, "totalTokenCount": 1157, "thoughtsTokenCount": 24}
    read_usage = read(turn(server(usageMetadata=usage)).body)["usage"]
    assert (read_usage["output_tokens"], read_usage["reasoning_tokens"]) == (26, 24)


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_of_a_turn_s_end(reason: str) -> None:
    record = read(turn(content(turnComplete=True, turnCompleteReason=reason)).body)
    expected = REASONS[reason]
    assert record["finish_reason"] == (expected or "stop")
    status = {"content_filter": "incomplete", "error": "failed"}.get(expected, "completed")
    assert record["status"] == status


def test_an_unknown_reason_is_kept_and_counted() -> None:
    reading = Reading("call", "response")
    record = CODEC.read_response({"turnComplete": True, "turnCompleteReason": "BORED"}, reading, None)
    assert record["raw_finish_reason"] == "BORED"
    assert reading.unknown_types() == [{"kind": "finish_reason", "type": "BORED", "count": 1}]


@pytest.mark.parametrize("error", [{"error": {"code": 403, "message": "No."}}, {"code": 403, "message": "No."}])
def test_an_error_frame_ends_its_turn(error: dict[str, Any]) -> None:
    folded = turn(said("a"), spoke({"text": "A"}), server(**error))
    assert folded.complete
    record = CODEC.read_response(folded.body, Reading("call", "response"), None)
    assert (record["status"], record["error"]["code"]) == ("failed", "403")
    assert CODEC.sign(dumps(error).encode()) == SIGN_SOFT


@pytest.mark.parametrize(
    "event",
    [
        *DONE,
        server(goAway={"timeLeft": "5s"}),
        client(toolResponse={"functionResponses": [{"name": "f", "response": {"error": {"code": 1, "message": "x"}}}]}),
        spoke({"text": '"error": {}'}),
        "not json",
    ],
)
def test_no_other_frame_ends_a_session(event: Any) -> None:
    assert CODEC.sign(dumps(event["frame"] if isinstance(event, dict) else event).encode()) == SIGN_NONE
    assert CODEC.sign(b'{"error":') == SIGN_NONE


# What nobody knows


def test_unknown_fields_are_kept_in_place_and_counted() -> None:
    folded = turn(server(dance={}), content(mood="fair"), client(realtimeInput={"smell": "rose"}), spoke({"text": "A"}))
    reading = Reading("call", "response")
    record = CODEC.read_response(folded.body, reading, None)
    assert CODEC.write_response(record) == folded.body
    assert [(one["kind"], one["type"]) for one in reading.unknown_types()] == [
        ("entry", "dance"),
        ("entry", "mood"),
        ("entry", "smell"),
    ]


def test_what_is_no_frame_is_stray() -> None:
    folded = turn("half a fra", spoke({"text": "A"}), {"from": "client"}, {"from": "server", "frame": 7}, {})
    assert folded.stray == ["half a fra", {"from": "client"}, {"from": "server", "frame": 7}, {}]
    assert CODEC.fold(["x"])[0].stray == ["x"]


TURNS = {"turns": [{"parts": [{"text": "a"}]}], "turn_complete": False}


@pytest.mark.parametrize(
    ("frame", "again"),
    [
        ({"client_content": TURNS, "clientContent": TURNS}, {"client_content": TURNS}),
        ({"realtimeInput": {"activityEnd": {}, "activity_end": 1}}, {"realtimeInput": {"activity_end": 1}}),
    ],
)
def test_a_key_in_both_spellings_is_said_once_and_the_second_is_stray(frame: Any, again: Any) -> None:
    (one,) = CODEC.fold([client(**frame)])
    assert one.stray == [client(**again)]
    (back,) = CODEC.fold(CODEC.unfold(one.body))
    assert back.body == one.body
    assert len(one.body["turn"]) == 1


@pytest.mark.parametrize("key", ["turn_complete", "model_turn", "input_transcription"])
def test_a_second_spelling_in_server_content_changes_nothing(key: str) -> None:
    first: dict[str, Any] = {"modelTurn": {"parts": [{"text": "a"}]}, "inputTranscription": {}, "turnComplete": True}
    (one,) = CODEC.fold([content(**first, **{key: {"text": "b"}})])
    (alone,) = CODEC.fold([content(**first)])
    assert (one.body, one.complete) == (alone.body, alone.complete)
    assert one.stray == [content(**{key: {"text": "b"}})]


def test_context_updates_and_frames_of_odd_types_are_data() -> None:
    update = {"contextUpdate": {"tools": {}}}
    record = read(turn(client(**update), server(toolCall="x"), server(setupComplete={}), spoke({"text": "A"})).body)
    assert [name for _, _, name in parts(record)] == ["contextUpdate", "toolCall", "setupComplete", "A"]


@pytest.mark.parametrize("body", [{}, {"candidates": []}, [], "x"])
def test_what_is_no_turn_is_refused(body: Any) -> None:
    with pytest.raises(WireError):
        CODEC.read_response(body, Reading("call", "response"), None)


def test_a_message_of_another_protocol_becomes_a_turn() -> None:
    record: Any = {
        "finish_reason": "tool_calls",
        "messages": [
            {
                "role": "assistant",
                "parts": [
                    {"type": "text", "text": "A"},
                    {
                        "type": "tool_call",
                        "tool_call": {"id": "c1", "provider_id": "c1", "name": "f", "arguments": "{}"},
                    },
                ],
            }
        ],
    }
    assert CODEC.write_response(record) == {
        "turn": [
            {"from": "server", "modelTurn": {"role": "model", "parts": [{"text": "A"}]}},
            {"from": "server", "toolCall": {"functionCalls": [{"name": "f", "id": "c1", "args": {}}]}},
        ],
        "turnComplete": True,
    }


def test_frames_as_text_are_one_object_a_line() -> None:
    assert CODEC.sse([said("a"), "x"]).splitlines()[1] == '"x"'
