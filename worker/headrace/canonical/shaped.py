"""What all classes of the model share: frozen, strict, and exact inverses of the sparse dicts in `shape`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headrace.errors import SchemaError
from headrace.json_text import Json, loads

#: Microseconds since the epoch.
Micros = Annotated[int, "timestamp-micros"]
#: A list of texts. Shapes hold lists, frozen classes tuples: only here the type may differ.
Texts = Annotated[tuple[str, ...], Field(strict=False)]


JsonProperty = cached_property[Json]


def lazy_json(field: str) -> JsonProperty:
    """Property that parses a field of JSON text when it is first asked for; None where the field is None."""

    def parse(self: Any) -> Json:
        text = getattr(self, field)
        return None if text is None else loads(text)

    return cached_property(parse)


class Shaped(BaseModel):
    """A frozen class of the model. An attribute that was never set has the schema's default."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    #: Fields that `to_shape` gives even when nobody set them: they tell what the shape is.
    always: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_shape(cls, shape: Mapping[str, Any]) -> Self:
        """Build from a sparse dict; raises SchemaError (`bad_shape`) that names the path and never the content."""
        try:
            return cls.model_validate(shape)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise SchemaError(
                str(first["msg"]),
                code="bad_shape",
                place=_path(first["loc"]),
                fix="read records with the version of Headrace that wrote them, or a later one",
            ) from None

    def to_shape(self) -> dict[str, Any]:
        """The sparse dict: what was set, without nulls and empty lists."""
        shape: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if (name in self.model_fields_set or name in self.always) and value is not None and value != ():
                shape[field.alias or name] = _to_shape(value)
        return shape


def _to_shape(value: Any) -> Any:
    if isinstance(value, Shaped):
        return value.to_shape()
    if isinstance(value, tuple):
        return [_to_shape(item) for item in value]
    return value


def _path(loc: tuple[int | str, ...]) -> str:
    """``$.messages[0].parts[1].text`` of pydantic's location, which also names the class of a part after its index."""
    shown = [at for place, at in enumerate(loc) if place < 2 or loc[place - 2] != "parts" or isinstance(at, int)]
    return "".join(["$", *(f"[{at}]" if isinstance(at, int) else f".{at}" for at in shown)])
