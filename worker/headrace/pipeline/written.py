"""How the events of open calls are written, remembered from batch to batch."""

from __future__ import annotations

from typing import Any, Final, final

from headrace.capture.event_shape import EventShape
from headrace.capture.inbound import Inbound
from headrace.reassembly.facts import CallFacts, Trait

#: Of so many calls it is remembered, so a worker does not grow with its open calls; and only where it is not large.
_MOST: Final = 1024
_LARGEST: Final = 8192
#: One that no batch of the last so many, of all partitions, had events of makes room for another.
_UNUSED_BATCHES: Final = 256


@final
class Written:
    """How events of one call, in one partition, are written, and what each of them says of the call.

    shape: reads them. trait: theirs. said: as `envelope.read_event` gives it. facts: what that amounts to.
    """

    __slots__ = ("_partition", "_topic", "facts", "said", "shape", "trait", "used")

    def __init__(self, shape: EventShape, trait: Trait, said: Any, facts: CallFacts) -> None:
        self.shape = shape
        self.trait = trait
        self._topic: str = trait.topic
        self._partition: int = trait.partition
        self.said = said
        self.facts = facts
        self.used = 0

    def is_of(self, message: Inbound) -> bool:
        """Whether a message lies in their partition."""
        return message.partition == self._partition and message.topic == self._topic


class OpenCalls:
    """What is remembered. Only a hint: without it, the first events of each batch are read in full."""

    def __init__(self) -> None:
        #: By what the messages begin with; the ones that were used last come last.
        self._written: dict[bytes, Written] = {}
        self._batch = 0

    def next_batch(self) -> None:
        """A batch begins."""
        self._batch += 1

    def find(self, start: bytes) -> Written | None:
        """How messages that begin so are written."""
        return self._written.get(start)

    def keep(self, written: Written) -> None:
        """Remember a call that is still open after a batch with such events."""
        start = written.shape.start
        if written.shape.size > _LARGEST:
            return
        if self._written.pop(start, None) is None and len(self._written) >= _MOST:
            eldest = next(iter(self._written))
            if self._batch - self._written[eldest].used <= _UNUSED_BATCHES:
                # As many calls are open at once. To drop one for another would help neither.
                return
            del self._written[eldest]
        written.used = self._batch
        self._written[start] = written

    def drop(self, written: Written) -> None:
        """Forget a call that is done."""
        self._written.pop(written.shape.start, None)
