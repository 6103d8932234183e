"""Natural form: records that did not come from the protocol's own reader, and what its official SDK says of them.

A record made by another protocol's reader, or by hand, has no ``wire`` (spelling), no ``extras`` (fields of one
protocol that the model does not name), no ``usage.raw`` and no ``continuation``. `natural` takes them out.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import anthropic.types.beta as anthropic_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import message_create_params
from google.genai import types as gemini_types
from google.genai._gaos.types import interactions as interactions_types
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteraction
from google.genai._gaos.types.interactions.interaction import Interaction
from openai._models import construct_type
from openai._types import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import TypeAdapter, ValidationError

#: What only the protocol's own reader puts into a record.
OWN_READER = frozenset({"wire", "extras", "continuation"})
_POSITION = re.compile(r"\.\d+(?=\.|$)")


def natural(shape: Any) -> Any:
    """A copy of a record, or of a piece of one, without what only the protocol's own reader knows."""
    if isinstance(shape, list):
        return [natural(one) for one in shape]
    if not isinstance(shape, dict):
        return shape
    kept = {key: natural(value) for key, value in shape.items() if key not in OWN_READER and value != []}
    if isinstance(shape.get("usage"), dict):
        kept["usage"].pop("raw", None)
    return kept


# Validation


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def _finish(value: Any) -> None:
    """Validate what is lazy: the SDKs' params use Iterable, which pydantic checks as it is walked."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _finish(inner)
    elif isinstance(value, list) or hasattr(value, "__next__"):
        for inner in value:
            _finish(inner)


def _as(annotation: Any) -> Callable[[Any], None]:
    return lambda body: _finish(_adapter(annotation).validate_python(body))


def _interaction_request(body: Any) -> None:
    model = CreateModelInteraction if "model" in body else interactions_types.CreateAgentInteraction
    model.model_validate(body)


_GEMINI_REQUEST = {
    "contents": list[gemini_types.Content],
    "systemInstruction": gemini_types.Content,
    "tools": list[gemini_types.Tool],
    "toolConfig": gemini_types.ToolConfig,
    "safetySettings": list[gemini_types.SafetySetting],
    "generationConfig": gemini_types.GenerationConfig,
    "cachedContent": str,
    "labels": dict[str, str],
}


def _fields(annotations: Mapping[str, Any]) -> Callable[[Any], None]:
    def check(body: Any) -> None:
        for name, annotation in annotations.items():
            if name in body:
                _adapter(annotation).validate_json(json.dumps(body[name]))

    return check


def _live_setup(body: Any) -> None:
    _adapter(gemini_types.LiveClientSetup).validate_json(json.dumps(body["setup"]))


_CHECKS: dict[tuple[str, str], Callable[[Any], None]] = {
    ("openai.chat", "request"): _as(completion_create_params.CompletionCreateParams),
    ("openai.chat", "response"): _as(chat_types.ChatCompletion),
    ("openai.responses", "request"): _as(response_create_params.ResponseCreateParams),
    ("openai.responses", "response"): _as(responses_types.Response),
    ("anthropic.messages", "request"): _as(message_create_params.MessageCreateParams),
    ("anthropic.messages", "response"): _as(anthropic_types.BetaMessage),
    ("gemini.generate_content", "request"): _fields(_GEMINI_REQUEST),
    ("gemini.generate_content", "response"): lambda body: _finish(
        _adapter(gemini_types.GenerateContentResponse).validate_json(json.dumps(body))
    ),
    ("gemini.interactions", "request"): _interaction_request,
    ("gemini.interactions", "response"): _as(Interaction),
    ("gemini.live", "request"): _fields({"setup": gemini_types.LiveClientSetup}),
}


def faults(protocol: str, kind: str, body: Any) -> set[str]:
    """What the official SDK's types say is wrong with a body, as "place: what" without list positions."""
    try:
        _CHECKS[protocol, kind](body)
    except ValidationError as error:
        found = [(one["loc"], one["type"]) for one in error.errors(include_url=False, include_input=False)]
        return {f"{_POSITION.sub('', '.' + '.'.join(map(str, loc)))}: {what}" for loc, what in _meant(found)}
    return set()


def _meant(found: list[tuple[tuple[int | str, ...], str]]) -> list[tuple[tuple[int | str, ...], str]]:
    """The errors of the union members that the body means: not those whose ``type`` or ``role`` is another."""
    others = [loc[:-1] for loc, what in found if what == "literal_error" and loc[-1] in ("type", "role")]
    meant = [(loc, what) for loc, what in found if not any(loc[: len(other)] == other for other in others)]
    return meant or found


# Accumulation


def accumulate(protocol: str, events: Sequence[Any]) -> Any:
    """What the protocol's official SDK makes of a stream of events, as JSON."""
    return _ACCUMULATE[protocol]([event for event in events if not isinstance(event, str)])


def _accumulate_chat(events: Sequence[Any]) -> Any:
    state: Any = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(construct_type(type_=chat_types.ChatCompletionChunk, value=event))
    return state.current_completion_snapshot.to_dict(mode="json")


def _accumulate_responses(events: Sequence[Any]) -> Any:
    state: Any = ResponseStreamState(text_format=omit, input_tools=omit)
    for event in events:
        state.handle_event(construct_type(type_=responses_types.ResponseStreamEvent, value=event))
    return state._completed_response.to_dict(mode="json", exclude_unset=True, warnings=False)


def _accumulate_messages(events: Sequence[Any]) -> Any:
    message: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        message = accumulate_event(
            event=event, current_snapshot=message, json_bufs=buffers, request_headers=typing.cast(Any, {})
        )
    return message.to_dict(mode="json")


_ACCUMULATE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "openai.chat": _accumulate_chat,
    "openai.responses": _accumulate_responses,
    "anthropic.messages": _accumulate_messages,
}


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(place without list positions, ours, theirs) wherever two JSON values differ; what is absent is None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for our, their in zip(ours, theirs, strict=True):
            yield from differences(our, their, f"{path}[]")
    elif (ours != theirs or isinstance(ours, bool) != isinstance(theirs, bool)) and not _same_json(ours, theirs):
        yield path, ours, theirs


def _same_json(ours: Any, theirs: Any) -> bool:
    """Whether two JSON texts differ by the order of keys only."""
    try:
        return bool(json.loads(ours) == json.loads(theirs))
    except (TypeError, ValueError):
        return False
