"""Messages: a role and content that is a string or a list of blocks. `system` is one, placed first.

System messages that open the record stand at `system` on the wire; one that opens the wire's own list of messages
says so (``wire``: {"at": "messages"}).
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.canonical.fields import NAME, Field, Leftover, Table, is_text, listed, spelling
from headrace.canonical.reading import Reading
from headrace.canonical.shape import Message
from headrace.json_text import Json, dumps, loads
from headrace.protocols.anthropic_messages.blocks import read_blocks, write_block

_MESSAGE = Table(Field("role", "role", NAME))
_STRING = dumps({"content": "string"})
#: Roles of other protocols -> the wire's. Results of tools stand in user messages here.
_ROLES = {"tool": "user", "developer": "system"}


def read_message(value: Json, reading: Reading, position: int, streamed: Mapping[int, str] | None = None) -> Message:
    """One message; what is no object is kept raw as its one part."""
    if type(value) is not dict:
        reading.unknown_type("message", None)
        return {"parts": [{"type": "unknown", "raw": dumps(value)}], "wire": dumps({"value": True})}
    content: Json = value.get("content")
    role: Json = value.get("role")
    if len(value) == 2 and role and type(role) is str and (role.isascii() or is_text(role)) and role not in _ROLES:
        if type(content) is list and content:
            return {"role": role, "parts": read_blocks(content, reading, position, streamed)}
        if type(content) is str and (content.isascii() or is_text(content)):
            return {"role": role, "parts": [{"type": "text", "text": content}], "wire": _STRING}
    message: Message = {}
    left = _MESSAGE.read(value, message, skip=("content",))
    if message.get("role") in _ROLES:
        left.wire["role"] = "kept"
    _read_content(value, message, left, reading, position, streamed)
    left.store(message)
    return message


def read_system(body: dict[str, Json], left: Leftover, reading: Reading) -> list[Message]:
    """`system` as a message; [] where it holds nothing to read."""
    content = body.get("system")
    if type(content) is not list and not is_text(content):
        listed(body, "system", left)
        return []
    message: Message = {"role": "system"}
    spelled = Leftover()
    _read_content({"content": content}, message, spelled, reading, 0, None)
    spelled.store(message)
    return [message]


def _read_content(
    value: dict[str, Json],
    message: Message,
    left: Leftover,
    reading: Reading,
    position: int,
    streamed: Mapping[int, str] | None,
) -> None:
    content: Json = value.get("content")
    if is_text(content):
        message["parts"] = [{"type": "text", "text": content}]
        left.wire["content"] = "string"
        return
    blocks = listed(value, "content", left)
    if blocks:
        message["parts"] = read_blocks(blocks, reading, position, streamed)


def mark_opening(messages: list[Message]) -> None:
    """Say of system messages that open the wire's list that they stand there."""
    for message in messages:
        if not is_system(message):
            break
        message["wire"] = dumps({**spelling(message), "at": "messages"})


def is_system(message: Message) -> bool:
    """Whether a message that opens the record stands at `system` on the wire, not among the messages."""
    return message.get("role") in ("system", "developer") and spelling(message).get("at") != "messages"


def write_message(message: Message) -> Json:
    """The inverse of `read_message`."""
    parts = message.get("parts") or []
    if len(message) == 2 and parts and message.get("role") and message["role"] not in _ROLES:
        return {"role": message["role"], "content": [write_block(part) for part in parts]}
    spelled = spelling(message)
    if spelled.get("value"):
        return loads(parts[0].get("raw", "null")) if parts else None
    body = _MESSAGE.write(message, spelled)
    if "role" not in spelled and message.get("role") in _ROLES:
        body["role"] = _ROLES[message["role"]]
    if parts:
        body["content"] = (
            parts[0].get("text", "") if spelled.get("content") == "string" else [write_block(part) for part in parts]
        )
    return body


def write_system(messages: list[Message]) -> Json:
    """What stands at `system` for messages that `is_system`; None for nothing."""
    written = [write_message({**message, "role": ""}) for message in messages]
    contents = [body["content"] for body in written if "content" in body]
    if len(contents) < 2:
        return contents[0] if contents else None
    texts = ([{"type": "text", "text": content}] if type(content) is str else content for content in contents)
    return [block for content in texts for block in content]
