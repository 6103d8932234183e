"""Our folded bodies and what the official SDKs' accumulators make of the same streams, in one table.

Google's SDKs have no accumulator that works on plain events; those protocols are held against their types elsewhere.
"""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

from headrace.protocols import codec
from tests.conformance.test_openai_chat import SDK_DIFFERENCES as CHAT_DIFFERENCES
from tests.conformance.test_pipeline_corpus import exchanges_of
from tests.support import traffic
from tests.support.natural import accumulate, differences

#: Protocol -> places where the SDK gives something else; the reasons stand beside the chat table.
STATED: dict[str, frozenset[str]] = {
    "openai.chat": frozenset(path.removeprefix(".") for path in CHAT_DIFFERENCES),
    "openai.responses": frozenset(),
    "anthropic.messages": frozenset(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("protocol", STATED)
def test_folded_streams_equal_the_sdks_own(protocol: str) -> None:
    seen: Counter[str] = Counter()
    for exchange in exchanges_of(protocol):
        if not traffic.is_stream(exchange):
            continue
        seen["streams"] += 1
        events = traffic.events_of(exchange)
        folded = codec(protocol).fold(events)
        if len(folded) != 1:
            seen["several responses in one body, which the SDK merges"] += 1
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = accumulate(protocol, events)
        except (RuntimeError, TypeError):
            seen["refused by the SDK"] += 1
            continue
        places = {place for place, _, _ in differences(folded[0].body, theirs)}
        assert places <= STATED[protocol], (exchange["id"], places - STATED[protocol])
        seen["equal but for what is stated" if places else "equal"] += 1
    print(protocol, dict(seen))
    assert seen["equal"]
