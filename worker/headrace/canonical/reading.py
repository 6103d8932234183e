"""What a codec knows of the record it is reading, and what it has to report besides the shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from headrace.canonical import ids
from headrace.canonical.shape import UnknownType

#: A type's name is a label; what is longer is content in the wrong place.
_LONGEST_NAME = 120


@dataclass(slots=True)
class Reading:
    """One reading of one body. Passed to ``read_request`` and ``read_response``.

    call_id, tenant, record_type ("request" | "response") and ordinal are the coordinates ids derive from.
    """

    call_id: str
    record_type: str
    tenant: str | None = None
    ordinal: int = 0
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)

    def unknown_type(self, kind: str, type_name: object) -> None:
        """Count a wire type that the model does not know; its JSON must be kept raw by the caller."""
        name = type_name if isinstance(type_name, str) and type_name else "(none)"
        if len(name) > _LONGEST_NAME:
            name = name[:_LONGEST_NAME] + "…"
        # Half of a surrogate pair is JSON text, but nothing that Avro or a metric's label can hold.
        self.unknown[kind, name.encode("utf-8", "backslashreplace").decode()] += 1

    def tool_call_id(self, *position: int) -> str:
        """Stable id for a tool call without one on the wire, from its message and part positions."""
        return ids.tool_call_id(self.tenant, self.call_id, self.record_type, self.ordinal, *position)

    def unknown_types(self) -> list[UnknownType]:
        """The counts, sorted, as the record carries them."""
        return [{"kind": kind, "type": name, "count": count} for (kind, name), count in sorted(self.unknown.items())]
