"""The contract files: Avro schemas, topic manifests and source mappings.

They lie at the root of a checkout, because other languages read them too, and inside the package in a wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from headrace.errors import SettingsError
from headrace.json_text import Json, loads

Part = Literal["schemas", "topics"]

_PACKAGE = Path(__file__).resolve().parent


def contract_path(part: Part) -> Path:
    """The folder ``schemas`` or ``topics``; raises SettingsError (`no_contract`) when the installation lacks it."""
    places = (_PACKAGE / "_contract" / part, _PACKAGE.parents[1] / part)
    for place in places:
        if place.is_dir():
            return place
    raise SettingsError(
        f"the installation has no {part} folder",
        code="no_contract",
        place=str(places[0]),
        fix="install the headrace wheel, or run from a whole checkout",
    )


def all_schemas() -> Iterator[tuple[str, Json]]:
    """Every Avro schema ever released and every current one, as (name, schema): released ones first."""
    folder = contract_path("schemas")
    for path in sorted(folder.glob("released/*/*.avsc")):
        yield path.parent.name, loads(path.read_bytes())
    for path in sorted(folder.glob("*.avsc")):
        yield path.stem, loads(path.read_bytes())


def mapping_text(name: str) -> str:
    """YAML of a source mapping: one that ships, by its name, or a file of one's own, by its path.

    Raises SettingsError (`no_mapping`) naming the mappings that ship.
    """
    shipped = {path.stem: path for path in sorted((contract_path("topics") / "mappings").glob("*.yaml"))}
    path = shipped.get(name) or Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            f"cannot read the source mapping {name!r}: {reason}",
            code="no_mapping",
            place=str(path),
            fix=f"give the path of a YAML file, or one of: {', '.join(shipped)}",
        ) from None
