"""Configuration: one file, environment variables and flags, in rising order of precedence.

    headrace.yaml  <  HEADRACE_KAFKA__GROUP=…  <  --set kafka.group=…

The three names that every platform already sets work too: KAFKA_BOOTSTRAP_SERVERS, REDIS_URL and
SCHEMA_REGISTRY_URL. `headrace config show` prints the effective settings, secrets hidden.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import yaml
from aiokafka.helpers import create_ssl_context
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from headrace.errors import SettingsError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(_Section):
    """How to reach Kafka, and how the worker reads and writes."""

    bootstrap_servers: str = Field("localhost:9092", description="Comma-separated host:port list.")
    group: str = Field("headrace", description="Consumer group of the workers.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="As in Kafka clients."
    )
    sasl_mechanism: str | None = Field(None, description="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.")
    sasl_username: str | None = Field(None, description="SASL user name.")
    sasl_password: SecretStr | None = Field(None, description="SASL password.")
    ssl_cafile: str | None = Field(None, description="CA certificates, PEM file.")
    ssl_certfile: str | None = Field(None, description="Client certificate, PEM file.")
    ssl_keyfile: str | None = Field(None, description="Client key, PEM file.")
    batch_messages: int = Field(20_000, ge=1, description="Most messages of one batch.")
    batch_wait_ms: int = Field(200, ge=1, description="Longest wait for a batch, milliseconds.")
    fetch_max_bytes: int = Field(50 << 20, ge=1 << 16, description="Bytes a fetch may bring; bounds a batch's memory.")
    max_message_bytes: int = Field(16 << 20, ge=1 << 10, description="Largest message that is produced.")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field("zstd", description="Of produced messages.")
    session_timeout_ms: int = Field(30_000, ge=1000, description="As in Kafka clients.")
    start: Literal["earliest", "latest"] = Field("earliest", description="Where a new group starts.")

    def client(self) -> dict[str, Any]:
        """Connection options for any aiokafka client; raises SettingsError when a certificate cannot be read."""
        options: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": self.security_protocol,
        }
        if "SSL" in self.security_protocol:
            options["ssl_context"] = self._tls()
        if self.sasl_mechanism:
            password = self.sasl_password.get_secret_value() if self.sasl_password else None
            options |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": password,
            }
        return options

    def _tls(self) -> ssl.SSLContext:
        try:
            context: ssl.SSLContext = create_ssl_context(
                cafile=self.ssl_cafile, certfile=self.ssl_certfile, keyfile=self.ssl_keyfile
            )
            return context
        except OSError as error:
            raise SettingsError(
                f"cannot read the certificates: {error}", place="kafka.ssl_*", fix="check the paths and the PEM files"
            ) from None


class TopicSettings(_Section):
    """Names of topics."""

    requests: str = Field("llm.raw.requests", description="Raw requests.")
    responses: str = Field("llm.raw.responses", description="Raw whole responses.")
    chunks: str = Field("llm.raw.chunks", description="Raw stream pieces and the captures that end a stream.")
    more: list[str] = Field([], description="Further topics with raw captures of any kind.")
    canonical: str = Field("llm.canonical", description="Canonical records.")
    dead_letters: str = Field("llm.dead-letters", description="Dead letters.")
    mappings: dict[str, str] = Field(
        {}, description="Raw topic -> source mapping: a name under topics/mappings, or the path of a YAML file."
    )

    @property
    def raw(self) -> list[str]:
        """All topics with raw captures, each once."""
        return list(dict.fromkeys([self.requests, self.responses, self.chunks, *self.more]))


class StateSettings(_Section):
    """Working memory of open calls, and how long a call may be silent."""

    redis_url: SecretStr | None = Field(
        None, description="redis:// or rediss:// URL. Without one the worker keeps state in its own memory."
    )
    prefix: str = Field("headrace", description="Prefix of all Redis keys.")
    timeout_seconds: float = Field(
        5.0, gt=0, description="Longest wait for one trip to Redis, and as long again for each thousand commands in it."
    )
    idle_seconds: float = Field(120.0, gt=0, description="A stream this long silent (stream time) is incomplete.")
    grace_seconds: float = Field(5.0, gt=0, description="Wait for trailers after a sign of the end (stream time).")
    open_ttl_seconds: int = Field(86_400, ge=60, description="Redis forgets an open call after this.")
    tombstone_ttl_seconds: int = Field(86_400, ge=60, description="How long a late duplicate is recognized.")
    rebuild_seconds: float = Field(
        3600.0,
        gt=0,
        description="When Redis lost its memory, open calls are read again from this far back (stream time): longer "
        "than any stream lives, and than duplicates take to come.",
    )


class ClaimCheckSettings(_Section):
    """Where values go that are too large for a message."""

    url: str | None = Field(
        None, description="A folder or any URL fsspec knows (s3://…). Without one, such records are dead letters."
    )


class RegistrySettings(_Section):
    """Schema registry. With a URL values are Confluent wire format, without one Avro single-object encoding."""

    url: str | None = Field(None, description="Base URL of a Confluent-compatible registry.")
    username: str | None = Field(None, description="Basic auth user.")
    password: SecretStr | None = Field(None, description="Basic auth password.")


class ReserializeSettings(_Section):
    """One protocol in which the worker writes every canonical record."""

    protocol: str = Field(description="Protocol to write, for instance openai.chat.")
    provider: str | None = Field(None, description="Dialect of the protocol.")
    policy: Literal["strict", "lossy"] = Field("lossy", description="strict refuses any loss of meaning.")
    stream: bool = Field(False, description="Responses as the events they would be streamed as.")
    topic: str = Field("", description="Where results go. Default: llm.reserialized.PROTOCOL.")


class WebSettings(_Section):
    """Metrics and health."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(6066, ge=1, le=65535, description="Port to listen on.")


class LogSettings(_Section):
    """Logging to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is written.")
    format: Literal["console", "json"] = Field("console", description="For people or for machines.")


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix="HEADRACE_", env_nested_delimiter="__", extra="forbid", frozen=True, populate_by_name=True
    )

    kafka: KafkaSettings = KafkaSettings()
    topics: TopicSettings = TopicSettings()
    state: StateSettings = StateSettings()
    claim_check: ClaimCheckSettings = ClaimCheckSettings()
    registry: RegistrySettings = RegistrySettings()
    reserialize: list[ReserializeSettings] = Field([], description="Protocols to write canonical records in.")
    web: WebSettings = WebSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load` has merged: file, environment and flags in its order."""
        return (init_settings,)


#: Environment variables that platforms set for every service -> setting.
COMMON_ENVIRONMENT = {
    "KAFKA_BOOTSTRAP_SERVERS": "kafka.bootstrap_servers",
    "REDIS_URL": "state.redis_url",
    "SCHEMA_REGISTRY_URL": "registry.url",
}


def load(file: Path | None = None, overrides: Mapping[str, str] | None = None) -> Settings:
    """The effective settings; raises SettingsError with the setting's name and what is wrong.

    file: YAML; None reads ``headrace.yaml`` in the current folder when it is there. overrides: dotted setting ->
    YAML text, as ``--set`` gives them.
    """
    common = {name: os.environ[variable] for variable, name in COMMON_ENVIRONMENT.items() if os.environ.get(variable)}
    flags = {name: yaml.safe_load(text) for name, text in (overrides or {}).items()}
    merged: dict[str, Any] = {}
    for layer in (_read_file(file), _nested(common), EnvSettingsSource(Settings)(), _nested(flags)):
        _lay_over(merged, layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(
            first["msg"],
            place=".".join(str(step) for step in first["loc"]),
            fix="see docs/configuration.md for the settings and their values",
        ) from None


def _read_file(file: Path | None) -> dict[str, Any]:
    path = file or Path("headrace.yaml")
    if file is None and not path.exists():
        return {}
    try:
        read = yaml.safe_load(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read it: {error.strerror}", place=str(path), fix="check the path") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"it is no YAML: {error}", place=str(path), fix="correct the file") from None
    if not isinstance(read or {}, dict):
        raise SettingsError("it holds no mapping of settings", place=str(path), fix="write `kafka: …` and so on")
    return read or {}


def _nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """{"a.b": 1} -> {"a": {"b": 1}}."""
    nested: dict[str, Any] = {}
    for name, value in dotted.items():
        *sections, leaf = name.split(".")
        section = nested
        for step in sections:
            section = section.setdefault(step, {})
        section[leaf] = value
    return nested


def _lay_over(base: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), dict) and name != "mappings":
            _lay_over(base[name], value)
        else:
            base[name] = dict(value) if isinstance(value, Mapping) else value


def shown(settings: Settings) -> dict[str, Any]:
    """The settings as plain values with secrets hidden, for `config show` and logs."""
    values: dict[str, Any] = settings.model_dump(mode="json")
    redis_url = settings.state.redis_url
    if redis_url is not None:
        values["state"]["redis_url"] = _without_password(redis_url.get_secret_value())
    return values


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:**********@{host}"))
