"""Many deltas of one choice at once: those that add to one text, or to the arguments of calls (see `stretches`)."""

from __future__ import annotations

from headrace.json_text import Json
from headrace.protocols.openai_chat.choice_deltas import Choice
from headrace.protocols.openai_chat.reasoning import STRINGS
from headrace.protocols.stretches import Path, Stretch

_DELTA: Path = ("choices", 0, "delta")
_FRAGMENT: Path = (*_DELTA, "tool_calls", 0)
_INDEX: Path = (*_FRAGMENT, "index")
_ARGUMENTS: Path = (*_FRAGMENT, "function", "arguments")
_TOKEN: Path = (*_DELTA, "token_id")
_LEGACY: Path = ("choices", 0, "text")
_TEXTS = frozenset({"content", "refusal", *STRINGS})
#: Of these the first or the last value stays.
_SAID_ONCE = frozenset({"role", "name", "channel", "thought_signature", "prefix"})


def take_deltas(choice: Choice, stretch: Stretch, varying: set[Path], *, has_text: bool) -> bool:
    """Add the deltas of a stretch; False, with nothing done, where they do more than add to texts.

    varying: in what else but fields of the chunk its events differ. has_text: a legacy completion's text is beside the
    deltas. The choice has taken ``stretch.event``.
    """
    delta = stretch.event["choices"][0]["delta"]
    if not has_text:
        return _take_deltas(choice, stretch, delta, varying)
    if not _take_deltas(choice, stretch, delta, varying - {_LEGACY}):
        return False
    choice.take_more_texts(stretch.values(_LEGACY))
    return True


def _take_deltas(choice: Choice, stretch: Stretch, delta: dict[str, Json], varying: set[Path]) -> bool:
    if varying <= {_INDEX, _ARGUMENTS} and _is_piece(delta):
        return _take_arguments(choice, stretch, one_index=_INDEX not in varying)
    said = {key for key, value in delta.items() if (*_DELTA, key) in varying or not _says_nothing(key, value)}
    has_tokens = type(delta.get("token_id")) is int
    if has_tokens:
        said.discard("token_id")
    key = next(iter(said), "")
    if len(said) != 1 or key not in _TEXTS or type(delta[key]) is not str:
        return False
    if not varying <= ({(*_DELTA, key), _TOKEN} if has_tokens else {(*_DELTA, key)}):
        return False
    if not choice.take_texts(key, stretch.values((*_DELTA, key))):
        return False
    if has_tokens:
        choice.take_values("token_id", stretch.values(_TOKEN))
    return True


def _says_nothing(key: str, value: Json) -> bool:
    """Whether a delta's field adds nothing the second time."""
    if value is None or key in _SAID_ONCE:
        return True
    return (key in _TEXTS and value == "") or (key == "tool_calls" and value == [])


def _is_piece(delta: dict[str, Json]) -> bool:
    """Whether a delta is one fragment with an index and a piece of arguments, nothing else."""
    fragments = delta.get("tool_calls")
    if len(delta) != 1 or type(fragments) is not list or len(fragments) != 1 or type(fragments[0]) is not dict:
        return False
    fragment = fragments[0]
    function = fragment.get("function")
    return (
        fragment.keys() == {"index", "function"}
        and type(fragment["index"]) is int
        and type(function) is dict
        and function.keys() == {"arguments"}
        and type(function["arguments"]) is str
    )


def _take_arguments(choice: Choice, stretch: Stretch, *, one_index: bool) -> bool:
    calls, texts, indexes = choice.kept["tool_calls"], stretch.values(_ARGUMENTS), stretch.values(_INDEX)
    by_index: dict[int, list[str]] = {}
    if one_index:
        by_index[indexes[0]] = texts
    else:
        for index, text in zip(indexes, texts, strict=True):
            by_index.setdefault(index, []).append(text)
    if all(calls.has_room(index, pieces) for index, pieces in by_index.items()):
        for index, pieces in by_index.items():
            calls.add_pieces(index, pieces)
        return True
    for index, text in zip(indexes, texts, strict=True):
        choice.take_delta({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    return True
