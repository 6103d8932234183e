"""The members of a body under which secrets may stand, as msgspec finds them.

Only the shape: `secret_fields` says what each holds; it is compiled where this, a msgspec schema, cannot be.
"""

from __future__ import annotations

import msgspec

ABSENT = msgspec.Raw(b"")


class Settings(msgspec.Struct, gc=False):
    """The members of a body under which secrets may stand, as raw bytes: reading only these costs no parse."""

    tools: msgspec.Raw = ABSENT
    mcp_servers: msgspec.Raw = ABSENT
    environment: msgspec.Raw = ABSENT
    data_sources: msgspec.Raw = ABSENT
    dataSources: msgspec.Raw = ABSENT  # noqa: N815 - the wire's name
    response: msgspec.Raw = ABSENT
    interaction: msgspec.Raw = ABSENT
    setup: msgspec.Raw = ABSENT
    contextUpdate: msgspec.Raw = ABSENT  # noqa: N815 - the wire's name
    context_update: msgspec.Raw = ABSENT
    item: msgspec.Raw = ABSENT
    events: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT
    api_key: msgspec.Raw = ABSENT
    apiKey: msgspec.Raw = ABSENT  # noqa: N815 - the wire's name
    authorization: msgspec.Raw = ABSENT
    extra_headers: msgspec.Raw = ABSENT
    aws_secret_access_key: msgspec.Raw = ABSENT
    extra_body: msgspec.Raw = ABSENT
    litellm_params: msgspec.Raw = ABSENT
    proxy_server_request: msgspec.Raw = ABSENT
    webhook_config: msgspec.Raw = ABSENT
    metadata: msgspec.Raw = ABSENT
    litellm_metadata: msgspec.Raw = ABSENT


#: Reads a JSON object; raises msgspec's DecodeError for anything else.
settings_of = msgspec.json.Decoder(Settings).decode
MEMBERS = Settings.__struct_fields__
NO_SETTINGS = Settings()
