"""Lines of a message batch: a request or a response in an envelope that names it.

    {"custom_id": "a", "params": <request body>}
    {"custom_id": "a", "result": {"type": "succeeded", "message": <response body>}}
    {"custom_id": "a", "result": {"type": "errored", "error": <error body>}}
    {"custom_id": "a", "result": {"type": "canceled" | "expired"}}

The record is that of the body inside; the rest of the envelope is the record's ``metadata``.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.canonical.fields import spelling
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import Json, dumps, loads

#: Result type -> (status, status_reason) where there is no body inside.
_ENDINGS = {"canceled": ("cancelled", "canceled"), "expired": ("failed", "expired")}

Read = Callable[[dict[str, Json]], CanonicalRecord]
Write = Callable[[CanonicalRecord], dict[str, Json]]


def is_request(body: Json) -> bool:
    """Whether the body is a request in its envelope."""
    return type(body) is dict and "custom_id" in body and type(body.get("params")) is dict


def is_result(body: Json) -> bool:
    """Whether the body is a result in its envelope."""
    return type(body) is dict and "custom_id" in body and type(body.get("result")) is dict


def wrap(body: dict[str, Json], read: Read) -> CanonicalRecord:
    """The record of the body inside an envelope."""
    path = _path(body)
    envelope, inner = _split(body, path)
    if inner is None:
        ending = body["result"].get("type")
        status, reason = _ENDINGS.get(ending if type(ending) is str else "", ("incomplete", "no_result"))
        record: CanonicalRecord = {"status": status, "status_reason": reason}
    else:
        record = read(inner)
    record["metadata"] = dumps(envelope)
    record["wire"] = dumps({**spelling(record), "envelope": path})
    return record


def is_wrapped(record: CanonicalRecord) -> bool:
    """Whether the record came in an envelope."""
    return "metadata" in record and "envelope" in spelling(record)


def unwrap(record: CanonicalRecord, write: Write) -> dict[str, Json]:
    """The envelope with the body written back into it."""
    spelled = spelling(record)
    path = spelled.pop("envelope")
    envelope: dict[str, Json] = loads(record["metadata"])
    if not path:
        return envelope
    inner: CanonicalRecord = {**record}
    del inner["metadata"], inner["wire"]
    if spelled:
        inner["wire"] = dumps(spelled)
    *parents, leaf = path
    target = envelope
    for parent in parents:
        target = target[parent]
    target[leaf] = write(inner)
    return envelope


def _path(body: dict[str, Json]) -> list[str]:
    """Where the body stands in the envelope; [] where there is none."""
    if is_request(body):
        return ["params"]
    return next((["result", key] for key in ("message", "error") if type(body["result"].get(key)) is dict), [])


def _split(body: dict[str, Json], path: list[str]) -> tuple[dict[str, Json], dict[str, Json] | None]:
    if not path:
        return body, None
    if path == ["params"]:
        return {key: value for key, value in body.items() if key != "params"}, body["params"]
    result = body["result"]
    rest = {key: value for key, value in result.items() if key != path[-1]}
    return {**body, "result": rest}, result[path[-1]]
