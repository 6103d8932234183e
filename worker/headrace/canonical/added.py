"""What Headrace itself adds to a response: facts of HTTP and of the transport that no body said.

They stand in named fields, for readers. They are marked (``wire``), so that writing the record back takes nothing
of it for the provider's word: `without` gives the record as the body said it.
"""

from __future__ import annotations

from typing import Any

from headrace.canonical.fields import spelling
from headrace.canonical.shape import CanonicalRecord
from headrace.json_text import dumps

#: Marks in ``wire``: of an error the fields that were added, of a record the status that was replaced.
_FIELDS, _STATUS = "added", "said_status"
#: Never on a wire under this name: codecs derive it. Marked only where the whole error was added.
_NEEDS_NO_MARK = "http_status"


def add_error(record: CanonicalRecord, **fields: Any) -> None:
    """Add fields to the record's error; what the body said stays."""
    was_said = "error" in record
    error: Any = record.setdefault("error", {})
    new = {name: value for name, value in fields.items() if value is not None and name not in error}
    error.update(new)
    marked = new.keys() - {_NEEDS_NO_MARK} if was_said else new.keys()
    if marked:
        spelled = spelling(error)
        error["wire"] = dumps({**spelled, _FIELDS: sorted({*spelled.get(_FIELDS, ()), *marked})})


def fail(record: CanonicalRecord) -> None:
    """Set the status to failed; the status that the body said is remembered."""
    said = record.get("status")
    record["status"] = "failed"
    if said is not None and said != "failed":
        record["wire"] = dumps({**spelling(record), _STATUS: said})


def without(record: CanonicalRecord) -> CanonicalRecord:
    """The record as its body said it: the same one where nothing was added."""
    spelled = spelling(record) if _STATUS in record.get("wire", "") else {}
    if _STATUS in spelled:
        record = _spelled_less({**record, "status": spelled[_STATUS]}, spelled, _STATUS)
    error: Any = record.get("error")
    if error is None:
        return record
    marks = spelling(error)
    added = {*marks.get(_FIELDS, ()), _NEEDS_NO_MARK} & error.keys()
    if not added:
        return record
    kept = _spelled_less({name: value for name, value in error.items() if name not in added}, marks, _FIELDS)
    rest: Any = {**record, "error": kept}
    if not kept and _FIELDS in marks:
        del rest["error"]
    return rest  # type: ignore[no-any-return]


def _spelled_less(shape: Any, spelled: dict[str, Any], mark: str) -> Any:
    """The shape whose ``wire`` has lost a mark."""
    left = {name: value for name, value in spelled.items() if name != mark}
    if left:
        shape["wire"] = dumps(left)
    else:
        shape.pop("wire", None)
    return shape
