"""The rules, one by one: what each does and what it reports."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.convert import Conversion, check, convert
from headrace.json_text import dumps


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts) or [text("q")]}


def assistant(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "parts": list(parts)}


def call(call_id: str, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    shape = {
        "id": call_id,
        "provider_id": call_id,
        "name": "f",
        "kind": "function",
        "arguments": dumps(arguments or {}),
    }
    return {"type": "tool_call", "tool_call": {**shape, **fields}}


def result(call_id: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    shape = {"tool_call_id": call_id, "kind": "function", "content": list(content) or [text("ok")]}
    return {"role": "tool", "parts": [{"type": "tool_result", "tool_result": {**shape, **fields}}]}


def request(*messages: Any, protocol: str = "openai.chat", **fields: Any) -> Any:
    head = {"record_type": "request", "protocol": protocol, "call_id": "c", "model": "m"}
    return {**head, "messages": list(messages) or [user()], **fields}


def response(*parts: Any, protocol: str = "openai.chat", **fields: Any) -> Any:
    head = {"record_type": "response", "protocol": protocol, "call_id": "c", "served_model": "m", "response_id": "r"}
    ending = {"status": "completed", "finish_reason": "stop", "raw_finish_reason": "stop"}
    return {**head, **ending, "messages": [assistant(*parts)], **fields}


def lossy(record: Any, target: str, **options: Any) -> tuple[Any, Conversion]:
    made = convert(record, target, policy="lossy", **options)
    return made.body if made.body is not None else made.events, made


def codes(made: Conversion) -> dict[str, str]:
    return {loss.path: loss.code for loss in made.losses}


# Roles and turns


def test_a_system_message_in_mid_conversation_keeps_its_place_where_only_the_top_is_taken() -> None:
    record = request(
        user(text("a")), assistant(text("b")), {"role": "system", "parts": [text("JSON!")]}, user(text("c"))
    )
    body, made = lossy(record, "gemini.generate_content")
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    assert codes(made)["messages[2].role"] == "system_in_conversation"
    assert convert(record, "gemini.generate_content").refused == "unsupported_content"


def test_assistant_turns_in_a_row_are_one_so_that_results_follow_their_calls() -> None:
    record = request(
        user(), assistant(call("a")), assistant(call("b")), result("a"), result("b"), protocol="openai.responses"
    )
    body, made = lossy(record, "openai.chat")
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "tool"]
    assert codes(made)["messages[2]"] == "messages_merged"


def test_text_after_calls_changes_its_place_in_chat_and_is_reported() -> None:
    record = request(user(), assistant(call("a"), text("after")), result("a"), protocol="anthropic.messages")
    body, made = lossy(record, "openai.chat")
    assert body["messages"][1]["content"] == "after"
    assert codes(made)["messages[1].parts"] == "order_changed"


def test_a_history_that_begins_with_the_assistant_or_ends_with_it_is_reported() -> None:
    made = check(request(assistant(text("hello")), user(), assistant(text("I think"))), "anthropic.messages")
    assert {loss.code for loss in made} >= {"first_role", "prefill"}


# Calls and results


def test_results_without_ids_answer_calls_by_name_and_order() -> None:
    calls = [call("x1"), call("x2"), call("x3", name="g")]
    results = [result("", text(words), name=name) for words, name in (("1", "f"), ("g", "g"), ("2", "f"))]
    body, _ = lossy(request(user(), assistant(*calls), *results, protocol="gemini.live"), "openai.chat")
    assert [(m["tool_call_id"], m["content"]) for m in body["messages"][2:]] == [("x1", "1"), ("x3", "g"), ("x2", "2")]


def test_an_orphan_result_and_an_unanswered_call_refuse_in_strict() -> None:
    record = request(user(), assistant(call("a")), user(text("never mind")), result("b"))
    made = convert(record, "anthropic.messages")
    assert made.refused == "unsupported_content"
    assert {"orphan_result", "unanswered_call"} <= set(made.counts)


def test_a_call_that_waits_at_the_end_is_not_unanswered() -> None:
    assert "unanswered_call" not in {loss.code for loss in check(request(user(), assistant(call("a"))), "openai.chat")}


@pytest.mark.parametrize("call_id", ["a|b", "x" * 70, "ü", ""])
def test_ids_are_valid_stable_and_the_same_for_call_and_result(call_id: str) -> None:
    record = request(user(), assistant(call(call_id)), result(call_id), protocol="openai.responses")
    body, made = lossy(record, "anthropic.messages")
    use, answer = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert use["id"].isascii() and use["id"].replace("_", "").replace("-", "").isalnum() and len(use["id"]) <= 64
    assert use["id"] == answer["tool_use_id"] or not call_id
    assert made == convert(record, "anthropic.messages", policy="lossy")
    assert not call_id or made.ids[use["id"]] == call_id


def test_media_in_results_are_carried_or_listed() -> None:
    image = {"type": "media", "media": {"kind": "image", "mime_type": "image/png", "data": "aGk="}}
    record = request(user(), assistant(call("a")), result("a", text("see"), image), protocol="anthropic.messages")
    body, _ = lossy(record, "openai.responses")
    assert [part["type"] for part in body["input"][-1]["output"]] == ["input_text", "input_image"]
    body, _ = lossy(record, "gemini.generate_content")
    response_part = body["contents"][-1]["parts"][0]["functionResponse"]
    assert response_part["response"] == {"result": "see"}
    assert response_part["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]
    body, made = lossy(record, "openai.chat")
    assert body["messages"][-1]["content"] == "see"
    assert codes(made)["messages[2].parts[0].tool_result.content[1]"] == "result_media"


@pytest.mark.parametrize("target", ["anthropic.messages", "gemini.interactions"])
def test_a_failed_result_stays_failed(target: str) -> None:
    body, _ = lossy(request(user(), assistant(call("a")), result("a", is_error=True)), target)
    assert '"is_error":true' in dumps(body)


def test_a_result_that_only_looks_failed_to_google_is_wrapped() -> None:
    piece = {"type": "json", "json": '{"error":"none"}'}
    body, _ = lossy(request(user(), assistant(call("a")), result("a", piece)), "gemini.generate_content")
    assert body["contents"][-1]["parts"][0]["functionResponse"]["response"] == {"result": {"error": "none"}}


def test_arguments_that_are_no_json_stay_as_text_inside_an_object() -> None:
    broken = call("a", raw_arguments='{"x":', arguments_error="cut")
    del broken["tool_call"]["arguments"]
    body, made = lossy(request(user(), assistant(broken), result("a")), "anthropic.messages")
    assert body["messages"][1]["content"][0]["input"] == {"unparsed_arguments": '{"x":'}
    assert made.counts["arguments_invalid"]
    body, _ = lossy(request(user(), assistant(broken), result("a")), "openai.responses")
    assert body["input"][1]["arguments"] == '{"x":'


def test_custom_tools_are_custom_in_openai_and_functions_elsewhere() -> None:
    custom = call("a", kind="custom", raw_arguments="print(1)")
    tool = {"name": "f", "kind": "custom", "format": '{"type":"grammar","syntax":"regex","definition":"x"}'}
    record = request(user(), assistant(custom), result("a", kind="custom"), tools=[tool])
    body, _ = lossy(record, "openai.responses")
    assert body["input"][1] | {"input": "print(1)", "type": "custom_tool_call"} == body["input"][1]
    assert body["tools"][0]["format"] == {"type": "grammar", "syntax": "regex", "definition": "x"}
    body, made = lossy(record, "anthropic.messages")
    assert body["messages"][1]["content"][0]["input"] == {"input": "print(1)"}
    assert body["tools"][0]["input_schema"]["required"] == ["input"]
    assert codes(made)["tools[0].format.type"] == "custom_format"


# Reasoning


def reasoning(**fields: Any) -> dict[str, Any]:
    return {"type": "reasoning", "reasoning": fields}


def test_signed_reasoning_stays_out_of_a_foreign_history_and_strict_does_not_mind() -> None:
    record = request(user(), assistant(reasoning(text="hm", signature="S"), text("a")), protocol="anthropic.messages")
    for target in ("openai.chat", "openai.responses", "gemini.generate_content", "gemini.interactions"):
        made = convert(record, target)
        assert made.refused is None
        assert "hm" not in dumps(made.body)
        assert codes(made)["messages[1].parts[0]"] == "reasoning_foreign"


def test_visible_reasoning_of_an_answer_is_carried_and_its_signature_is_not() -> None:
    record = response(reasoning(text="hm", signature="S"), text("a"), protocol="anthropic.messages")
    for target in ("openai.chat", "openai.responses", "gemini.generate_content", "gemini.interactions"):
        body, made = lossy(record, target)
        assert "hm" in dumps(body)
        assert '"S"' not in dumps(body)
        assert codes(made)["messages[0].parts[0].reasoning.signature"] == "signature_foreign"


def test_google_takes_its_own_signatures_back_in_each_of_its_protocols() -> None:
    record = request(user(), assistant({**call("a"), "signature": "U0c="}), result("a"), protocol="gemini.interactions")
    body, _ = lossy(record, "gemini.generate_content")
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == "U0c="


# Settings and tools


@pytest.mark.parametrize(
    ("target", "key", "written"),
    [
        ("openai.chat", "tool_choice", {"type": "function", "function": {"name": "f"}}),
        ("openai.responses", "tool_choice", {"type": "function", "name": "f"}),
        ("anthropic.messages", "tool_choice", {"type": "tool", "name": "f"}),
        (
            "gemini.generate_content",
            "toolConfig",
            {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        ),
        (
            "gemini.interactions",
            "generation_config",
            {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}}},
        ),
    ],
)
def test_one_forced_tool_in_every_form(target: str, key: str, written: Any) -> None:
    source = "anthropic.messages" if target == "openai.chat" else "openai.chat"
    choice = {"mode": "tool", "name": "f", "kind": "function"}
    body, _ = lossy(request(protocol=source, tools=[{"name": "f", "kind": "function"}], tool_choice=choice), target)
    assert body[key] == written


def test_allowed_tools_become_what_the_target_can_say() -> None:
    tools = [{"name": name, "kind": "function"} for name in ("f", "g", "h")]
    choice = {"mode": "allowed", "allowed": ["f", "g"], "allowed_mode": "required"}
    record = request(tools=tools, tool_choice=choice)
    body, _ = lossy(record, "gemini.generate_content")
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
    body, made = lossy(record, "anthropic.messages")
    assert body["tool_choice"] == {"type": "any"}
    assert codes(made)["tool_choice.allowed"] == "tool_choice"


def test_strict_has_other_defaults_in_responses() -> None:
    tool = {"name": "f", "kind": "function", "parameters": '{"type":"object"}'}
    body, _ = lossy(request(tools=[tool]), "openai.responses")
    assert body["tools"][0]["strict"] is False
    body, _ = lossy(request(tools=[tool], protocol="openai.responses"), "openai.chat")
    assert body["tools"][0]["function"]["strict"] is True


def test_googles_schema_becomes_json_schema() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True, "maxLength": "5"}}}
    tool = {"name": "f", "kind": "function", "parameters": dumps(schema)}
    body, made = lossy(request(tools=[tool], protocol="gemini.generate_content"), "anthropic.messages")
    assert body["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "maxLength": 5}},
    }
    assert codes(made)["tools[0].parameters"] == "value_renamed"


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("openai.responses", {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}),
        ("anthropic.messages", {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}),
        (
            "gemini.generate_content",
            {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}},
        ),
        (
            "gemini.interactions",
            {"response_format": {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}},
        ),
    ],
)
def test_a_schema_for_the_answer_in_every_form(target: str, written: dict[str, Any]) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    body, _ = lossy(request(parameters={"response_format": dumps(wanted)}), target)
    assert body.items() >= written.items()


def test_built_in_tools_are_the_same_only_within_google() -> None:
    tools = [{"name": "googleSearch", "kind": "search", "wire_type": "googleSearch"}]
    body, _ = lossy(request(tools=tools, protocol="gemini.generate_content"), "gemini.interactions")
    assert body["tools"] == [{"type": "google_search"}]
    body, made = lossy(request(tools=tools, protocol="gemini.generate_content"), "openai.responses")
    assert "tools" not in body
    assert codes(made)["tools[0]"] == "builtin_tool"


# Outcomes


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("stop", ("stop", "completed", "end_turn", "STOP", "completed")),
        ("length", ("length", "incomplete", "max_tokens", "MAX_TOKENS", "incomplete")),
        ("content_filter", ("content_filter", "incomplete", "refusal", "SAFETY", "incomplete")),
    ],
)
def test_how_a_response_ended_in_every_protocol(reason: str, words: tuple[str, ...]) -> None:
    record = response(text("a"), protocol="gemini.live", finish_reason=reason)
    chat, responses, anthropic, gemini, interactions = (
        lossy(record, target)[0]
        for target in (
            "openai.chat",
            "openai.responses",
            "anthropic.messages",
            "gemini.generate_content",
            "gemini.interactions",
        )
    )
    found = (
        chat["choices"][0]["finish_reason"],
        responses["status"],
        anthropic["stop_reason"],
        gemini["candidates"][0]["finishReason"],
        interactions["status"],
    )
    assert found == words


def test_the_arithmetic_of_usage_in_every_protocol() -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_tokens": 60,
        "cache_write_tokens": 10,
        "output_tokens": 50,
        "reasoning_tokens": 20,
        "total_tokens": 150,
    }
    record = response(text("a"), protocol="gemini.live", usage=usage)
    chat = lossy(record, "openai.chat")[0]["usage"]
    assert (chat["prompt_tokens"], chat["completion_tokens"], chat["total_tokens"]) == (100, 50, 150)
    assert lossy(record, "openai.responses")[0]["usage"]["input_tokens_details"]["cached_tokens"] == 60
    assert lossy(record, "anthropic.messages")[0]["usage"]["input_tokens"] == 30
    gemini = lossy(record, "gemini.generate_content")[0]["usageMetadata"]
    assert (gemini["candidatesTokenCount"], gemini["thoughtsTokenCount"], gemini["totalTokenCount"]) == (30, 20, 150)
    assert lossy(record, "gemini.interactions")[0]["usage"]["total_output_tokens"] == 30


def test_an_error_has_the_targets_own_type() -> None:
    error = {"type": "rate_limit_error", "message": "slow down", "http_status": 429}
    head = {"record_type": "response", "protocol": "anthropic.messages", "call_id": "c"}
    record = {**head, "status": "failed", "error": error}
    chat = lossy(record, "openai.chat")[0]["error"]
    assert (chat["code"], chat["message"]) == ("rate_limit_exceeded", "slow down")
    gemini = lossy(record, "gemini.generate_content")[0]["error"]
    assert (gemini["code"], gemini["status"]) == (429, "RESOURCE_EXHAUSTED")
    back = lossy({**record, "protocol": "openai.chat", "error": {**error, "type": "requests"}}, "anthropic.messages")[0]
    assert back["error"]["type"] == "rate_limit_error"


def test_only_the_first_of_several_answers_where_there_is_one() -> None:
    record = response(text("one"))
    record["messages"].append({**assistant(text("two")), "choice_index": 1})
    body, made = lossy(record, "anthropic.messages")
    assert [block["text"] for block in body["content"]] == ["one"]
    assert codes(made)["messages[1]"] == "choices"
    assert len(lossy({**record, "protocol": "gemini.generate_content"}, "openai.chat")[0]["choices"]) == 2


# Policies, dialects, the same protocol


def test_the_same_protocol_is_written_as_it_is_with_no_losses() -> None:
    record = request(user(), metadata='{"a":1}', extras='{"odd":[1]}', wire='{"null":["stop"]}')
    made = convert(record, "openai.chat")
    assert made.losses == ()
    assert made.body == {
        "model": "m",
        "metadata": {"a": 1},
        "stop": None,
        "odd": [1],
        "messages": [{"role": "user", "content": "q"}],
    }


def test_a_dialect_takes_back_reasoning_and_cache_breakpoints() -> None:
    record = request(
        user({**text("q"), "cache_control": '{"type":"ephemeral"}'}),
        assistant(reasoning(text="hm", signature="S"), call("a")),
        result("a"),
        protocol="anthropic.messages",
    )
    record["messages"][2]["parts"][0]["cache_control"] = '{"type":"ephemeral"}'
    body, _ = lossy(record, "openai.chat", provider="openrouter")
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][1]["reasoning"] == "hm"
    assert body["messages"][2]["content"] == [{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}]
    body, made = lossy(record, "openai.chat", provider="deepseek")
    assert body["messages"][1]["reasoning_content"] == "hm"
    assert codes(made)["messages[0].parts[0].cache_control"] == "cache_hint"


def test_a_dialect_has_its_own_names_and_refusals() -> None:
    record = request(parameters={"max_output_tokens": 5, "seed": 7, "user": "u"}, protocol="gemini.interactions")
    body, made = lossy(record, "openai.chat", provider="mistral")
    assert (body["max_tokens"], body["random_seed"]) == (5, 7)
    assert codes(made)["parameters.user"] == "unsupported_parameter"


def test_the_record_is_not_changed() -> None:
    record = request(user(), assistant(reasoning(text="x"), call("a|b")), result("a|b"), protocol="anthropic.messages")
    before = dumps(record)
    lossy(record, "openai.chat")
    assert dumps(record) == before
