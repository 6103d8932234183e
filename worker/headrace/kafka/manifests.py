"""Topic manifests: what each topic of the contract is, and how it should be set up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from headrace.contract import contract_path
from headrace.errors import SettingsError

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeyForm(_Described):
    """What the message keys are."""

    form: Literal["utf-8"] = Field(description="Encoding of the key.")
    doc: str = Field(min_length=1, description="What the key says.")


class ValueForm(_Described):
    """What the message values are."""

    schema_name: str = Field(alias="schema", min_length=1, description="Name of a schema in schemas/.")
    forms: list[Literal["avro", "json", "headers"]] = Field(min_length=1, description="Forms a value may have.")


class TopicManifest(_Described):
    """One topic as the contract wants it."""

    name: str = Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$", description="Name of the topic.")
    doc: str = Field(min_length=1, description="What it holds and who reads it.")
    key: KeyForm
    value: ValueForm
    partitions: int = Field(ge=1, description="Least number of partitions.")
    retention: str = Field("forever", description="How long messages stay: 90m, 12h, 7d … or forever.")
    cleanup: Literal["delete", "compact", "compact,delete"] = Field(description="cleanup.policy.")
    config: dict[str, str] = Field({}, description="Further topic configuration, by Kafka's names.")

    @field_validator("config", mode="before")
    @classmethod
    def _as_text(cls, config: Mapping[str, Any]) -> dict[str, str]:
        """Kafka's configuration is text: 1048576 -> "1048576", true -> "true"."""
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in config.items()}

    @field_validator("retention")
    @classmethod
    def _is_duration(cls, retention: str) -> str:
        milliseconds(retention)
        return retention

    def kafka_config(self) -> dict[str, str]:
        """The configuration of the topic, by Kafka's names."""
        config: dict[str, str] = {"cleanup.policy": self.cleanup}
        if "delete" in self.cleanup:
            config["retention.ms"] = str(milliseconds(self.retention))
        return config | self.config


def milliseconds(duration: str) -> int:
    """90m, 12h, 7d … in milliseconds, forever as -1; raises ValueError."""
    if duration == "forever":
        return -1
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", duration)
    if found is None:
        raise ValueError(f"{duration!r} is no duration: write 90m, 12h, 7d or forever")
    return int(found[1]) * _UNITS[found[2]]


def load_manifests(folder: Path | None = None, names: Mapping[str, str] | None = None) -> list[TopicManifest]:
    """The manifests of a folder (default: those that ship), templates expanded, sorted by name.

    names: manifest name -> the name that topic has in this installation. Raises SettingsError (`bad_manifest`).
    """
    manifests = [
        manifest for path in sorted((folder or contract_path("topics")).glob("*.yaml")) for manifest in _load(path)
    ]
    renamed = [one.model_copy(update={"name": (names or {}).get(one.name, one.name)}) for one in manifests]
    return sorted(renamed, key=lambda manifest: manifest.name)


def _load(path: Path) -> list[TopicManifest]:
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        return [TopicManifest.model_validate(one) for one in _expanded(read)]
    except (yaml.YAMLError, ValidationError, OSError, TypeError, AttributeError) as error:
        raise SettingsError(
            str(error), code="bad_manifest", place=str(path), fix="write it like the manifests that ship"
        ) from None


def _expanded(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """``for_each: {x: [a, b]}`` makes one manifest of each value, with ``{x}`` filled in in name and doc."""
    made = [manifest]
    for variable, values in manifest.pop("for_each", {}).items():
        made = [_filled(one, "{" + variable + "}", value) for one in made for value in values]
    return made


def _filled(manifest: dict[str, Any], mark: str, value: str) -> dict[str, Any]:
    return manifest | {name: manifest[name].replace(mark, value) for name in ("name", "doc")}
